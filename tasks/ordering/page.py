"""What ordering shows in the report: how accuracy falls along D1…DN, how sure that is, and the hardest samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
import pyarrow as pa

from assay.tasks.ordering.page_plots import (
    APPROACHES,
    CurveRow,
    Curves,
    accuracy_plot,
    approaches_plot,
    curves,
    interval_plot,
    strata_plot,
)  # fmt: skip
from assay.tasks.reporting.numerals import coefficient, integer, interval, p_equals, p_value, percent, plural
from assay.tasks.reporting.parts import Block, Cell, Column, DataTable, Mark, Paragraph, Part, Tone, Verdict
from assay.tasks.statistics.findings import Finding, FindingIndex, distinct

_HARDEST = 15
_WORDS: dict[str, tuple[str, Tone]] = {
    "adverse": ("The order is adverse", "good"),
    "violation": ("The order is violated: accuracy rises along it", "bad"),
    "no trend": ("The order shows no trend", "neutral"),
}


def page(
    findings: FindingIndex, curve: pa.Table, curated: pa.Table, classes: Mapping[int, str], *,
    labeler: str = "", samples: int | None = None,
) -> Part:  # fmt: skip
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
    if known and len(measured) > 1:
        blocks += [approaches_plot(measured), _table_one(findings, measured)]
    n = curated.num_rows if samples is None else samples
    if n:
        blocks += [interval_plot(curated, n), _hardest(curated, classes)]
    sentence = _sentence(findings, chosen, rows, n)
    return Part("Adversarial order", sentence, blocks, "ordering", *_judged(findings, chosen))


def verdict(findings: FindingIndex) -> tuple[Verdict, ...]:
    """The line about the order for the terminal and the head of the page; none where nothing was ordered.

    >>> p = Finding("ordering.permutation_p", of="ours", group="majority", value=0.0005, n=569, verdict="adverse")
    >>> rho = Finding("ordering.spearman", of="ours", group="majority", value=-1.0)
    >>> verdict(FindingIndex([p, rho]))[0].text
    'The order is adverse: ρ = −1.000, permutation p < 0.001 (ours, majority, n = 569)'
    """
    test = findings.first("ordering.permutation_p", of="ours")
    if test is None:
        return ()
    if test.value is None:
        return (Verdict("Whether the order is adverse was not measured: no sample has a known true class"),)
    outcome, tone = _outcome(test)
    correlation = _rho(findings, test.group, "ρ = {}", " ({} without ties)")
    correlation = f"{correlation}, " if correlation else ""
    n = f", n = {integer(test.n)}" if test.n is not None else ""
    return (Verdict(f"{outcome}: {correlation}permutation {_p_of(findings, test)} (ours, {test.group}{n})", tone),)


def _outcome(finding: Finding) -> tuple[str, Tone]:
    """The verdict of the permutation test in words; one that Holm's correction took back is no longer a good one."""
    stem, _, lost = finding.verdict.partition(", but ")
    words, tone = _WORDS.get(stem, (f"The order: {finding.verdict}" if finding.verdict else "The order", "neutral"))
    return (f"{words}, but {lost}", "neutral") if lost else (words, tone)


def _judged(findings: FindingIndex, labeler: str) -> tuple[Literal["good", "bad", "neutral", "not measured"], str]:
    """How the part is marked, and in which word."""
    decisive = findings.get("ordering.permutation_p", of="ours", group=labeler)
    if decisive is None:
        return "not measured", ""
    return _outcome(decisive)[1], decisive.verdict


def _sentence(findings: FindingIndex, labeler: str, rows: Sequence[CurveRow], samples: int) -> str:
    decisive = findings.get("ordering.permutation_p", of="ours", group=labeler)
    known = [row for row in rows if row["accuracy"] is not None]
    if decisive is None or not known:
        return f"{plural(samples, 'sample')} are ordered; whether accuracy falls along the order was not measured."
    first, last = known[0], known[-1]
    correlation = _rho(findings, labeler, "ρ is {}", " ({} in expectation over ways to break ties)")
    correlation = f"{correlation}, and " if correlation else ""
    outcome, _ = _outcome(decisive)
    return (
        f"{outcome}. From D{first['dataset']} to D{last['dataset']} the weak labels ({labeler}) go from "
        f"{_accuracy(first)} right to {_accuracy(last)}; {correlation}a random order "
        f"{_chance(findings, decisive)} (permutation test)."
    )


