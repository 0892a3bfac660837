"""The nightly chain, start to finish: curate, measure the subjects on D1 … DN, test statistically, judge the gates."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from assay.data.schemas import CuratedSets, Findings
from assay.flows.curation import Curation, curate
from assay.flows.pipeline import Pipeline
from assay.flows.subflows import subflow
from assay.infra.artifacts import Artifact
from assay.infra.errors import AssayError
from assay.tasks.statistics.task import conclude
from assay.tasks.subjects.resolved import resolve_subject
from assay.tasks.subjects.settings import Subject
from assay.tasks.subjects.task import measure_subject, predict_samples, train_subject


@dataclass
class Audit:
    """What an audit made: its curation, and all its findings, corrected together."""

    curation: Curation
    findings: Artifact[Findings] | None = None

    @property
    def failures(self) -> list[AssayError]:
        """The errors of the branches that failed."""
        return self.curation.branches.failures


@subflow("audit")
def audit(pipeline: Pipeline, folder: Path) -> Audit:
    """Everything that the pipeline asks for."""
    result = Audit(curate(pipeline, folder))
    for subject in pipeline.subjects:
        result.curation.branches.attempt(
            f"subject {subject.name}", measure_on_curated_sets, result.curation, pipeline, subject, folder
        )
    result.findings = conclude(result.curation.findings, pipeline.statistics)
    return result


@subflow("subject")
def measure_on_curated_sets(curation: Curation, pipeline: Pipeline, subject: Subject, folder: Path) -> None:
    """Train the subject if it is ours to train, let it predict, and hold it against D1 … DN."""
    resolved = resolve_subject(subject, folder)
    labels = next(iter(curation.labels.values()), None) if subject.train_on == "weak" else None
    files = train_subject(curation.samples, labels, curation.ingested.classes, resolved)
    predictions = predict_samples(curation.samples, curation.ingested.classes, files, resolved)
    curated = headline_order(curation)
    if curated is None or pipeline.ordering is None:
        return
    findings = measure_subject(
        predictions, curated, curation.ingested.classes, name=subject.name, datasets=pipeline.ordering.datasets,
        permutations=pipeline.ordering.permutations, significance=pipeline.statistics.significance,
    )  # fmt: skip
    curation.findings.append(findings)


def headline_order(curation: Curation) -> Artifact[CuratedSets] | None:
    """The order that subjects are measured on and the report begins with: that of the first labeler."""
    return next(iter(curation.curated.values()), None)
