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
from assay.tasks.subjects.kinds import kind_of, stages_of
from assay.tasks.subjects.resolved import ResolvedSubject, resolve_subject
from assay.tasks.subjects.settings import Subject


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
        return [one for one in self.subjects.values() if one.resolved.settings.kind == kind]


def learners(pipeline: Pipeline) -> list[Subject]:
    """The subjects that look at images or texts, rather than at columns of numbers."""
    return [one for one in pipeline.subjects if kind_of(one).stages is not None]


@subflow("subjects")
def examine(pipeline: Pipeline, ingested: Ingested, branches: Branches, folder: Path) -> Examination:
    """Set samples apart, and bring every subject of images or texts to where it can be challenged."""
    apart = pipeline.evaluation.model_copy(update={"column": pipeline.evaluation.column or pipeline.source.split})
    asked = learners(pipeline)
    texts = sorted({column for one in asked for column in kind_of(one).columns(one)})
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
    resolved, stages = replace(resolve_subject(subject, folder), masked=masked), stages_of(subject)
    files, curve = stages.train(found.training, found.classes, resolved)
    answers, findings = stages.answer(found.evaluation, found.classes, files, resolved)
    found.findings.extend(findings)
    found.subjects[subject.name] = Examined(resolved, files, curve, answers)
