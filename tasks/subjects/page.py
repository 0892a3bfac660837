"""What the subjects show in the report: how often each agrees with the weak labels and with gold, along D1…DN."""

from __future__ import annotations

from collections.abc import Sequence

from assay.tasks.reporting.numerals import coefficient, integer, interval, p_equals, percent, plural
from assay.tasks.reporting.parts import (
    Block,
    Cell,
    Column,
    DataTable,
    Estimate,
    LinePlot,
    Paragraph,
    Part,
    Series,
    Verdict,
)
from assay.tasks.statistics.findings import Finding

_MEANT = {"weak": "agreement with the weak label", "gold": "accuracy by gold"}
_LINES = {"weak": "with the weak label", "gold": "with gold"}
_FALLS = {"adverse": "falls", "violation": "rises", "no trend": "shows no trend"}
_WHY = (
    "Towards the end of the order the weak labels themselves are more often wrong. A robust model does not follow them "
    "there, so its agreement with them falls, down to the accuracy of the labels; what tells a robust model from a "
    "fragile one is its accuracy by gold, which should fall less."
)
_NAMED = 3


def page(findings: Sequence[Finding]) -> Part:
    """The part of the report about the subjects, from their findings `subject.*`."""
    subjects = names(findings)
    blocks: list[Block] = []
    for subject in subjects:
        plot = _plot(findings, subject)
        blocks += [plot] if plot else []
    if blocks:
        blocks.append(Paragraph(_WHY))
        blocks += [_ends(findings, subjects), *_strata(findings, subjects)]
    flags = [one for one in findings if one.metric == "subject.degenerate" and one.verdict.startswith("degenerate")]
    sentence = " ".join([*(_sentence(findings, subject) for subject in subjects), *(_flag(one) for one in flags)])
    title = "Subject" if len(subjects) == 1 else "Subjects"
    return Part(
        title,
        sentence or "No subject was measured.",
        blocks,
        "subjects",
        *(("bad", "red flag") if flags else ("neutral", "")),
    )


def verdict(findings: Sequence[Finding]) -> Verdict | None:
    """The line about the subjects for the terminal and the head of the page; None where there are none."""
    lines = []
    for subject in names(findings):
        along = accuracies(findings, subject, "weak")
        if along:
            lines.append(f"{_the(subject)} agrees with the labels on {_short(along[0])} and {_short(along[-1])}")
    if not lines:
        return None
    rest = len(lines) - _NAMED
    more = f"; {plural(rest, 'more subject')} below" if rest > 0 else ""
    return Verdict(_capital("; ".join(lines[:_NAMED])) + more)


def names(findings: Sequence[Finding]) -> list[str]:
    """The subjects that were held against D1 … DN, in their order."""
    measured = (one for one in findings if one.stage == "subject" and one.of != "clean")
    return list(dict.fromkeys(one.subject for one in measured if one.subject))


def accuracies(findings: Sequence[Finding], subject: str, yardstick: str, prefix: str = "D") -> list[Finding]:
    """A subject's accuracy on D1, D2, … (or `stratum 1`, …) by one yardstick, those that were measured.

    >>> found = [Finding("subject.accuracy", of="gold", group=f"D{i}", subject="s", value=0.5) for i in (10, 2)]
    >>> [one.group for one in accuracies(found, "s", "gold")]
    ['D2', 'D10']
    """
    chosen = [
        one
        for one in findings
        if (one.metric, one.subject, one.of) == ("subject.accuracy", subject, yardstick) and one.value is not None
        if one.group.startswith(prefix) and one.group.removeprefix(prefix).isdigit()
    ]
    return sorted(chosen, key=lambda one: int(one.group.removeprefix(prefix)))


def _sentence(findings: Sequence[Finding], subject: str) -> str:
    along = accuracies(findings, subject, "weak")
    if not along:
        return f"{_capital(_the(subject))} was not measured on the curated data sets."
    said = (
        f"{_capital(_the(subject))} agrees with the weak labels on {_long(along[0])} and on {_long(along[-1])}"
        f"{_trend(findings, subject, 'weak', 'agreement')}."
    )
    by_gold = accuracies(findings, subject, "gold")
    if by_gold:
        said += f" By gold it is right on {_long(by_gold[0])} and on {_long(by_gold[-1])}"
        said += f"{_trend(findings, subject, 'gold', 'accuracy')}."
    return said


