"""The page of hardness: which measures find the same samples hard, which rank true errors, the samples to look at as
pictures, texts and rows, and the headlines that are followed over the nights.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import pyarrow as pa
from toolz import groupby

from assay.tasks.hardness.measures import CONFIDENCE, MARGIN, THETA, measure_named
from assay.tasks.reporting.estimates import answer_tone, capital
from assay.tasks.reporting.numerals import coefficient, integer, p_concluded, percent, plural
from assay.tasks.reporting.parts import Block, LinePlot, Mark, NamedSample, Panels, Paragraph, Part, SampleList, Series
from assay.tasks.reporting.report import Headline, headline_of
from assay.tasks.statistics.findings import Finding, FindingIndex, distinct, highest, measured
from assay.tasks.statistics.metrics import metrics_of


@dataclass(frozen=True)
class HardSample:
    """One sample: what the subject says of it, why it is hard, and its picture or text."""

    subject: str
    place: int
    id: str
    truth: str | None
    predicted: str | None
    why: Mapping[str, tuple[float, float]]
    """By measure its value, and the share of samples that it is harder than."""
    png: bytes | None = None
    text: str | None = None

    @property
    def answer(self) -> Mark | None:
        """What the subject says, and whether that is right."""
        if self.predicted is None:
            return None
        truth = "" if self.truth in (None, self.predicted) else f", in truth {self.truth}"
        return Mark(f"{self.predicted}{truth}", answer_tone(self.predicted, self.truth))

    @property
    def named(self) -> NamedSample:
        """How it stands on the page; below it the answer, and why it is here."""
        answer_or_truth = self.answer or (Mark(self.truth) if self.truth else None)
        reasons = [Mark(reason(*measured)) for measured in self.why.items()]
        note = f"{self.subject}: {self.answer.text}" if self.answer else ""
        return NamedSample(self.id, note, marks=[*([answer_or_truth] if answer_or_truth else []), *reasons])


def reason(measure: str, measured: tuple[float, float]) -> str:
    """One reason for being here.

    >>> reason("eps", (-0.1, 0.912)).replace(chr(0x202F), " ")
    'ε 0.1: harder than 91 %'
    """
    value, harder_than = measured
    return f"{measure_named(measure).number_text(value)}: harder than {percent(harder_than, 0)}"


NOTE = (
    "Among the hardest by every measure that speaks of them, the hardest on average first: look whether label, sample "
    "or subject is at fault."
)


_SHOWN = {"together": "tend to be the same samples", "opposite": "tend to be opposite samples"}
_OF_ONE_ANSWER = {CONFIDENCE, MARGIN}
_PANELS = 9  # pairs of a subject that are drawn
_HOW = (
    "Each measure ranks the samples from the easiest to the hardest. The rank correlation of two is 1 where they agree "
    "on every sample, 0 where they have nothing to do with each other. Two measures of one margin agree for nothing, "
    "so the same is asked among samples of about one confidence. Tests and intervals are by group where source.group "
    "names some, else by sample; tests are corrected (Holm) over all pairs."
)


def page(findings: FindingIndex, pairs: pa.Table, samples: Sequence[HardSample]) -> Part:
    """The part of the report about hardness."""
    blocks: list[Block] = [Paragraph(_HOW), *_panels(findings, pairs), *_ranking(findings)]
    for subject in distinct(sample.subject for sample in samples):
        own = [sample.named for sample in samples if sample.subject == subject]
        blocks.append(SampleList(f"Hard by every measure, {subject}", own, NOTE))
    if findings.select("hardness.hardest") and not samples:
        blocks.append(Paragraph("No sample is among the hardest by every measure, or none was to be shown."))
    judged: Literal["neutral", "not measured"] = "neutral" if _related(findings) else "not measured"
    first = {sample.id: sample for sample in reversed(samples)}  # hard for several subjects: the first one's answer
    named = [first[name].named for name in distinct(sample.id for sample in samples)]
    return Part("Hardness", _main_sentence(findings), blocks, "hardness", judged, samples=named)


def _related(findings: FindingIndex) -> list[Finding]:
    return measured(findings.select("hardness.association"))


def _leading(findings: FindingIndex) -> Finding | None:
    """The pair that tells most: two audits that agree beyond the confidence, else at all; only then a measure that is
    itself read off the subject's probabilities."""
    by_size = sorted(_related(findings), key=lambda pair: -abs(pair.value or 0.0))
    apart = [pair for pair in by_size if not _OF_ONE_ANSWER & {pair.of, pair.group}]
    beyond = [pair for pair in apart if _partial(findings, pair, shown=True) is not None]
    pairs = [pair for pair in by_size if {pair.of, pair.group} != _OF_ONE_ANSWER]
    at_all = [pair for pair in (*apart, *pairs) if _concluded(findings, pair)]
    return next(iter((*beyond, *at_all, *apart, *pairs, *by_size)), None)


