"""The plots of the ordering's page: the accuracy of D1…DN (Figure 2), its strata, four approaches, the intervals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypedDict

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from assay.tasks.reporting.numerals import integer, interval, percent, plural
from assay.tasks.reporting.parts import LinePlot, Panels, Series
from assay.tasks.statistics.calibration import reliability
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.proportions import wilson

APPROACHES = {
    "pl_all": "PL confidence, all LFs",
    "pl_indep": "PL confidence, panel",
    "ci_all": "Interval bound, all LFs",
    "ours": "Ours: interval bound, panel",
}
"""The four approaches in the order of Table 1, as the page calls them."""

_PLATEAUS = 60


class CurveRow(TypedDict):
    """A row of the `OrderingCurve`."""

    approach: str
    labeler: str
    dataset: int
    size: int
    n: int
    accuracy: float | None
    band_low: float | None
    band_high: float | None
    wilson_low: float | None
    wilson_high: float | None
    tie_free_accuracy: float | None
    stratum_n: int
    stratum_accuracy: float | None


Curves = dict[tuple[str, str], list[CurveRow]]


def curves(curve: pa.Table) -> Curves:
    """The rows of each (approach, labeler), D1 first; approaches and labelers in the order of the table."""
    measured: Curves = {}
    for row in sorted(curve.to_pylist(), key=lambda row: int(row["dataset"])):
        measured.setdefault((row["approach"], row["labeler"]), []).append(row)
    return measured


def accuracy_plot(rows: Sequence[CurveRow], labeler: str) -> LinePlot:
    """Figure 2 for our approach: accuracy of D1…DN with its 90 % band, Wilson's interval and the tie-free curve."""
    places = [float(row["dataset"]) for row in rows]
    accuracy = [row["accuracy"] for row in rows]
    lows, highs = [row["band_low"] for row in rows], [row["band_high"] for row in rows]
    series = [
        Series("accuracy, 90 % band", places, accuracy, lows, highs),
        Series("tie-free", places, [row["tie_free_accuracy"] for row in rows], style="dashed"),
        Series(
            "Wilson 95 %",
            places,
            accuracy,
            [row["wilson_low"] for row in rows],
            [row["wilson_high"] for row in rows],
            style="interval",
        ),
    ]
    first, last = rows[0], rows[-1]
    return LinePlot(
        f"Accuracy of the weak labels on D1 … D{len(rows)} ({labeler})",
        series,
        "data set",
        "accuracy",
        f"Line plot: {_from_to(first, last)}. The band is 90 %, whiskers are Wilson's 95 % intervals.",
        x_ticks=_names(rows),
        scale="percent",
        note=f"Each data set holds the one before it: D1 the easiest {plural(first['size'], 'sample')}, "
        f"D{len(rows)} all {plural(last['size'], 'sample')}.",
    )


def strata_plot(rows: Sequence[CurveRow], labeler: str) -> LinePlot:
    """The accuracy on the samples that each D_i adds: disjoint strata, each with Wilson's interval."""
    hits = [round((row["stratum_accuracy"] or 0.0) * row["stratum_n"]) for row in rows]
    low, high = wilson(hits, [row["stratum_n"] for row in rows])
    measured = [row["stratum_accuracy"] is not None for row in rows]
    series = Series(
        "stratum",
        [float(row["dataset"]) for row in rows],
        [row["stratum_accuracy"] for row in rows],
        [float(value) if known else None for value, known in zip(low, measured, strict=True)],
        [float(value) if known else None for value, known in zip(high, measured, strict=True)],
        style="points",
    )
    sizes = sorted({row["stratum_n"] for row in rows})
    each = f"{sizes[0]}" if len(sizes) == 1 else f"{sizes[0]} to {sizes[-1]}"
    return LinePlot(
        f"Accuracy on what each data set adds ({labeler})",
        [series],
        "the samples that are new in this data set",
        "accuracy",
        f"Points with Wilson's 95 % intervals: accuracy on {len(rows)} disjoint strata of {each} samples, "
        f"{percent(rows[0]['stratum_accuracy'])} on the first and {percent(rows[-1]['stratum_accuracy'])} on the last.",
        x_ticks=_names(rows),
        scale="percent",
        note=f"Disjoint samples, {each} in each; whiskers are Wilson's 95 % intervals.",
    )


