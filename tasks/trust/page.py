"""What trust shows in the report: how many right predictions are right for the wrong reasons, and which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from assay.tasks.reporting.numerals import integer, interval, number, plural
from assay.tasks.reporting.parts import Block, Part, Verdict
from assay.tasks.reporting.sentences import first_few, share_text
from assay.tasks.statistics.findings import Finding, FindingIndex
from assay.tasks.trust.page_examples import examples_block
from assay.tasks.trust.page_findings import Explained, TrustFindings
from assay.tasks.trust.page_plots import confidence_blocks, roc_plot, shares_plot, strengths_plot, thresholds_panels
from assay.tasks.trust.page_tables import (
    clusters_table,
    differences_table,
    measures_table,
    providers_table,
    shares_table,
    work_table,
)

_FEW_TEXTS = 50


def page(
    findings: FindingIndex, explained: Sequence[Explained] = (),
    strengths: Mapping[float, FindingIndex] = MappingProxyType({}),
) -> Part:  # fmt: skip
    """The part of the report about trust, from the findings `trust.*` and what the oracle made; `strengths` holds the
    findings on planted shortcuts by their strength.

    Examples, clusters, plots and thresholds are those of every subject's first explainer; the tables have them all.
    """
    found = TrustFindings(findings)
    first: dict[str, Explained] = {}
    for each in explained:
        first.setdefault(each.subject, each)
    classes = explained[0].classes if explained else ()
    blocks: list[Block] = []
    if found.subjects:
        blocks.append(shares_table(found, classes))
    for subject, each in first.items():
        blocks.append(shares_plot(found, subject, each.explainer, each.classes))
        blocks += [examples] if (examples := examples_block(each)) is not None else []
    blocks += [*measures_table(found), *differences_table(found)]
    if found.subjects:
        blocks.append(work_table(found))
    blocks += strengths_plot(strengths, explained[0].explainer) if explained else []
    for each in first.values():
        blocks += [*confidence_blocks(each), *roc_plot(found, each), thresholds_panels(each), clusters_table(each)]
        blocks.append(providers_table(each))
    sentence = " ".join(_sentence(found, subject) for subject in found.subjects)
    return Part("Trust", sentence or "No prediction was explained.", blocks, "trust")


def verdict(findings: FindingIndex) -> tuple[Verdict, ...]:
    """The line about trust for the terminal and the head of the page; none where the oracle was not asked."""
    found = TrustFindings(findings)
    lines = [line for subject in found.subjects if (line := _line(found, subject))]
    return (Verdict(first_few(lines)),) if lines else ()


def _headline(found: TrustFindings, subject: str) -> Finding | None:
    explainers = found.explainers(subject)
    share = found.get("untrustworthy", subject, explainers[0], "all") if explainers else None
    return share if share is not None and share.value is not None else None


def _line(found: TrustFindings, subject: str) -> str:
    share = _headline(found, subject)
    if share is None:
        return ""
    return (
        f"{share_text(share, 0)} of what {subject} gets right it gets right for the wrong reasons (TOKI, {share.of}, "
        f"n = {integer(share.n)}{_reserve(found, subject, share.of)})"
    )


def _reserve(found: TrustFindings, subject: str, explainer: str) -> str:
    """What a reader should know before believing the share: labels that hang on nothing, and keywords of few texts."""
    reserve = ""
    faint = found.get("faint", subject, explainer, "all")
    if faint is not None and faint.value and (count := round(faint.value * (faint.n or 0))):
        reserve += f"; in {integer(count)} of them the words weigh next to nothing"
    learned = found.get("keyword_seconds", subject, explainer)
    if learned is not None and learned.n is not None and learned.n < _FEW_TEXTS:
        reserve += f"; keywords of only {plural(learned.n, 'training text')}"
    return reserve


def _sentence(found: TrustFindings, subject: str) -> str:
    share = _headline(found, subject)
    if share is None:
        return f"No right prediction of {subject} could be explained."
    untrustworthy = (
        f"{share_text(share)} of the predictions that {subject} gets right rest on words that are not related to the "
        f"class, as TOKI sees it with {share.of} (n = {integer(share.n)}{_reserve(found, subject, share.of)})."
    )
    g_mean, naive = (found.get("g_mean", subject, oracle, share.of) for oracle in ("toki", "naive"))
    if g_mean is None or g_mean.value is None:
        return untrustworthy
    beside = (
        f", the subject's confidence {number(naive.value)}" if naive is not None and naive.value is not None else ""
    )
    return (
        f"{untrustworthy} Against the truth, known for {integer(g_mean.n)} of them, TOKI has a G-mean of "
        f"{number(g_mean.value)} {interval(g_mean.low, g_mean.high, 'number', 3)}{beside}."
    )
