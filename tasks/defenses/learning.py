"""A defended subject in the making, on a worker: from a subject's files to those of the model that withstands more."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from assay.infra.devices import deterministically, torch_device_here
from assay.infra.errors import InputError
from assay.infra.seeds import Seeds
from assay.tasks.defenses.settings import Defence
from assay.tasks.defenses.table import IMAGE_DEFENCES
from assay.tasks.subjects.images.building import load_state
from assay.tasks.subjects.images.learning import new_model, trained
from assay.tasks.subjects.images.lessons import LABELS, Lessons, lessons_of
from assay.tasks.subjects.images.model import CARD, WEIGHTS, ImageModel
from assay.tasks.subjects.resolved import ResolvedSubject
from assay.tasks.subjects.settings import Training

if TYPE_CHECKING:
    from assay.tasks.subjects.images.training import BatchHook
    from assay.tasks.subjects.learning_state import Checkpoints


def defend_images(
    training: pa.Table,
    *,
    checkpoints: Checkpoints,
    files: Mapping[str, bytes],
    subject: ResolvedSubject,
    defense: Defence,
    called: str,
    classes: Sequence[str],
    seeds: Seeds,
) -> tuple[dict[str, bytes], pa.Table]:
    """The files and the curve of the defended model of that name; `defense` has one ε, one start and one λ.

    Its card says of which subject it was made, with which defence, and from where it started.
    """
    require_defensible(defense, LABELS in training.column_names, subject.settings.name)
    lessons = lessons_of(training, classes)
    about = {
        "defends": subject.settings.name,
        "defence": defense.model_dump(mode="json", by_alias=True, exclude={"train"}),
    }

    def learn() -> tuple[dict[str, bytes], pa.Table]:
        model = starting_model(files, subject, defense, called, lessons, classes, seeds)
        return trained(
            model,
            lessons,
            training_of(defense, subject),
            subject,
            classes,
            seeds=seeds,
            checkpoints=checkpoints,
            hook=hook_of(defense, seeds),
            about=about,
        )

    return deterministically(learn, torch_device_here())


def starting_model(
    files: Mapping[str, bytes],
    subject: ResolvedSubject,
    defense: Defence,
    name: str,
    lessons: Lessons,
    classes: Sequence[str],
    seeds: Seeds,
) -> ImageModel:
    """The subject's network, with its weights or with fresh ones, and what the subject subtracts and divides by."""
    card: dict[str, Any] = json.loads(files[CARD])
    model = new_model(subject, lessons, classes, seeds)
    if defense.start == ("subject",):
        load_state(model.network, files[WEIGHTS], name)
    return replace(
        model, mean=tuple(card["mean"]), std=tuple(card["std"]), softmaxed=bool(card["softmaxed"]), name=name
    )


def training_of(defense: Defence, subject: ResolvedSubject) -> Training:
    """How the defended model is trained: as the defence says, else as the subject was, else by the defaults."""
    return defense.train or subject.settings.train or Training()


def hook_of(defense: Defence, seeds: Seeds) -> BatchHook:
    """What the defence does with every batch."""
    return IMAGE_DEFENCES.of(defense).hook(defense, seeds)


def require_defensible(defense: Defence, multilabel: bool, subject: str) -> None:
    """Raises where the defence is not made for what the subject answers with."""
    why = IMAGE_DEFENCES.of(defense).one_class
    if multilabel and why:
        others = " or ".join(f"`{one.word}`" for one in IMAGE_DEFENCES if not one.one_class)
        raise InputError(f"{why}, and {subject} answers with several labels per image: defend it by {others}.")
