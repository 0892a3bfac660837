"""What ordering shows in the report: how accuracy falls along D1…DN (Figure 2), how sure that is, the other
approaches, and the hardest samples.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from toolz import groupby

from assay.tasks.reporting.estimates import answer_tone, seen_text, series_of, share_estimate, share_text
from assay.tasks.reporting.numerals import coefficient, integer, interval, p_concluded, p_equals, percent, plural
from assay.tasks.reporting.parts import (
    Block,
    LinePlot,
    Mark,
    NamedSample,
    Panels,
    Paragraph,
    Part,
    SampleList,
    Series,
    Tone,
)
from assay.tasks.statistics.findings import Finding, FindingIndex
from assay.tasks.statistics.multiplicity import level_needed
from assay.tasks.statistics.order_test import INTERVAL

APPROACHES = {
    "pl_all": "PL confidence, all LFs",
    "pl_indep": "PL confidence, panel",
    "ci_all": "Interval bound, all LFs",
}
"""The approaches that ours is compared with, in the order of Table 1, as the page calls them."""

_PLATEAUS = 60


CurveRow = Mapping[str, Any]
"""A row of the `OrderingCurve`."""
Curves = dict[tuple[str, str], list[CurveRow]]


def curves(curve: pa.Table) -> Curves:
    """The rows of each (approach, labeler), D1 first; approaches and labelers in the order of the table."""
    return dict(groupby(["approach", "labeler"], sorted(curve.to_pylist(), key=lambda row: int(row["dataset"]))))


def accuracy_plot(rows: Sequence[CurveRow], labeler: str) -> LinePlot:
    """Figure 2 for our approach: accuracy of D1…DN with its 90 % band, the tie-free curve, and the accuracy on what
    each data set adds: disjoint strata, with Wilson's intervals."""
    places = [float(row["dataset"]) for row in rows]
    hits = [round((row["stratum_accuracy"] or 0.0) * row["stratum_n"]) for row in rows]
    strata = [share_estimate(right, row["stratum_n"]) for right, row in zip(hits, rows, strict=True)]
    series = [
        _line("accuracy, 90 % band", rows),
        Series("tie-free", places, [row["tie_free_accuracy"] for row in rows], style="dashed"),
        series_of("on what it adds", places, strata, "points"),
    ]
    first, last = rows[0], rows[-1]
    return LinePlot(
        f"Accuracy of the weak labels on D1 … D{len(rows)} ({labeler})",
        series,
        "data set",
        "accuracy",
        f"Line plot: {_from_to(first, last)}. The band is 90 %; points are disjoint samples, with Wilson's 95 % "
        "intervals.",
        x_ticks=_names(rows),
        scale="percent",
        note=f"Each data set holds the one before it: D1 the easiest {plural(first['size'], 'sample')}, "
        f"D{len(rows)} all {plural(last['size'], 'sample')}. Points are the samples that are new in each, whiskers "
        "Wilson's 95 % intervals.",
    )


def approaches_plot(findings: FindingIndex, measured: Curves, labeler: str) -> list[Block]:
    """Figure 2's other approaches as small multiples, one line per labeler, and how each ranks right above wrong labels
    beside ours; none where only ours was measured."""
    plots, ranked = [], []
    for approach, title in APPROACHES.items():
        lines = [(name, rows) for (other, name), rows in measured.items() if other == approach]
        if lines:
            alt = "; ".join(f"{name}: {_from_to(rows[0], rows[-1])}" for name, rows in lines)
            drawn = [_line(name, rows) for name, rows in lines]
            ticks = _names(lines[0][1])
            plots.append(LinePlot(title, drawn, "data set", "", f"{title}. {alt}.", x_ticks=ticks, scale="percent"))
            ranked += _ranked(findings, approach, labeler)
    note = "The same axes in every panel; bands are 90 %. An order that works falls from left to right."
    rank = f" A right label of {labeler} outranks a wrong one, by {'; by '.join(ranked)}." if ranked else ""
    return [Panels("Other ways to order, compared (Figure 2)", plots, note + rank)] if plots else []


def _ranked(findings: FindingIndex, approach: str, labeler: str) -> list[str]:
    """How often an approach ranks a right label above a wrong one, how much more often than our order does (paired,
    DeLong), and what its own test shows."""
    area, gain, test = (
        findings.get(f"ordering.{name}", of=approach, group=labeler) for name in ("auc", "auc_gain", "trend_p")
    )
    if area is None:
        return []
    more = ""
    if gain is not None:
        plus = "+" if (gain.value or 0.0) > 0 else ""
        points = f"{plus}{percent(gain.value, 0, sign=False)} points {interval(gain.low, gain.high, digits=0)}"
        more = f", {points} against ours"
    shown = f" ({p_concluded(test.p_value, test.p_adjusted)})" if test is not None else ""
    return [f"{APPROACHES[approach]}, {share_text(area, 0)} of the time{more}{shown}"]


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
        note="The line is the lower bound of the Clopper–Pearson interval, or the score, which makes the order. "
        f"{groups}: inside a plateau, samples are tied.",
    )


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


