"""The tables about corruptions: every perturbation at every severity, and beside the reference."""

from __future__ import annotations

from typing import NamedTuple

from assay.tasks.corruptions.page_findings import CorruptionFindings, name_of
from assay.tasks.corruptions.table import CATEGORIES
from assay.tasks.corruptions.tallies import MEAN
from assay.tasks.reporting.numerals import integer, interval
from assay.tasks.reporting.parts import Cell, Column, DataTable, Estimate, Mark
from assay.tasks.reporting.sentences import NAMED
from assay.tasks.statistics.findings import Finding

EXPLAINED = (
    "How often the answer changes from one frame to the next (for the noises: from the clean frame to a noisy one). "
    "Intervals are 95 %, and count the frames of one image as going together, and the images of one group; that of the "
    "worst cell, in the sentence, allows for its having been named after looking at all. 0 is also "
    "what a subject has that always says the same: look at its accuracy."
)


def table(corruptions: CorruptionFindings, metric: str, subject: str) -> DataTable:
    """A row per perturbation, a column per severity: flip probability, or accuracy at full strength."""
    columns = [
        Column("Perturbation"),
        Column("Category"),
        *(Column(f"Severity {severity}", "number") for severity in corruptions.severities),
        Column("All", "number"),
    ]
    rows: list[list[Cell]] = [
        [
            "Mean" if name == MEAN else name_of(name),
            CATEGORIES.get(name, ""),
            *(
                _in_percent(corruptions.get(metric, subject, name, severity))
                for severity in (*corruptions.severities, None)
            ),
        ]
        for name in (*corruptions.perturbations, MEAN)
    ]
    folded = len(corruptions.subjects) > NAMED
    whole = corruptions.get(metric, subject, MEAN, None)
    n = f"n = {integer(whole.n)} images." if whole else "No image has a known class."
    if metric == "accuracy":
        note = "On the frames at a severity's full strength: all draws of a noise, the end of a ramp, a sweep's ends."
        return DataTable(f"Accuracy under corruption, %: {subject}", columns, rows, f"{note} {n}", collapsed=folded)
    return DataTable(f"Flip probability, %: {subject}", columns, rows, f"{EXPLAINED} {n}", collapsed=folded)


class Divided(NamedTuple):
    """A measure that is divided by the reference's: its metric, what its table is called, and what it is."""

    metric: str
    title: str
    about: str
    nothing: str
    """What a dash means, of the reference."""


BESIDE = (
    Divided(
        "relative_flip_probability",
        "Relative flip probability",
        "Flip probability divided by that of {}, over all severities",
        "never flips",
    ),
    Divided(
        "error",
        "Corruption error",
        "Wrong answers at full strength, added over severities, divided by those of {} (CE; the mean is mCE)",
        "is never wrong",
    ),
    Divided(
        "relative_error",
        "Relative corruption error",
        "The same of the wrong answers beyond those on clean images: what corruption adds, divided by what it "
        "adds for {} (the mean is relative mCE)",
        "loses nothing",
    ),
)


def beside_table(corruptions: CorruptionFindings, divided: Divided) -> DataTable | None:
    """A measure as a multiple of the reference's, over all severities; None where none of it was measured."""
    reference, *others = corruptions.subjects
    cells = {
        name: [corruptions.get(divided.metric, subject, name, None) for subject in others]
        for name in (MEAN, *corruptions.perturbations)
    }
    if not any(any(row) for row in cells.values()):
        return None
    rows: list[list[Cell]] = [
        ["Mean" if name == MEAN else name_of(name), *map(_ratio, row)] for name, row in cells.items()
    ]
    note = (
        f"{divided.about.format(reference)}, with its 95 % interval; the mean is of the ratios, each perturbation "
        f"counting the same. Below 1 is better than {reference}, above 1 worse. A dash, which the mean leaves out: "
        f"{reference} {divided.nothing}. Among so many cells some intervals leave 1 out by chance alone, so no cell is "
        "marked."
    )
    return DataTable(f"{divided.title}, beside {reference}", [Column("Perturbation"), *map(Column, others)], rows, note)


def _in_percent(share: Finding | None) -> Cell:
    """With the decimals that small shares need."""
    if share is None or share.value is None or share.low is None or share.high is None:
        return None
    return Estimate(100 * share.value, 100 * share.low, 100 * share.high)


def _ratio(ratio: Finding | None) -> Cell:
    if ratio is None or ratio.value is None:
        return None
    return Mark(f"{ratio.value:.2f}", "neutral", interval(ratio.low, ratio.high, "number"), order=ratio.value)
