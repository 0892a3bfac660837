"""What slices show in the report: the worst one, what the search confirmed, and a bar for every slice."""

from __future__ import annotations

import math

from assay.tasks.reporting.estimates import bars_of, capital, share_text
from assay.tasks.reporting.numerals import integer, p_concluded, p_value, percent, plural
from assay.tasks.reporting.parts import BarPlot, Block, Paragraph, Part
from assay.tasks.statistics.findings import Finding, FindingIndex, measured
from assay.tasks.statistics.multiplicity import level_needed

_SEARCH = (
    "Half of the samples were searched for slices that are worse than the rest, single values and values put together; "
    "what was found is told here as the other half has it, which the search has not seen. p is one-sided, by group "
    "where there are some, and corrected for the slices that were taken along (Holm)."
)
_EVERY = "Each interval by itself, 95 %; that of the worst, in the sentence above, allows for its having been named."


def page(findings: FindingIndex) -> Part:
    """The part of the report about slices, from the findings `slices.*`."""
    subjects = findings.distinct("subject", "slices")
    lines = [line for subject in subjects for line in (_worst(findings, subject), _confirmed(findings, subject))]
    worse = [test for test in findings.select("slices.worse_p") if test.verdict == "worse"]
    blocks: list[Block] = [plot for subject in subjects if (plot := _plot(findings, subject)) is not None]
    blocks.append(Paragraph(_SEARCH))
    judged = f"{len(worse)} worse" if worse else ""
    sentence = " ".join(capital(line) for line in lines if line) or "No sample has a known class to be judged by."
    return Part("Slices", sentence, blocks, "slices", "bad" if worse else "neutral", judged)


def _worst(findings: FindingIndex, subject: str) -> str:
    worst = findings.get("slices.worst_accuracy", subject)
    if worst is None:
        return ""
    return f"{subject} is least right where {worst.verdict}: {share_text(worst)} (n = {integer(worst.n)})."


def _confirmed(findings: FindingIndex, subject: str) -> str:
    tested = findings.select("slices.worse_p", subject=subject)
    worse = [test for test in tested if test.verdict == "worse"]
    if worse:
        told = []
        for test in worse:
            right, rest = (findings.get(f"slices.{half}_accuracy", *test.about) for half in ("confirmed", "rest"))
            shares = f"{share_text(right)}, the rest {percent(rest.value)}, " if right and rest else ""
            told.append(f"{test.of} ({shares}{p_concluded(None, test.p_value)})")
        return f"worse than the rest on samples that the search had not seen: {'; '.join(told)}."
    least = min((test for test in tested if test.p_value is not None), key=lambda test: test.p_value or 0, default=None)
    if least is None:
        return "the search found no slice to take along."
    named = f"least p = {p_value(least.p_value)}, {least.of}"
    return f"that any slice is worse than the rest is not shown ({named}{_seen(findings, least)})."


def _seen(findings: FindingIndex, test: Finding) -> str:
    """From about how many points on a one-sided test would have shown the slice to be worse, four times in five, at the
    level that the first of so many tests needs (Holm): the slice is as uncertain as its interval says, by group where
    there are some, and the rest as much by sample."""
    from scipy.special import ndtri

    right, rest = (findings.get(f"slices.{half}_accuracy", *test.about) for half in ("confirmed", "rest"))
    if right is None or rest is None or not rest.n or not test.n:
        return ""
    spread = ((right.high or 1.0) - (right.low or 0.0)) / 3.92
    tests = sum(each.p_value is not None for each in findings.select("slices.worse_p"))
    level = float(level_needed(test.verdict) or 1.0) / tests
    points = float(ndtri(0.8) - ndtri(level)) * spread * math.sqrt(1 + test.n / rest.n)
    return f"; of its {plural(test.n, 'sample')}, {percent(points, 0, sign=False)} points less would have been seen"


def _plot(findings: FindingIndex, subject: str) -> BarPlot | None:
    shares = measured(findings.select("slices.accuracy", subject=subject))
    if not shares:
        return None
    names = [f"{share.of} = {share.group}" for share in shares]
    lows = ", ".join(f"{name} {percent(share.value)}" for name, share in zip(names, shares, strict=True))
    alt = f"Accuracy of {subject}: {lows}."
    return bars_of(f"How right {subject} is on every slice", names, shares, "Accuracy", alt, _EVERY)
