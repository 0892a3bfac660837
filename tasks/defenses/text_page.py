"""What attacked copies show in the report: what each model was trained with, by what it is tested on."""

from __future__ import annotations

from assay.tasks.defenses.class_page import class_table, losses, points
from assay.tasks.defenses.comparison import CLEAN, NONE
from assay.tasks.reporting.estimates import About, column, series_of, share_text
from assay.tasks.reporting.numerals import integer, p_concluded, percent, plural
from assay.tasks.reporting.parts import DataTable, LinePlot, Part, Tone
from assay.tasks.statistics.findings import Finding, FindingIndex, distinct
from assay.tasks.statistics.metrics import controlled_by

_COMPARED = (
    "defense.accuracy",
    "defense.gain",
    "defense.mcnemar_p",
    "defense.gain_over_control",
    "defense.control_mcnemar_p",
)
_SHOWN = ("better", "worse")
"""What a test concludes where it shows a change."""


class TextDefenceFindings:
    """The findings on defended text subjects, as the page asks for them."""

    def __init__(self, findings: FindingIndex) -> None:
        self.all = findings
        accuracies = [finding for finding in findings.select("defense.accuracy") if finding.group != CLEAN]
        texts = {finding.subject for finding in accuracies if finding.slice.eps is None}
        compared = [
            finding
            for finding in findings.select("defense")
            if finding.metric in _COMPARED and finding.subject in texts
        ]
        self.subjects = distinct(finding.subject for finding in compared)
        self.defences = distinct(finding.of for finding in compared if finding.of != NONE)
        self.groups = distinct(finding.group for finding in compared)

    def get(self, metric: str, subject: str, defence: str, group: str) -> Finding | None:
        """The finding `defense.metric`, if it has a value."""
        return self.all.get(f"defense.{metric}", subject, defence, group)

    def concluded(self, gain: Finding) -> str:
        """What is concluded of a gain; empty where nothing is."""
        test = self.get("mcnemar_p", gain.subject, gain.of, gain.group)
        return "" if test is None else test.verdict

    @property
    def controls(self) -> dict[str, str]:
        """Every control with the defence that it is the control of."""
        controlled = {control: controlled_by(control, self.defences) for control in self.defences}
        return {control: defence for control, defence in controlled.items() if defence is not None}

    def losses(self, subject: str) -> str:
        """Which defences lose a class, in words."""
        real = [defence for defence in self.defences if defence not in self.controls]
        return losses(self.all, subject, real, lambda place: f"on {place} texts" if place == CLEAN else f"on {place}")

    def trained_with(self, defence: str) -> str:
        """What a model was trained with, besides the texts as they are."""
        if defence not in self.controls:
            return defence
        whose = f" ({self.controls[defence]})" if len(self.controls) > 1 else ""
        return f"equal steps, unchanged copies{whose}"


def page(findings: FindingIndex) -> Part:
    """The part of the report about text subjects that learned from attacked copies, from the findings `defense.*`."""
    text_findings = TextDefenceFindings(findings)
    blocks = [show(text_findings, subject) for subject in text_findings.subjects for show in (_classes, _plot)]
    lost = [f"{line}." for subject in text_findings.subjects if (line := text_findings.losses(subject))]
    lines = [tell(text_findings, subject) for subject in text_findings.subjects for tell in (_sentence, _one_answer)]
    sentence = " ".join(filter(None, [*lost, *lines])) or "No defended model came through."
    tone: Tone = "bad" if lost else "neutral"
    return Part("Attacked copies", sentence, blocks, "attacked-copies", tone, "loses a class" if lost else "")


def _over_control(findings: TextDefenceFindings, test: Finding) -> str:
    """How much of a gain is over the control: what more steps do not explain."""
    about = test.subject, test.of, test.group
    gain, control = findings.get("gain_over_control", *about), findings.get("control_mcnemar_p", *about)
    if gain is None:
        return ""
    shown = "" if control is None or control.verdict in _SHOWN else f", none shown with {plural(gain.n or 0, 'text')}"
    return f" ({points(gain)} over equal steps on unchanged copies{shown})"