def _main_sentence(findings: FindingIndex) -> str:
    """The sentence, of the pair that tells most."""
    pair = _leading(findings)
    if pair is None:
        return "Too few measures speak of the same samples to be related."
    if _concluded(findings, pair) or _partial(findings, pair, shown=True) is not None:
        return _agreement(findings, pair)
    names = f"{measure_named(pair.of).short} and {measure_named(pair.group).short}"
    return (
        f"Of {plural(len(_related(findings)), 'pair')} of measures, none is shown to find the same samples hard, "
        f"corrected for their number; the largest rank correlation is {_value(pair)} ({names}, n = {integer(pair.n)})"
        f"{_seen(pair)}."
    )


def _seen(pair: Finding) -> str:
    """From which correlation on a test at .01 of so many samples would have shown one, four times in five."""
    if pair.low is None or pair.high is None or max(abs(pair.low), abs(pair.high)) >= 1 or pair.low == pair.high:
        return ""
    spread = (math.atanh(pair.high) - math.atanh(pair.low)) / (2 * 1.96)
    return f"; one of {coefficient(math.tanh(3.42 * spread), 2)} would have been seen"


def _agreement(findings: FindingIndex, pair: Finding) -> str:
    """One pair in words: as far as it was shown, and what is left of it among samples of one confidence."""
    first, second = measure_named(pair.of).words, measure_named(pair.group).words
    whose = f"Subject {pair.subject}: " if pair.subject else ""
    concluded, partial = _concluded(findings, pair), _partial(findings, pair)
    how = _SHOWN.get(concluded, "are not shown to be the same samples")
    correlation = f"rank correlation {_value(pair)} ({_p(findings, pair)}, n = {integer(pair.n)})"
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


def _panels(findings: FindingIndex, pairs: pa.Table) -> Iterator[Panels]:
    """Per subject the pairs with the largest correlations, drawn rank against rank; first that of the sentence."""
    drawn, leading = groupby(["subject", "first", "second"], pairs.to_pylist()), _leading(findings)
    first = "" if leading is None else leading.subject
    for subject in sorted(findings.distinct("subject", "hardness.association"), key=lambda name: name != first):
        own = [pair for pair in _related(findings) if pair.subject == subject]
        chosen = sorted(own, key=lambda pair: (pair != leading, -abs(pair.value or 0.0)))[:_PANELS]
        plots = [_plot(pair, rows) for pair in chosen if (rows := drawn.get((subject, pair.of, pair.group)))]
        if plots:
            some = f" Of {plural(len(own), 'pair')}, the {_PANELS} that agree most." if len(own) > _PANELS else ""
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


def _ranking(findings: FindingIndex) -> Iterator[Paragraph]:
    """Which measure ranks the true errors of a subject best, and how much better than our order (paired, DeLong)."""
    for subject in findings.distinct("subject", "hardness.auc"):
        areas = measured(findings.select("hardness.auc", subject=subject))
        best, whose = highest(areas), f" of {subject}" if subject else ""
        if best is None:
            continue
        more = "".join(
            f"; {_value(gain)} more than {measure_named(gain.group).short}"
            for gain in findings.select("hardness.auc_gain", subject=subject, of=best.of)
        )
        yield Paragraph(
            f"Of {plural(len(areas), 'measure')}, {measure_named(best.of).short} ranks the errors{whose} "
            f"best: an error is harder than an answer that is right with AUC {_value(best)}{more} "
            f"(n = {integer(best.n)}). Measures that speak of right answers only cannot rank errors."
        )


_NAMES = {
    THETA: "Errors harder than right answers by the rules' labels",
    CONFIDENCE: "Errors harder than right answers by the confidence",
}


def followed(findings: FindingIndex) -> Iterator[Headline]:
    """Per subject the AUC of the order and of the confidence."""
    for area in findings.select("hardness.auc"):
        if area.of in _NAMES:
            yield from headline_of(metrics_of("hardness"), area, area.subject, title=_NAMES[area.of])
