"""The generator of an attack as a stage: trained on the training split, one for every ε."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from assay.data.classes import class_names
from assay.data.image_schemas import GeneratorFiles
from assay.data.schemas import Classes, Samples, SubjectFiles
from assay.infra.artifacts import Artifact
from assay.infra.devices import deterministically
from assay.infra.errors import InputError, RunError
from assay.infra.partitions import collect, read_files
from assay.infra.seeds import Seeds
from assay.infra.stage import say, stage, stage_seeds
from assay.infra.trainings import Checkpoints, train_on_worker
from assay.tasks.attacks.settings import GAP, ImageAttack, eps_name
from assay.tasks.attacks.table import IMAGE_ATTACKS
from assay.tasks.subjects.resolved import ResolvedSubject

if TYPE_CHECKING:
    from collections.abc import Sequence


@stage(version=1, title="generator", draws=True, gpu=True)
def train_generator(
    training: Artifact[Samples],
    classes: Artifact[Classes],
    files: Artifact[SubjectFiles],
    subject: ResolvedSubject,
    attack: ImageAttack,
    eps: float,
) -> Artifact[GeneratorFiles]:
    """A generator of perturbations within ε against the subject; what `attack_subject` takes under `eps_name(eps)`."""
    if isinstance(attack, GAP) and attack.goal == "targeted":
        raise InputError(
            f"The attack {attack.called} is targeted, and a generator moves images away from their class (`loss: "
            "true-label`) or towards the least likely one (`loss: least-likely`): leave `goal` out."
        )
    names = class_names(collect(classes, None))
    generator: Artifact[GeneratorFiles] = train_on_worker(
        learn_perturbations,
        training,
        into=GeneratorFiles,
        files=read_files(files),
        subject=subject,
        classes=tuple(names),
        attack=attack,
        eps=eps,
        seeds=stage_seeds(),
    )
    how = f"{attack.epochs} epochs of {training.rows} samples, {attack.loss} loss" if isinstance(attack, GAP) else ""
    say(" · ".join(part for part in (f"{attack.called} at {eps_name(eps)}", how) if part))
    return generator


def learn_perturbations(
    training: pa.Table,
    *,
    checkpoints: Checkpoints,
    files: dict[str, bytes],
    subject: ResolvedSubject,
    classes: Sequence[str],
    attack: ImageAttack,
    eps: float,
    seeds: Seeds,
) -> dict[str, bytes]:
    """The files of a generator, on a worker."""
    from assay.tasks.subjects.images.lessons import images_of
    from assay.tasks.subjects.images.model import load_image_model

    learned = IMAGE_ATTACKS.of(attack).generator
    if learned is None:
        raise RunError(f"The attack {attack.called} has no generator to train.")
    model = load_image_model(subject, files)
    lessons = images_of(training, classes)
    return deterministically(lambda: learned.train(model, lessons, attack, eps, seeds, checkpoints), model.device)
