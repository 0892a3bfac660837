"""Slices as a kind of audit: where, by the columns that a user names, subjects are less right than elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from assay.flows.audits.challenge_clashes import one_class_each, some_subject
from assay.flows.kind import (
    AuditKind,
    Clash,
    Ground,
    Key,
    Late,
    Measured,
    Measurements,
    Written,
    as_dict,
    as_list,
    listed_columns,
    shown_if_measured,
)
from assay.tasks.slices.search import METRICS, Slices

if TYPE_CHECKING:
    pass


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
    yield from some_subject(pipeline, "slices", "are where subjects fail")
    yield from one_class_each(pipeline, "slices")
    written, source = pipeline.get("slices"), as_dict(pipeline.get("source"))
    columns = as_list(as_dict(written).get("columns") if isinstance(written, dict) else written)
    if source.get("group") is not None and source.get("group") in columns:
        yield Clash(
            ("slices",),
            f"name {source['group']}, which is what is independent (source.group), so that a slice by it "
            "is a single group: name what groups have in common",
        )


SLICES = AuditKind(
    "slices",
    lambda pipeline: pipeline.asked(Slices) is not None,
    run,
    keys=(Key("slices", Slices, "[site, sex]"),),
    stands_on=("data", "tables", "subjects"),
    measures=(Measured("slices", METRICS, ("slices",)),),
    clashes=clashes,
    columns=lambda pipeline: listed_columns(pipeline, Slices, "slices", "slices go by"),
    page=shown_if_measured("slices", Late("assay.tasks.slices.page").page),
)
