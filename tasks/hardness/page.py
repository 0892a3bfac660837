"""The page of hardness: which measures find the same samples hard, which rank true errors, and whom to look at."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from assay.tasks.hardness.measures import CONFIDENCE, MARGIN, measure_named
from assay.tasks.hardness.page_samples import HardSample, sample_blocks
from assay.tasks.reporting.estimates import estimate
from assay.tasks.reporting.numerals import coefficient, integer, p_concluded, plural
from assay.tasks.reporting.parts import (
    Block,
    Cell,
    Column,
    DataTable,
    LinePlot,
    Panels,
    Paragraph,
    Part,
    Series,
    Verdict,
)
from assay.tasks.reporting.sentences import capital
from assay.tasks.statistics.findings import Finding, FindingIndex

_SHOWN = {"together": "tend to be the same samples", "opposite": "tend to be opposite samples"}
_OF_ONE_ANSWER = {CONFIDENCE, MARGIN}
_PANELS = 9  # pairs of a subject that are drawn
_HOW = (
    "Each measure ranks the samples from the easiest to the hardest. The rank correlation of two is 1 where they agree "
    "on every sample, 0 where they have nothing to do with each other. Two measures of one margin agree for nothing, "
    "so the same is asked among samples of about one confidence. Tests count samples that are alike together, and are "
    "corrected (Holm) over all pairs."
)


def page(findings: FindingIndex, pairs: pa.Table, samples: Sequence[HardSample], masked: bool) -> Part:
    """The part of the report about hardness."""
    blocks: list[Block] = [Paragraph(_HOW), *_pair_tables(findings), *_panels(findings, pairs)]
    blocks += [*_areas(findings), *sample_blocks(samples, masked)]
    if findings.select("hardness.hardest") and not samples:
        blocks.append(Paragraph("No sample is among the hardest by every measure, or none was to be shown."))
    shown = _main_sentence(findings)
    sentence = shown[0] if shown else "Too few measures speak of the same samples to be related."
    return Part("Hardness", sentence, blocks, "hardness", "neutral" if _related(findings) else "not measured", "")


def verdict(findings: FindingIndex) -> Iterator[Verdict]:
    """Whether hardness is shared; nothing where no pair was measured."""
    for sentence in _main_sentence(findings)[:1]:
        yield Verdict(sentence)


def _related(findings: FindingIndex) -> list[Finding]:
    return [one for one in findings.select("hardness.association") if one.value is not None]


def _main_sentence(findings: FindingIndex) -> list[str]:
    """The sentence, of the pair that tells most: two audits that agree beyond the confidence, else at all; only then a
    measure that is itself read off the subject's probabilities."""
    related = _related(findings)
    if not related:
        return []
    by_size = sorted(related, key=lambda one: -abs(one.value or 0.0))
    apart = [one for one in by_size if not _OF_ONE_ANSWER & {one.of, one.group}]
    beyond = [one for one in apart if _partial(findings, one, shown=True) is not None]
    pairs = [one for one in by_size if {one.of, one.group} != _OF_ONE_ANSWER]
    at_all = [one for one in (*apart, *pairs) if _concluded(findings, one)]
    if beyond or at_all:
        return [_agreement(findings, (beyond or at_all)[0])]
    largest = (apart or pairs or by_size)[0]
    names = f"{measure_named(largest.of).short} and {measure_named(largest.group).short}"
    return [
        f"Of {plural(len(related), 'pair')} of measures, none is shown to find the same samples hard, "
        f"corrected for their number; the largest rank correlation is {_value(largest)} ({names}, n = {_n(largest)})."
    ]


def _agreement(findings: FindingIndex, pair: Finding) -> str:
    """One pair in words: as far as it was shown, and what is left of it among samples of one confidence."""
    first, second = measure_named(pair.of).words, measure_named(pair.group).words
    whose = f"Subject {pair.subject}: " if pair.subject else ""
    concluded, partial = _concluded(findings, pair), _partial(findings, pair)
    how = _SHOWN.get(concluded, "are not shown to be the same samples")
    correlation = f"rank correlation {_value(pair)} ({_p(findings, pair)}, n = {_n(pair)})"
    sentence = capital(f"{whose}{first} and {second} {how}: {correlation}")
    if partial is None:
        return f"{sentence}."
    shown = "" if _partial(findings, pair, shown=True) is not None else ", where none is shown"
    return f"{sentence}; {_value(partial)} among samples of one confidence{shown} ({_p(findings, partial)})."


def _concluded(findings: FindingIndex, pair: Finding) -> str:
    """`together` or `opposite` where the corrected test shows it; else nothing."""
    test = findings.get(f"{pair.metric}_p", pair.subject, pair.of, pair.group)
    return test.verdict if test is not None and test.verdict in _SHOWN else ""


def _partial(findings: FindingIndex, pair: Finding, shown: bool = False) -> Finding | None:
    """What is left of a pair among samples of one confidence; with `shown`, only where its test shows it."""
    partial = findings.get("hardness.partial", pair.subject, pair.of, pair.group)
    return None if partial is None or (shown and not _concluded(findings, partial)) else partial