_HARDEST, _UNVOTED = 10, 5  # samples that are shown
_WORDS: dict[str, tuple[str, Tone]] = {
    "adverse": ("The rules' labels get worse along the order", "good"),
    "violation": ("The rules' labels get better along the order, not worse", "bad"),
}
_NOT_SHOWN = "That the rules' labels get worse along the order is not shown"


def page(findings: FindingIndex, curve: pa.Table, curated: pa.Table, classes: Mapping[int, str], samples: int) -> Part:
    """The part of the report about the order, from the `OrderingCurve`, the findings and the `CuratedSets`.

    The headline is about the first labeler of the curve, whose order `curated` is. `samples` is how many were ordered:
    of a long order `curated` is a sketch.
    """
    measured = curves(curve)
    labeler = next((name for approach, name in measured if approach == "ours"), "")
    rows = measured.get(("ours", labeler), [])
    blocks: list[Block] = []
    if any(row["accuracy"] is not None for row in rows):
        blocks += [accuracy_plot(rows, labeler), _facts(findings, labeler, len(rows))]
        blocks += _calibration(findings, labeler)
        blocks += [*approaches_plot(findings, measured, labeler), *_recommended(findings, labeler)]
    elif samples:
        blocks.append(interval_plot(curated, samples))
    hardest, unvoted = (_named(rows, classes) for rows in hardest_of(curated))
    if hardest:
        blocks.append(SampleList(f"The {len(hardest)} most adversarial samples", hardest, _HARDEST_NOTE))
    if unvoted:
        blocks.append(SampleList(f"{plural(len(unvoted), 'sample')} that no rule voted on", unvoted, _UNVOTED_NOTE))
    sentence = _sentence(findings, labeler, samples)
    return Part("Adversarial order", sentence, blocks, "ordering", *_judged(findings, labeler), samples=hardest)


def _outcome(test: Finding) -> tuple[str, Tone]:
    """What is concluded of the order, in words: shown, shown the other way round, or not shown."""
    return _WORDS.get(test.verdict, (_NOT_SHOWN, "neutral"))


def _judged(findings: FindingIndex, labeler: str) -> tuple[Literal["good", "bad", "neutral", "not measured"], str]:
    """How the part is marked, and in which word."""
    test = findings.get("ordering.trend_p", of="ours", group=labeler)
    return ("not measured", "") if test is None else (_outcome(test)[1], test.verdict.partition(":")[0])


def _sentence(findings: FindingIndex, labeler: str, samples: int) -> str:
    test = findings.entry("ordering.trend_p", of="ours", group=labeler)
    if test is None or test.value is None:
        _, colon, why = ("", "", "") if test is None else test.verdict.partition(": ")
        return (
            f"{plural(samples, 'sample')} are ordered; whether the rules' labels get worse along the order was not "
            f"measured{colon}{why}."
        )
    outcome, _ = _outcome(test)
    first, last = (findings.get(f"ordering.{end}_tenth", of="ours", group=labeler) for end in ("first", "last"))
    ends = ""  # how many labels are right at both ends, which share no sample
    if first is not None and last is not None:
        ends = f"{percent(first.value, 0)} right in the first tenth, {percent(last.value, 0)} in the last"
    return (
        f"{outcome}{': ' if ends else ''}{ends}; {_effect(findings, test)} by true labels "
        f"({labeler}, n = {integer(test.n)}).{_apart(findings, labeler)}"
    )


def _effect(findings: FindingIndex, test: Finding) -> str:
    """How often a right label outranks a wrong one, and how sure that is; where nothing is shown, which of test and
    interval did not show it, and what could have been seen."""
    area, seen = (findings.get(f"ordering.{name}", of=test.of, group=test.group) for name in ("auc", "auc_seen_from"))
    often = "" if area is None else f"a right label outranks a wrong one {share_text(area, 0)} of the time "
    if test.verdict in _WORDS:
        return f"{often}({p_concluded(test.p_value, test.p_adjusted)})"
    of_interval = test.verdict.endswith(INTERVAL)
    level = level_needed(test.verdict)
    plain = p_concluded(test.p_value, test.p_adjusted) + (f", level {level}" if level else "")
    return f"{often}({f'the {INTERVAL}' if of_interval else plain}{seen_text(seen)})"


def _apart(findings: FindingIndex, labeler: str) -> str:
    """What is said of the samples for which no class wins: they stand beside the test."""
    undecided = findings.get("ordering.accuracy_undecided", of="ours", group=labeler)
    if undecided is None:
        return ""
    return (
        f" {plural(undecided.n or 0, 'sample')} on which no class wins have the default label and stand apart from "
        f"this test: {share_text(undecided, 0)} of them are right."
    )


