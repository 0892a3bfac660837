"""Slices as a kind of audit: where, by the columns that a user names, subjects are less right than elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

from assay.flows import kind
from assay.flows.audits.challenge_clashes import one_class_each, some_subject
from assay.tasks.slices.search import Slices
from assay.tasks.statistics.metrics import metrics_of


def run(ground: kind.Ground, settings: Slices | None) -> kind.Measurements:
    """Hold what the subjects say against the columns, and search for slices that are worse."""
    from assay.flows.audits.data import Data
    from assay.flows.audits.subjects_flow import predictions_of
    from assay.tasks.slices.search import measure_slices

    predictions = predictions_of(ground)
    if settings is None or not predictions:
        return kind.Measurements()
    significance = ground.pipeline.statistics.significance
    return kind.Measurements([measure_slices(ground.of(Data).samples, predictions, settings, significance)])


def clashes(pipeline: kind.Written) -> Iterator[kind.Clash]:
    """There is a subject that says classes, one class a sample, and no slice is what is independent."""
    yield from some_subject(pipeline, "slices", "are where subjects fail")
    yield from one_class_each(pipeline, "slices")
    written, source = pipeline.get("slices"), kind.as_dict(pipeline.get("source"))
    columns = kind.as_list(kind.as_dict(written).get("columns") if isinstance(written, dict) else written)
    if source.get("group") is not None and source.get("group") in columns:
        yield kind.Clash(
            ("slices",),
            f"name {source['group']}, which is what is independent (source.group), so that a slice by it "
            "is a single group: name what groups have in common",
        )


SLICES = kind.AuditKind(
    "slices",
    lambda pipeline: pipeline.asked(Slices) is not None,
    run,
    keys=(kind.Key("slices", Slices, "[site, sex]"),),
    stands_on=("data", "tables", "subjects"),
    measures=(kind.Measured("slices", metrics_of("slices"), ("slices",)),),
    clashes=clashes,
    columns=lambda pipeline: kind.listed_columns(pipeline, Slices, "slices", "slices go by"),
    page=kind.shown_if_measured("slices", kind.Late("assay.tasks.slices.page").page),
)