def _sentence(findings: TextDefenceFindings, subject: str) -> str:
    """What a defence changes, clean texts beside it: the largest gain that a test shows, or that none does."""
    gains = [
        gain
        for defence in findings.defences
        for group in findings.groups
        if group != CLEAN
        if (gain := findings.get("gain", subject, defence, group)) is not None
        and findings.get("mcnemar_p", subject, defence, group) is not None
    ]
    shown = [gain for gain in gains if findings.concluded(gain) in _SHOWN]
    best = max(shown or gains, key=lambda gain: gain.value or 0.0, default=None)
    if best is None:
        return ""
    if not shown and len(gains) > 1:
        test = findings.get("mcnemar_p", best.subject, best.of, best.group)
        # What its interval, which stands by itself, does not know of.
        corrected = "" if test is None else f", {p_concluded(test.p_value, test.p_adjusted)}"
        return (
            f"The {len(gains)} changes that were tested are not told apart from none: the largest gain of {subject} is "
            f"{points(best)} with {plural(best.n or 0, 'text')}{corrected} ({subject}+{best.of} on "
            f"{best.group}){_over_control(findings, best)}."
        )
    before, after = (findings.get("accuracy", subject, who, best.group) for who in (NONE, best.of))
    cost = findings.get("gain", subject, best.of, CLEAN)
    if before is None or after is None:
        return ""
    clean = "" if cost is None else f", and clean texts change by {points(cost)}"
    none = "" if shown else f", a change not shown with {plural(best.n or 0, 'text')}"
    more = ", the largest of several gains that are not told apart among themselves" if len(shown) > 1 else ""
    return (
        f"On {best.group} {subject} is right for {percent(before.value)} of {integer(before.n)} texts, {subject}+"
        f"{best.of} for {share_text(after)}{none}{more}{_over_control(findings, best)}"
        f"{clean}."
    )


def _one_answer(findings: TextDefenceFindings, subject: str) -> str:
    """Where a model (almost) always answers the same, in words: what is right there is right by chance."""
    where: dict[tuple[str, str], list[str]] = {}
    for defence in (NONE, *findings.defences):
        model = subject if defence == NONE else f"{subject}+{defence}"
        for group in findings.groups:
            accuracy = findings.get("accuracy", subject, defence, group)
            if accuracy is not None and accuracy.degenerate:
                where.setdefault((model, accuracy.verdict.rpartition(" are called ")[2]), []).append(group)
    lines = [
        f"{model} calls nearly all texts {answer} on {', '.join(groups)}" for (model, answer), groups in where.items()
    ]
    right = "One answer to everything is right for all texts of that class"
    return f"{right}: {'; '.join(lines)}." if lines else ""


def _classes(findings: TextDefenceFindings, subject: str) -> DataTable:
    """What every defended model gets of every class on every test, and what is concluded of that."""
    rows = [
        About(subject, defence, group)
        for group in findings.groups
        for defence in findings.defences
        if defence not in findings.controls and findings.get("accuracy", subject, defence, group) is not None
    ]
    note = (
        "Accuracy under a word attack is of the texts under attack, and counts what was right before and after it; "
        "noise is at its highest severity. "
    )
    leading = [column("Tested on", "group"), column("Trained with", "of")]
    return class_table(findings.all, f"Trained with, tested on: {subject}", rows, leading, note=note)


def _plot(findings: TextDefenceFindings, subject: str) -> LinePlot:
    """The matrix to look at: a mark per model and test."""
    series = []
    for at, defence in enumerate((NONE, *findings.defences)):
        known = [
            (place + 0.06 * at, accuracy)
            for place, group in enumerate(findings.groups)
            if (accuracy := findings.get("accuracy", subject, defence, group)) is not None
        ]
        if known:
            places, accuracies = zip(*known, strict=True)
            name = "undefended" if defence == NONE else findings.trained_with(defence)
            series.append(series_of(name, places, accuracies, "points"))
    values_text = "; ".join(f"{line.name} " + ", ".join(percent(value) for value in line.y) for line in series)
    names = {float(place): group for place, group in enumerate(findings.groups)}
    near = {place + 0.06 * at: group for at in range(len(series)) for place, group in names.items()}
    short = {place: group.partition(",")[0] for place, group in names.items()}
    title = f"What training changes: {subject}"
    alt = f"Accuracy of each model on {', '.join(findings.groups)}: {values_text}."
    note = "Whiskers are 95 % intervals (Wilson)."
    return LinePlot(title, series, "Tested on", "Accuracy", alt, (0.0, 1.0), short, note, "percent", near)
