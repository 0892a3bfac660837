"""What corruptions show in the report: how often answers flip along a sequence, beside which subject, and images."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from assay.data.images import Pixels, pixels_of, png
from assay.tasks.corruptions.findings import ALL, MEAN, severity_group
from assay.tasks.corruptions.table import CATEGORIES, in_order
from assay.tasks.reporting.numerals import integer, interval, percent, plural
from assay.tasks.reporting.parts import (
    Block,
    Cell,
    Column,
    DataTable,
    Estimate,
    Gallery,
    LinePlot,
    Mark,
    Panels,
    Part,
    Picture,
    Series,
    Strip,
    Verdict,
)
from assay.tasks.statistics.findings import Finding

_NAMED = 3
_SHOWN = 3  # the severity of the pictures, where it was tried
_STRIPS = (
    ("noise", ("gaussian-noise", "shot-noise", "speckle-noise")),
    ("blur", ("gaussian-blur", "motion-blur", "zoom-blur")),
    ("weather and light", ("snow", "spatter", "brightness")),
    ("the camera moved", ("translate", "rotate", "tilt")),
    ("shape and size", ("scale", "shear")),
)
_EXPLAINED = (
    "How often the answer changes from one frame to the next (for the noises: from the clean frame to a noisy one). "
    "Intervals are 95 %, and count the frames of one image as going together. 0 is also what a subject has that "
    "always says the same: look at its accuracy."
)


@dataclass(frozen=True)
class _Found:
    """The findings about corruptions, looked up by what they are about; the first subject is the reference."""

    cells: dict[tuple[str, str, str, str], Finding]
    subjects: list[str]
    perturbations: list[str]
    severities: list[int]

    @classmethod
    def of(cls, findings: Sequence[Finding]) -> _Found:
        mine = [one for one in findings if one.stage == "corruption"]
        cells = {(one.metric.partition(".")[2], one.subject, one.of, one.group): one for one in mine}
        tried = {one.of for one in mine}
        groups = {one.group for one in mine}
        compared = {one.subject for one in mine if one.metric == "corruption.relative_flip_probability"}
        return cls(
            cells,
            sorted({one.subject for one in mine}, key=lambda subject: (subject in compared, subject)),
            list(in_order(tried)),
            [severity for severity in range(1, 6) if severity_group(severity) in groups],
        )

    def get(self, metric: str, subject: str, of: str, severity: int | None) -> Finding | None:
        """The finding, if it has a value; no severity stands for all of them together."""
        group = ALL if severity is None else severity_group(severity)
        found = self.cells.get((metric, subject, of, group))
        return None if found is None or found.value is None else found


def page(findings: Sequence[Finding], images: pa.Table | None = None) -> Part:
    """The part of the report about corruptions, from the findings `corruption.*` and the `CorruptedImages`."""
    found = _Found.of(findings)
    blocks: list[Block] = []
    if len(found.severities) > 1:
        blocks += [_mean_plot(found), _panels(found)]
    blocks += [_table(found, "flip_probability", subject) for subject in found.subjects]
    if len(found.subjects) > 1:
        blocks.append(_relative_table(found))
    blocks += [_table(found, "accuracy", subject) for subject in found.subjects]
    if images is not None and images.num_rows:
        blocks += _galleries(images, found.severities)
    sentences = [_sentence(found, subject) for subject in found.subjects]
    return Part("Corruptions", " ".join(filter(None, sentences)) or "Nothing was corrupted.", blocks, "corruptions")


def verdict(findings: Sequence[Finding]) -> Verdict | None:
    """The line about corruptions for the terminal and the head of the page; None where nothing was corrupted.

    >>> flips = Finding("corruption.flip_probability", "mean", "all", "plain", 0.036, 0.03, 0.042, 450)
    >>> verdict([flips]).text.replace(chr(0x202F), " ")
    'Under corruptions answers flip from frame to frame: plain 3.60 % [3.00, 4.20]'
    >>> right = Finding("corruption.accuracy", "translate", "severity=3", "plain", 0.555, 0.49, 0.62, 450)
    >>> verdict([flips, right]).text.replace(chr(0x202F), " ").partition("; ")[2]
    'the least that is right: plain 56 % [49, 62] (translate, severity 3)'
    """
    found = _Found.of(findings)
    means = [one for subject in found.subjects if (one := found.get("flip_probability", subject, MEAN, None))]
    if not means:
        return None
    rest = len(means) - _NAMED
    more = f"; {plural(rest, 'more subject')} below" if rest > 0 else ""
    told = ", ".join(f"{one.subject} {_with_interval(one)}" for one in means[:_NAMED])
    worst = [
        f"{one.subject} {percent(one.value, 0)} {interval(one.low, one.high, digits=0)} ({_where(one)})"
        for mean in means[:_NAMED] if (one := _least_right(found, mean.subject)) is not None
    ]  # fmt: skip
    left = f"; the least that is right: {', '.join(worst)}" if worst else ""
    return Verdict(f"Under corruptions answers flip from frame to frame: {told}{left}{more}")


def name_of(perturbation: str) -> str:
    """A perturbation as the page calls it.

    >>> name_of("gaussian-noise"), name_of("tilt")
    ('Gaussian noise', 'Tilt')
    """
    return perturbation.replace("-", " ").capitalize()


def _sentence(found: _Found, subject: str) -> str:
    mean = found.get("flip_probability", subject, MEAN, None)
    if mean is None:
        return ""
    tried = [
        one
        for name in found.perturbations
        for severity in found.severities
        if (one := found.get("flip_probability", subject, name, severity))
    ]
    worst = max(tried, key=lambda one: one.value or 0.0)
    least = _least_right(found, subject)
    left = "" if least is None else f" The least that it has right is {_with_interval(least)}, under {_where(least)}."
    return (
        f"{subject} changes its answer in {_with_interval(mean)} of the comparisons between frames "
        f"({plural(len(found.perturbations), 'perturbation')}, n = {integer(mean.n)} images), most often under "
        f"{name_of(worst.of).lower()} at severity {worst.group.partition('=')[2]}: {_with_interval(worst)}.{left}"
    )


def _least_right(found: _Found, subject: str) -> Finding | None:
    """The lowest accuracy under one perturbation at one severity."""
    tried = [
        one
        for name in found.perturbations
        for severity in found.severities
        if (one := found.get("accuracy", subject, name, severity))
    ]
    return min(tried, key=lambda one: one.value or 0.0, default=None)


def _where(one: Finding) -> str:
    return f"{name_of(one.of).lower()}, severity {one.group.partition('=')[2]}"


def _with_interval(one: Finding) -> str:
    return f"{percent(one.value, 2)} {interval(one.low, one.high, digits=2)}"


def _series(found: _Found, subject: str, of: str) -> Series:
    points = [found.get("flip_probability", subject, of, severity) for severity in found.severities]
    value, low, high = ([getattr(one, end, None) for one in points] for end in ("value", "low", "high"))
    return Series(subject, [float(severity) for severity in found.severities], value, low, high)


def _plot(found: _Found, of: str, title: str, alt: str) -> LinePlot:
    return LinePlot(
        title, [_series(found, subject, of) for subject in found.subjects], "severity", "flip probability", alt,
        x_ticks={float(severity): str(severity) for severity in found.severities}, scale="percent",
    )  # fmt: skip


def _mean_plot(found: _Found) -> LinePlot:
    ends = [
        f"{subject} from {percent(first.value)} to {percent(last.value)}"
        for subject in found.subjects
        if (first := found.get("flip_probability", subject, MEAN, found.severities[0]))
        and (last := found.get("flip_probability", subject, MEAN, found.severities[-1]))
    ]
    severities = f"from severity {found.severities[0]} to {found.severities[-1]}"
    alt = f"Line plot: the mean flip probability goes {severities}: {'; '.join(ends)}."
    mean = f"Mean over {plural(len(found.perturbations), 'perturbation')}"
    plot = _plot(found, MEAN, f"Flip probability over severity: {mean.lower()}", alt)
    return LinePlot(**(vars(plot) | {"note": _EXPLAINED}))


def _panels(found: _Found) -> Panels:
    plots = [
        _plot(found, name, name_of(name), f"Flip probability over severity under {name_of(name).lower()}, per subject.")
        for name in found.perturbations
    ]
    return Panels("Flip probability over severity, per perturbation", plots, "The same axes everywhere.")


def _table(found: _Found, metric: str, subject: str) -> DataTable:
    """A row per perturbation, a column per severity: flip probability, or accuracy at full strength."""
    columns = [
        Column("Perturbation"), Column("Category"),
        *(Column(f"Severity {severity}", "number") for severity in found.severities), Column("All", "number"),
    ]  # fmt: skip
    rows: list[list[Cell]] = [
        [
            "Mean" if name == MEAN else name_of(name),
            CATEGORIES.get(name, ""),
            *(_estimate(found.get(metric, subject, name, severity)) for severity in (*found.severities, None)),
        ]
        for name in (*found.perturbations, MEAN)
    ]
    whole = found.get(metric, subject, MEAN, None)
    n = f"n = {integer(whole.n)} images." if whole else "No image has a known class."
    if metric == "accuracy":
        note = "On the frames at a severity's full strength: all draws of a noise, the end of a ramp, a sweep's ends."
        folded = len(found.subjects) > _NAMED
        return DataTable(f"Accuracy under corruption, %: {subject}", columns, rows, f"{note} {n}", collapsed=folded)
    folded = len(found.subjects) > _NAMED
    return DataTable(f"Flip probability, %: {subject}", columns, rows, f"{_EXPLAINED} {n}", collapsed=folded)


def _relative_table(found: _Found) -> DataTable:
    """Flip probability as a multiple of the reference's, over all severities."""
    reference, *others = found.subjects
    rows: list[list[Cell]] = [
        [
            "Mean" if name == MEAN else name_of(name),
            *(_ratio(found.get("relative_flip_probability", subject, name, None)) for subject in others),
        ]
        for name in (MEAN, *found.perturbations)
    ]
    note = (
        f"Flip probability divided by that of {reference}, over all severities, with its 95 % interval. Below 1 "
        f"flips less than {reference}, above 1 more. A dash: {reference} never flips. Among so many cells some "
        "intervals leave 1 out by chance alone, so no cell is marked."
    )
    columns = [Column("Perturbation"), *(Column(subject) for subject in others)]
    return DataTable(f"Relative flip probability, beside {reference}", columns, rows, note)


