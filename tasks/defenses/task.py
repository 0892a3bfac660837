"""Defences as stages: a subject is trained to withstand more, and what that gained and cost is measured."""

from __future__ import annotations

from assay.data.classes import class_names
from assay.data.image_schemas import TrainingCurve
from assay.data.schemas import Classes, Samples, SubjectFiles
from assay.infra.artifacts import Artifact
from assay.infra.partitions import collect, read_files
from assay.infra.stage import say, stage, stage_seeds
from assay.infra.trainings import train_on_worker
from assay.tasks.defenses.learning import defend_images
from assay.tasks.defenses.settings import AnyDefence
from assay.tasks.subjects.image_task import TrainedNetwork, require_classes
from assay.tasks.subjects.resolved import ResolvedSubject


@stage(version=1, title="defend", draws=True, gpu=True)
def defend_subject(
    training: Artifact[Samples], classes: Artifact[Classes], files: Artifact[SubjectFiles], subject: ResolvedSubject,
    defense: AnyDefence, name: str,
) -> TrainedNetwork:  # fmt: skip
    """The files of the subject's defended model, called `name`, and how it learned; `defense` is a single variant.

    The files load as the subject's own do. Validation samples come out of the training samples and choose nothing; the
    audited ones are not seen.
    """
    names, contents = class_names(collect(classes, None)), read_files(files)
    require_classes(contents, classes.rows, subject.settings.name)
    made = train_on_worker(
        defend_images, training, into=SubjectFiles, curve=TrainingCurve, files=contents, subject=subject,
        defense=defense, name=name, classes=tuple(names), seeds=stage_seeds(),
    )  # fmt: skip
    defended = TrainedNetwork(*made)
    last = collect(defended.curve, None).sort_by("epoch").to_pylist()[-1]
    aside = last["validation_accuracy"]
    shown = "" if aside is None else f", {aside:.1%} of the clean validation samples right"
    say(f"{name} · {last['epoch']} epochs of {training.rows} samples{shown}")
    return defended
