"""The plots of the trust page: trust per class, confidence and trust, ROC of confidence, other thresholds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from assay.tasks.reporting.estimates import series_of
from assay.tasks.reporting.numerals import number, percent, plural
from assay.tasks.reporting.parts import BarPlot, Block, Cell, Column, DataTable, LinePlot, Panels, Series
from assay.tasks.statistics.auc import roc_points
from assay.tasks.statistics.findings import FindingIndex, measured
from assay.tasks.statistics.proportions import wilson
from assay.tasks.trust.page_findings import ORACLES, Explained, TrustFindings

BINS = (0.0, 0.3, 0.5, 0.7, 0.8, 0.9, 1.0)
"""The bins of Figure 6."""

_MOVED = {
    "theta_dist": ("θ dist", "Clusters cut at"),
    "theta_relate": ("θ relate", "Added to each θ relate"),
    "vote": ("Vote", "Votes needed, more than"),
}


def shares_plot(trust: TrustFindings, subject: str, explainer: str, classes: Sequence[str]) -> BarPlot:
    """The share of untrustworthy predictions per class with its interval."""
    shares = measured(trust.get("untrustworthy", subject, explainer, name) for name in classes)
    alt = "; ".join(f"{share.group} {percent(share.value)}" for share in shares)
    return BarPlot(
        f"Right for the wrong reasons, {subject}, {explainer}",
        [share.group for share in shares],
        [share.value for share in shares],
        "Untrustworthy, of the right predictions",
        f"Untrustworthy per class: {alt}.",
        [share.low for share in shares],
        [share.high for share in shares],
        "Whiskers are 95 % intervals (Wilson).",
        "percent",
    )


def confidence_blocks(explained: Explained) -> list[Block]:
    """Confidence against trust (Figure 6): counts per bin, and the share of untrustworthy predictions in it."""
    labelled, truths = explained.labelled("toki"), explained.truths
    kinds = {"by the oracle": [(row["confidence"], row["label"]) for row in labelled]}
    if truths:
        kinds["in truth"] = [(row["confidence"], truths[row["id"]]) for row in labelled if row["id"] in truths]
    columns = [Column("Confidence")] + [
        Column(f"{label.capitalize()}, {kind}", "integer")
        for kind in kinds
        for label in ("trustworthy", "untrustworthy")
    ]
    rows: list[list[Cell]] = []
    for low, high in _bins(explained):
        row: list[Cell] = [f"{low:g} to {high:g}"]
        for pairs in kinds.values():
            inside = [label for score, label in pairs if _within(score, low, high)]
            row += [inside.count("trustworthy"), inside.count("untrustworthy")]
        rows.append(row)
    title = f"Confidence and trust, {explained.subject}, {explained.explainer}"
    series = [
        _share_series(explained, f"untrustworthy {kind}", pairs, aside=0.006 * place)
        for place, (kind, pairs) in enumerate(kinds.items())
    ]
    drawn = [one for one in series if one.x]
    if not drawn:
        return []
    plot = LinePlot(
        title,
        drawn,
        "Confidence of the subject in its prediction",
        "Untrustworthy",
        _confidence_alt(drawn),
        (0.0, 1.0),
        note="Per bin of Figure 6 of the paper; whiskers are 95 % intervals (Wilson).",
        scale="percent",
    )
    return [plot, DataTable("How many predictions of each confidence", columns, rows, collapsed=True)]


def roc_plot(trust: TrustFindings, explained: Explained) -> list[Block]:
    """ROC of the subject's confidence as a sign of trust (Figure 7), with TOKI as a point; by the oracle's labels where
    the truth is not known."""
    rows = [row for row in explained.labelled("naive") if row["id"] in explained.truths]
    if explained.truths:
        scored = [(row["confidence"], explained.truths[row["id"]] == "trustworthy") for row in rows]
    else:
        scored = [
            (row["confidence"], row["label"] == "trustworthy")
            for row in explained.labelled("toki")
            if row["label"] != "undecided"
        ]
    if len({positive for _, positive in scored}) < 2:
        return []
    roc = roc_points([score for score, _ in scored], [positive for _, positive in scored])
    series = [
        Series("Naive", roc.false_positive_rate.tolist(), roc.true_positive_rate.tolist()),
        Series("guessing", [0.0, 1.0], [0.0, 1.0], style="dashed"),
    ]
    sensitivity = trust.value("sensitivity", explained.subject, "toki", explained.explainer)
    specificity = trust.value("specificity", explained.subject, "toki", explained.explainer)
    if sensitivity is not None and specificity is not None:
        series.append(Series("TOKI", [1 - specificity], [sensitivity], style="points"))
    area = trust.value("confidence_auc", explained.subject, "naive", explained.explainer)
    against = "the true labels" if explained.truths else "TOKI's labels, for the truth is not known"
    alt = f"ROC of confidence against {against}" + (f"; the area under it is {area:.3f}." if area is not None else ".")
    return [
        LinePlot(
            f"Does confidence tell trust? {explained.subject}, {explained.explainer}",
            series,
            "Untrustworthy predictions that are called trustworthy",
            "Trustworthy ones that are",
            alt,
            (0.0, 1.0),
            {place / 5: percent(place / 5, 0) for place in range(6)},
            note=f"Against {against}.",
            scale="percent",
        )
    ]


def strengths_plot(strengths: Mapping[float, FindingIndex], explainer: str) -> list[Block]:
    """G-mean of every oracle over the strength of planted shortcuts, where several were audited."""
    by_strength = {strength: TrustFindings(findings) for strength, findings in strengths.items()}
    series = []
    for oracle, name in ORACLES.items():
        points = {
            strength: g_mean
            for strength, trusted in by_strength.items()
            for subject in trusted.subjects[:1]
            if (g_mean := trusted.get("g_mean", subject, oracle, explainer)) is not None and g_mean.value is not None
        }
        if len(points) > 1:
            series.append(series_of(name, list(points), list(points.values())))
    if not series:
        return []
    alt = "; ".join(f"{one.name} from {number(one.y[0])} to {number(one.y[-1])}" for one in series)
    return [
        LinePlot(
            f"Stronger shortcuts, {explainer}",
            series,
            "Share of training texts in which a shortcut holds",
            "G-mean",
            f"G-mean over the strength of planted shortcuts: {alt}.",
            (0.0, 1.0),
            {strength: percent(strength, 0) for strength in strengths},
            "From this run and the latest run on every other strength. Bands are 95 % intervals.",
        )
    ]


def thresholds_panels(explained: Explained) -> Panels:
    """What the oracle would say with one setting moved and all others as they are."""
    plots = []
    for setting, (name, label) in _MOVED.items():
        rows = sorted(
            (row for row in explained.settings.to_pylist() if row["setting"] == setting),
            key=lambda row: float(row["value"]),
        )
        places = [row["value"] for row in rows]
        shares = {"trustworthy": "trustworthy", "undecided": "undecided"}
        series = [
            Series(label_, places, [row[column] / row["n"] if row["n"] else None for row in rows])
            for column, label_ in shares.items()
        ]
        if any(row["g_mean"] is not None for row in rows):
            series.append(Series("G-mean", places, [row["g_mean"] for row in rows], style="dashed"))
        used = next((row["value"] for row in rows if row["used"]), None)
        alt = f"Shares of trustworthy and undecided predictions for {plural(len(rows), 'value')} of {name}" + (
            f"; {used:g} is used." if used is not None else "."
        )
        plots.append(
            LinePlot(
                f"{name}: {used:g} is used" if used is not None else name,
                series,
                label,
                "Share",
                alt,
                (0.0, 1.0),
                scale="percent",
            )
        )
    note = "One setting is moved, the others stay. " + (
        "G-mean is against the truth."
        if explained.truths
        else "The truth is not known, so no value can be called better."
    )
    return Panels(f"Other thresholds, {explained.subject}, {explained.explainer}", plots, note)


def _share_series(explained: Explained, name: str, pairs: Sequence[tuple[float, str]], aside: float) -> Series:
    x, y, low, high = [], [], [], []
    for start, end in _bins(explained):
        inside = [label for score, label in pairs if _within(score, start, end) and label != "undecided"]
        if inside:
            hits = inside.count("untrustworthy")
            ends = wilson([hits], [len(inside)])
            x.append((start + end) / 2 + aside)
            y.append(hits / len(inside))
            low.append(float(ends.low[0]))
            high.append(float(ends.high[0]))
    return Series(name, x, y, low, high, "points")


def _bins(explained: Explained) -> list[tuple[float, float]]:
    """The bins from the lowest confidence that an argmax over so many classes can have."""
    least = 1 / max(1, len(explained.classes))
    return [(low, high) for low, high in pairwise(BINS) if high > least]


def _within(score: float, low: float, high: float) -> bool:
    return low <= score < high or score == high == BINS[-1]


def _confidence_alt(series: Sequence[Series]) -> str:
    phrases = [
        f"{one.name} from {percent(one.y[0])} of the least to {percent(one.y[-1])} of the most confident predictions"
        for one in series
    ]
    return f"{'; '.join(phrases)}."
