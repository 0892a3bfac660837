"""The agreement of annotators as a kind of audit: how far people agree whose labels a subject is held against."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from assay.flows.kind import (
    AuditKind,
    AuditRequest,
    Clash,
    Ground,
    Key,
    Measured,
    Measurements,
    NamedColumn,
    Written,
    as_dict,
)
from assay.tasks.agreement.alpha import METRICS, Annotators

if TYPE_CHECKING:
    from assay.tasks.reporting.parts import Part
    from assay.tasks.statistics.findings import FindingIndex


def run(ground: Ground, settings: Annotators | None) -> Measurements:
    """Read their labels and hold them against each other."""
    from assay.flows.audits.data import Data
    from assay.tasks.agreement.alpha import measure_agreement

    data = ground.of(Data)
    return Measurements(() if settings is None else [measure_agreement(data.samples, data.classes, settings)])


def clashes(pipeline: Written) -> Iterator[Clash]:
    """Samples have one class each."""
    if pipeline.get("annotators") is not None and as_dict(pipeline.get("source")).get("labels") is not None:
        yield Clash(("annotators",), "need one class a sample, and source.labels has several: leave annotators out")


def columns(pipeline: AuditRequest) -> Iterator[NamedColumn]:
    """The columns of labels."""
    settings = pipeline.asked(Annotators)
    for at, column in enumerate(() if settings is None else settings.columns):
        yield ("annotators", "columns", at), column, "an annotator's labels are in"


def page(_ground: Ground, _made: Measurements, findings: FindingIndex) -> Iterator[Part]:
    """How far they agree."""
    from assay.tasks.agreement.page import page as of_annotators

    if findings.select("annotators"):
        yield of_annotators(findings)


ANNOTATORS = AuditKind(
    "annotators",
    lambda pipeline: pipeline.asked(Annotators) is not None,
    run,
    keys=(
        Key(
            "annotators",
            Annotators,
            "The columns with the labels of single annotators: how far they agree beyond "
            "chance (Krippendorff's alpha), and with gold.",
            "[first_reader, second_reader]",
        ),
    ),
    stands_on=("data",),
    measures=(Measured("annotators", METRICS, ("annotators",)),),
    clashes=clashes,
    columns=columns,
    background=page,
)