def _the(subject: str) -> str:
    return "the subject" if subject == "subject" else f"the subject {subject}"


def _capital(words: str) -> str:
    return words[:1].upper() + words[1:]


def _trend(findings: Sequence[Finding], subject: str, yardstick: str, noun: str) -> str:
    tested = _find(findings, "subject.trend_p", subject, yardstick)
    if tested is None or tested.value is None:
        return ""
    stem, _, lost = tested.verdict.partition(", but ")
    rho = _find(findings, "subject.spearman", subject, yardstick)
    correlation = f"ρ = {coefficient(rho.value)}, " if rho and rho.value is not None else ""
    but = f", but {lost}" if lost else ""
    way = _FALLS.get(stem, "has the verdict " + stem)
    p = p_equals(tested.p_value, tested.p_adjusted)
    return f"; {noun} {way} along the order ({correlation}permutation {p}{but})"


def _flag(finding: Finding) -> str:
    return f"Red flag: {finding.subject} is {finding.verdict} ({integer(finding.n)} samples)."


def _plot(findings: Sequence[Finding], subject: str) -> LinePlot | None:
    series, told = [], []
    for yardstick, name in _MEANT.items():
        along = accuracies(findings, subject, yardstick)
        if along:
            series.append(_series(along, _LINES[yardstick]))
            told.append(f"{name} goes from {_long(along[0])} to {_long(along[-1])}")
    if not series:
        return None
    most = max(len(one.x) for one in series)
    ticks = {float(i): f"D{i}" for i in range(1, most + 1)} if most <= 12 else None
    return LinePlot(
        f"{_capital(_the(subject))} along the order", series, "data set", "share of samples on which it agrees",
        f"Line plot. {'; '.join(told)}.", x_ticks=ticks, scale="percent", note="Bands are Wilson's 95 % intervals.",
    )  # fmt: skip


def _series(along: Sequence[Finding], name: str) -> Series:
    places = [float(one.group.removeprefix("D")) for one in along]
    return Series(name, places, [one.value for one in along], [one.low for one in along], [one.high for one in along])


def _ends(findings: Sequence[Finding], subjects: Sequence[str]) -> DataTable:
    rows: list[list[Cell]] = []
    for subject in subjects:
        for yardstick, name in _MEANT.items():
            along = accuracies(findings, subject, yardstick)
            if not along:
                continue
            rho = _find(findings, "subject.spearman", subject, yardstick)
            tested = _find(findings, "subject.trend_p", subject, yardstick)
            rows.append([
                subject, name, _estimate(along[0]), _estimate(along[-1]), rho.value if rho else None,
                tested.value if tested else None, tested.verdict if tested else "",
            ])  # fmt: skip
    columns = [
        Column("Subject"), Column("Measured"), Column("On the first data set", "percent"),
        Column("On the last data set", "percent"), Column("ρ", "number", "Along D1…DN"),
        Column("Permutation p", "p", "How often a random order falls as clearly"), Column("Trend"),
    ]  # fmt: skip
    return DataTable("First and last data set", columns, rows)


def _strata(findings: Sequence[Finding], subjects: Sequence[str]) -> list[DataTable]:
    rows: list[list[Cell]] = [
        [subject, _MEANT[yardstick], int(one.group.removeprefix("stratum ")), _estimate(one)]
        for subject in subjects
        for yardstick in _MEANT
        for one in accuracies(findings, subject, yardstick, "stratum ")
    ]
    if not rows:
        return []
    columns = [Column("Subject"), Column("Measured"), Column("Stratum", "integer"), Column("Share", "bar")]
    note = "A stratum is what a data set adds to the one before: disjoint samples, hardest last."
    return [DataTable("Stratum by stratum", columns, rows, note, collapsed=True)]


def _estimate(finding: Finding) -> Estimate | None:
    return None if finding.value is None else Estimate(finding.value, finding.low, finding.high, finding.n)


def _short(finding: Finding) -> str:
    return f"{percent(finding.value, 0)} {interval(finding.low, finding.high, digits=0)} of {finding.group}"


def _long(finding: Finding) -> str:
    share = f"{percent(finding.value)} {interval(finding.low, finding.high)}"
    return f"{share} of {finding.group} (n = {integer(finding.n)})"


def _find(findings: Sequence[Finding], metric: str, subject: str, of: str) -> Finding | None:
    return next((one for one in findings if (one.metric, one.subject, one.of) == (metric, subject, of)), None)
