"""What the report shows of image and text subjects along the order: how right each is on every stratum, and when."""

from __future__ import annotations

from assay.tasks.reporting.estimates import seen_text, series_of, share_text
from assay.tasks.reporting.numerals import integer, p_concluded, p_equals, plural
from assay.tasks.reporting.parts import Block, LinePlot, Panels, Paragraph, Part, SeriesStyle
from assay.tasks.statistics.findings import Finding, FindingIndex, distinct, measured
from assay.tasks.statistics.multiplicity import level_needed
from assay.tasks.subjects.along.findings import ACCURACY, CLEAN, GAIN_TREND, WEAK, group_of

_NAMES = {CLEAN: "as they are, by gold", WEAK: "agreement with the weak label"}
_TURNS = {"adverse": "falls along the order", "violation": "rises along the order"}
_WHAT = (
    "A stratum is what a data set adds to the one before it: disjoint samples, hardest last. Only samples that are "
    "audited count, none that trained. Where a subject is right less often towards the end, what is hard for the rules "
    "is hard for it; where an attack takes more from the end than from the beginning, its robustness was that of easy "
    "samples."
)


def page(findings: FindingIndex) -> Part:
    """The part about image and text subjects along the order, from the findings `along.*`."""
    subjects = findings.distinct("subject", "along")
    plots = [plot for subject in subjects if (plot := _plot(findings, subject)) is not None]
    blocks: list[Block] = list(plots) if len(plots) == 1 else [Panels("Along the order", plots)] if plots else []
    blocks.append(Paragraph(_WHAT))
    sentences = [_sentence(findings, subject) for subject in subjects if "+" not in subject]
    return Part("Subjects along the order", " ".join([*sentences, *_gains(findings)]), blocks, "along")


def along(findings: FindingIndex, subject: str, of: str, group: str = "", metric: str = ACCURACY) -> list[Finding]:
    """How right a subject is on every stratum under one circumstance, easiest first; or another metric of strata.

    >>> found = [Finding("along.accuracy", "pgd", f"eps=0.1, stratum {i}", "s", 0.5) for i in (10, 2)]
    >>> [share.slice.stratum for share in along(FindingIndex(found), "s", "pgd", "eps=0.1")]
    [2, 10]
    """
    shares = measured(findings.select(metric, subject=subject, of=of))
    in_strata = [(share.slice.stratum, share) for share in shares if share.slice.stratum is not None]
    chosen = [(at, share) for at, share in in_strata if share.group == group_of(group, f"stratum {at}")]
    return [share for _, share in sorted(chosen, key=lambda pair: pair[0])]


def _gentlest(findings: FindingIndex, subject: str) -> list[tuple[str, str]]:
    """Of every attack the gentlest: where all is lost, nothing can be seen to fall."""
    first: dict[str, str] = {}
    for of, group in distinct((test.of, test.group) for test in findings.select("along.trend_p", subject=subject)):
        first.setdefault(of, group)
    return list(first.items())


def _named(of: str, group: str) -> str:
    how = group.replace("eps=", "ε = ").replace("severity=", "severity ")
    return _NAMES.get(of) or " ".join(part for part in (of, how) if part)


def _plot(findings: FindingIndex, subject: str) -> LinePlot | None:
    series, descriptions = [], []
    for of, group in _gentlest(findings, subject):
        strata = along(findings, subject, of, group)
        if strata:
            style: SeriesStyle = "dashed" if of == WEAK else "line"
            places = [float(share.slice.stratum or 0) for share in strata]
            series.append(series_of(_named(of, group), places, strata, style))
            descriptions.append(f"{_named(of, group)} from {share_text(strata[0])} to {share_text(strata[-1])}")
    if not series:
        return None
    most = int(max(place for line in series for place in line.x))
    title, note = f"{subject} along the order", "Bands are 95 % intervals."
    ticks = {float(at): str(at) for at in range(1, most + 1)} if most <= 12 else None
    share, alt = "share of samples that are right", f"Line plot. {'; '.join(descriptions)}."
    return LinePlot(title, series, "stratum, easiest first", share, alt, (0.0, 1.0), ticks, note, "percent")


def _gains(findings: FindingIndex) -> list[str]:
    """Where a defence is shown to help more on one end of the order than on the other; that it is nowhere shown."""
    trends = measured(findings.select(GAIN_TREND))
    shown = [
        f"{trend.subject} gains {trend.verdict} ({_named(trend.of, trend.group)}, "
        f"{p_concluded(trend.p_value, trend.p_adjusted)})"
        for trend in trends
        if not trend.verdict.startswith("not shown")
    ]
    if shown:
        return [f"Than its original, on the same samples, {'; '.join(shown)}."]
    nowhere = f"Of {plural(len(trends), 'gain')} of defences none is shown to differ along the order"
    level = level_needed(trends[0].verdict) if trends else ""
    return [f"{nowhere}{f' (level {level})' if level else ''}."] if trends else []


def _sentence(findings: FindingIndex, subject: str) -> str:
    strata = along(findings, subject, CLEAN)
    if not strata:
        return f"{subject} has no gold labels to be measured by along the order."
    first, last = ((share_text(end), integer(end.n)) for end in (strata[0], strata[-1]))
    return (
        f"By gold {subject} is right on {first[0]} of the easiest stratum (n = {first[1]}) and on {last[0]} of the "
        f"hardest (n = {last[1]}){_trend_text(findings, subject)}."
    )


def _trend_text(findings: FindingIndex, subject: str) -> str:
    tested = findings.entry("along.trend_p", subject, CLEAN)
    if tested is None or tested.value is None:
        return ""
    stem, _, lost = tested.verdict.partition(", but ")
    way, level = _TURNS.get(stem), level_needed(tested.verdict)
    p = f"{p_equals(tested.p_value, tested.p_adjusted)}{', but ' + lost if lost else ''}"
    if way is not None:
        return f"; {way} ({p})"
    seen = seen_text(findings.get("along.auc_seen_from", subject, CLEAN))
    return f"; no trend is shown ({p}{f', level {level}' if level else ''}{seen})"