def _estimate(one: Finding | None) -> Cell:
    """In per cent, with the decimals that small shares need."""
    if one is None or one.value is None or one.low is None or one.high is None:
        return None
    return Estimate(100 * one.value, 100 * one.low, 100 * one.high)


def _ratio(one: Finding | None) -> Cell:
    if one is None or one.value is None:
        return None
    return Mark(f"{one.value:.2f}", "neutral", interval(one.low, one.high, "number"), order=one.value)


def _galleries(images: pa.Table, severities: Sequence[int]) -> list[Block]:
    """A gallery per kept image: every perturbation at one severity, beside the clean image."""
    severity = _SHOWN if _SHOWN in severities or not severities else severities[-1]
    pictures: dict[str, dict[str, Pixels]] = {}
    for row, pixels in zip(images.to_pylist(), pixels_of(images), strict=True):
        if row["severity"] in (0, severity):
            pictures.setdefault(row["id"], {})[row["perturbation"]] = pixels
    note = (
        f"As the subjects saw it at the full strength of severity {severity}; of what goes both ways, its end. What is "
        "drawn was drawn for this image, the same in every run with this seed."
    )
    return [
        Gallery(f"{sample} under every perturbation", _strips(sample, seen, severity), note)
        for sample, seen in pictures.items()
        if "clean" in seen
    ]


def _strips(sample: str, seen: dict[str, Pixels], severity: int) -> list[Strip]:
    """The clean image and up to three perturbations beside it, so that pictures are large enough to compare."""
    clean = Picture(png(seen["clean"]), "clean", f"The clean image of {sample}")
    strips = []
    for title, names in _STRIPS:
        shown = [
            Picture(png(seen[name]), name_of(name), f"{sample} under {name_of(name).lower()} at severity {severity}")
            for name in names
            if name in seen
        ]
        if shown:
            strips.append(Strip(title, [clean, *shown]))
    return strips
