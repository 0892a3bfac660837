"""Subjects of images and texts along the order, as a kind of audit: is what is hard for the rules hard for them?"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from assay.flows.audits.kind import AuditKind, Ground, Measured
from assay.flows.configuration.written import Clash, each_subject
from assay.tasks.ordering.settings import Ordering
from assay.tasks.subjects.along.metrics import METRICS

if TYPE_CHECKING:
    from assay.flows.audits.along.flow import AlongTheOrder
    from assay.flows.audits.kind import Written
    from assay.flows.audits.outcomes import Outcomes, Tables
    from assay.flows.configuration.mistakes import Where
    from assay.flows.pipeline import Pipeline
    from assay.tasks.reporting.parts import Part, Verdict
    from assay.tasks.statistics.findings import FindingIndex
    from assay.tasks.statistics.sampled import Sampled


def asked(pipeline: Pipeline) -> bool:
    """Whether samples are ordered, and a subject looks at images or texts."""
    readers = any(one.network is not None or one.classifier is not None for one in pipeline.subjects)
    return readers and pipeline.asked(Ordering) is not None


def run(ground: Ground) -> AlongTheOrder:
    """Measure every model on every stratum."""
    from assay.flows.audits.along.flow import follow

    return follow(ground)


def page(_ground: Ground, _made: AlongTheOrder, findings: FindingIndex) -> Iterator[Part]:
    """How right every model is along the order."""
    from assay.tasks.subjects.along.page import page as along_page

    if findings.select("along"):
        yield along_page(findings)


def verdict(findings: FindingIndex) -> Iterator[Verdict]:
    """Whether a subject finds the hard end hard."""
    from assay.tasks.subjects.along.page import verdict as of_subjects

    yield from of_subjects(findings)


def gate(pipeline: Written, _gate: Written, where: Where) -> Iterator[Clash]:
    """A gate on subjects along the order needs one that looks at images or texts."""
    if not any(subject.get("network") or subject.get("classifier") for _, subject in each_subject(pipeline)):
        yield Clash(
            (*where, "finding"),
            "is about subjects of images or texts, and there is none; subjects of tables are "
            "measured along the order as subject.…",
        )


def outcomes(ground: Ground, result: AlongTheOrder) -> Iterator[Outcomes]:
    """The answers of every model along the order."""
    from assay.flows.audits.along.outcomes import outcomes as of_models

    return of_models(ground, result)


def sampled(outcomes: Outcomes, tables: Tables, of: str, group: str) -> Sampled | None:
    """Which samples of a stratum a model is right on."""
    from assay.flows.audits.along.outcomes import sampled as of_answers

    return of_answers(outcomes, tables, of, group)


ALONG = AuditKind(
    "along",
    asked,
    run,
    stands_on=("curation", "subjects"),
    after=("attacks", "corruptions", "texts"),
    measures=(Measured("along", METRICS, ("ordering",), gate=gate),),
    page=page,
    verdict=verdict,
    outcomes=outcomes,
    sampled=sampled,
)
