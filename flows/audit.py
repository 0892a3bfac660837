"""The nightly chain, start to finish: curate, measure the subjects on D1 … DN, challenge them, test statistically."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from assay.data.schemas import CuratedSets, Findings
from assay.flows.audits.curation.flow import Curation, curate
from assay.flows.audits.images.attacking import Robustness, challenge
from assay.flows.audits.images.certifying import Certificates, certify
from assay.flows.audits.images.defending import Defences, compare_defences, defend
from assay.flows.audits.images.looking_inside import Inside, look
from assay.flows.audits.overfitting.flow import OverfittingAudit, doubt_score
from assay.flows.audits.subjects.flow import Examination, examine, learners
from assay.flows.audits.terms.flow import TermAudit, audit_terms
from assay.flows.audits.texts.flow import WordAudit, attack_texts
from assay.flows.audits.trust.flow import TrustAudit, ask_oracle
from assay.flows.pipeline import Pipeline
from assay.infra.artifacts import Artifact
from assay.infra.errors import AssayError
from assay.infra.runs import current_run
from assay.infra.subflows import subflow
from assay.tasks.statistics.task import conclude
from assay.tasks.subjects.resolved import resolve_subject
from assay.tasks.subjects.settings import Subject
from assay.tasks.subjects.tables.task import measure_subject, predict_samples, train_subject


@dataclass
class Audit:
    """What an audit made: its curation, its subjects and what was done to them, and all findings together."""

    curation: Curation
    examination: Examination | None = None
    robustness: Robustness | None = None
    defences: Defences | None = None
    inside: Inside | None = None
    certificates: Certificates | None = None
    trust: TrustAudit | None = None
    words: WordAudit | None = None
    overfitting: OverfittingAudit | None = None
    terms: TermAudit | None = None
    findings: Artifact[Findings] | None = None

    @property
    def failures(self) -> list[AssayError]:
        """The errors of the branches that failed."""
        return self.curation.branches.failures

    @property
    def measured(self) -> list[Artifact[Findings]]:
        """The findings of everything that was done."""
        parts = (
            self.curation, self.examination, self.robustness, self.defences, self.inside, self.certificates,
            self.trust, self.words, self.overfitting, self.terms,
        )  # fmt: skip
        return [findings for part in parts if part is not None for findings in part.findings]


@subflow("audit")
def audit(pipeline: Pipeline, folder: Path) -> Audit:
    """Everything that the pipeline asks for."""
    current_run().masked = pipeline.masked
    result = Audit(curate(pipeline, folder))
    branches, ingested = result.curation.branches, result.curation.ingested
    for subject in pipeline.subjects:
        if subject not in learners(pipeline):
            branches.attempt(
                f"subject {subject.name}", measure_on_curated_sets, result.curation, pipeline, subject, folder
            )
    if learners(pipeline):
        result.examination = examine(pipeline, ingested, branches, folder)
        if pipeline.image_defenses:
            result.defences = defend(pipeline, result.examination, branches)
        result.robustness = challenge(pipeline, result.examination, branches)
        if result.defences is not None:
            compare_defences(result.defences, pipeline, result.examination, result.robustness, branches)
        if pipeline.diagnostics is not None:
            result.inside = look(pipeline, result.examination, result.robustness, branches)
        if pipeline.smoothing is not None:
            result.certificates = certify(pipeline, result.examination, branches)
        if pipeline.trust is not None:
            result.trust = ask_oracle(pipeline, result.examination, branches, folder)
        if pipeline.text_attacks:
            result.words = attack_texts(pipeline, result.examination, result.trust, branches, folder)
        if any(one.tagger is not None or one.scorer is not None for one in pipeline.subjects):
            result.terms = audit_terms(pipeline, result.examination, branches, folder)
    if pipeline.overfitting is not None:
        result.overfitting = doubt_score(pipeline, result.curation, result.examination, branches)
    branches.attempt("statistics", draw_conclusions, result, pipeline)
    return result


def draw_conclusions(result: Audit, pipeline: Pipeline) -> None:
    """All findings together; nothing where no stage has any (tests of overfitting are judged after the stages)."""
    if result.measured:
        result.findings = conclude(result.measured, pipeline.statistics)


@subflow("subject")
def measure_on_curated_sets(curation: Curation, pipeline: Pipeline, subject: Subject, folder: Path) -> None:
    """Train the subject if it is ours to train, let it predict, and hold it against D1 … DN."""
    resolved = resolve_subject(subject, folder)
    labels = next(iter(curation.labels.values()), None) if subject.train_on == "weak" else None
    files = train_subject(curation.samples, labels, curation.ingested.classes, resolved)
    predictions = predict_samples(curation.samples, curation.ingested.classes, files, resolved)
    curation.predictions[subject.name] = predictions
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
