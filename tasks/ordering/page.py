"""What ordering shows in the report: how accuracy falls along D1…DN, how sure that is, and the hardest samples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import numpy as np
import pyarrow as pa

from assay.tasks.ordering.page_plots import (
    APPROACHES,
    Curves,
    accuracy_plot,
    approaches_plot,
    calibration_plots,
    curves,
    interval_plot,
    strata_plot,
)
from assay.tasks.reporting.numerals import (
    coefficient,
    integer,
    interval,
    p_concluded,
    p_equals,
    p_value,
    percent,
    plural,
)
from assay.tasks.reporting.parts import Block, Cell, Column, DataTable, Mark, Paragraph, Part, Tone, Verdict
from assay.tasks.reporting.sentences import share_text
from assay.tasks.statistics.findings import Finding, FindingIndex, distinct

_HARDEST = 15
_WORDS: dict[str, tuple[str, Tone]] = {
    "adverse": ("The rules' labels get worse along the order", "good"),
    "violation": ("The rules' labels get better along the order, not worse", "bad"),
}
_NOT_SHOWN = "That the rules' labels get worse along the order is not shown"
_UNMEASURED = "Whether the rules' labels get worse along the order was not measured"


def page(
    findings: FindingIndex,
    curve: pa.Table,
    curated: pa.Table,
    classes: Mapping[int, str],
    *,
    labeler: str = "",
    samples: int | None = None,
) -> Part:
    """The part of the report about the order, from the `OrderingCurve`, the findings and the `CuratedSets`.

    `labeler` says whose order is in the headline (and in `curated`); left out, it is the first one of the curve.
    `samples` is how many were ordered, where `curated` is a sketch of a long order.
    """
    measured = curves(curve)
    chosen = labeler or next((name for approach, name in measured if approach == "ours"), "")
    rows = measured.get(("ours", chosen), [])
    known = any(row["accuracy"] is not None for row in rows)
    blocks: list[Block] = []
    if known:
        blocks += [accuracy_plot(rows, chosen), _facts(findings, chosen, len(rows)), strata_plot(rows, chosen)]
        blocks += calibration_plots(curated, findings.get("weak_labels.ece", group=chosen))
    if known and len(measured) > 1:
        blocks += [approaches_plot(measured), _table_one(findings, measured)]
    n = curated.num_rows if samples is None else samples
    if n:
        blocks += [interval_plot(curated, n), _hardest(curated, classes)]
    sentence = _sentence(findings, chosen, n)
    return Part("Adversarial order", sentence, blocks, "ordering", *_judged(findings, chosen))


def verdict(findings: FindingIndex) -> tuple[Verdict, ...]:
    """The line about the order for the terminal and the head of the page; none where nothing was ordered.

    >>> about = {"of": "ours", "group": "majority"}
    >>> p = Finding("ordering.trend_p", **about, value=0.0005, p_value=0.0005, n=569, verdict="adverse")
    >>> area = Finding("ordering.auc", **about, value=0.66, low=0.6, high=0.72)
    >>> print(verdict(FindingIndex([p, area]))[0].text.partition(" (")[2].replace(chr(0x202F), " "))
    a right label outranks a wrong one 66 % [60, 72] of the time, p < 0.001)
    """
    test = findings.first("ordering.trend_p", of="ours")
    if test is None:
        return ()
    if test.value is None:
        return (Verdict(_unmeasured(test)),)
    outcome, tone = _outcome(test)
    ends = _ends(findings, test.group)
    return (Verdict(f"{outcome}{': ' if ends else ''}{ends} ({_effect(findings, test, ', ')})", tone),)


def _outcome(test: Finding) -> tuple[str, Tone]:
    """What is concluded of the order, in words: shown, shown the other way round, or not shown."""
    return _WORDS.get(test.verdict, (_NOT_SHOWN, "neutral"))


def _unmeasured(test: Finding) -> str:
    _, _, why = test.verdict.partition(": ")
    return f"{_UNMEASURED}: {why}" if why else _UNMEASURED


def _judged(findings: FindingIndex, labeler: str) -> tuple[Literal["good", "bad", "neutral", "not measured"], str]:
    """How the part is marked, and in which word."""
    test = findings.get("ordering.trend_p", of="ours", group=labeler)
    return ("not measured", "") if test is None else (_outcome(test)[1], test.verdict.partition(":")[0])


def _sentence(findings: FindingIndex, labeler: str, samples: int) -> str:
    test = findings.entry("ordering.trend_p", of="ours", group=labeler)
    if test is None or test.value is None:
        why = "" if test is None else _unmeasured(test).removeprefix(_UNMEASURED)
        return (
            f"{plural(samples, 'sample')} are ordered; whether the rules' labels get worse along the order was not "
            f"measured{why}."
        )
    outcome, _ = _outcome(test)
    ends = _ends(findings, labeler)
    return (
        f"{outcome}{': ' if ends else ''}{ends}; {_effect(findings, test, ' (')}) by true labels "
        f"({labeler}, n = {integer(test.n)}).{_apart(findings, labeler)}"
    )


def _ends(findings: FindingIndex, labeler: str) -> str:
    """How many labels are right at both ends: the first and the last tenth, which share no sample."""
    first, last = (findings.get(f"ordering.{end}_tenth", of="ours", group=labeler) for end in ("first", "last"))
    if first is None or last is None:
        return ""
    return f"{percent(first.value, 0)} right in the first tenth, {percent(last.value, 0)} in the last"


def _effect(findings: FindingIndex, test: Finding, before_p: str) -> str:
    """How often a right label outranks a wrong one, and how sure that is; what was needed, where nothing is shown."""
    area = findings.get("ordering.auc", of=test.of, group=test.group)
    often = "" if area is None else f"a right label outranks a wrong one {share_text(area, 0)} of the time{before_p}"
    _, _, needed = test.verdict.partition(": ")
    return f"{often}{p_concluded(test.p_value, test.p_adjusted)}{f'; {needed}' if needed else ''}"


def _apart(findings: FindingIndex, labeler: str) -> str:
    """What is said of the samples for which no class wins: they stand beside the test."""
    undecided = findings.get("ordering.accuracy_undecided", of="ours", group=labeler)
    if undecided is None:
        return ""
    return (
        f" {plural(undecided.n or 0, 'sample')} on which no class wins have the default label and stand apart from "
        f"this test: {share_text(undecided, 0)} of them are right."
    )


def _p_of(test: Finding) -> str:
    return p_equals(test.p_value, test.p_adjusted)


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
        "labels have higher bounds than wrong ones, samples that are alike counted together."
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


def _tested(finding: Finding | None) -> str:
    if finding is None or finding.value is None:
        return ""
    return f" (ρ = {coefficient(finding.value)}, {p_equals(finding.p_value)})"


def _table_one(findings: FindingIndex, measured: Curves) -> DataTable:
    """Table 1's layout: ρ (p) per labeler and approach, with the permutation p and the tie-free ρ below."""
    labelers = distinct(labeler for _, labeler in measured)
    approaches = [approach for approach in APPROACHES if any(approach == one for one, _ in measured)]
    rows: list[list[Cell]] = [
        [labeler, *(_correlation(findings, approach, labeler) for approach in approaches)] for labeler in labelers
    ]
    columns = [Column("Labeler"), *(Column(APPROACHES[approach]) for approach in approaches)]
    note = (
        "ρ between i and the accuracy of D_i, in parentheses its p-value by the paper's test: a description. Below, "
        "how often a right label outranks a wrong one, how much more often than in our order (paired, DeLong), and the "
        "p of the order. Bold: labels get worse by the corrected p, underlined: they get better by it. Ours is "
        "corrected (Holm) with the other tests of the run, the approaches beside it with each other. "
        "LF: labelling function."
    )
    return DataTable("The orders compared (Table 1)", columns, rows, note)


