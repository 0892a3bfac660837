"""Attacks on the terms of tagged sentences and of pairs, and training on attacked copies, as a kind of audit."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from assay.flows.audits.kind import AuditKind, Ground, Measured
from assay.flows.audits.terms.clashes import term_clashes
from assay.tasks.attacks.terms.metrics import METRICS

if TYPE_CHECKING:
    from assay.flows.audits.outcomes import Outcomes, Tables
    from assay.flows.audits.terms.flow import TermAudit
    from assay.flows.configuration.named_things import MissingThing
    from assay.flows.pipeline import Pipeline
    from assay.tasks.reporting.following import Headline
    from assay.tasks.reporting.parts import Part, Verdict
    from assay.tasks.statistics.findings import FindingIndex
    from assay.tasks.statistics.sampled import Sampled

_KEYS = ("attacks", "subject", "subjects")


def attack(ground: Ground) -> TermAudit:
    """Attack terms, teach taggers and scorers attacked copies, attack again."""
    from assay.flows.audits.terms.flow import audit_terms

    return audit_terms(ground)


def asked(pipeline: Pipeline) -> bool:
    """Whether a subject tags words or scores pairs."""
    return any(one.tagger is not None or one.scorer is not None for one in pipeline.subjects)


def page(ground: Ground, audit: TermAudit, findings: FindingIndex) -> Iterator[Part]:
    """What attacks on terms did, shown, and what attacked copies taught."""
    from assay.flows.audits.terms.page import term_parts

    yield from term_parts(ground, audit, findings)


def verdict(findings: FindingIndex) -> Iterator[Verdict]:
    """How much a tagger or a scorer loses."""
    from assay.tasks.attacks.terms.page import verdict as of_the_terms

    yield from of_the_terms(findings)


def followed(findings: FindingIndex) -> Iterator[Headline]:
    """How good taggers and scorers are, clean and attacked."""
    from assay.tasks.attacks.terms.followed import followed as of_terms

    yield from of_terms(findings)


def missing(pipeline: Pipeline, folder: Path) -> Iterator[MissingThing]:
    """Lexicons of terms and of synonyms."""
    from assay.flows.configuration.named_things import tried
    from assay.tasks.attacks.terms.resolved import require_attack
    from assay.tasks.attacks.terms.settings import TermAttack
    from assay.tasks.language.catalogue_lexicon import CATALOGUE

    known = {"terms": ("gold", "lexicon", CATALOGUE), "synonyms": (CATALOGUE,)}
    for position, settings in enumerate(pipeline.attacks):
        if isinstance(settings, TermAttack):
            yield from tried(("attacks", position), known, partial(require_attack, settings, folder))


def outcomes(ground: Ground, result: TermAudit) -> Iterator[Outcomes]:
    """Where what single samples add to its findings lies."""
    from assay.flows.audits.terms.outcomes import outcomes as declared

    yield from declared(ground, result)


def sampled(outcomes: Outcomes, tables: Tables, of: str, group: str) -> Sampled | None:
    """What single samples add to one of its findings."""
    from assay.flows.audits.terms.outcomes import sampled as read

    return read(outcomes, tables, of, group)


TERMS = AuditKind(
    "terms",
    asked,
    attack,
    stands_on=("subjects",),
    measures=tuple(
        Measured(stage, tuple(metric for metric in METRICS if metric.name.startswith(stage)), _KEYS)
        for stage in ("ner", "sts")
    ),
    clashes=term_clashes,
    missing=missing,
    page=page,
    verdict=verdict,
    followed=followed,
    outcomes=outcomes,
    sampled=sampled,
)
