"""What trust shows in the report: how many right predictions are right for the wrong reasons, and which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from assay.tasks.reporting.numerals import integer, interval, number, percent, plural
from assay.tasks.reporting.parts import Block, Part, Verdict
from assay.tasks.statistics.findings import Finding
from assay.tasks.trust.page_examples import examples_block
from assay.tasks.trust.page_plots import confidence_blocks, roc_plot, shares_plot, strengths_plot, thresholds_panels
from assay.tasks.trust.page_shown import Shown, Trusted
from assay.tasks.trust.page_tables import (
    clusters_table,
    differences_table,
    measures_table,
    providers_table,
    shares_table,
    work_table,
)

_NAMED = 3
_FEW_TEXTS = 50


def page(
    findings: Sequence[Finding], shown: Sequence[Shown] = (),
    strengths: Mapping[float, Sequence[Finding]] = MappingProxyType({}),
) -> Part:  # fmt: skip
    """The part of the report about trust, from the findings `trust.*` and what the oracle made; `strengths` holds the
    findings on planted shortcuts by their strength.

    Examples, clusters, plots and thresholds are those of every subject's first explainer; the tables have them all.
    """
    found = Trusted(findings)
    first: dict[str, Shown] = {}
    for one in shown:
        first.setdefault(one.subject, one)
    classes = shown[0].classes if shown else ()
    blocks: list[Block] = []
    if found.subjects:
        blocks.append(shares_table(found, classes))
    for subject, one in first.items():
        blocks.append(shares_plot(found, subject, one.explainer, one.classes))
        blocks += [examples] if (examples := examples_block(one)) is not None else []
    blocks += [*measures_table(found), *differences_table(found)]
    if found.subjects:
        blocks.append(work_table(found))
    for one in list(first.values())[:1]:
        blocks += strengths_plot(strengths, one.explainer)
    for one in first.values():
        blocks += [*confidence_blocks(one), *roc_plot(found, one), thresholds_panels(one), clusters_table(one)]
        blocks.append(providers_table(one))
    sentence = " ".join(_sentence(found, subject) for subject in found.subjects)
    return Part("Trust", sentence or "No prediction was explained.", blocks, "trust")


def verdict(findings: Sequence[Finding]) -> Verdict | None:
    """The line about trust for the terminal and the head of the page; None where the oracle was not asked."""
    found = Trusted(findings)
    lines = [line for subject in found.subjects if (line := _line(found, subject))]
    if not lines:
        return None
    rest = len(lines) - _NAMED
    more = f"; {plural(rest, 'more subject')} below" if rest > 0 else ""
    return Verdict("; ".join(lines[:_NAMED]) + more)


def _headline(found: Trusted, subject: str) -> Finding | None:
    explainers = found.explainers(subject)
    one = found.get("untrustworthy", subject, explainers[0], "all") if explainers else None
    return one if one is not None and one.value is not None else None


def _line(found: Trusted, subject: str) -> str:
    one = _headline(found, subject)
    if one is None:
        return ""
    return (
        f"{percent(one.value, 0)} {interval(one.low, one.high, digits=0)} of what {subject} gets right it gets right "
        f"for the wrong reasons (TOKI, {one.of}, n = {integer(one.n)}{_reserve(found, subject, one.of)})"
    )


def _reserve(found: Trusted, subject: str, explainer: str) -> str:
    """What a reader should know before believing the share: labels that hang on nothing, and keywords of few texts."""
    said = ""
    faint = found.get("faint", subject, explainer, "all")
    if faint is not None and faint.value and round(faint.value * (faint.n or 0)):
        said += f"; in {integer(round(faint.value * (faint.n or 0)))} of them the words weigh next to nothing"
    learned = found.get("keyword_seconds", subject, explainer)
    if learned is not None and learned.n is not None and learned.n < _FEW_TEXTS:
        said += f"; keywords of only {plural(learned.n, 'training text')}"
    return said


def _sentence(found: Trusted, subject: str) -> str:
    one = _headline(found, subject)
    if one is None:
        return f"No right prediction of {subject} could be explained."
    said = (
        f"{percent(one.value)} {interval(one.low, one.high)} of the predictions that {subject} gets right rest on "
        f"words that are not related to the class, as TOKI sees it with {one.of} "
        f"(n = {integer(one.n)}{_reserve(found, subject, one.of)})."
    )
    g_mean = found.get("g_mean", subject, "toki", one.of)
    naive = found.get("g_mean", subject, "naive", one.of)
    if g_mean is None or g_mean.value is None:
        return said
    beside = (
        f", the subject's confidence {number(naive.value)}" if naive is not None and naive.value is not None else ""
    )
    return (
        f"{said} Against the truth, known for {integer(g_mean.n)} of them, TOKI has a G-mean of {number(g_mean.value)} "
        f"{interval(g_mean.low, g_mean.high, 'number', 3)}{beside}."
    )
