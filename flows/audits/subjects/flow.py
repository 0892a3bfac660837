"""Subjects of images and texts: what is audited is set apart, each subject learns, predicts and is measured clean."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

from assay.data.biomedical_schemas import Scored, Tagged
from assay.data.image_schemas import TrainingCurve
from assay.data.schemas import Classes, Findings, Predictions, Samples, SubjectFiles
from assay.flows.pipeline import Pipeline
from assay.infra.artifacts import Artifact
from assay.infra.branches import Branches
from assay.infra.subflows import subflow
from assay.tasks.ingest.task import Ingested
from assay.tasks.overfitting.task import fresh_samples
from assay.tasks.subjects.holding_out_task import HeldOut, hold_out
from assay.tasks.subjects.images.task import measure_images, predict_images, train_network
from assay.tasks.subjects.resolved import ResolvedSubject, resolve_subject
from assay.tasks.subjects.sequences.scorer_task import predict_scores, train_scorer
from assay.tasks.subjects.sequences.tagger_task import predict_tags, train_tagger
from assay.tasks.subjects.settings import Subject
from assay.tasks.subjects.texts.task import measure_texts, predict_texts, train_classifier


@dataclass(frozen=True)
class Examined:
    """A subject that is ready to be challenged: its files, how it learned, and what it says of the audited samples."""

    resolved: ResolvedSubject
    files: Artifact[SubjectFiles]
    curve: Artifact[TrainingCurve]
    answers: Artifact[Predictions] | Artifact[Tagged] | Artifact[Scored]

    @property
    def predictions(self) -> Artifact[Predictions]:
        """The class that a subject of images or texts gives each sample."""
        return cast("Artifact[Predictions]", self.answers)

    @property
    def tagged(self) -> Artifact[Tagged]:
        """The tags that a tagger gives each word."""
        return cast("Artifact[Tagged]", self.answers)

    @property
    def scored(self) -> Artifact[Scored]:
        """The score that a scorer gives each pair."""
        return cast("Artifact[Scored]", self.answers)

    @property
    def name(self) -> str:
        """What findings call it."""
        return self.resolved.settings.name


@dataclass
class Examination:
    """The samples that are audited, those that may train, and every subject that came through."""

    classes: Artifact[Classes]
    held_out: HeldOut
    subjects: dict[str, Examined] = field(default_factory=dict)
    findings: list[Artifact[Findings]] = field(default_factory=list)
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

    def of(self, kind: str) -> list[Examined]:
        """The subjects of one kind: `network` (images), `classifier` (texts), `tagger` (tags) or `scorer` (pairs)."""
        return [one for one in self.subjects.values() if getattr(one.resolved.settings, kind) is not None]


def learners(pipeline: Pipeline) -> list[Subject]:
    """The subjects that look at images or texts, rather than at columns of numbers."""
    ways = ("network", "classifier", "tagger", "scorer")
    return [one for one in pipeline.subjects if any(getattr(one, way) is not None for way in ways)]


def read_columns(subject: Subject) -> tuple[str, ...]:
    """The columns of text that a subject reads: those by which copies of a sample are known.

    >>> read_columns(Subject(scorer="small-scorer"))
    ('first', 'second')
    """
    if subject.scorer is not None:
        return subject.pair
    if subject.tagger is not None:
        return (subject.tokens,)
    return (subject.text,) if subject.classifier is not None else ()


@subflow("subjects")
def examine(pipeline: Pipeline, ingested: Ingested, branches: Branches, folder: Path) -> Examination:
    """Set samples apart, and bring every subject of images or texts to where it can be challenged."""
    apart = pipeline.evaluation.model_copy(update={"column": pipeline.evaluation.column or pipeline.source.split})
    asked = learners(pipeline)
    texts = sorted({column for one in asked for column in read_columns(one)})
    found = Examination(ingested.classes, hold_out(ingested.samples, apart, texts))
    test = pipeline.overfitting.translations if pipeline.overfitting is not None else None
    if test is not None and test.fresh is not None:  # here, so that a wrong name is refused before anything trains
        found.fresh = fresh_samples(ingested.samples, (found.training, found.evaluation), apart, test.fresh)
    for subject in asked:
        branches.attempt(f"subject {subject.name}", examine_one, found, subject, folder, pipeline.masked)
    return found


def examine_one(found: Examination, subject: Subject, folder: Path, masked: bool = False) -> None:
    """Train the subject if it is ours to train, let it answer, and measure it on clean samples.

    Taggers and scorers are measured where the attacks on them are, since the same measures are compared there.
    """
    resolved = replace(resolve_subject(subject, folder), masked=masked)
    if subject.tagger is not None:
        files, curve = train_tagger(found.training, resolved)
        found.subjects[subject.name] = Examined(resolved, files, curve, predict_tags(found.evaluation, files, resolved))
        return
    if subject.scorer is not None:
        files, curve = train_scorer(found.training, resolved)
        found.subjects[subject.name] = Examined(
            resolved, files, curve, predict_scores(found.evaluation, files, resolved)
        )
        return
    if subject.network is not None:
        files, curve = train_network(found.training, found.classes, resolved)
        predictions = predict_images(found.evaluation, found.classes, files, resolved)
        findings = measure_images(predictions, found.evaluation, found.classes, subject.name)
    else:
        files, curve = train_classifier(found.training, found.classes, resolved)
        predictions = predict_texts(found.evaluation, found.classes, files, resolved)
        findings = measure_texts(predictions, found.evaluation, found.classes, subject.name)
    found.findings.append(findings)
    found.subjects[subject.name] = Examined(resolved, files, curve, predictions)