def _facts(findings: FindingIndex, labeler: str, datasets: int) -> Paragraph:
    """What ρ along nested sets cannot say, in plain words."""
    nested, disjoint, free, tie = (
        findings.get(f"ordering.{name}", of="ours", group=labeler)
        for name in ("spearman", "spearman_disjoint", "spearman_tie_free", "largest_tie")
    )
    often = "about one time in seven (14 to 16 %)" if datasets == 10 else "far more often than its p-value claims"
    text = (
        f"Two things to know. First, D1 … D{datasets} share samples, so their accuracies move together, and the "
        f"paper's test{_tested(nested)} calls even a random order valid {often}; on disjoint strata{_tested(disjoint)} "
        "the samples are counted once each. Both describe; what is concluded here rests on every sample: whether right "
        "labels have higher scores than wrong ones, more clearly than scores dealt at random to the patterns of votes."
    )
    if tie is None or tie.value is None:
        return Paragraph(text)
    share = f" of {integer(tie.n)}" if tie.n is not None else ""
    text += " Second, many samples have exactly the same interval: the largest group of ties holds "
    text += f"{integer(round(tie.value))}{share}."
    if free is not None:
        ranges = "" if free.low is None else f"[{coefficient(free.low)}, {coefficient(free.high)}]"
        text += f" How ties are broken moves ρ{f' within {ranges}' if ranges else ''}; "
        text += f"the tie-free ρ averages over all ways to break them: {coefficient(free.value)}."
    return Paragraph(text)


def _calibration(findings: FindingIndex, labeler: str) -> list[Paragraph]:
    """How far the confidence is from the share that is right; nothing without gold."""
    error, by_chance = (findings.get(f"weak_labels.{name}", group=labeler) for name in ("ece", "ece_by_chance"))
    if error is None:
        return []
    usual = "" if by_chance is None else f": {percent(by_chance.value)} of a calibrated score here"
    return [
        Paragraph(
            f"The confidence of {labeler} is a score. On average it is {share_text(error, 0)} away from the share that "
            f"is right (expected calibration error, equal-mass bins, without what chance adds{usual}); at 0 % it would "
            "be a chance."
        )
    ]


def _recommended(findings: FindingIndex, labeler: str) -> list[Paragraph]:
    """The other score that would order best, where it is shown to; nothing where no other was looked at."""
    gains = [gain for gain in findings.select("ordering.by_gain", group=labeler) if gain.value is not None]
    if not gains:
        return []
    best = max(gains, key=lambda gain: (gain.verdict == "better", gain.value))
    shown = "orders better" if best.verdict == "better" else "comes closest, and is not shown to order better"
    names = ", ".join(gain.of for gain in gains)
    taken = f" ordering: {{by: {best.of}}} takes it." if best.verdict == "better" else ""
    return [
        Paragraph(
            f"Of {plural(len(gains), 'other score')} ({names}) {best.of} {shown}: by it a "
            f"right label outranks a wrong one {percent(best.value, 0, sign=False)} points "
            f"{interval(best.low, best.high, digits=0)} more often (paired; the intervals of all hold together).{taken}"
        )
    ]


def _tested(finding: Finding | None) -> str:
    if finding is None or finding.value is None:
        return ""
    return f" (ρ = {coefficient(finding.value)}, {p_equals(finding.p_value)})"


_HARDEST_NOTE = "The last in the order of those that rules voted on, the hardest first, with what each rule says."
_UNVOTED_NOTE = "Their label is the default one: nobody says anything of them, which is not the same as disagreeing."


def hardest_of(curated: pa.Table) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The rows of the hardest samples that rules voted on, and of those that no rule did, the last in the order first.
    Where all have one bound none is hardest.

    >>> order = {"id": ["a", "b", "c"], "rank": [0, 1, 2], "votes_cast": [3, 2, 0], "lower": [0.9, 0.8, 0.0]}
    >>> [[row["id"] for row in rows] for rows in hardest_of(pa.table(order))]
    [['b', 'a'], ['c']]
    """
    voted, unvoted = (curated.filter(test(curated["votes_cast"], 0)) for test in (pc.greater, pc.equal))
    voted, unvoted = (rows.sort_by([("rank", "descending")]).slice(0, _HARDEST) for rows in (voted, unvoted))
    hardest = voted.to_pylist() if len(curated["lower"].unique()) > 1 else []
    return hardest, unvoted.slice(0, _UNVOTED).to_pylist()


def _named(rows: Sequence[Mapping[str, Any]], classes: Mapping[int, str]) -> list[NamedSample]:
    """The samples of these rows, with their label, whether it is right, and the interval."""
    named = []
    for row in rows:
        label, gold = _name(row["label"], classes), _name(row["gold"], classes)
        right = answer_tone(label, gold)
        answer = f"labelled {label}{f', in truth {gold}' if right == 'bad' else ''}"
        low, high = row["lower"], row["upper"]
        ends = f"{percent(low, 0)} to {percent(high, 0)} of votes won" if low < high else f"score {percent(low, 0)}"
        bounds = f"confidence {percent(row['confidence'], 0)} · {ends}"
        named.append(NamedSample(row["id"], answer, marks=[Mark(answer, right), Mark(bounds)]))
    return named


def _name(code: int | None, classes: Mapping[int, str]) -> str | None:
    return None if code is None else classes.get(code, str(code))
