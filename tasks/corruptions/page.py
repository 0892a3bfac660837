"""What corruptions show in the report: how often answers flip along a sequence, beside which subject, images, and the
headlines that are followed over the nights.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import pyarrow as pa

from assay.data.images import Pixels, pixels_of, png
from assay.tasks.corruptions.medmnist_c import MISSING
from assay.tasks.corruptions.table import PRESETS, in_order
from assay.tasks.corruptions.tallies import ALL, CLEAN, MEAN, severity_group
from assay.tasks.reporting.estimates import About, class_text, column, columns_over, series_of, share_text, table_of
from assay.tasks.reporting.numerals import integer, plural
from assay.tasks.reporting.parts import Block, DataTable, Gallery, LinePlot, Panels, Part, Picture, SeriesStyle, Strip
from assay.tasks.reporting.report import Headline, headline_of
from assay.tasks.statistics.findings import Finding, FindingIndex, lowest, slice_of
from assay.tasks.statistics.metrics import metrics_of


class CorruptionFindings:
    """The findings about corruptions, as the page asks for them; the first subject is the reference."""

    def __init__(self, findings: FindingIndex) -> None:
        self.all = findings
        compared = findings.distinct("subject", "corruption.relative_flip_probability")
        subjects, tried = (findings.distinct(field, "corruption") for field in ("subject", "of"))
        self.subjects = sorted(subjects, key=lambda name: (name in compared, "+" in name, name))
        self.perturbations = in_order(set(tried) - {MEAN, ""})
        severities = {finding.slice.severity for finding in findings.select("corruption")}
        self.severities = [severity for severity in range(1, 6) if severity in severities]

    def get(self, metric: str, subject: str, of: str, severity: int | None) -> Finding | None:
        """The finding, if it has a value; no severity stands for all of them together."""
        return self.all.get(f"corruption.{metric}", subject, of, ALL if severity is None else severity_group(severity))


def name_of(perturbation: str) -> str:
    """A perturbation as the page calls it.

    >>> name_of("gaussian-noise"), name_of("dermamnist/jpeg")
    ('Gaussian noise', 'Jpeg (dermamnist)')
    """
    data_set, _, word = perturbation.rpartition("/")
    return word.replace("-", " ").capitalize() + (f" ({data_set})" if data_set else "")


_BESIDE = tuple(
    f"corruption.{name}"
    for name in ("relative_flip_probability", "error", "relative_error", "balanced_error", "relative_balanced_error")
)


def beside_table(corruptions: CorruptionFindings) -> list[DataTable]:
    """Mean flips and errors as multiples of the reference's; none where none was measured."""
    (reference, *others), findings = corruptions.subjects, corruptions.all
    means = (About(subject, MEAN, ALL) for subject in others)
    rows = [row for row in means if any(findings.get(metric, *row) for metric in _BESIDE)]
    shown = [metric for metric in _BESIDE if any(findings.get(metric, *row) for row in rows)]
    note = (
        f"Divided by those of {reference}: flips; wrong answers at full strength (mCE; each class counting the same, "
        "bmCE); and of these the ones beyond clean images. The mean is of the ratios, each perturbation counting "
        f"the same, without those for which {reference} has none to divide by. Below 1 is better than {reference}."
    )
    columns = [column("Subject", "subject"), *columns_over(metrics_of("corruption"), *shown)]
    return [table_of(f"Beside {reference}", rows, columns, note, findings=findings)] if rows else []


_SHOWN = 3  # the severity of the pictures, where it was tried


_OF_IMAGENET_C = (
    "These are 14 of the 15 perturbations of ImageNet-C's mCE. Frost is not among them, since its photographs are not "
    "ours to ship: beside a published mCE, which is over severities 1 to 5, take frost out of that first."
)


def page(findings: FindingIndex, images: pa.Table | None = None) -> Part:
    """The part of the report about corruptions, from the findings `corruption.*` and the `CorruptedImages`."""
    corruptions = CorruptionFindings(findings)
    blocks: list[Block] = []
    if corruptions.severities:
        blocks += map(partial(_panels, corruptions), _DRAWN)
    if len(corruptions.subjects) > 1:
        blocks += beside_table(corruptions)
    if images is not None and images.num_rows:
        blocks += _galleries(images, corruptions.severities)
    originals = [subject for subject in corruptions.subjects if "+" not in subject] or corruptions.subjects
    sentences = [_sentence(corruptions, subject) for subject in originals]
    tried = (name for name, words in PRESETS.items() if {*words} == {*corruptions.perturbations})
    sentences += [_OF_IMAGENET_C if name == "imagenet-c" else _of_medmnist(name) for name in tried]
    return Part("Corruptions", " ".join(filter(None, sentences)) or "Nothing was corrupted.", blocks, "corruptions")