def _rho(findings: FindingIndex, labeler: str, handed_out: str, without_ties: str) -> str:
    """ρ of the order that is handed out, which the permutation test is about, and the tie-free one where it differs."""
    rho, free = (
        findings.get(metric, of="ours", group=labeler) for metric in ("ordering.spearman", "ordering.spearman_tie_free")
    )
    if rho is None:
        return ""
    same = free is None or coefficient(free.value) == coefficient(rho.value)
    beside = "" if same or free is None else without_ties.format(coefficient(free.value))
    return handed_out.format(coefficient(rho.value)) + beside


def _chance(findings: FindingIndex, decisive: Finding) -> str:
    """How often a random order does as much as this one, in the direction that the verdict is about."""
    way = "rises" if decisive.verdict.startswith("violation") else "falls"
    return f"{way} as clearly with {_p_of(findings, decisive)}"


def _p_of(findings: FindingIndex, decisive: Finding) -> str:
    """The p-value in the direction that the verdict is about, with the corrected one that the verdict rests on."""
    rises = findings.entry("ordering.permutation_p_violation", of=decisive.of, group=decisive.group)
    violated = rises is not None and decisive.verdict.startswith("violation")
    return p_equals(rises.value if rises is not None and violated else decisive.value, decisive.p_adjusted)


def _accuracy(row: CurveRow) -> str:
    return f"{percent(row['accuracy'])} {interval(row['wilson_low'], row['wilson_high'])} (n = {integer(row['n'])})"


def _facts(findings: FindingIndex, labeler: str, datasets: int) -> Paragraph:
    """The two facts that the paper's test misses, in plain words."""
    nested, disjoint, free, tie = (
        findings.get(f"ordering.{name}", of="ours", group=labeler)
        for name in ("spearman", "spearman_disjoint", "spearman_tie_free", "largest_tie")
    )
    often = "about one time in seven (14 to 16 %)" if datasets == 10 else "far more often than its p-value claims"
    text = (
        f"Two things to know. First, D1 … D{datasets} share samples, so their accuracies move together, and the "
        f"paper's test{_tested(nested)} calls even a random order valid {often}. The verdict here rests on a "
        "permutation test, which compares ρ with random orders of the same samples; on disjoint strata"
        f"{_tested(disjoint)} the samples are counted once each."
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
        "ρ between i and the accuracy of D_i, in parentheses its p-value by the paper's test; below, the permutation p "
        "and the tie-free ρ. Bold: adverse by the corrected permutation p, underlined: a violation by it. Ours is "
        "corrected (Holm) with the other tests of the run, the approaches beside it with each other. "
        "LF: labelling function."
    )
    return DataTable("Spearman's ρ (Table 1)", columns, rows, note)


def _correlation(findings: FindingIndex, approach: str, labeler: str) -> Cell:
    nested, decisive, free = (
        findings.entry(f"ordering.{name}", of=approach, group=labeler)
        for name in ("spearman", "permutation_p", "spearman_tie_free")
    )
    if nested is None or nested.value is None:
        return None
    below = [f"perm. {_p_of(findings, decisive)}"] if decisive else []
    below += [f"tie-free {coefficient(free.value)}"] if free and free.value is not None else []
    tone = _outcome(decisive)[1] if decisive else "neutral"
    text = f"{coefficient(nested.value)} ({p_value(nested.p_value)})"
    return Mark(text, tone, ", ".join(below), order=nested.value)


def _hardest(curated: pa.Table, classes: Mapping[int, str]) -> DataTable:
    hardest = np.argsort(-curated.column("rank").to_numpy(), kind="stable")[:_HARDEST]
    last = curated.take(hardest).to_pylist()
    rows: list[list[Cell]] = [
        [
            row["rank"] + 1, row["id"], _name(row["label"], classes), _name(row["gold"], classes),
            None if row["gold"] is None else row["gold"] == row["label"],
            row["votes_cast"], row["confidence"], interval(row["lower"], row["upper"]),
        ]
        for row in last
    ]  # fmt: skip
    columns = [
        Column("Rank", "integer"), Column("Sample"), Column("Weak label"), Column("Gold"), Column("Right", "flag"),
        Column("Votes", "integer", "Votes of the panel"),
        Column("Confidence", "percent", "The labeler's, in the weak label"),
        Column("Interval, %", help="Clopper-Pearson interval of the probability that the weak label is right"),
    ]  # fmt: skip
    return DataTable(
        f"The {len(rows)} most adversarial samples", columns, rows, "The last in the order, hardest first."
    )


def _name(code: int | None, classes: Mapping[int, str]) -> str | None:
    return None if code is None else classes.get(code, str(code))
