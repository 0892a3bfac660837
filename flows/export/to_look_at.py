"""The samples of a run that a person should look at, hardest first: by the order of the labels, or by a measure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from assay.data.hardness_schemas import SampleHardness
from assay.data.schemas import WeakLabels
from assay.flows.configuration.mistakes import suggestion
from assay.flows.report.records import parts_of
from assay.flows.report.samples import LabelledBy, labelled_by, samples_of
from assay.infra.artifacts import Artifact
from assay.infra.errors import InputError
from assay.infra.manifests import RunRecord
from assay.infra.store import Store
from assay.tasks.hardness.measures import THETA, measure_named

_RANKED = pa.schema([("id", pa.string()), ("value", pa.float64())])


@dataclass(frozen=True)
class Ask:
    """Which samples: so many, by which measure of hardness (the labels' order where left open), of which subject, whose
    labels; and whether only those without gold."""

    count: int
    by: str | None = None
    subject: str | None = None
    labeler: str | None = None
    without_gold: bool = False


@dataclass(frozen=True)
class ToLookAt:
    """The samples by their ids, hardest first, each with how hard it is, and the weak label that somebody gave them."""

    ids: tuple[str, ...]
    why: tuple[str, ...]
    by: str
    labeler: str
    labels: Mapping[str, Mapping[str, Any]]
    """The row of `WeakLabels` of each of them."""


def to_look_at(store: Store, record: RunRecord, asked: Ask) -> ToLookAt:
    """What a person should look at of a run."""
    labelled = labelled_by(store, record)
    if asked.labeler is not None and asked.labeler not in labelled:
        raise InputError(f"Run {record.id} has no labeler {asked.labeler!r}; {suggestion(asked.labeler, labelled)}")
    labeler = asked.labeler or next(iter(labelled), "")
    ours = labelled.get(labeler)
    measures = _measured(store, record)
    by = asked.by or (THETA if ours is not None and ours.curated is not None else next(iter(measures), THETA))
    unknown = _without_gold(store, record) if asked.without_gold else None
    ranked = hardest_of(_ranked(store, record, by, asked.subject, ours, measures), asked.count, unknown)
    if not ranked.num_rows:
        raise InputError(f"No sample of run {record.id} is left to look at: none has a hardness by {by} and no gold.")
    ids = ranked["id"].to_pylist()
    measure = measure_named(by)
    why = tuple(measure.number_text(value) for value in ranked["value"].to_pylist())
    labels = {} if ours is None else {row["id"]: row for row in _rows(store, ours.labels, ids).to_pylist()}
    return ToLookAt(tuple(ids), why, by, labeler, labels)


def hardest_of(parts: Iterable[pa.Table], count: int, among: pa.Array | None = None) -> pa.Table:
    """The `count` rows of largest `value`, the hardest first; of several rows of a sample its hardest. Ties go by id.

    >>> rows = pa.table({"id": ["a", "b", "a"], "value": [0.1, 0.5, 0.7]}, schema=_RANKED)
    >>> hardest_of([rows.slice(0, 1), rows.slice(1)], 2).to_pylist()
    [{'id': 'a', 'value': 0.7}, {'id': 'b', 'value': 0.5}]
    """
    best = _RANKED.empty_table()
    for part in parts:
        rows = part if among is None else part.filter(pc.is_in(part["id"], value_set=among))
        largest = pa.concat_tables([best, rows.select(_RANKED.names).cast(_RANKED)]).group_by("id", use_threads=False)
        best = largest.aggregate([("value", "max")]).rename_columns({"value_max": "value"}).select(_RANKED.names)
        best = best.sort_by([("value", "descending"), ("id", "ascending")]).slice(0, count)
    return best


Measured = dict[str, dict[str, Artifact[SampleHardness]]]
"""The hardness of samples, by measure and subject."""


def _measured(store: Store, record: RunRecord) -> Measured:
    measured: Measured = {}
    for stage in record.stages:
        for handle in stage.outputs.values():
            if handle["kind"] == "SampleHardness" and handle["rows"]:
                artifact: Artifact[SampleHardness] = Artifact.from_json(handle)
                first = next(part for part in parts_of(store, artifact) if part.num_rows).slice(0, 1).to_pylist()[0]
                measured.setdefault(first["measure"], {})[first["subject"]] = artifact
    return measured


def _ranked(
    store: Store, record: RunRecord, by: str, subject: str | None, ours: LabelledBy | None, measures: Measured
) -> Iterator[pa.Table]:
    """The samples with how hard they are, a partition at a time."""
    if by == THETA and ours is not None and ours.intervals is not None:
        # The order's own score: samples whose label is a default are in it as well, and need a person most.
        for part in parts_of(store, ours.intervals, ["id", "lower"]):
            yield pa.table([part["id"], pc.negate(part["lower"])], schema=_RANKED)
        return
    if by not in measures:
        there = sorted({*measures, *([THETA] if ours is not None and ours.intervals is not None else [])})
        way = f"it has {', '.join(there)}" if there else "add `ordering` or `hardness: {}` to its pipeline"
        raise InputError(f"Run {record.id} does not say how hard samples are by {by}; {way}.")
    subjects = measures[by]
    if subject is not None and subject not in subjects and "" not in subjects:
        raise InputError(f"Run {record.id} has no {by} of the subject {subject!r}; {suggestion(subject, subjects)}")
    yield from parts_of(store, subjects.get(subject or "") or next(iter(subjects.values())), ["id", "value"])


def _without_gold(store: Store, record: RunRecord) -> pa.Array:
    """The ids of the samples whose true class nobody knows."""
    parts = [
        part.filter(pc.is_null(part["gold"]))["id"] for part in parts_of(store, samples_of(record), ["id", "gold"])
    ]
    return pa.concat_arrays([chunk for part in parts for chunk in part.chunks] or [pa.array([], pa.string())])


def _rows(store: Store, artifact: Artifact[WeakLabels], ids: list[str]) -> pa.Table:
    wanted = pa.array(ids, pa.string())
    return pa.concat_tables(part.filter(pc.is_in(part["id"], value_set=wanted)) for part in parts_of(store, artifact))
