"""What diagnostics show in the report: where a subject looks, what its layers tell apart, what it names together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from assay.data.images import Pixels, png
from assay.tasks.diagnostics.inspection import CLEAN, TRAIN
from assay.tasks.reporting.estimates import series_of, share_text
from assay.tasks.reporting.gallery import Rgb, heat, signed
from assay.tasks.reporting.numerals import integer, interval, percent
from assay.tasks.reporting.parts import (
    Block,
    Cell,
    Chord,
    Chords,
    Cloud,
    Column,
    DataTable,
    Gallery,
    LinePlot,
    Mark,
    Paragraph,
    Part,
    Picture,
    Scatter,
    Scatters,
    Strip,
)
from assay.tasks.statistics.findings import Finding, FindingIndex, distinct, measured
from assay.tasks.subjects.page import answer_marks
from assay.tasks.subjects.predictions import truth_in_words
from assay.tasks.subjects.settings import eps_name

Matrix = npt.NDArray[np.int64]
Row = dict[str, Any]
_SHOWN = 24  # classes: more have no diagram, and a matrix of them is folded away


def label_blocks(findings: FindingIndex, counts: pa.Table, classes: Sequence[str]) -> list[Block]:
    """The diagrams of one attack on one subject, of very many labels the most frequent pairs; of single classes, what
    became of each."""
    rows = counts.to_pylist()
    if not rows:
        return []
    first = rows[0]
    where = f"{first['attack']}, {_written(eps_name(first['eps']))}"
    sides = {side: _matrix(rows, side, len(classes)) for side in dict.fromkeys(row["side"] for row in rows)}
    if "moved" in sides:
        heads = [Column("Said clean"), *(Column(name, "integer") for name in classes)]
        moved: list[list[Cell]] = [
            [name, *counts] for name, counts in zip(classes, sides["moved"].tolist(), strict=True)
        ]
        note = "Rows: what is said of the clean image; columns: of the same image "
        note += f"under {where}. {integer(first['images'])} images."
        title = f"{first['subject']}: what became of what it said, {where}"
        return [DataTable(title, heads, moved, note, len(classes) > _SHOWN)]
    alone = {
        side: [row["alone"] for row in rows if row["side"] == side and row["first"] == row["second"]] for side in sides
    }
    if len(classes) > _SHOWN:
        return [Paragraph(_alt(matrix, classes, f"{first['subject']}, {side}")) for side, matrix in sides.items()]
    diagrams = []
    for side, matrix in sides.items():
        title = "clean" if side == "clean" else f"under {where}"
        group = "clean" if side == "clean" else eps_name(first["eps"])
        pairs = findings.get("diagnostics.pairs_named", first["subject"], first["attack"], group)
        named = "" if pairs is None else f": {pairs.value:.2f} pairs per image"
        off = matrix - np.diag(np.diag(matrix))
        diagrams.append(Chord(f"{title}{named}", off.tolist(), alone[side], _alt(off, classes, title)))
    note = (
        f"What {first['subject']} says of {integer(first['images'])} images. A band joins labels that are "
        "named together, as wide as that is frequent; the paler end of an arc is the label alone. Both circles are "
        "drawn to one scale."
    )
    title = f"{first['subject']}: labels named together, {where}"
    return [Chords(title, list(classes), diagrams, "images", note)]


def _matrix(rows: Sequence[Row], side: str, classes: int) -> Matrix:
    matrix = np.zeros((classes, classes), np.int64)
    for row in rows:
        if row["side"] == side:
            matrix[row["first"], row["second"]] = row["count"]
    return matrix


def _alt(off: Matrix, classes: Sequence[str], title: str) -> str:
    """The most frequent pairs in words."""
    upper = np.triu(off, 1)
    order = upper.ravel().argsort(kind="stable")[::-1][:3]
    named = [
        f"{classes[at // len(classes)]} and {classes[at % len(classes)]} {upper.ravel()[at]} times"
        for at in order.tolist()
        if upper.ravel()[at]
    ]
    return f"Labels named together, {title}: {'; '.join(named) or 'none'}."


_AGREEMENT = "diagnostics.knn_agreement"
_NOTE = (
    "Small distances mean alike; directions and large distances mean nothing. Pale: training samples; solid: audited "
    "ones. The percentage is measured in the layer itself, not in this picture: how many of the audited samples have "
    "nearest training samples of their own class."
)


def layer_blocks(findings: FindingIndex, points: pa.Table, subject: str, classes: Sequence[str]) -> list[Block]:
    """How neighbours agree layer by layer, and every layer in the plane."""
    rows = points.to_pylist()
    layers = distinct(row["layer"] for row in rows)
    agreements = FindingIndex(findings.select(_AGREEMENT, subject=subject))
    groups = agreements.distinct("group")
    blocks: list[Block] = []
    if len(layers) > 1 and measured(agreements):
        blocks.append(_curve(agreements, layers, groups, subject))
    for layer in layers:
        own = [row for row in rows if row["layer"] == layer]
        plots = []
        for shown in dict.fromkeys(row["shown"] for row in own if row["shown"] != TRAIN):
            group = next(group for group in groups if group == shown or group.startswith(f"{shown}, "))
            share = _agreement(agreements, layer, subject, group)
            agree = "no truth" if share is None else f"{percent(share.value, 0)} agree"
            bounds = "" if share is None else f" {interval(share.low, share.high, digits=0)}"
            clouds = [cloud for where in (TRAIN, shown) for cloud in _clouds(own, where, classes)]
            alt = f"Training samples and {_written(group)} ones of {len(classes)} classes in layer {layer}: {agree}."
            plots.append(Scatter(f"{_written(group)}: {agree}{bounds}", clouds, alt))
        note = _NOTE if layer == layers[0] else ""
        blocks.append(Scatters(f"{subject}: layer {layer} in the plane", plots, "t-SNE 1", "t-SNE 2", note))
    return blocks


def _curve(agreements: FindingIndex, layers: Sequence[str], groups: Sequence[str], subject: str) -> LinePlot:
    places = [float(at) for at in range(len(layers))]
    series = []
    for group in groups:
        line = [_agreement(agreements, layer, subject, group) for layer in layers]
        series.append(series_of(_written(group), places, line))
    title = f"{subject}: nearest training samples of the same class, layer by layer"
    share, note = "Share whose neighbours agree", "Bands are 95 % intervals."
    alt = f"In the last layer: {', '.join(f'{line.name} {percent(line.y[-1])}' for line in series)}."
    ticks = dict(zip(places, layers, strict=True))
    return LinePlot(title, series, "Layer", share, alt, (0.0, 1.0), ticks, note, "percent")


def _clouds(rows: Sequence[Row], shown: str, classes: Sequence[str]) -> list[Cloud]:
    clouds = []
    for code in (*range(len(classes)), -1):
        some = [row for row in rows if row["shown"] == shown and row["code"] == code]
        if some:
            name, kind = (classes[code], code) if code >= 0 else ("none", len(classes))
            x, y = ([row[axis] for row in some] for axis in ("x", "y"))
            clouds.append(Cloud(name, x, y, kind, shown == TRAIN))
    return clouds


def _agreement(agreements: FindingIndex, layer: str, subject: str, group: str) -> Finding | None:
    return agreements.get(_AGREEMENT, subject, layer, group)


def _written(group: str) -> str:
    return {TRAIN: "training", CLEAN: "clean"}.get(group, group.replace("eps=", "ε = "))


_BRIGHTEST = 99.5  # per cent of a map's values: what lies above is drawn like it, lest one pixel leave the rest dark
_COMMON = ("feature map", "attention fine", "attention coarse")  # one scale for all circumstances of a sample

_NOTES = {
    "feature map": "Feature map: the mean of what is above zero in a layer's channels; its name is written below.",
    "saliency": "Saliency: how steeply the loss rises with each pixel, |∂loss/∂x|, the largest over the channels.",
    "integrated gradients": "Integrated gradients: what each pixel adds to the logit of the class that is said "
    "(orange) or takes from it (blue); together they are the change of that logit from the baseline to the image.",
    "attention": "Attention: how much of each place the gate lets through; coarser than the image, so it looks smooth.",
}


def gallery(pictures: pa.Table, subject: str, classes: Sequence[str], *, collapsed: bool = False) -> Gallery:
    """A strip per image and circumstance: the image, then its maps."""
    rows = pictures.to_pylist()
    strips = [_scales()]
    for sample in dict.fromkeys(row["id"] for row in rows):
        own = [row for row in rows if row["id"] == sample]
        shown = dict.fromkeys(row["shown"] for row in own)
        strips += [_strip([row for row in own if row["shown"] == circumstance], own, classes) for circumstance in shown]
    kinds = {row["picture"].split(" ")[0] if row["picture"].startswith("attention") else row["picture"] for row in rows}
    note = " ".join(text for kind, text in _NOTES.items() if kind in kinds)
    note += " Feature maps and attention share a scale between the rows of an image; the others fill their own."
    return Gallery(f"{subject}: where it looks", strips, note, collapsed, stacked=True)


def _scales() -> Strip:
    """The two colour scales, to be compared with."""
    ramp = np.tile(np.linspace(0, 1, 64), (12, 1))
    rising, both = "from dark blue for the least to light yellow for the most", "from blue over white to orange"
    return Strip(
        "How to read the colours",
        [
            Picture(png(heat(ramp, 0, 1)), "least to most", f"A colour scale {rising}"),
            Picture(png(signed(2 * ramp - 1, 1)), "takes away to adds", f"A colour scale {both}"),
        ],
    )


def _strip(rows: Sequence[Row], everything: Sequence[Row], classes: Sequence[str]) -> Strip:
    first = rows[0]
    image = next(row for row in rows if row["picture"] == "image")
    size = int(image["height"]), int(image["width"])
    how = CLEAN if first["shown"] == CLEAN else f"under {first['shown']}, {_written(eps_name(first['eps']))}"
    pictures = [_picture(row, everything, classes, size, how) for row in rows]
    return Strip(f"{first['id']} · {truth_in_words(first, classes)} · {how}", pictures, str(first["id"]))


def _picture(row: Row, everything: Sequence[Row], classes: Sequence[str], size: tuple[int, int], how: str) -> Picture:
    values, kind = values_of(row), str(row["picture"])
    if kind == "image":
        marks = answer_marks(row["said"], row["probabilities"], row, classes)
        return Picture(png(values), "image", f"The image {row['id']}, {how}", marks)
    if kind == "integrated gradients":
        reach = float(np.percentile(np.abs(values), _BRIGHTEST)) or 1.0
        sums = f"adds up to {row['total']:+.4g} of {row['expected']:+.4g}"
        alt = f"What each pixel of {row['id']}, {how}, adds to {classes[row['said']]}; at most {reach:.2g}"
        return Picture(
            png(signed(values[0], reach)), f"integrated gradients, {classes[row['said']]}", alt, [Mark(sums)]
        )
    low, high = _range(row, everything)
    if kind.startswith("attention"):
        from assay.tasks.diagnostics.maps import upsampled  # PyTorch, which no other picture needs

        values = upsampled(values, *size)
    name = f"{kind}, {row['layer']}" if kind == "feature map" else kind
    alt = f"{kind.capitalize()} of {row['id']}, {how}: {_brightest(values[0])}"
    return Picture(png(_enlarged(heat(values[0], low, high), size)), name, alt, [Mark(f"{low:.2g} to {high:.2g}")])


def values_of(row: Row) -> Pixels:
    """The numbers of a picture [c, h, w]."""
    return np.asarray(np.frombuffer(row["values"], np.float32).reshape(row["channels"], row["height"], row["width"]))


def _range(row: Row, everything: Sequence[Row]) -> tuple[float, float]:
    """From what to what the colours of a map go: over all circumstances of the image where they can be compared."""
    if row["picture"] not in _COMMON:
        return 0.0, float(np.percentile(values_of(row), _BRIGHTEST))
    alike = np.concatenate(
        [values_of(picture).ravel() for picture in everything if picture["picture"] == row["picture"]]
    )
    low = float(alike.min()) if row["picture"].startswith("attention") else 0.0
    return low, float(np.percentile(alike, _BRIGHTEST))


def _enlarged(colours: Rgb, size: tuple[int, int]) -> Rgb:
    """The picture at the size of the image, each place of a coarser map as a square."""
    down, across = (
        np.arange(wanted) * coarse // wanted for wanted, coarse in zip(size, colours.shape[1:], strict=True)
    )
    return np.asarray(colours[:, down][:, :, across])


def _brightest(values: npt.NDArray[np.float32]) -> str:
    """In words, where a map is highest."""
    row, column = np.unravel_index(int(values.argmax()), values.shape)
    down = ("top", "middle", "bottom")[min(2, 3 * int(row) // values.shape[0])]
    across = ("left", "centre", "right")[min(2, 3 * int(column) // values.shape[1])]
    return f"highest at the {down} {across}"


@dataclass(frozen=True)
class InsideSubject:
    """What was seen inside one subject: tables of `DiagnosticImages`, `LayerPoints` and, per attack, `CoOccurrence`."""

    subject: str
    classes: Sequence[str]
    pictures: pa.Table | None = None
    points: pa.Table | None = None
    counts: Sequence[pa.Table] = field(default_factory=tuple)

    @property
    def several(self) -> bool:
        """Whether images bear several labels."""
        return self.pictures is not None and self.pictures["labels"].null_count < self.pictures.num_rows


def page(findings: FindingIndex, subjects: Sequence[InsideSubject]) -> Part:
    """The part of the report about the inside of the subjects."""
    blocks: list[Block] = []
    for at, seen in enumerate(subjects):
        if seen.pictures is not None and seen.pictures.num_rows:
            blocks.append(gallery(seen.pictures, seen.subject, seen.classes, collapsed=at > 0))
        if seen.points is not None and seen.points.num_rows:
            blocks += layer_blocks(findings, seen.points, seen.subject, seen.classes)
        for counts in seen.counts:
            blocks += label_blocks(findings, counts, seen.classes)
    sentence = " ".join(filter(None, (_sentence(findings, seen) for seen in subjects)))
    return Part("Inside the subjects", sentence or "Nothing was looked into.", blocks, "inside")


def _sentence(findings: FindingIndex, seen: InsideSubject) -> str:
    """What the last layer still knows of clean samples, and of attacked ones."""
    agreements = measured(findings.select(_AGREEMENT, subject=seen.subject))
    if not agreements:
        return ""
    layer = agreements[-1].of
    last = {share.group: share for share in agreements if share.of == layer}
    clean = "of the labels of clean samples" if seen.several else "of the clean samples"
    shown = [(share, clean if group == CLEAN else f"under {_written(group)}") for group, share in last.items()]
    shares = [f"{share_text(share, 0)} {where}" for share, where in shown if share.group != TRAIN]
    n = integer(last[CLEAN].n) if CLEAN in last else ""
    whose = f"In the last layer of {seen.subject} ({layer}) the nearest training samples"
    if seen.several:
        return f"{whose} agree on {', on '.join(shares)} (n = {n})."
    return f"{whose} are of the same class for {', for '.join(shares)} (n = {n})."
