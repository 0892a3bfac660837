"""What the report shows of subjects that predict a number: their errors, also along the order."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence

from assay.tasks.reporting.estimates import About, bars_of, column, columns_over, series_of, share_text, table_of
from assay.tasks.reporting.numerals import integer, number, p_concluded
from assay.tasks.reporting.parts import Block, LinePlot, Part
from assay.tasks.statistics.findings import Finding, FindingIndex, measured
from assay.tasks.statistics.metrics import metrics_of
from assay.tasks.statistics.multiplicity import level_needed
from assay.tasks.subjects.along.page import along
from assay.tasks.subjects.numbers.errors import ALONG, CLEAN, NOISE
from assay.tasks.subjects.settings import Subject

_COLUMNS = ("regression.mae", "regression.rmse", "regression.r2", "regression.coverage", "regression.interval_width")
_NOTE = (
    "MAE and RMSE are in the units of the column. R² compares with one constant number, the mean of the truth, which "
    "has R² 0; within a stratum it says little, since the truth may vary little there."
)
_ERROR = "Mean absolute error"
_TURNS = {"adverse": "grow", "violation": "shrink"}


def page(findings: FindingIndex, subjects: Mapping[str, Subject]) -> Part:
    """The part about regression, from the findings `regression.*` and the settings of the subjects."""
    errors = measured(findings.select("regression.mae", of=CLEAN))
    sentence = " ".join(line for each in errors for line in _sentences(findings, each, subjects[each.subject]))
    columns = [column("Subject", "subject"), *columns_over(metrics_of("regression"), *_COLUMNS)]
    table = table_of("Errors", [About(*error.about) for error in errors], columns, _NOTE, findings=findings)
    judged = [each for name in ("r2", "coverage") for each in findings.select(f"regression.{name}", of=CLEAN)]
    bad = any(each.verdict.startswith(("not shown", "less than")) for each in judged)
    blocks = [_plot(findings, errors), *_noise_plot(findings, errors), table]
    return Part("Regression", sentence, blocks, "regression", "bad" if bad else "neutral")


def _text(finding: Finding | None) -> str:
    """A finding and its interval, in three significant digits of it."""
    if finding is None or finding.value is None:
        return "–"
    digits = max(0, 2 - math.floor(math.log10(abs(finding.value)))) if finding.value else 2
    ends = [number(end, digits) for end in (finding.low, finding.high)]
    return f"{number(finding.value, digits)}{f' [{ends[0]}, {ends[1]}]' if finding.low is not None else ''}"


def _sentences(findings: FindingIndex, error: Finding, subject: Subject) -> Iterator[str]:
    name = error.subject
    of_clean = ("constant_mae", "r2", "coverage")
    constant, r2, held = (findings.get(f"regression.{each}", name, CLEAN) for each in of_clean)
    off = f"{name} is off by {_text(error)} on average in {subject.predicts} (n = {integer(error.n)})"
    yield f"{off}; the best constant number, by {_text(constant)}."
    if r2 is not None:
        yield f"Its R² is {_text(r2)}, {r2.verdict}."
    if held is not None:
        yield f"Its intervals hold {share_text(held)} of the true numbers, {held.verdict}."
    for rise in _by_amount(findings, "noise_rise", name)[-1:]:
        under = _text(findings.get("regression.mae", name, NOISE, rise.group))
        yield (
            f"With normal noise on each column that it reads, {100 * _amount(rise):g} % of its standard deviation, it "
            f"is off by {under}: a rise of {_text(rise)}, {rise.verdict}."
        )
    trend, strata = findings.entry("regression.trend_p", name, ALONG), along(findings, name, ALONG, "", error.metric)
    if trend is None or len(strata) < 2:
        return
    ends = f"{_text(strata[0])} on the easiest stratum and {_text(strata[-1])} on the hardest"
    p = p_concluded(trend.p_value, trend.p_adjusted)
    if trend.value is None:
        yield f"Its error is {ends}; whether errors grow along the order was {trend.verdict}."
    elif trend.verdict in _TURNS:
        yield f"Its errors {_TURNS[trend.verdict]} along the order ({p}): {ends}."
    else:
        yield f"That its errors grow along the order is not shown ({p}, level {level_needed(trend.verdict)}): {ends}."


def _amount(finding: Finding) -> float:
    """How many standard deviations of noise a finding is about."""
    return float(finding.group.split()[0])


def _by_amount(findings: FindingIndex, name: str, subject: str) -> list[Finding]:
    """What was found under noise, by its amount."""
    return sorted(measured(findings.select(f"regression.{name}", subject=subject, of=NOISE)), key=_amount)


def _noise_plot(findings: FindingIndex, errors: Sequence[Finding]) -> Iterator[Block]:
    """The error over the amount of noise; nothing where none was asked for."""
    under = [(error, _by_amount(findings, "mae", error.subject)) for error in errors]
    lines = [(error, each) for error, each in under if each]
    if lines:
        series = [series_of(error.subject, [0, *map(_amount, each)], [error, *each]) for error, each in lines]
        alt = "; ".join(f"{error.subject} from {_text(error)} to {_text(each[-1])}" for error, each in lines)
        about = ("noise on each column, in its standard deviations", _ERROR, f"Line plot. {alt}.")
        yield LinePlot("Errors under noise", series, *about)


def _plot(findings: FindingIndex, errors: Sequence[Finding]) -> Block:
    """The error on every stratum; without an order, beside the best constant number."""
    along_order = ((error.subject, along(findings, error.subject, ALONG, "", error.metric)) for error in errors)
    lines = [(name, strata) for name, strata in along_order if strata]
    if lines:
        series = [series_of(name, [*range(1, len(each) + 1)], each) for name, each in lines]
        alt = "; ".join(f"{name} from {_text(each[0])} to {_text(each[-1])}" for name, each in lines)
        return LinePlot("Errors along the order", series, "stratum, easiest first", _ERROR, f"Line plot. {alt}.")
    constants = findings.select("regression.constant_mae")
    bars = {each.subject: each for each in errors} | {f"constant, for {each.subject}": each for each in constants}
    alt = "; ".join(f"{name} {_text(bar)}" for name, bar in bars.items())
    return bars_of(_ERROR, [*bars], [*bars.values()], _ERROR, f"{alt}.", scale="number")
