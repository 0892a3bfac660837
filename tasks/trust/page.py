"""What trust shows in the report: how many right predictions are right for the wrong reasons, and which."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from assay.tasks.reporting.numerals import integer, interval, number, percent, plural
from assay.tasks.reporting.parts import Block, Part, Verdict
from assay.tasks.reporting.sentences import first_few, share_text
from assay.tasks.statistics.findings import Finding, FindingIndex
from assay.tasks.statistics.proportions import wilson
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
    findings: FindingIndex,
    explained: Sequence[Explained] = (),
    strengths: Mapping[float, FindingIndex] = MappingProxyType({}),
) -> Part:
    """The part of the report about trust, from the findings `trust.*` and what the oracle made; `strengths` holds the
    findings on planted shortcuts by their strength.

    Examples, clusters, plots and thresholds are those of every subject's first explainer; the tables have them all.
    """
    trust = TrustFindings(findings)
    first: dict[str, Explained] = {}
    for each in explained:
        first.setdefault(each.subject, each)
    classes = explained[0].classes if explained else ()
    blocks: list[Block] = []
    if trust.subjects:
        blocks.append(shares_table(trust, classes))
    for subject, each in first.items():
        blocks.append(shares_plot(trust, subject, each.explainer, each.classes))
        blocks += [examples] if (examples := examples_block(each)) is not None else []
    blocks += [*measures_table(trust), *differences_table(trust)]
    if trust.subjects:
        blocks.append(work_table(trust))
    blocks += strengths_plot(strengths, explained[0].explainer) if explained else []
    for each in first.values():
        blocks += [*confidence_blocks(each), *roc_plot(trust, each), thresholds_panels(each), clusters_table(each)]
        blocks.append(providers_table(each))
    sentence = " ".join(_sentence(trust, subject) for subject in trust.subjects)
    return Part("Trust", sentence or "No prediction was explained.", blocks, "trust")


def verdict(findings: FindingIndex) -> tuple[Verdict, ...]:
    """The line about trust for the terminal and the head of the page; none where the oracle was not asked."""
    trust = TrustFindings(findings)
    lines = [line for subject in trust.subjects if (line := _line(trust, subject))]
    return (Verdict(first_few(lines)),) if lines else ()


def _headline(trust: TrustFindings, subject: str) -> Finding | None:
    explainers = trust.explainers(subject)
    share = trust.get("untrustworthy", subject, explainers[0], "all") if explainers else None
    return share if share is not None and share.value is not None else None


def _line(trust: TrustFindings, subject: str) -> str:
    share = _headline(trust, subject)
    if share is None:
        return ""
    if trust.constant(subject):
        return f"{subject} (almost) always answers alike: there are no reasons of its own to judge"
    return (
        f"TOKI calls {share_text(share, 0)} of what {subject} gets right untrustworthy ({share.of}, "
        f"n = {integer(share.n)}{_caveats(trust, subject, share.of)}){_in_truth(trust, subject, share.of, 0)}"
    )


def _in_truth(trust: TrustFindings, subject: str, explainer: str, digits: int) -> str:
    """What the oracle's share says of the subject: corrected by how often the oracle is right, or nothing."""
    corrected = trust.get("untrustworthy_corrected", subject, explainer, "all")
    if corrected is None:
        return ": how often it is right here was not measured, so that is no statement about the model"
    if corrected.value is not None:
        return f"; corrected by how often it is right, {share_text(corrected, digits)} are"
    _, _, why = corrected.verdict.partition(": ")
    judged = trust.get("g_mean", subject, "toki", explainer)
    counted = "" if judged is None or not judged.n else f", where the truth is known (n = {integer(judged.n)})"
    return f": {why}{counted}, so that says nothing of the model{_share_of_known(trust, subject, explainer, digits)}"


def _share_of_known(trust: TrustFindings, subject: str, explainer: str, digits: int) -> str:
    """How many are untrustworthy by the truth itself, of those whose truth is known."""
    shares = [trust.get("truth", subject, explainer, group) for group in ("untrustworthy", "trustworthy")]
    counts = [round((one.value or 0.0) * (one.n or 0)) for one in shares if one is not None]
    if len(counts) < 2 or not sum(counts):
        return ""
    (low,), (high,) = wilson([counts[0]], [sum(counts)])
    share = f"{percent(counts[0] / sum(counts), digits)} {interval(float(low), float(high), digits=digits)}"
    return f"; by the truth itself {share} of {integer(sum(counts))} are"


def _caveats(trust: TrustFindings, subject: str, explainer: str) -> str:
    """What a reader should know before believing the share: labels that hang on nothing, and keywords of few texts."""
    reserve = ""
    faint = trust.get("faint", subject, explainer, "all")
    if faint is not None and faint.value and (count := round(faint.value * (faint.n or 0))):
        reserve += f"; in {integer(count)} of them the words weigh next to nothing"
    learned = trust.get("keyword_seconds", subject, explainer)
    if learned is not None and learned.n is not None and learned.n < _FEW_TEXTS:
        reserve += f"; keywords of only {plural(learned.n, 'training text')}"
    return reserve


def _sentence(trust: TrustFindings, subject: str) -> str:
    share = _headline(trust, subject)
    if share is None:
        return f"No right prediction of {subject} could be explained."
    if trust.constant(subject):
        return f"{_line(trust, subject)}."
    untrustworthy = (
        f"TOKI calls {share_text(share)} of the predictions that {subject} gets right untrustworthy, since they rest "
        f"on words that it does not relate to the class, by {share.of} (n = {integer(share.n)}"
        f"{_caveats(trust, subject, share.of)}){_in_truth(trust, subject, share.of, 1)}."
    )
    g_mean, naive = (trust.get("g_mean", subject, oracle, share.of) for oracle in ("toki", "naive"))
    if g_mean is None or g_mean.value is None:
        return untrustworthy
    beside = (
        f", the subject's confidence {number(naive.value)}" if naive is not None and naive.value is not None else ""
    )
    return (
        f"{untrustworthy} Against the truth, known for {integer(g_mean.n)} of them, TOKI has a G-mean of "
        f"{number(g_mean.value)} {interval(g_mean.low, g_mean.high, 'number', 3)}{beside}."
    )