def approaches_plot(measured: Mapping[tuple[str, str], Sequence[CurveRow]]) -> Panels:
    """Figure 2 as small multiples: one panel per approach, one line per labeler."""
    plots = []
    for approach, title in APPROACHES.items():
        lines = [(labeler, rows) for (one, labeler), rows in measured.items() if one == approach]
        if lines:
            told = "; ".join(f"{labeler}: {_from_to(rows[0], rows[-1])}" for labeler, rows in lines)
            plots.append(
                LinePlot(
                    title,
                    [_line(labeler, rows) for labeler, rows in lines],
                    "data set",
                    "",
                    f"{title}. {told}.",
                    x_ticks=_names(lines[0][1]),
                    scale="percent",
                )
            )
    note = "The same axes in every panel; bands are 90 %. An order that works falls from left to right."
    return Panels("Four ways to order, compared (Figure 2)", plots, note)


def interval_plot(curated: pa.Table, samples: int) -> LinePlot:
    """The Clopper-Pearson interval along the order of so many samples; a plateau is a group of ties."""
    order = np.argsort(curated.column("rank").to_numpy())
    ranks = curated.column("rank").to_numpy()[order]
    lower, upper = (curated.column(name).to_numpy()[order] for name in ("lower", "upper"))
    changes = (np.diff(lower) != 0) | (np.diff(upper) != 0)
    starts = [0, *(int(place) + 1 for place in np.flatnonzero(changes))]
    shown = starts if len(starts) <= _PLATEAUS else [starts[i * len(starts) // _PLATEAUS] for i in range(_PLATEAUS)]
    shown = shown if shown[-1] == len(order) - 1 else [*shown, len(order) - 1]
    low, high = lower[shown].tolist(), upper[shown].tolist()
    series = Series("lower bound, up to the upper", (ranks[shown] + 1.0).tolist(), low, low, high, style="steps")
    plateaus = int(np.count_nonzero(np.diff(lower))) + 1
    drawn = "" if len(order) == samples else f" (drawn from {integer(len(order))} of them)"
    groups = f"{plural(plateaus, 'plateau')} for {plural(samples, 'sample')}{drawn}"
    return LinePlot(
        "The interval of every sample along the order",
        [series],
        "rank, the easiest sample first",
        "confidence in the weak label",
        f"Staircase, {groups}: the lower bound falls from {percent(low[0])} to {percent(low[-1])}; "
        "the band reaches up to the upper bound.",
        scale="percent",
        y_range=(0.0, 1.0),
        note="The line is the lower bound of the Clopper–Pearson interval, which makes the order. "
        f"{groups}: inside a plateau, samples are tied.",
    )


def calibration_plots(curated: pa.Table, error: Finding | None) -> list[LinePlot]:
    """How often labels of a confidence are right, beside the line on which a confidence would be a chance; none without
    gold."""
    known = curated.filter(pc.is_valid(curated["gold"]))
    if not known.num_rows or error is None:
        return []
    right = pc.equal(known["gold"], known["label"]).to_numpy()
    table = reliability(np.clip(known["confidence"].to_numpy(), 0, 1), right)
    drawn = Series(
        "labels", table.confidence.tolist(), table.right.tolist(), table.low.tolist(), table.high.tolist(), "points"
    )
    chance = Series("a chance", [0.0, 1.0], [0.0, 1.0], style="dashed")
    gap = f"{percent(error.value, 0)} {interval(error.low, error.high, digits=0)}"
    return [
        LinePlot(
            "Is the confidence a chance?",
            [drawn, chance],
            "confidence of the labeler",
            "share that is right",
            f"Points for {len(table.n)} groups of about equally many labels; on average {gap} from the line.",
            scale="percent",
            y_range=(0.0, 1.0),
            note=f"A confidence is a score. On average it is {gap} away from the share that is right (expected "
            "calibration error, equal-mass bins); on the dashed line it would be a chance.",
        )
    ]


def _line(labeler: str, rows: Sequence[CurveRow]) -> Series:
    low, high = [row["band_low"] for row in rows], [row["band_high"] for row in rows]
    return Series(labeler, [float(row["dataset"]) for row in rows], [row["accuracy"] for row in rows], low, high)


def _names(rows: Sequence[CurveRow]) -> dict[float, str] | None:
    return {float(row["dataset"]): f"D{row['dataset']}" for row in rows} if len(rows) <= 12 else None


def _from_to(first: CurveRow, last: CurveRow) -> str:
    return f"accuracy goes from {_at(first)} to {_at(last)}"


def _at(row: CurveRow) -> str:
    bounds = interval(row["wilson_low"], row["wilson_high"])
    return f"{percent(row['accuracy'])} {bounds} on D{row['dataset']} (n = {row['n']})"
