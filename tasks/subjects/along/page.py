"""What the report shows of image and text subjects along the order: how right each is on every stratum, and when."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from assay.tasks.reporting.estimates import About, column, estimate, first_few, series_of, share_text, table_of
from assay.tasks.reporting.numerals import integer, p_equals
from assay.tasks.reporting.parts import Block, Cell, DataTable, LinePlot, Panels, Paragraph, Part, SeriesStyle, Verdict
from assay.tasks.statistics.findings import Finding, FindingIndex, distinct, measured
from assay.tasks.subjects.along.findings import ACCURACY, CLEAN, GAIN, GAIN_TREND, WEAK, group_of

_NAMES = {CLEAN: "as they are, by gold", WEAK: "agreement with the weak label"}
_TURNS = {"adverse": "falls along the order", "violation": "rises along the order"}
_WHAT = (
    "A stratum is what a data set adds to the one before it: disjoint samples, hardest last. Only samples that are "
    "audited count, none that trained. Where a subject is right less often towards the end, what is hard for the rules "
    "is hard for it; where an attack takes more from the end than from the beginning, its robustness was that of easy "
    "samples."
)

_AREA = "How often a sample on which it is right stands before one on which it is wrong"
_P = "Cluster-robust, over single samples; corrected within its family"
_INTERACTION = (
    "Does a defence help where samples are naturally hard, or only where they were easy? A gain is how much oftener "
    "the defended copy is right than its original on the same samples; p asks whether gains rise or fall on the way."
)


def page(findings: FindingIndex) -> Part:
    """The part about image and text subjects along the order, from the findings `along.*`."""
    subjects = findings.distinct("subject", "along")
    plots = [plot for subject in subjects if (plot := _plot(findings, subject)) is not None]
    blocks: list[Block] = list(plots) if len(plots) == 1 else [Panels("Along the order", plots)] if plots else []
    blocks += [Paragraph(_WHAT), _ends(findings, subjects)]
    if findings.select(GAIN_TREND):
        blocks += [Paragraph(_INTERACTION), _gains(findings)]
    sentence = " ".join(_sentence(findings, subject) for subject in subjects if "+" not in subject)
    return Part("Subjects along the order", sentence, blocks, "along")


def verdict(findings: FindingIndex) -> tuple[Verdict, ...]:
    """The line about the subjects on the first and the last stratum; none where no gold tells."""
    lines = []
    for subject in findings.distinct("subject", "along"):
        strata = along(findings, subject, CLEAN)
        if strata and "+" not in subject:
            lines.append(
                f"{subject} is right on {share_text(strata[0], 0)} of the easiest stratum and "
                f"{share_text(strata[-1], 0)} of the hardest{_trend_text(findings, subject, CLEAN, '')}"
            )
    return (Verdict(first_few(lines)),) if lines else ()


def along(findings: FindingIndex, subject: str, of: str, group: str = "", metric: str = ACCURACY) -> list[Finding]:
    """How right a subject is on every stratum under one circumstance, easiest first; or another metric of strata.

    >>> found = [Finding("along.accuracy", "pgd", f"eps=0.1, stratum {i}", "s", 0.5) for i in (10, 2)]
    >>> [share.slice.stratum for share in along(FindingIndex(found), "s", "pgd", "eps=0.1")]
    [2, 10]
    """
    shares = measured(findings.select(metric, subject=subject, of=of))
    here = [(share.slice.stratum, share) for share in shares if share.slice.stratum is not None]
    chosen = [(at, share) for at, share in here if share.group == group_of(group, f"stratum {at}")]
    return [share for _, share in sorted(chosen, key=lambda pair: pair[0])]


def _circumstances(findings: FindingIndex, subject: str) -> list[tuple[str, str]]:
    """What was done, and how strongly, in its order."""
    return distinct((test.of, test.group) for test in findings.select("along.trend_p", subject=subject))


def _gentlest(findings: FindingIndex, subject: str) -> list[tuple[str, str]]:
    """Of every attack the gentlest: where all is lost, nothing can be seen to fall."""
    first: dict[str, str] = {}
    for of, group in _circumstances(findings, subject):
        first.setdefault(of, group)
    return list(first.items())


def _named(of: str, group: str) -> str:
    how = group.replace("eps=", "ε = ").replace("severity=", "severity ")
    return _NAMES.get(of) or " ".join(part for part in (of, how) if part)


_CIRCUMSTANCE = column("Circumstance", lambda about: _named(about.of, about.group))


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
    ticks = {float(at): str(at) for at in range(1, most + 1)} if most <= 12 else None
    return LinePlot(
        f"{subject} along the order",
        series,
        "stratum, easiest first",
        "share of samples that are right",
        f"Line plot. {'; '.join(descriptions)}.",
        (0.0, 1.0),
        ticks,
        "Bands are 95 % intervals.",
        "percent",
    )


def _ends(findings: FindingIndex, subjects: Sequence[str]) -> DataTable:
    def test(about: About) -> Finding | None:
        return findings.entry("along.trend_p", *about)

    rows = [About(subject, *circumstance) for subject in subjects for circumstance in _circumstances(findings, subject)]
    columns = [
        column("Subject", "subject"),
        _CIRCUMSTANCE,
        column("Easiest stratum", _end(findings, 0), "percent"),
        column("Hardest stratum", _end(findings, -1), "percent"),
        column("AUC", "along.auc", "number", _AREA),
        column("p", lambda about: _concluded(test(about)), "p", _P),
        column("Trend", lambda about: getattr(test(about), "verdict", "")),
    ]
    return table_of("First and last stratum", rows, columns, findings=findings)


def _end(findings: FindingIndex, at: int, metric: str = ACCURACY) -> Callable[[About | Finding], Cell]:
    """What was measured on the easiest (0) or hardest (-1) stratum."""

    def cell(about: About | Finding) -> Cell:
        strata = along(findings, about.subject, about.of, about.group, metric)
        return estimate(strata[at]) if strata else None

    return cell


def _gains(findings: FindingIndex) -> DataTable:
    columns = [
        column("Defended", "subject"),
        _CIRCUMSTANCE,
        column("Gain", lambda trend: estimate(findings.entry(GAIN, trend.subject, trend.of, trend.group)), "percent"),
        column("On the easiest stratum", _end(findings, 0, GAIN), "percent"),
        column("On the hardest stratum", _end(findings, -1, GAIN), "percent"),
        column("p", _concluded, "p", _P),
        column("It gains", "verdict"),
    ]
    return table_of("What defences gain along the order", findings.select(GAIN_TREND), columns)


def _concluded(test: Finding | None) -> float | None:
    """The p that the verdict beside it rests on."""
    return None if test is None or test.value is None else test.concluded_p


def _sentence(findings: FindingIndex, subject: str) -> str:
    strata = along(findings, subject, CLEAN)
    if not strata:
        return f"{subject} has no gold labels to be measured by along the order."
    first, last = ((share_text(end), integer(end.n)) for end in (strata[0], strata[-1]))
    return (
        f"By gold {subject} is right on {first[0]} of the easiest stratum (n = {first[1]}) and on {last[0]} of the "
        f"hardest (n = {last[1]}){_trend_text(findings, subject, CLEAN, '')}."
    )


def _trend_text(findings: FindingIndex, subject: str, of: str, group: str) -> str:
    tested = findings.entry("along.trend_p", subject, of, group)
    if tested is None or tested.value is None:
        return ""
    stem, _, lost = tested.verdict.partition(", but ")
    way = _TURNS.get(stem, "no trend is shown")
    return f"; {way} ({p_equals(tested.p_value, tested.p_adjusted)}{', but ' + lost if lost else ''})"
