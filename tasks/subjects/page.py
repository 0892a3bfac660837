"""What the subjects show in the report: how often each agrees with the weak labels and with gold, along D1…DN."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from assay.tasks.reporting.chances import BRIER, CALIBRATION, RISK
from assay.tasks.reporting.estimates import estimate, series_of
from assay.tasks.reporting.numerals import integer, p_concluded
from assay.tasks.reporting.parts import Block, Cell, Column, DataTable, LinePlot, Paragraph, Part, Verdict
from assay.tasks.reporting.sentences import capital, first_few, share_text
from assay.tasks.statistics.findings import Finding, FindingIndex, distinct, measured

_MEANT = {"weak": "agreement with the weak label", "gold": "accuracy by gold"}
_LINES = {"weak": "with the weak label", "gold": "with gold"}
_SHOWN = {
    ("agreement", "adverse"): "its agreement falls along the order",
    ("agreement", "violation"): "its agreement rises along the order",
    ("hard", "adverse"): "the hard end is hard for it",
    ("hard", "violation"): "the hard end is easier for it",
}
_NOT_SHOWN = {"agreement": "that its agreement falls along the order", "hard": "that the hard end is hard for it"}
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
        blocks += [_ends(findings, subjects), *_own_scores(findings, subjects), *_strata(findings, subjects)]
    flags = [one for one in findings.select("subject.degenerate") if one.degenerate]
    sentence = " ".join([*(_sentence(findings, subject) for subject in subjects), *map(_flag, flags)])
    title = "Subject" if len(subjects) == 1 else "Subjects"
    return Part(
        title,
        sentence or "No subject was measured.",
        blocks,
        "subjects",
        "bad" if flags else "neutral",
        "red flag" if flags else "",
    )


def verdict(findings: FindingIndex) -> tuple[Verdict, ...]:
    """The line about the subjects for the terminal and the head of the page; none where there are none."""
    lines = [
        line for subject in names(findings) if (line := _along(findings, subject, _yardstick(findings, subject), 0))
    ]
    return (Verdict(capital(first_few(lines))),) if lines else ()


def _yardstick(findings: FindingIndex, subject: str) -> str:
    """By which labels a subject is judged first: the true ones, where they are known."""
    return "weak" if findings.get("subject.last_tenth", subject, "gold") is None else "gold"


def names(findings: FindingIndex) -> list[str]:
    """The subjects that were held against D1 … DN, in their order."""
    return distinct(one.subject for one in findings.select("subject.accuracy") if one.of in _MEANT and one.subject)


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
    lines = [line for yardstick in ("gold", "weak") if (line := _along(findings, subject, yardstick))]
    if not lines:
        return f"{capital(_the(subject))} was not measured along the order."
    return " ".join(f"{capital(line)}." for line in lines)


def _along(findings: FindingIndex, subject: str, yardstick: str, digits: int = 1) -> str:
    """How often a subject is right in the first and in the last tenth of the order, by which labels, and what that
    shows; empty where it was not measured."""
    first, last = (findings.get(f"subject.{end}_tenth", subject, yardstick) for end in ("first", "last"))
    test = findings.get("subject.trend_p", subject, yardstick)
    if first is None or last is None or test is None:
        return ""
    ends = f"{share_text(first, digits)} of the first tenth and {share_text(last, digits)} of the last"
    if yardstick == "weak":
        return f"{_the(subject)} agrees with the rules' labels on {ends}: {_shown(findings, test, 'agreement')}"
    return f"by true labels {_the(subject)} is right on {ends}: {_shown(findings, test, 'hard')}"


def _shown(findings: FindingIndex, test: Finding, about: str) -> str:
    """What the test of the order shows, with its p; what was needed, where it shows nothing."""
    p = p_concluded(test.p_value, test.p_adjusted)
    if test.verdict in ("adverse", "violation"):
        return f"{_SHOWN[about, test.verdict]} ({p})"
    area = findings.get("subject.auc", test.subject, test.of)
    if about == "hard" and area is not None and (area.value or 0.0) <= 0.5:
        return f"no sign that the hard end is hard for it ({p})"
    _, _, needed = test.verdict.partition(": ")
    return f"{_NOT_SHOWN[about]} is not shown ({p}{f'; {needed}' if needed else ''})"


def _the(subject: str) -> str:
    return "the subject" if subject == "subject" else f"the subject {subject}"


def _flag(finding: Finding) -> str:
    return f"Red flag: {finding.subject} is {finding.verdict} ({integer(finding.n)} samples)."


def _plot(findings: FindingIndex, subject: str) -> LinePlot | None:
    series, descriptions = [], []
    for yardstick, name in _MEANT.items():
        along = accuracies(findings, subject, yardstick)
        if along:
            series.append(series_of(_LINES[yardstick], [float(one.slice.dataset or 0) for one in along], along))
            descriptions.append(f"{name} goes from {_share_with_n(along[0])} to {_share_with_n(along[-1])}")
    if not series:
        return None
    most = max(len(one.x) for one in series)
    ticks = {float(i): f"D{i}" for i in range(1, most + 1)} if most <= 12 else None
    return LinePlot(
        f"{capital(_the(subject))} along the order",
        series,
        "data set",
        "share of samples on which it agrees",
        f"Line plot. {'; '.join(descriptions)}.",
        x_ticks=ticks,
        scale="percent",
        note="Bands are Wilson's 95 % intervals.",
    )


def _ends(findings: FindingIndex, subjects: Sequence[str]) -> DataTable:
    rows: list[list[Cell]] = []
    for subject in subjects:
        for yardstick, name in _MEANT.items():
            along = accuracies(findings, subject, yardstick)
            if not along:
                continue
            first, last, area = (
                findings.get(f"subject.{metric}", subject, yardstick) for metric in ("first_tenth", "last_tenth", "auc")
            )
            test, rho = (findings.get(f"subject.{metric}", subject, yardstick) for metric in ("trend_p", "spearman"))
            rows.append(
                [
                    subject,
                    name,
                    estimate(first),
                    estimate(last),
                    estimate(area),
                    test.p_value if test else None,
                    test.p_adjusted if test else None,
                    test.verdict if test else "",
                    rho.value if rho else None,
                ]
            )
    columns = [
        Column("Subject"),
        Column("Measured"),
        Column("In the first tenth", "percent"),
        Column("In the last tenth", "percent"),
        Column("AUC", "percent", "How often a right answer outranks a wrong one in the order"),
        Column("p", "p", "Two-sided, samples that are alike counted together"),
        Column("p, corrected", "p", "Holm"),
        Column("Shown"),
        Column("ρ", "number", "Along D1 … DN: a description, nothing is concluded from it"),
    ]
    return DataTable("Along the order", columns, rows)


def _own_scores(findings: FindingIndex, subjects: Sequence[str]) -> list[DataTable]:
    """How well the order and the subject's own scores tell where it is wrong by gold, and if its confidence is a
    chance; none without gold or probabilities."""
    rows: list[list[Cell]] = []
    for subject in subjects:
        for group, name in (("", "our order"), ("confidence", "its confidence"), ("margin", "its margin")):
            area, gain, risk = (
                findings.get(f"subject.{metric}", subject, "gold", group) for metric in ("auc", "auc_gain", "aurc")
            )
            if area is None or findings.get("subject.ece", subject, "gold") is None:
                continue
            error, brier = (
                None if group != "confidence" else findings.get(f"subject.{metric}", subject, "gold")
                for metric in ("ece", "brier")
            )
            rows.append(
                [subject, name, estimate(area), estimate(gain), estimate(risk), estimate(error), estimate(brier)]
            )
    if not rows:
        return []
    columns = [
        Column("Subject"),
        Column("Ordered by"),
        Column("AUC", "percent", "How often a right answer outranks a wrong one"),
        Column("More than our order", "percent", "Paired on the same samples (DeLong)"),
        RISK,
        CALIBRATION,
        BRIER,
    ]
    return [DataTable("Does the subject know where it is wrong?", columns, rows)]


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


def _share_with_n(share: Finding) -> str:
    return f"{share_text(share)} of {share.group} (n = {integer(share.n)})"