def _value(finding: Finding) -> str:
    ends = "" if finding.low is None else f" [{coefficient(finding.low, 2)}, {coefficient(finding.high, 2)}]"
    return f"{coefficient(finding.value, 2)}{ends}"


def _p(findings: FindingIndex, pair: Finding) -> str:
    test = findings.get(f"{pair.metric}_p", pair.subject, pair.of, pair.group)
    return "not tested" if test is None else p_concluded(test.p_value, test.p_adjusted)


def _n(finding: Finding) -> str:
    return integer(finding.n)


def _pair_tables(findings: FindingIndex) -> Iterator[DataTable]:
    columns = [
        Column("Pair"),
        Column("Subject"),
        Column("n", "integer"),
        Column("Rank correlation", "number"),
        Column("p", "p", "After the run's correction"),
        Column("Shown"),
        Column("At one confidence", "number", "The correlation of what a subject's confidence leaves of both ranks"),
        Column("p", "p", "After the run's correction"),
        Column("Shown"),
    ]
    rows: list[list[Cell]] = []
    for pair in findings.select("hardness.association"):
        left = findings.entry("hardness.partial", pair.subject, pair.of, pair.group)
        about = f"{measure_named(pair.of).short} · {measure_named(pair.group).short}"
        rows.append([about, pair.subject, pair.n, *_tested(findings, pair), *_tested(findings, left)])
    if rows:
        yield DataTable("Which measures find the same samples hard", columns, rows, collapsed=len(rows) > 16)


def _tested(findings: FindingIndex, finding: Finding | None) -> list[Cell]:
    """The cells of one correlation: its value, its corrected p, and what that shows."""
    if finding is None:
        return [None, None, ""]
    test = findings.get(f"{finding.metric}_p", finding.subject, finding.of, finding.group)
    shown = _concluded(findings, finding) or ("not shown" if finding.value is not None else finding.verdict)
    return [estimate(finding, counted=False), None if test is None else test.concluded_p, shown]


def _panels(findings: FindingIndex, pairs: pa.Table) -> Iterator[Panels]:
    """Per subject the pairs with the largest correlations, drawn rank against rank."""
    drawn: dict[tuple[str, str, str], list[Mapping[str, float]]] = {}
    for row in pairs.to_pylist():
        drawn.setdefault((row["subject"], row["first"], row["second"]), []).append(row)
    for subject in findings.distinct("subject", "hardness.association"):
        mine = [one for one in _related(findings) if one.subject == subject]
        chosen = sorted(mine, key=lambda one: -abs(one.value or 0.0))[:_PANELS]
        plots = [_plot(one, rows) for one in chosen if (rows := drawn.get((subject, one.of, one.group)))]
        if plots:
            some = f" Of {plural(len(mine), 'pair')}, the {_PANELS} that agree most." if len(mine) > _PANELS else ""
            yield Panels(f"Rank against rank{f', {subject}' if subject else ''}", plots, _NOTE + some)


_NOTE = (
    "Samples in up to ten groups by the rank of the first measure; each dot is their mean rank by the second, with its "
    "interval. A level line at one half is no relation."
)


def _plot(pair: Finding, rows: Sequence[Mapping[str, float]]) -> LinePlot:
    first, second = measure_named(pair.of).short, measure_named(pair.group).short
    x, y, low, high = ([row[name] for row in rows] for name in ("x", "y", "low", "high"))
    return LinePlot(
        f"{first} · {second}",
        [Series(second, x, y, low, high)],
        f"rank by {first}",
        f"mean rank by {second}",
        f"From the easiest to the hardest samples by {first}, the mean rank by {second} goes from {y[0]:.2f} to "
        f"{y[-1]:.2f}; rank correlation {_value(pair)}.",
        (0.0, 1.0),
        {place: f"{place:.1f}" for place in (min(x), max(x))},
    )


def _areas(findings: FindingIndex) -> Iterator[DataTable]:
    """How well each measure ranks the true errors, and how much better than ours."""
    areas = findings.select("hardness.auc")
    if not areas:
        return
    gains = findings.select("hardness.auc_gain")
    ours = measure_named(gains[0].group).short if gains else ""
    columns = [
        Column("Measure"),
        Column("Subject"),
        Column("n", "integer"),
        Column("AUC", "number"),
        Column(f"Difference from {ours}" if ours else "Difference", "number"),
    ]
    rows: list[list[Cell]] = []
    for area in areas:
        gain = next((one for one in gains if one.subject == area.subject and one.of == area.of), None)
        rows.append(
            [
                measure_named(area.of).short,
                area.subject,
                area.n,
                estimate(area, counted=False),
                estimate(gain, counted=False),
            ]
        )
    note = (
        "How often an error of the subject is harder than an answer it gets right: 1 ranks all errors first, 0.5 none. "
        "Differences are paired (DeLong), on the samples that both measures speak of. Measures that speak of right "
        "answers only cannot rank errors."
    )
    yield DataTable("Which measure ranks the true errors", columns, rows, note)
