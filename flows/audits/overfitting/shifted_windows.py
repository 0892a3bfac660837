"""The overfitting test for images: each subject's window is shifted, on the test set and on its controls."""

from __future__ import annotations

from dataclasses import dataclass

from assay.data.overfitting_schemas import IndependenceTests, ShiftedWindows
from assay.data.schemas import Findings, Samples, SubjectFiles
from assay.flows.audits.kind import Ground
from assay.flows.audits.subjects.flow import Examination, Examined
from assay.infra.artifacts import Artifact
from assay.infra.branches import Branch, start
from assay.infra.errors import InputError
from assay.tasks.overfitting.settings import Bound, Overfitting, Translations
from assay.tasks.overfitting.task import (
    learned_samples,
    measure_windows,
    shift_windows,
    train_again,
    train_dishonestly,
)


@dataclass(frozen=True)
class ShiftedSubject:
    """The tests of one subject by shifted windows, and what was measured along the windows."""

    tests: Artifact[IndependenceTests]
    measured: Artifact[Findings]


@dataclass(frozen=True)
class WindowTest:
    """What is the same for all subjects."""

    settings: Translations
    bound: Bound
    alpha: float
    examination: Examination


def shift_all(ground: Ground, examination: Examination, asked: Overfitting) -> dict[str, Branch[ShiftedSubject]]:
    """The tests of every image subject of the pipeline, yet to be judged."""
    if asked.translations is None:
        return {}
    test = WindowTest(asked.translations, asked.bound, asked.alpha, examination)
    own = {subject.name for subject in ground.pipeline.subjects}
    return {
        subject.name: start(f"overfitting of {subject.name}", shift_one, test, subject)
        for subject in examination.of("network")
        if subject.name in own
    }


def shift_one(test: WindowTest, subject: Examined) -> ShiftedSubject:
    """One subject on the test set, with each of its seeds, and on the controls."""
    settings, examination = test.settings, test.examination
    _require_seeds(settings, subject)
    again = [
        train_again(subject.learned_from, examination.classes, subject.resolved, number)
        for number in range(1, settings.retrain)
    ]
    seeds = [subject.files, *(trained.files for trained in again)]
    shifted = {"test": [_shift(test, examination.evaluation, subject, files) for files in seeds]}
    if settings.training and subject.resolved.settings.train is not None:
        learned = learned_samples(subject.learned_from, subject.resolved)
        shifted["training"] = [_shift(test, learned, subject, subject.files)]
    if examination.fresh is not None:
        shifted["fresh"] = [_shift(test, examination.fresh, subject, files) for files in seeds]
    if settings.dishonest is not None:
        copy = train_dishonestly(
            examination.evaluation, examination.classes, subject.files, subject.resolved, settings.dishonest
        )
        shifted["dishonest"] = [_shift(test, examination.evaluation, subject, copy.files)]
    measured = measure_windows(shifted, subject.name, settings.generators, test.bound, test.alpha)
    return ShiftedSubject(measured.tests, measured.findings)


def _shift(
    test: WindowTest, samples: Artifact[Samples], subject: Examined, files: Artifact[SubjectFiles]
) -> Artifact[ShiftedWindows]:
    settings = test.settings
    return shift_windows(samples, test.examination.classes, files, subject.resolved, settings.eps, settings.generators)


def _require_seeds(settings: Translations, subject: Examined) -> None:
    if settings.retrain > 1 and subject.resolved.settings.train is None:
        raise InputError(
            f"`retrain: {settings.retrain}` trains {subject.name} with other seeds, and it came with its weights: "
            "leave `retrain` out, or let Assay train it (`train`)."
        )
