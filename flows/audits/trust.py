"""Trust as a kind of audit: is a prediction right for the right reasons?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from assay.flows.audits.challenge_clashes import needs_subject
from assay.flows.kind import AuditKind, Clash, Ground, Key, Measured, as_dict, as_list, each_subject, name_of
from assay.flows.yaml_document import Value
from assay.tasks.trust.settings import METRICS, Trust

if TYPE_CHECKING:
    from assay.data.schemas import SampleHardness
    from assay.flows.audits.trust_flow import TrustAudit
    from assay.flows.kind import MissingThing, NamedColumn
    from assay.flows.pipeline import Pipeline
    from assay.infra.stages.runs import Run
    from assay.infra.storage.artifacts import Artifact
    from assay.tasks.reporting.parts import Part, Verdict
    from assay.tasks.reporting.report import Headline
    from assay.tasks.statistics.findings import Finding, FindingIndex


def ask(ground: Ground) -> TrustAudit:
    """Ask the oracle about every text subject."""
    from assay.flows.audits.trust_flow import ask_oracle

    return ask_oracle(ground)


def asked(pipeline: Pipeline) -> bool:
    """Whether there is a text subject to ask about."""
    return pipeline.asked(Trust) is not None and any(one.classifier is not None for one in pipeline.subjects)


def time_spent(_ground: Ground, audit: TrustAudit, run: Run) -> tuple[TrustAudit, Sequence[Finding]]:
    """What keyword identification and labelling took."""
    from assay.tasks.trust.findings import seconds_spent

    return audit, seconds_spent(audit.asked, run.store)


def untrusted(_ground: Ground, audit: TrustAudit) -> Iterator[Artifact[SampleHardness]]:
    """How much of the first explanation the oracle holds for unrelated."""
    from assay.tasks.hardness.task import find_hardness

    for subject, opinions in audit.opinions.items():
        for opinion in list(opinions.values())[:1]:
            yield find_hardness(opinion.first.labels, "trust", subject)


def page(ground: Ground, audit: TrustAudit, findings: FindingIndex) -> Iterator[Part]:
    """What the oracle says, with examples."""
    from assay.data.schemas import class_names
    from assay.flows.audits.data import Data
    from assay.flows.audits.trust_flow import trust_parts
    from assay.infra.stages.partitions import collect

    classes = class_names(collect(ground.of(Data).classes, None))
    yield from trust_parts(audit, classes, ground.pipeline.masked, findings)


def verdict(findings: FindingIndex) -> Iterator[Verdict]:
    """How many right predictions the oracle trusts."""
    from assay.tasks.trust.page import verdict as of_the_oracle

    yield from of_the_oracle(findings)


def followed(findings: FindingIndex) -> Iterator[Headline]:
    """How many right predictions the oracle trusts."""
    from assay.tasks.trust.page import followed as of_trust

    yield from of_trust(findings)


def clashes(pipeline: dict[str, Value]) -> Iterator[Clash]:
    """The oracle is asked about texts."""
    from assay.tasks.trust.explainers.table import EXPLAINERS

    yield from needs_subject(pipeline, "trust", "classifier", "texts")
    inside = [choice.word for choice in EXPLAINERS if choice.looks_inside]
    closed = [name_of(one) for _, one in each_subject(pipeline) if ":" in str(one.get("classifier") or "")]
    for position, explainer in enumerate(as_list(as_dict(pipeline.get("trust")).get("explainers"))):
        if explainer in inside and closed:
            yield Clash(
                ("trust", "explainers", position),
                f"looks inside a network, and {closed[0]} is a function that only answers; use lime or omission",
            )


def columns(pipeline: Pipeline) -> Iterator[NamedColumn]:
    """The column of people's rationales."""
    trust = pipeline.asked(Trust)
    if trust is not None and trust.rationales is not None:
        yield ("trust", "rationales"), trust.rationales, "the trust oracle reads"


def missing(pipeline: Pipeline, folder: Path) -> Iterator[MissingThing]:
    """Word vectors, synonyms and verdicts."""
    trust = pipeline.asked(Trust)
    if trust is None:
        return
    from functools import partial

    from assay.flows.kind import missing_if_fails
    from assay.tasks.language.embeddings.ensemble import NAMES
    from assay.tasks.language.synonyms import OPEN_WORDNET, WORDNET
    from assay.tasks.trust.resolved import COUNTERFACTUAL, require_named

    known = {"providers": NAMES, "synonyms": (WORDNET, OPEN_WORDNET), "truth": (COUNTERFACTUAL,)}
    yield from missing_if_fails(("trust",), known, partial(require_named, trust, folder))


TRUST = AuditKind(
    "trust",
    asked,
    ask,
    keys=(
        Key(
            "trust",
            Trust,
            "Whether correct predictions on texts are right for the right reasons.",
            "{explainers: [lime], top_words: 10}",
        ),
    ),
    stands_on=("data", "subjects"),
    measures=(Measured("trust", METRICS, ("trust",)),),
    clashes=clashes,
    columns=columns,
    missing=missing,
    afterwards=time_spent,
    hardness=untrusted,
    page=page,
    verdict=verdict,
    followed=followed,
)
