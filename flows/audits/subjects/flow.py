"""Subjects of images and texts: what is audited is set apart, each subject learns, predicts and is measured clean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import NamedTuple, cast

from assay.data.biomedical_schemas import Scored, Tagged
from assay.data.image_schemas import TrainingCurve
from assay.data.schemas import Classes, Findings, Predictions, Samples, SubjectFiles, WeakLabels
from assay.flows.audits.curation.flow import Curation
from assay.flows.audits.data import Data
from assay.flows.audits.kind import Ground
from assay.flows.pipeline import Pipeline
from assay.infra.artifacts import Artifact
from assay.infra.branches import outcomes, start
from assay.infra.errors import RunError
from assay.infra.subflows import subflow
from assay.tasks.overfitting.settings import Overfitting
from assay.tasks.overfitting.task import fresh_samples
from assay.tasks.subjects.asking_again import as_it_answers_now
from assay.tasks.subjects.holding_out_task import HeldOut, hold_out
from assay.tasks.subjects.kinds import kind_of, stages_of
from assay.tasks.subjects.resolved import ResolvedSubject, resolve_subject
from assay.tasks.subjects.settings import Subject
from assay.tasks.subjects.weak_lessons_task import measure_weak_lessons, take_weak_lessons
from assay.tasks.weak_labels.settings import WeakLabelling

Answers = Artifact[Predictions] | Artifact[Tagged] | Artifact[Scored]


class Model(NamedTuple):
    """What every stage needs that asks a subject: the classes, the files of its weights, its settings and code."""

    classes: Artifact[Classes]
    files: Artifact[SubjectFiles]
    resolved: ResolvedSubject


@dataclass(frozen=True)
class Examined:
    """A subject that is ready to be challenged: the model, how it learned, and what it says of the audited samples."""

    model: Model
    curve: Artifact[TrainingCurve]
    answers: Answers
    learned_from: Artifact[Samples]
    clean: Artifact[Findings] | None = None
    """How good it is on clean samples. Taggers and scorers are measured where the attacks on them are, since the same
    measures are compared there."""
    lessons: Artifact[Findings] | None = None
    """How many samples taught it, and how rightly, where it learns from weak labels."""

    @property
    def resolved(self) -> ResolvedSubject:
        """Its settings, and its code."""
        return self.model.resolved

    @property
    def files(self) -> Artifact[SubjectFiles]:
        """Its weights."""
        return self.model.files

    @property
    def predictions(self) -> Artifact[Predictions]:
        """The class that a subject of images or texts gives each sample."""
        return cast("Artifact[Predictions]", self.answers)

    @property
    def name(self) -> str:
        """What findings call it."""
        return self.resolved.settings.name


@dataclass(frozen=True)
class Examination:
    """The samples that are audited, those that may train, and every subject that came through."""

    classes: Artifact[Classes]
    held_out: HeldOut
    subjects: Mapping[str, Examined] = field(default_factory=dict)
    fresh: Artifact[Samples] | None = None
    """The samples that nobody has measured a subject on, where the overfitting test asks for some."""

    @property
    def evaluation(self) -> Artifact[Samples]:
        """The samples that are audited."""
        return self.held_out.evaluation

    @property
    def training(self) -> Artifact[Samples]:
        """The samples that subjects and generators learn from."""
        return self.held_out.training

    @property
    def findings(self) -> list[Artifact[Findings]]:
        """How good the subjects are on clean samples, and what weak labels taught them."""
        parts = [part for one in self.subjects.values() for part in (one.clean, one.lessons)]
        return [part for part in parts if part is not None]

    @property
    def predictions(self) -> dict[str, Artifact[Predictions]]:
        """The class that each subject of images or texts gives each audited sample."""
        return {one.name: one.predictions for kind in ("network", "classifier") for one in self.of(kind)}

    def of(self, kind: str) -> list[Examined]:
        """The subjects of one kind: `network` (images), `classifier` (texts), `tagger` (tags) or `scorer` (pairs)."""
        return [one for one in self.subjects.values() if one.resolved.settings.kind == kind]


def learners(pipeline: Pipeline) -> list[Subject]:
    """The subjects that look at images or texts, rather than at columns of numbers."""
    return [one for one in pipeline.subjects if kind_of(one).stages is not None]


@subflow("subjects")
def examine(ground: Ground) -> Examination:
    """Set samples apart, and bring every subject of images or texts to where it can be challenged."""
    pipeline, data = ground.pipeline, ground.of(Data)
    apart = pipeline.evaluation.model_copy(update={"column": pipeline.evaluation.column or pipeline.source.split})
    texts = sorted({column for subject in learners(pipeline) for column in kind_of(subject).columns(subject)})
    held_out, fresh = hold_out(data.samples, apart, texts), None
    asked = pipeline.asked(Overfitting)
    test = None if asked is None else asked.translations
    if test is not None and test.fresh is not None:  # here, so that a wrong name is refused before anything trains
        fresh = fresh_samples(data.samples, (held_out.training, held_out.evaluation), apart, test.fresh)
    waiting = Examination(data.classes, held_out, fresh=fresh)
    branches = {
        subject.name: start(f"subject {subject.name}", examine_one, waiting, subject, ground)
        for subject in learners(pipeline)
    }
    return replace(waiting, subjects=outcomes(branches))


def examine_one(examination: Examination, subject: Subject, ground: Ground) -> Examined:
    """Train the subject if it is ours to train, let it answer, and measure it on clean samples."""
    resolved = replace(resolve_subject(subject, ground.folder), masked=ground.pipeline.masked)
    training = examination.training
    if subject.train_on != "weak":
        return learn(resolved, examination, training)
    labels = teacher_of(ground, subject)
    taught = learn(resolved, examination, take_weak_lessons(training, labels, examination.classes))
    return replace(taught, lessons=measure_weak_lessons(training, labels, subject.name))


def teacher_of(ground: Ground, subject: Subject) -> Artifact[WeakLabels]:
    """The weak labels that a subject learns from: those of the first labeler; no other stands in for it."""
    asked, curation = ground.pipeline.asked(WeakLabelling), ground.maybe(Curation)
    labeler = "" if asked is None else asked.labelers[0]
    if curation is None or labeler not in curation.labels:
        raise RunError(
            f"{subject.name} learns from the labels of {labeler or 'the rules'}, and there are none: see why they are "
            "missing, or set `train_on: gold`."
        )
    return curation.labels[labeler]


def learn(resolved: ResolvedSubject, examination: Examination, training: Artifact[Samples]) -> Examined:
    """The subject as these samples teach it; one that comes as it is learns nothing from them."""
    stages, classes = stages_of(resolved.settings), examination.classes
    train = partial(stages.train, training, classes)
    resolved, (files, curve) = as_it_answers_now(examination.evaluation, classes, resolved, train)
    answers, clean = stages.answer(examination.evaluation, classes, files, resolved)
    return Examined(Model(classes, files, resolved), curve, answers, training, next(iter(clean), None))
