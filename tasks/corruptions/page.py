"""What corruptions show in the report: how often answers flip along a sequence, beside which subject, and images."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa

from assay.data.images import Pixels, pixels_of, png
from assay.tasks.corruptions.page_findings import CorruptionFindings, name_of
from assay.tasks.corruptions.page_tables import BESIDE, EXPLAINED, beside_table, table
from assay.tasks.corruptions.tallies import MEAN
from assay.tasks.reporting.estimates import series_of
from assay.tasks.reporting.numerals import integer, percent, plural
from assay.tasks.reporting.parts import (
    Block,
    Gallery,
    LinePlot,
    Panels,
    Part,
    Picture,
    Series,
    Strip,
    Verdict,
)
from assay.tasks.reporting.sentences import NAMED, more_below, share_text
from assay.tasks.statistics.findings import Finding, FindingIndex
from assay.tasks.statistics.slices import slice_of

_SHOWN = 3  # the severity of the pictures, where it was tried
_STRIPS = (
    ("noise", ("gaussian-noise", "shot-noise", "speckle-noise")),
    ("blur", ("gaussian-blur", "motion-blur", "zoom-blur")),
    ("weather and light", ("snow", "spatter", "brightness")),
    ("the camera moved", ("translate", "rotate", "tilt")),
    ("shape and size", ("scale", "shear")),
)


def page(findings: FindingIndex, images: pa.Table | None = None) -> Part:
    """The part of the report about corruptions, from the findings `corruption.*` and the `CorruptedImages`."""
    corruptions = CorruptionFindings(findings)
    blocks: list[Block] = []
    if len(corruptions.severities) > 1:
        blocks += [_mean_plot(corruptions), _panels(corruptions)]
    blocks += [table(corruptions, "flip_probability", subject) for subject in corruptions.subjects]
    if len(corruptions.subjects) > 1:
        blocks += [compared for divided in BESIDE if (compared := beside_table(corruptions, divided)) is not None]
    blocks += [table(corruptions, "accuracy", subject) for subject in corruptions.subjects]
    if images is not None and images.num_rows:
        blocks += _galleries(images, corruptions.severities)
    sentences = [_sentence(corruptions, subject) for subject in corruptions.subjects]
    return Part("Corruptions", " ".join(filter(None, sentences)) or "Nothing was corrupted.", blocks, "corruptions")


def verdict(findings: FindingIndex) -> tuple[Verdict, ...]:
    """The line about corruptions for the terminal and the head of the page; none where nothing was corrupted.

    >>> flips = Finding("corruption.flip_probability", "mean", "all", "plain", 0.036, 0.03, 0.042, 450)
    >>> verdict(FindingIndex([flips]))[0].text.replace(chr(0x202F), " ")
    'Under corruptions answers flip from frame to frame: plain 3.60 % [3.00, 4.20]'
    >>> named = {"subject": "plain", "n": 450, "verdict": "translate, severity=3"}
    >>> right = Finding("corruption.worst_accuracy", value=0.555, low=0.46, high=0.65, **named)
    >>> verdict(FindingIndex([flips, right]))[0].text.replace(chr(0x202F), " ").partition("; ")[2]
    'the least that is right: plain 56 % [46, 65] (translate, severity 3)'
    """
    corruptions = CorruptionFindings(findings)
    means = [
        flip for subject in corruptions.subjects if (flip := corruptions.get("flip_probability", subject, MEAN, None))
    ]
    if not means:
        return ()
    flips = ", ".join(f"{mean.subject} {share_text(mean, 2)}" for mean in means[:NAMED])
    worst = [
        f"{least.subject} {share_text(least, 0)} ({_where(least)})"
        for mean in means[:NAMED]
        if (least := corruptions.worst("accuracy", mean.subject)) is not None
    ]
    left = f"; the least that is right: {', '.join(worst)}" if worst else ""
    return (Verdict(f"Under corruptions answers flip from frame to frame: {flips}{left}{more_below(len(means))}"),)


def _sentence(corruptions: CorruptionFindings, subject: str) -> str:
    mean = corruptions.get("flip_probability", subject, MEAN, None)
    if mean is None:
        return ""
    worst, least = (corruptions.worst(metric, subject) for metric in ("flip_probability", "accuracy"))
    often = "" if worst is None else f", most often under {_where(worst)}: {share_text(worst, 2)}"
    left = "" if least is None else f" The least that it has right is {share_text(least, 2)}, under {_where(least)}."
    return (
        f"{subject} changes its answer in {share_text(mean, 2)} of the comparisons between frames "
        f"({plural(len(corruptions.perturbations), 'perturbation')}, n = {integer(mean.n)} images){often}.{left}"
    )


def _where(worst: Finding) -> str:
    """Which cell the worst is, as its verdict names it."""
    cell = slice_of(worst.verdict)
    return f"{name_of(cell.name).lower()}, severity {cell.severity}"


def _series(corruptions: CorruptionFindings, subject: str, of: str) -> Series:
    points = [corruptions.get("flip_probability", subject, of, severity) for severity in corruptions.severities]
    return series_of(subject, [float(severity) for severity in corruptions.severities], points)


def _plot(corruptions: CorruptionFindings, of: str, title: str, alt: str) -> LinePlot:
    return LinePlot(
        title,
        [_series(corruptions, subject, of) for subject in corruptions.subjects],
        "severity",
        "flip probability",
        alt,
        x_ticks={float(severity): str(severity) for severity in corruptions.severities},
        scale="percent",
    )


def _mean_plot(corruptions: CorruptionFindings) -> LinePlot:
    ends = [
        f"{subject} from {percent(first.value)} to {percent(last.value)}"
        for subject in corruptions.subjects
        if (first := corruptions.get("flip_probability", subject, MEAN, corruptions.severities[0]))
        and (last := corruptions.get("flip_probability", subject, MEAN, corruptions.severities[-1]))
    ]
    severities = f"from severity {corruptions.severities[0]} to {corruptions.severities[-1]}"
    alt = f"Line plot: the mean flip probability goes {severities}: {'; '.join(ends)}."
    mean = f"Mean over {plural(len(corruptions.perturbations), 'perturbation')}"
    plot = _plot(corruptions, MEAN, f"Flip probability over severity: {mean.lower()}", alt)
    return LinePlot(**(vars(plot) | {"note": EXPLAINED}))


def _panels(corruptions: CorruptionFindings) -> Panels:
    plots = [
        _plot(
            corruptions,
            name,
            name_of(name),
            f"Flip probability over severity under {name_of(name).lower()}, per subject.",
        )
        for name in corruptions.perturbations
    ]
    return Panels("Flip probability over severity, per perturbation", plots, "The same axes everywhere.")


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
