"""What the tests by shifted windows show beside their table: the error over the offset, the seeds, what it cost."""

from __future__ import annotations

from collections.abc import Sequence

from assay.tasks.reporting.estimates import estimate, series_of
from assay.tasks.reporting.numerals import integer, number, percent
from assay.tasks.reporting.parts import Block, Cell, Column, DataTable, LinePlot, Paragraph, Series
from assay.tasks.statistics.findings import Finding, FindingIndex, distinct, lowest, measured

_CURVE = "overfitting.error_by_offset"
_SETS = {
    "test": "test set",
    "training": "training samples",
    "fresh": "fresh samples",
    "dishonest": "copy fitted to the test set",
}
_COPY = (
    "The copy fitted to the test set is no subject: it is the subject trained further on the very crops that it is "
    "tested on, to show that the test would have noticed. A subject that was trained on windows all over its images "
    "knows its training samples as well at every offset, so that they cannot show what a fit to exact pixels looks "
    "like; the copy can."
)
_COLUMNS = [
    Column("Subject"),
    Column("Samples"),
    Column("Turn wrong", "percent", "Right where they are, and wrong at some offset"),
    Column("Forward passes", "number", "Per image; the whole lattice would cost as many as the last column says"),
    Column("Whole lattice", "integer"),
]


def window_blocks(findings: FindingIndex) -> list[Block]:
    """Plots, tables and words on the tests by shifted windows; nothing where there were none."""
    subjects = findings.distinct("subject", _CURVE)
    blocks: list[Block] = []
    for subject in subjects:
        blocks += [_curve(findings.select(_CURVE, subject=subject), subject), *_seeds(findings, subject)]
    if findings.select(_CURVE, of="dishonest"):
        blocks.append(Paragraph(_COPY))
    if subjects:
        blocks += [_cost(findings), _densities(findings)]
    return blocks


def _curve(errors: Sequence[Finding], subject: str) -> LinePlot:
    """The error over the offset, one line per set of samples."""
    lines = {role: [error for error in errors if error.of == role] for role in distinct(one.of for one in errors)}
    series = [
        series_of(_SETS[role], list(map(_offset, line)), line, "dashed" if role == "dishonest" else "line")
        for role, line in lines.items()
    ]
    reach = max(map(_offset, errors))
    alt = "; ".join(_endpoints(role, line) for role, line in lines.items())
    return LinePlot(
        f"How wrong {subject} is when its window moves",
        series,
        "pixels that the window is moved by, at most",
        "error",
        f"Error of {subject} over the offset: {alt}.",
        scale="percent",
        x_ticks={step: str(int(step)) for step in range(int(reach) + 1)},
        note="A subject that knows the test set by its pixels is better at offset 0 than next to it; one that was only "
        "tuned to centred objects is so too, on fresh samples as well. Bands are 95 % intervals over samples.",
    )


def _endpoints(role: str, line: Sequence[Finding]) -> str:
    first, last = min(line, key=_offset), max(line, key=_offset)
    return f"{_SETS[role]} {percent(first.value)} where it is, {percent(last.value)} at {last.slice.offset}"


def _offset(error: Finding) -> float:
    return float(error.slice.offset or 0)


def _seeds(findings: FindingIndex, subject: str) -> list[Block]:
    """Each seed's p against its error on the test set."""
    errors = {error.group: error.value for error in findings.select("overfitting.seed_error", subject=subject)}
    if not errors:
        return []
    p_values = findings.select("overfitting.seed_p_value", subject=subject)
    series = [
        Series(
            generator,
            [errors[p.group] or 0.0 for p in p_values if p.of == generator],
            [p.value for p in p_values if p.of == generator],
            style="points",
        )
        for generator in distinct(p.of for p in p_values)
    ]
    least = lowest(p_values)
    p_least = number(least.value if least is not None else None)
    return [
        LinePlot(
            f"p of each seed of {subject} against its error on the test set",
            series,
            "error on the test set",
            "p",
            f"{len(errors)} seeds; the smallest p is {p_least}.",
            y_range=(0.0, 1.0),
            note="Were the best seeds those that fit the test set, small p would lie on the left. The N-model test in "
            "the table averages over the seeds.",
        )
    ]


def _cost(findings: FindingIndex) -> DataTable:
    rows: list[list[Cell]] = []
    for passes in measured(findings.select("overfitting.passes")):
        attackable = findings.first("overfitting.attackable", subject=passes.subject, of=passes.of)
        whole = "".join(letter for letter in passes.verdict if letter.isdigit())
        rows.append([passes.subject, _SETS[passes.of], estimate(attackable), estimate(passes), int(whole)])
    note = (
        "A robust image is looked at on the inner box of offsets only; the density of one that turns wrong needs more."
    )
    return DataTable("What moving the window did, and what it cost", _COLUMNS, rows, note)


def _densities(findings: FindingIndex) -> DataTable:
    rows: list[list[Cell]] = [
        [mean.subject, mean.of, "wrong already" if mean.group == "original" else "made wrong", estimate(mean)]
        for mean in findings.select("overfitting.density")
    ]
    total = integer(len(rows))
    note = "h = 1/(1 + n), n being the number of images that the generator would move to the same one."
    columns = [Column("Subject"), Column("Generator"), Column("Samples"), Column("Mean density h", "number")]
    return DataTable("Densities", columns, rows, f"{note} {total} means over the test set.", collapsed=True)