def _of_medmnist(preset: str) -> str:
    """That all that was tried is a data set's of MedMNIST-C, and what is missing of it."""
    name, words = preset.partition("/")[2], PRESETS[preset]
    missing = f", but for {MISSING[name]}, which are not ours to ship" if name in MISSING else ""
    which = f"the {len(words) + (name in MISSING)} corruptions of MedMNIST-C's {name}{missing}"
    return f"These are {which}; a published bmCE is over severities 1 to 5."


def _sentence(corruptions: CorruptionFindings, subject: str) -> str:
    mean = corruptions.get("flip_probability", subject, MEAN, None)
    if mean is None:
        return ""
    worst, least = (
        corruptions.all.get(f"corruption.worst_{metric}", subject) for metric in ("flip_probability", "accuracy")
    )
    classes = class_text("corruption", corruptions.all, About(subject, MEAN, ALL))
    often = "" if worst is None else f", most often under {_where(worst)}: {share_text(worst, 2)}"
    left = "" if least is None else f" The least that it has right is {share_text(least, 2)}, under {_where(least)}."
    left += f" On average, of {classes}." if classes else ""
    return (
        f"{subject} changes its answer in {share_text(mean, 2)} of the comparisons between frames "
        f"({plural(len(corruptions.perturbations), 'perturbation')}, n = {integer(mean.n)} images){often}.{left}"
    )


def _where(worst: Finding) -> str:
    """Which cell the worst is, as its verdict names it."""
    cell = slice_of(worst.verdict)
    return f"{name_of(cell.name).lower()}, severity {cell.severity}"


def _plot(corruptions: CorruptionFindings, metric: str, of: str, title: str, alt: str) -> LinePlot:
    places = [float(severity) for severity in corruptions.severities]
    points = {
        subject: [corruptions.get(metric, subject, of, severity) for severity in corruptions.severities]
        for subject in corruptions.subjects
    }
    style: SeriesStyle = "line" if len(places) > 1 else "points"
    lines = [series_of(subject, places, shares, style) for subject, shares in points.items()]
    ticks = {float(severity): str(severity) for severity in corruptions.severities}
    return LinePlot(title, lines, "severity", _DRAWN[metric][0].lower(), alt, x_ticks=ticks, scale="percent")


_DRAWN = {
    "flip_probability": (
        "Flip probability",
        "How often the answer changes from one frame to the next (for the noises: from the clean frame to a noisy "
        "one). Intervals are 95 %, and count the frames of one image as going together, and the images of one group; "
        "that of the worst cell, in the sentence, allows for its having been named after looking at all. 0 is also "
        "what a subject has that always says the same: look at its accuracy.",
    ),
    "accuracy": (
        "Accuracy",
        "On the frames at a severity's full strength: all draws of a noise, the end of a ramp, a sweep's ends.",
    ),
}
"""What is drawn over severity for every perturbation: its name, and a note."""


def _panels(corruptions: CorruptionFindings, metric: str) -> Panels:
    """A plot per perturbation, behind that of their mean where there are several."""
    title, note = _DRAWN[metric]
    several = [MEAN] if len(corruptions.perturbations) > 1 else []
    plots = [
        _plot(corruptions, metric, name, name_of(name), f"{title} over severity under {name_of(name).lower()}.")
        for name in (*several, *corruptions.perturbations)
    ]
    whole = corruptions.get(metric, corruptions.subjects[0], MEAN, None)
    n = f"n = {integer(whole.n)} images." if whole else "No image has a known class."
    return Panels(f"{title} over severity, per perturbation", plots, f"{note} {n}")


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
        if CLEAN in seen
    ]


def _strips(sample: str, seen: dict[str, Pixels], severity: int) -> list[Strip]:
    """The clean image and up to three perturbations beside it, so that pictures are large enough to compare."""
    clean = Picture(png(seen[CLEAN]), CLEAN, f"The clean image of {sample}")
    shown = [
        Picture(png(seen[name]), name_of(name), f"{sample} under {name_of(name).lower()} at severity {severity}")
        for name in in_order(seen.keys() - {CLEAN})
    ]
    rows = [shown[at : at + 3] for at in range(0, len(shown), 3)]
    titles = (", ".join(picture.name for picture in row) for row in rows)
    return [
        Strip(title, [clean, *row], "" if row is not rows[0] else sample)
        for title, row in zip(titles, rows, strict=True)
    ]


def followed(findings: FindingIndex) -> Iterator[Headline]:
    """Per subject the mean flip probability, and the lowest accuracy under one perturbation."""
    for subject in findings.distinct("subject", "corruption"):
        flips = findings.get("corruption.flip_probability", subject, MEAN, ALL)
        yield from headline_of(metrics_of("corruption"), flips, subject)
        left = findings.select("corruption.accuracy", subject=subject, group=ALL)
        worst = lowest(accuracy for accuracy in left if accuracy.of != MEAN)
        yield from headline_of(metrics_of("corruption"), worst, subject)
