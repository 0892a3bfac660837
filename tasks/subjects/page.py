"""What the subjects show in the report: how often each agrees with the weak labels and with gold, along D1…DN."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from assay.tasks.reporting.estimates import estimate, series_of
from assay.tasks.reporting.numerals import coefficient, integer, p_equals
from assay.tasks.reporting.parts import Block, Cell, Column, DataTable, LinePlot, Paragraph, Part, Verdict
from assay.tasks.reporting.sentences import capital, first_few, share_text
from assay.tasks.statistics.findings import Finding, FindingIndex, distinct, measured

_MEANT = {"weak": "agreement with the weak label", "gold": "accuracy by gold"}
_LINES = {"weak": "with the weak label", "gold": "with gold"}
_FALLS = {"adverse": "falls", "violation": "rises", "no trend": "shows no trend"}
_WHY = (
    "Towards the end of the order the weak labels themselves are more often wrong. A robust model does not follow them "
    "there, so its agreement with them falls, down to the accuracy of the labels; what tells a robust model from a "
    "fragile one is its accuracy by gold, which should fall less."
)


def page(findings: FindingIndex) -> Part:
    """The part of the report about the subjects, from their findings `subject.*`."""
    subjects = names(findings)
    blocks: list[Block] = []
    for subject in subjects:
        plot = _plot(findings, subject)
        blocks += [plot] if plot else []
    if blocks:
        blocks.append(Paragraph(_WHY))
        blocks += [_ends(findings, subjects), *_strata(findings, subjects)]
    flags = [one for one in findings.select("subject.degenerate") if one.degenerate]
    sentence = " ".join([*(_sentence(findings, subject) for subject in subjects), *map(_flag, flags)])
    title = "Subject" if len(subjects) == 1 else "Subjects"
    return Part(title, sentence or "No subject was measured.", blocks, "subjects", "bad" if flags else "neutral",
                "red flag" if flags else "")  # fmt: skip


def verdict(findings: FindingIndex) -> tuple[Verdict, ...]:
    """The line about the subjects for the terminal and the head of the page; none where there are none."""
    lines = []
    for subject in names(findings):
        along = accuracies(findings, subject, "weak")
        if along:
            lines.append(f"{_the(subject)} agrees with the labels on {_short(along[0])} and {_short(along[-1])}")
    return (Verdict(capital(first_few(lines))),) if lines else ()


def names(findings: FindingIndex) -> list[str]:
    """The subjects that were held against D1 … DN, in their order."""
    return distinct(one.subject for one in findings.select("subject") if one.of != "clean" and one.subject)


def accuracies(
    findings: FindingIndex, subject: str, yardstick: str, cut: Literal["dataset", "stratum"] = "dataset"
) -> list[Finding]:
    """A subject's accuracy on D1, D2, … (or on their strata) by one yardstick, those that were measured.

    >>> found = [Finding("subject.accuracy", of="gold", group=f"D{i}", subject="s", value=0.5) for i in (10, 2)]
    >>> [one.group for one in accuracies(FindingIndex(found), "s", "gold")]
    ['D2', 'D10']
    """
    shares = measured(findings.select("subject.accuracy", subject=subject, of=yardstick))
    numbered = [(number, share) for share in shares if (number := getattr(share.slice, cut)) is not None]
    return [share for _, share in sorted(numbered, key=lambda pair: pair[0])]


def _sentence(findings: FindingIndex, subject: str) -> str:
    along = accuracies(findings, subject, "weak")
    if not along:
        return f"{capital(_the(subject))} was not measured on the curated data sets."
    sentence = (
        f"{capital(_the(subject))} agrees with the weak labels on {_long(along[0])} and on {_long(along[-1])}"
        f"{_trend(findings, subject, 'weak', 'agreement')}."
    )
    by_gold = accuracies(findings, subject, "gold")
    if by_gold:
        sentence += f" By gold it is right on {_long(by_gold[0])} and on {_long(by_gold[-1])}"
        sentence += f"{_trend(findings, subject, 'gold', 'accuracy')}."
    return sentence


def _the(subject: str) -> str:
    return "the subject" if subject == "subject" else f"the subject {subject}"


def _trend(findings: FindingIndex, subject: str, yardstick: str, noun: str) -> str:
    tested = findings.first("subject.trend_p", subject=subject, of=yardstick)
    if tested is None or tested.value is None:
        return ""
    stem, _, lost = tested.verdict.partition(", but ")
    rho = findings.first("subject.spearman", subject=subject, of=yardstick)
    correlation = f"ρ = {coefficient(rho.value)}, " if rho and rho.value is not None else ""
    but = f", but {lost}" if lost else ""
    way = _FALLS.get(stem, "has the verdict " + stem)
    p = p_equals(tested.p_value, tested.p_adjusted)
    return f"; {noun} {way} along the order ({correlation}permutation {p}{but})"


def _flag(finding: Finding) -> str:
    return f"Red flag: {finding.subject} is {finding.verdict} ({integer(finding.n)} samples)."


def _plot(findings: FindingIndex, subject: str) -> LinePlot | None:
    series, told = [], []
    for yardstick, name in _MEANT.items():
        along = accuracies(findings, subject, yardstick)
        if along:
            series.append(series_of(_LINES[yardstick], [float(one.slice.dataset or 0) for one in along], along))
            told.append(f"{name} goes from {_long(along[0])} to {_long(along[-1])}")
    if not series:
        return None
    most = max(len(one.x) for one in series)
    ticks = {float(i): f"D{i}" for i in range(1, most + 1)} if most <= 12 else None
    return LinePlot(
        f"{capital(_the(subject))} along the order", series, "data set", "share of samples on which it agrees",
        f"Line plot. {'; '.join(told)}.", x_ticks=ticks, scale="percent", note="Bands are Wilson's 95 % intervals.",
    )  # fmt: skip


def _ends(findings: FindingIndex, subjects: Sequence[str]) -> DataTable:
    rows: list[list[Cell]] = []
    for subject in subjects:
        for yardstick, name in _MEANT.items():
            along = accuracies(findings, subject, yardstick)
            if not along:
                continue
            rho = findings.first("subject.spearman", subject=subject, of=yardstick)
            tested = findings.first("subject.trend_p", subject=subject, of=yardstick)
            rows.append([
                subject, name, estimate(along[0]), estimate(along[-1]), rho.value if rho else None,
                tested.value if tested else None, tested.verdict if tested else "",
            ])  # fmt: skip
    columns = [
        Column("Subject"), Column("Measured"), Column("On the first data set", "percent"),
        Column("On the last data set", "percent"), Column("ρ", "number", "Along D1…DN"),
        Column("Permutation p", "p", "How often a random order falls as clearly"), Column("Trend"),
    ]  # fmt: skip
    return DataTable("First and last data set", columns, rows)


def _strata(findings: FindingIndex, subjects: Sequence[str]) -> list[DataTable]:
    rows: list[list[Cell]] = [
        [subject, _MEANT[yardstick], share.slice.stratum, estimate(share)]
        for subject in subjects
        for yardstick in _MEANT
        for share in accuracies(findings, subject, yardstick, "stratum")
    ]
    if not rows:
        return []
    columns = [Column("Subject"), Column("Measured"), Column("Stratum", "integer"), Column("Share", "bar")]
    note = "A stratum is what a data set adds to the one before: disjoint samples, hardest last."
    return [DataTable("Stratum by stratum", columns, rows, note, collapsed=True)]


def _short(share: Finding) -> str:
    return f"{share_text(share, 0)} of {share.group}"


def _long(share: Finding) -> str:
    return f"{share_text(share)} of {share.group} (n = {integer(share.n)})"
