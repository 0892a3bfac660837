"""Explain → keywords → trust labels: are the right predictions on texts right for the right reasons?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from assay.data.schemas import (
    Explanations,
    Findings,
    Keywords,
    Predictions,
    SampleHardness,
    TrustExamples,
    TrustLabels,
    TrustSettings,
    TrustTruth,
)
from assay.flows.audits.data import classes_of
from assay.flows.audits.subjects_flow import Examination, Examined
from assay.flows.kind import Ground
from assay.infra.stages.branches import branch_outcomes, start_each, subflow
from assay.infra.stages.partitions import collect
from assay.infra.stages.runs import Run
from assay.infra.storage.artifacts import Artifact
from assay.tasks.hardness.task import find_hardness
from assay.tasks.reporting.parts import Part
from assay.tasks.statistics.findings import Finding, FindingIndex
from assay.tasks.subjects.texts.task import predict_texts
from assay.tasks.trust.explainers.table import ExplainerName
from assay.tasks.trust.findings import Step, seconds_spent
from assay.tasks.trust.page import Explained as ExplanationsPage
from assay.tasks.trust.page import page
from assay.tasks.trust.resolved import ResolvedTrust, resolve_trust
from assay.tasks.trust.settings import Trust
from assay.tasks.trust.task import (
    Embedded,
    average_trust,
    counterfactual_truth,
    embed_words,
    explain_predictions,
    human_truth,
    identify_keywords,
    label_trust,
    measure_trust,
    rationale_truth,
    show_trust,
    try_thresholds,
)


@dataclass(frozen=True)
class Explained:
    """One explainer's explanations: of the training texts that make the word pools, and of the audited ones."""

    pooled: Artifact[Explanations]
    tested: Artifact[Explanations]


@dataclass(frozen=True)
class Oracle:
    """What one explainer's explanations come to in one repeat: keywords, labels, and the truth where it is known."""

    explained: Explained
    embedded: Embedded
    keywords: Artifact[Keywords]
    labels: Artifact[TrustLabels]
    truth: Artifact[TrustTruth] | None
    findings: Artifact[Findings]

    @property
    def steps(self) -> dict[str, list[Step]]:
        """What was made on the way to keywords, and on the way to labels, by the metric of their seconds."""
        return {
            "keyword_seconds": [
                ("explain_predictions", self.explained.pooled),
                ("embed_words", self.embedded.vectors),
                ("identify_keywords", self.keywords),
            ],
            "label_seconds": [("explain_predictions", self.explained.tested), ("label_trust", self.labels)],
        }


@dataclass(frozen=True)
class Opinion:
    """What the trust oracle says by one explainer: every repeat, other thresholds, and examples of the first repeat."""

    repeats: tuple[Oracle, ...]
    thresholds: Artifact[TrustSettings]
    examples: Artifact[TrustExamples]
    findings: Artifact[Findings]

    @property
    def first(self) -> Oracle:
        """The repeat that the report shows."""
        return self.repeats[0]


@dataclass(frozen=True)
class TrustAudit:
    """The oracle's opinions by subject and explainer, of those subjects that came through."""

    opinions: Mapping[str, Mapping[ExplainerName, Opinion]]

    @property
    def asked(self) -> dict[tuple[str, str, str], list[list[Step]]]:
        """What was made in every repeat on the way to keywords and to labels; by subject, explainer and metric."""
        return {
            (subject, explainer, metric): [repeat.steps[metric] for repeat in opinion.repeats]
            for subject, opinions in self.opinions.items()
            for explainer, opinion in opinions.items()
            for metric in opinion.first.steps
        }

    @property
    def findings(self) -> list[Artifact[Findings]]:
        """How many right predictions are trusted, and how good the oracle is where the truth is known."""
        return [opinion.findings for opinions in self.opinions.values() for opinion in opinions.values()]


@dataclass(frozen=True)
class Case:
    """One subject before the oracle: what it says of the training texts, and everything the options name."""

    examination: Examination
    subject: Examined
    on_training: Artifact[Predictions]
    trust: ResolvedTrust
    masked: bool


@subflow("trust")
def ask_oracle(ground: Ground, settings: Trust | None) -> TrustAudit:
    """Ask of every text subject why it is right, by every explainer."""
    examination, settings = ground.of(Examination), settings or Trust()
    each = {subject.name: (ground, examination, subject, settings) for subject in examination.of("classifier")}
    return TrustAudit(branch_outcomes(start_each("trust in", ask_about, each)))


def ask_about(
    ground: Ground, examination: Examination, subject: Examined, settings: Trust
) -> dict[ExplainerName, Opinion]:
    """Explain one subject's right predictions in every way, find the keywords of its classes, label and measure."""
    trust = resolve_trust(settings, subject.resolved, ground.folder)
    on_training = predict_texts(subject.learned_from, *subject.model)
    case = Case(examination, subject, on_training, trust, ground.pipeline.masked)
    truth = known_truth(case)
    repeats = [repeat_oracle(case, truth, repeat) for repeat in range(trust.settings.repeats)]
    return {
        explainer: combine_repeats(case, [repeat[explainer] for repeat in repeats])
        for explainer in trust.settings.explainers
    }


