"""What the tests by shifted windows show beside their table: the error over the offset, the seeds, what it cost."""

from __future__ import annotations

from collections.abc import Sequence

from assay.tasks.reporting.numerals import integer, number, percent
from assay.tasks.reporting.parts import Block, Cell, Column, DataTable, Estimate, LinePlot, Paragraph, Series
from assay.tasks.statistics.findings import Finding

_SETS = {
    "test": "test set", "training": "training samples", "fresh": "fresh samples",
    "dishonest": "copy fitted to the test set",
}  # fmt: skip
_COPY = (
    "The copy fitted to the test set is no subject: it is the subject trained further on the very crops that it is "
    "tested on, to show that the test would have noticed. A subject that was trained on windows all over its images "
    "knows its training samples as well at every offset, so that they cannot show what a fit to exact pixels looks "
    "like; the copy can."
)
_COLUMNS = [
    Column("Subject"), Column("Samples"),
    Column("Turn wrong", "percent", "Right where they are, and wrong at some offset"),
    Column("Forward passes", "number", "Per image; the whole lattice would cost as many as the last column says"),
    Column("Whole lattice", "integer"),
]  # fmt: skip


def window_blocks(findings: Sequence[Finding]) -> list[Block]:
    """Plots, tables and words on the tests by shifted windows; nothing where there were none."""
    mine = [one for one in findings if one.metric.startswith("overfitting.")]
    curves = [one for one in mine if one.metric == "overfitting.error_by_offset"]
    subjects = list(dict.fromkeys(one.subject for one in curves))
    blocks: list[Block] = []
    for subject in subjects:
        blocks.append(_curve([one for one in curves if one.subject == subject], subject))
        blocks += _seeds(mine, subject)
    if any(one.of == "dishonest" for one in curves):
        blocks.append(Paragraph(_COPY))
    if subjects:
        blocks += [_cost(mine), _densities(mine)]
    return blocks


def _curve(curves: Sequence[Finding], subject: str) -> LinePlot:
    """The error over the offset, one line per set of samples."""
    series = []
    for role in dict.fromkeys(one.of for one in curves):
        line = [one for one in curves if one.of == role]
        offsets = [_offset(one) for one in line]
        series.append(
            Series(_SETS[role], offsets, [one.value for one in line], [one.low for one in line],
                   [one.high for one in line],
                   "dashed" if role == "dishonest" else "line")
        )  # fmt: skip
    reach = max(_offset(one) for one in curves)
    told = "; ".join(_told(curves, role) for role in dict.fromkeys(one.of for one in curves))
    return LinePlot(
        f"How wrong {subject} is when its window moves", series, "pixels that the window is moved by, at most", "error",
        f"Error of {subject} over the offset: {told}.", scale="percent",
        x_ticks={step: str(int(step)) for step in range(int(reach) + 1)},
        note="A subject that knows the test set by its pixels is better at offset 0 than next to it; one that was only "
        "tuned to centred objects is so too, on fresh samples as well. Bands are 95 % intervals over samples.",
    )  # fmt: skip


def _told(curves: Sequence[Finding], role: str) -> str:
    line = sorted((one for one in curves if one.of == role), key=_offset)
    return f"{_SETS[role]} {percent(line[0].value)} where it is, {percent(line[-1].value)} at {int(_offset(line[-1]))}"


def _offset(one: Finding) -> float:
    return float(one.group.removeprefix("offset="))


def _seeds(findings: Sequence[Finding], subject: str) -> list[Block]:
    """Each seed's p against its error on the test set."""
    errors = {
        one.group: one.value for one in findings if one.metric == "overfitting.seed_error" and one.subject == subject
    }
    if not errors:
        return []
    p_values = [one for one in findings if one.metric == "overfitting.seed_p_value" and one.subject == subject]
    series = [
        Series(
            generator, [errors[one.group] or 0.0 for one in p_values if one.of == generator],
            [one.value for one in p_values if one.of == generator], style="points",
        )
        for generator in dict.fromkeys(one.of for one in p_values)
    ]  # fmt: skip
    lowest = min((one.value for one in p_values if one.value is not None), default=None)
    return [
        LinePlot(
            f"p of each seed of {subject} against its error on the test set", series, "error on the test set", "p",
            f"{len(errors)} seeds; the smallest p is {number(lowest)}.", y_range=(0.0, 1.0),
            note="Were the best seeds those that fit the test set, small p would lie on the left. The N-model test in "
            "the table averages over the seeds.",
        )
    ]  # fmt: skip


def _cost(findings: Sequence[Finding]) -> DataTable:
    rows: list[list[Cell]] = []
    by_key = {(one.metric, one.subject, one.of): one for one in findings}
    for one in findings:
        if one.metric != "overfitting.passes" or one.value is None:
            continue
        lost = by_key["overfitting.attackable", one.subject, one.of]
        whole = "".join(letter for letter in one.verdict if letter.isdigit())
        rows.append([
            one.subject, _SETS[one.of], Estimate(lost.value or 0.0, lost.low, lost.high, lost.n),
            Estimate(one.value, one.low, one.high, one.n), int(whole),
        ])  # fmt: skip
    note = (
        "A robust image is looked at on the inner box of offsets only; the density of one that turns wrong needs more."
    )
    return DataTable("What moving the window did, and what it cost", _COLUMNS, rows, note)


def _densities(findings: Sequence[Finding]) -> DataTable:
    rows: list[list[Cell]] = [
        [one.subject, one.of, "wrong already" if one.group == "original" else "made wrong",
         Estimate(one.value, one.low, one.high, one.n) if one.value is not None else None]
        for one in findings if one.metric == "overfitting.density"
    ]  # fmt: skip
    total = integer(len(rows))
    note = "h = 1/(1 + n), n being the number of images that the generator would move to the same one."
    columns = [Column("Subject"), Column("Generator"), Column("Samples"), Column("Mean density h", "number")]
    return DataTable("Densities", columns, rows, f"{note} {total} means over the test set.", collapsed=True)