def _correlation(findings: FindingIndex, approach: str, labeler: str) -> Cell:
    nested, test, area, gain = (
        findings.get(f"ordering.{name}", of=approach, group=labeler)
        for name in ("spearman", "trend_p", "auc", "auc_gain")
    )
    if nested is None:
        return None
    below = [f"AUC {share_text(area, 0)}"] if area else []
    below += [_gain(gain)] if gain else []
    below += [_p_of(test)] if test else []
    tone = _outcome(test)[1] if test else "neutral"
    text = f"{coefficient(nested.value)} ({p_value(nested.p_value)})"
    return Mark(text, tone, ", ".join(below), order=nested.value)


def _gain(gain: Finding) -> str:
    """How many points more often than in our order a right label outranks a wrong one."""
    return f"{percent(gain.value, 0, sign=False)} points {interval(gain.low, gain.high, digits=0)}"


def _hardest(curated: pa.Table, classes: Mapping[int, str]) -> DataTable:
    hardest = np.argsort(-curated.column("rank").to_numpy(), kind="stable")[:_HARDEST]
    last = curated.take(hardest).to_pylist()
    rows: list[list[Cell]] = [
        [
            row["rank"] + 1,
            row["id"],
            _name(row["label"], classes),
            _name(row["gold"], classes),
            None if row["gold"] is None else row["gold"] == row["label"],
            row["votes_cast"],
            row["confidence"],
            interval(row["lower"], row["upper"]),
        ]
        for row in last
    ]
    columns = [
        Column("Rank", "integer"),
        Column("Sample"),
        Column("Weak label"),
        Column("Gold"),
        Column("Right", "flag"),
        Column("Votes", "integer", "Votes of the panel"),
        Column("Confidence", "percent", "The labeler's score, not a chance"),
        Column("Interval, %", help="Clopper-Pearson interval of the confidence, from the votes"),
    ]
    return DataTable(
        f"The {len(rows)} most adversarial samples", columns, rows, "The last in the order, hardest first."
    )


def _name(code: int | None, classes: Mapping[int, str]) -> str | None:
    return None if code is None else classes.get(code, str(code))