def known_truth(case: Case) -> Artifact[TrustTruth] | None:
    """The true labels, where they are known and the same for all explainers."""
    examination, subject = case.examination, case.subject
    if case.trust.verdicts is not None:
        return human_truth(examination.evaluation, subject.predictions, examination.classes, case.trust.verdicts)
    if case.trust.settings.truth is None:
        return None
    return counterfactual_truth(examination.evaluation, subject.predictions, *subject.model)


def repeat_oracle(case: Case, truth: Artifact[TrustTruth] | None, repeat: int) -> dict[ExplainerName, Oracle]:
    """The oracle once, by every explainer; their words are embedded together."""
    subject, trust, settings = case.subject, case.trust, case.trust.settings
    explained = {explainer: explain(case, explainer, repeat) for explainer in settings.explainers}
    tables = [table for each in explained.values() for table in (each.pooled, each.tested)]
    naming, theta = settings.naming, settings.theta_relate
    embedded = embed_words(
        subject.learned_from, tables, *subject.model, trust.providers, trust.synonyms, naming, theta, repeat
    )
    return {name: label_and_measure(case, name, each, embedded, truth) for name, each in explained.items()}


def explain(case: Case, explainer: ExplainerName, repeat: int) -> Explained:
    """The explanations of right predictions, on some training texts and on all audited ones."""
    examination, subject, settings = case.examination, case.subject, case.trust.settings
    options = settings.explaining(explainer)
    pooled = explain_predictions(
        subject.learned_from, case.on_training, *subject.model, options, limit=settings.training_texts, repeat=repeat
    )
    tested = explain_predictions(examination.evaluation, subject.predictions, *subject.model, options, repeat=repeat)
    return Explained(pooled, tested)


def label_and_measure(
    case: Case, explainer: ExplainerName, explained: Explained, embedded: Embedded, truth: Artifact[TrustTruth] | None
) -> Oracle:
    """Keywords and labels by one explainer, and how good they are where the truth is known."""
    examination, subject, settings = case.examination, case.subject, case.trust.settings
    evaluation, classes = examination.evaluation, examination.classes
    by_words = (embedded.vectors, embedded.thresholds, classes, settings.asking)
    keywords = identify_keywords(explained.pooled, *by_words)
    labels = label_trust(explained.tested, keywords, *by_words)
    if settings.rationales is not None:
        truth = rationale_truth(explained.tested, evaluation, subject.resolved.settings.text, settings.rationales)
    findings = measure_trust(
        labels, embedded.thresholds, evaluation, subject.predictions, truth, classes, explainer, subject.name
    )
    return Oracle(explained, embedded, keywords, labels, truth, findings)


def combine_repeats(case: Case, repeats: list[Oracle]) -> Opinion:
    """All repeats by one explainer, and of the first: other thresholds, and predictions to look at."""
    first, settings, examination = repeats[0], case.trust.settings, case.examination
    explained, embedded, truth = first.explained, first.embedded, first.truth
    thresholds = try_thresholds(
        explained.tested, explained.pooled, *embedded, truth, examination.classes, settings.asking
    )
    text = case.subject.resolved.settings.text
    examples = show_trust(
        first.labels, explained.tested, examination.evaluation, truth, text, settings.lemmatise, case.masked
    )
    findings = first.findings if len(repeats) == 1 else average_trust([repeat.findings for repeat in repeats])
    return Opinion(tuple(repeats), thresholds, examples, findings)


def show_trust_page(ground: Ground, audit: TrustAudit, findings: FindingIndex) -> Iterator[Part]:
    """What the oracle says, with examples."""
    if audit.opinions:
        classes, masked = classes_of(ground), ground.pipeline.masked
        explained = [
            ExplanationsPage(
                subject,
                explainer,
                classes,
                labels=collect(opinion.first.labels, ["id", "oracle", "predicted", "confidence", "label"]),
                keywords=collect(opinion.first.keywords, None),
                thresholds=collect(opinion.first.embedded.thresholds, None),
                settings=collect(opinion.thresholds, None),
                examples=collect(opinion.examples, None),
                truth=None if (truth := opinion.first.truth) is None else collect(truth, ["id", "truth"]),
                masked=masked,
            )
            for subject, opinions in audit.opinions.items()
            for explainer, opinion in opinions.items()
        ]
        yield page(findings, explained)


def time_spent(_ground: Ground, audit: TrustAudit, run: Run) -> tuple[TrustAudit, Sequence[Finding]]:
    """What keyword identification and labelling took."""
    return audit, seconds_spent(audit.asked, run.store)


def untrusted(_ground: Ground, audit: TrustAudit) -> Iterator[Artifact[SampleHardness]]:
    """How much of the first explanation the oracle holds for unrelated."""
    for subject, opinions in audit.opinions.items():
        for opinion in list(opinions.values())[:1]:
            yield find_hardness(opinion.first.labels, "trust", subject)
