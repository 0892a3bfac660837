"""Layers in the report: t-SNE as scatters, and the agreement of neighbours that says what the eye may not trust."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from assay.tasks.diagnostics.looking import CLEAN, TRAIN
from assay.tasks.reporting.estimates import estimate, series_of
from assay.tasks.reporting.numerals import interval, percent
from assay.tasks.reporting.parts import Block, Cell, Cloud, Column, DataTable, LinePlot, Scatter, Scatters
from assay.tasks.statistics.findings import Finding, FindingIndex, distinct, measured

_NONE = "none"
_NOTE = (
    "Small distances mean alike; directions and large distances mean nothing. Pale: training samples; solid: audited "
    "ones. The percentage is measured in the layer itself, not in this picture: how many of the audited samples have "
    "nearest training samples of their own class."
)


def layer_blocks(findings: FindingIndex, points: pa.Table, subject: str, classes: Sequence[str]) -> list[Block]:
    """How neighbours agree layer by layer, and every layer in the plane."""
    rows = points.to_pylist()
    layers = distinct(row["layer"] for row in rows)
    agreements = FindingIndex(findings.select("diagnostics.knn_agreement", subject=subject))
    groups = agreements.distinct("group")
    blocks: list[Block] = []
    if len(layers) > 1 and measured(agreements):
        blocks.append(_curve(agreements, layers, groups, subject))
    for at, layer in enumerate(layers):
        blocks.append(_scatters(layer, rows, agreements, groups, subject, classes, "" if at else _NOTE))
    blocks.append(_table(agreements, layers, groups, subject))
    return blocks


def _curve(agreements: FindingIndex, layers: Sequence[str], groups: Sequence[str], subject: str) -> LinePlot:
    places = [float(at) for at in range(len(layers))]
    series = []
    for group in groups:
        line = [_agreement(agreements, layer, subject, group) for layer in layers]
        series.append(series_of(_written(group), places, line))
    ends = [f"{line.name} {percent(line.y[-1])}" for line in series]
    return LinePlot(
        f"{subject}: nearest training samples of the same class, layer by layer",
        series,
        "Layer",
        "Share whose neighbours agree",
        f"In the last layer: {', '.join(ends)}.",
        (0.0, 1.0),
        dict(zip(places, layers, strict=True)),
        "Bands are 95 % intervals.",
        "percent",
    )


def _scatters(
    layer: str,
    rows: Sequence[dict[str, object]],
    agreements: FindingIndex,
    groups: Sequence[str],
    subject: str,
    classes: Sequence[str],
    note: str,
) -> Scatters:
    own = [row for row in rows if row["layer"] == layer]
    plots = []
    for shown in dict.fromkeys(row["shown"] for row in own if row["shown"] != TRAIN):
        group = next(one for one in groups if one == shown or one.startswith(f"{shown}, "))
        share = _agreement(agreements, layer, subject, group)
        agree = "no truth" if share is None else f"{percent(share.value, 0)} agree"
        bounds = "" if share is None else f" {interval(share.low, share.high, digits=0)}"
        clouds = [cloud for where in (TRAIN, shown) for cloud in _clouds(own, str(where), classes)]
        alt = f"Training samples and {_written(group)} ones of {len(classes)} classes in layer {layer}: {agree}."
        plots.append(Scatter(f"{_written(group)}: {agree}{bounds}", clouds, alt))
    return Scatters(f"{subject}: layer {layer} in the plane", plots, "t-SNE 1", "t-SNE 2", note)


def _clouds(rows: Sequence[dict[str, object]], shown: str, classes: Sequence[str]) -> list[Cloud]:
    clouds = []
    for code in (*range(len(classes)), -1):
        some = [row for row in rows if row["shown"] == shown and row["code"] == code]
        if some:
            name, kind = (classes[code], code) if code >= 0 else (_NONE, len(classes))
            x, y = ([float(str(row[axis])) for row in some] for axis in ("x", "y"))
            clouds.append(Cloud(name, x, y, kind, shown == TRAIN))
    return clouds


def _table(agreements: FindingIndex, layers: Sequence[str], groups: Sequence[str], subject: str) -> DataTable:
    columns = [Column("Layer"), *(Column(_written(group), "percent") for group in groups)]
    rows: list[list[Cell]] = [
        [layer, *(estimate(_agreement(agreements, layer, subject, group)) for group in groups)] for layer in layers
    ]
    note = "Training samples are held against the others of them. Intervals are 95 %."
    return DataTable(f"{subject}: share of samples whose nearest training samples agree", columns, rows, note)


def _agreement(agreements: FindingIndex, layer: str, subject: str, group: str) -> Finding | None:
    return agreements.get("diagnostics.knn_agreement", subject, layer, group)


def _written(group: str) -> str:
    names = {TRAIN: "training", CLEAN: "clean"}
    return names.get(group, group.replace("eps=", "ε = "))
