"""Subjects that predict a number as a kind of audit: their errors, their intervals, under noise and along the order."""

from __future__ import annotations

from collections.abc import Iterator

from assay.flows.audits.subjects import of_numbers
from assay.flows.kind import AuditKind, Clash, Late, Measured, Written, each_subject
from assay.flows.yaml_document import Where
from assay.tasks.statistics.metrics import metrics_of

FLOW = Late("assay.flows.audits.regression_flow")


def gate(pipeline: Written, _gate: Written, where: Where) -> Iterator[Clash]:
    """A gate on errors of regression needs a subject that predicts a number."""
    if all(subject.get("predicts") is None for _, subject in each_subject(pipeline)):
        yield Clash((*where, "finding"), "is about subjects that predict a number; there is none: say predicts: COLUMN")


REGRESSION = AuditKind(
    "regression",
    lambda pipeline: bool(of_numbers(pipeline)),
    FLOW.measure_all,
    stands_on=("data", "curation"),
    measures=(Measured("regression", metrics_of("regression"), ("subject", "subjects"), gate=gate),),
    page=FLOW.show,
    outcomes=FLOW.outcomes,
    sampled=FLOW.sampled,
)
