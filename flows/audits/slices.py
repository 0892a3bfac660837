"""Slices as a kind of audit: where, by the columns that a user names, subjects are less right than elsewhere."""

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
    as_list,
)
from assay.tasks.slices.search import METRICS, Slices

if TYPE_CHECKING:
    from assay.tasks.reporting.parts import Part
    from assay.tasks.statistics.findings import FindingIndex


def run(ground: Ground, settings: Slices | None) -> Measurements:
    """Hold what the subjects say against the columns, and search for slices that are worse."""
    from assay.flows.audits.data import Data
    from assay.flows.audits.subjects_flow import predictions_of
    from assay.tasks.slices.search import measure_slices

    predictions = predictions_of(ground)
    if settings is None or not predictions:
        return Measurements()
    significance = ground.pipeline.statistics.significance
    return Measurements([measure_slices(ground.of(Data).samples, predictions, settings, significance)])


def clashes(pipeline: Written) -> Iterator[Clash]:
    """There is a subject that says classes, one class a sample, and no slice is what is independent."""
    written = pipeline.get("slices")
    if written is None:
        return
    if not (pipeline.get("subject") or pipeline.get("subjects")):
        yield Clash(("slices",), "are where subjects fail, and nothing is audited: add a subject")
    source = as_dict(pipeline.get("source"))
    if source.get("labels") is not None:
        yield Clash(("slices",), "need one class a sample, and source.labels has several: leave slices out")
    columns = as_list(as_dict(written).get("columns") if isinstance(written, dict) else written)
    if source.get("group") is not None and source.get("group") in columns:
        yield Clash(
            ("slices",),
            f"name {source['group']}, which is what is independent (source.group), so that a slice by it "
            "is a single group: name what groups have in common",
        )


def columns(pipeline: AuditRequest) -> Iterator[NamedColumn]:
    """The columns whose values are slices."""
    settings = pipeline.asked(Slices)
    for at, column in enumerate(() if settings is None else settings.columns):
        yield ("slices", "columns", at), column, "slices go by"


def page(_ground: Ground, _made: Measurements, findings: FindingIndex) -> Iterator[Part]:
    """How right subjects are on every slice, and which slices are worse."""
    from assay.tasks.slices.page import page as of_slices

    if findings.select("slices"):
        yield of_slices(findings)


SLICES = AuditKind(
    "slices",
    lambda pipeline: pipeline.asked(Slices) is not None,
    run,
    keys=(Key("slices", Slices, "[site, sex]"),),
    stands_on=("data", "tables", "subjects"),
    measures=(Measured("slices", METRICS, ("slices",)),),
    clashes=clashes,
    columns=columns,
    page=page,
)
