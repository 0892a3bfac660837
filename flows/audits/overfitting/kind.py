"""Overfitting as a kind of audit: can a test score be believed?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from assay.flows.audits.kind import AuditKind, Ground, Key, Measured
from assay.flows.audits.overfitting.clashes import overfitting_clashes
from assay.tasks.ingest.settings import ORIGINS
from assay.tasks.overfitting.metrics import METRICS
from assay.tasks.overfitting.settings import Overfitting

if TYPE_CHECKING:
    from assay.flows.audits.overfitting.flow import OverfittingAudit
    from assay.flows.configuration.named_columns import NamedColumn
    from assay.flows.pipeline import Pipeline
    from assay.infra.runs import Run
    from assay.tasks.reporting.following import Headline
    from assay.tasks.reporting.parts import Part, Verdict
    from assay.tasks.statistics.findings import Finding, FindingIndex


def doubt(ground: Ground) -> OverfittingAudit:
    """Test whether the score is that of fresh samples."""
    from assay.flows.audits.overfitting.flow import doubt_score

    return doubt_score(ground)


def judge(ground: Ground, audit: OverfittingAudit, run: Run) -> tuple[OverfittingAudit, Sequence[Finding]]:
    """The tests, judged as the look at the test set that this run is."""
    from dataclasses import replace

    from assay.tasks.overfitting.look_ups import judge_tests

    settings = ground.pipeline.asked(Overfitting) or Overfitting()
    judged, findings = judge_tests(audit.tests, settings, stream_of(ground.pipeline), run)
    return replace(audit, judged=judged), findings


def stream_of(pipeline: Pipeline) -> str:
    """What the audited samples come from, by name: whoever mends one of them has the same test set still.

    >>> from assay.flows.pipeline import Pipeline
    >>> stream_of(Pipeline(name="p", source={"csv": ["a.csv", "b.csv"]}))
    'csv a.csv b.csv, split test'
    """
    source = pipeline.source
    origin, places = next((name, value) for name in ORIGINS if (value := getattr(source, name)) is not None)
    return f"{origin} {places if isinstance(places, str) else ' '.join(places)}, split {pipeline.evaluation.split}"


def page(_ground: Ground, audit: OverfittingAudit, findings: FindingIndex) -> Iterator[Part]:
    """Judged tests and synthetic experiments."""
    from assay.infra.partitions import collect
    from assay.tasks.overfitting.page import page as overfitting_page
    from assay.tasks.overfitting.synthetic_findings import WITHOUT_VALUES, Runs

    simulated = [Runs(collect(one.runs, WITHOUT_VALUES), collect(one.tests, None)) for one in audit.simulated.values()]
    yield overfitting_page(findings, audit.judged, simulated, audit.alpha)


def verdict(findings: FindingIndex) -> Iterator[Verdict]:
    """Whether the score can be believed."""
    from assay.tasks.overfitting.page import verdict as of_the_score

    yield from of_the_score(findings)


def followed(findings: FindingIndex) -> Iterator[Headline]:
    """The gap between the score and what it would be on fresh samples."""
    from assay.tasks.overfitting.followed import followed as of_overfitting

    yield from of_overfitting(findings)


def columns(pipeline: Pipeline) -> Iterator[NamedColumn]:
    """The columns that say which samples are of one orbit."""
    asked = pipeline.asked(Overfitting)
    if asked is not None and asked.orbit is not None:
        yield ("overfitting", "orbit", "orbit"), asked.orbit.orbit, "the overfitting test reads"
        yield ("overfitting", "orbit", "original"), asked.orbit.original, "the overfitting test reads"


OVERFITTING = AuditKind(
    "overfitting",
    lambda pipeline: pipeline.asked(Overfitting) is not None,
    doubt,
    keys=(
        Key(
            "overfitting",
            Overfitting,
            "Whether the test score can be believed, or the subject has been fitted to the samples it is measured on.",
            "{translations: {eps: 2}}",
        ),
    ),
    stands_on=("data", "tables", "subjects"),
    measures=(Measured("overfitting", METRICS, ("overfitting",)),),
    clashes=overfitting_clashes,
    columns=columns,
    afterwards=judge,
    page=page,
    verdict=verdict,
    followed=followed,
)
