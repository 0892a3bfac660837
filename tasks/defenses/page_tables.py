"""The tables about defences: the paper's Table 5, what each gains and costs with its tests, and flips."""

from __future__ import annotations

from collections.abc import Mapping

from assay.tasks.attacks.page_findings import eps_text
from assay.tasks.defenses.answers import CLEAN
from assay.tasks.defenses.comparing import NONE
from assay.tasks.defenses.page_findings import DefenceFindings
from assay.tasks.reporting.estimates import estimate
from assay.tasks.reporting.numerals import integer, p_equals
from assay.tasks.reporting.parts import Cell, Column, DataTable, Mark, Tone
from assay.tasks.statistics.findings import FindingIndex, distinct, measured

_TONES: dict[str, Tone] = {"better": "good", "worse": "bad"}


def layout_table(findings: DefenceFindings) -> DataTable:
    """Accuracy per subject in the layout of Table 5: as it is, attacked, and attacked with each defence."""
    columns = [Column(""), *(Column(subject, "percent") for subject in findings.subjects)]
    rows: list[list[Cell]] = [
        ["None", *(estimate(findings.accuracy(subject, NONE, CLEAN)) for subject in findings.subjects)],
        ["Attack", *(estimate(findings.accuracy(subject, NONE, findings.group)) for subject in findings.subjects)],
    ]
    rows += [
        [defence, *(estimate(findings.accuracy(subject, defence, findings.group)) for subject in findings.subjects)]
        for defence in findings.defences
    ]
    note = (
        f"None: clean images, no defence. Attack: no defence, {findings.against()} at ε = {eps_text(findings.group)}. "
        "The other rows: the same attack on the defended model. Intervals are 95 % (Wilson)."
    )
    return DataTable("Accuracy without and with defences", columns, rows, note)


def tests_table(findings: DefenceFindings) -> DataTable:
    """Per defended model: clean and attacked accuracy, how they changed, and whether McNemar's test says so."""
    several = len(findings.subjects) > 1
    columns = [
        *([Column("Subject")] if several else []),
        Column("Defence"),
        Column("Clean", "percent"),
        Column("Change", "percent", "The defended model's accuracy on clean images minus the original's"),
        Column("Test", help="McNemar's exact test, corrected for all tests of the run"),
    ]
    if findings.group:
        columns += [
            Column("Attacked", "percent"),
            Column("Gain", "percent", "The same under attack"),
            Column("Test", help="The same under attack"),
        ]
    rows: list[list[Cell]] = []
    for subject in findings.subjects:
        for defence in findings.defences:
            row: list[Cell] = [*([subject] if several else []), defence]
            row += _tested(findings, subject, defence, attacked=False)
            row += _tested(findings, subject, defence, attacked=True) if findings.group else []
            constant = findings.degenerate(subject, defence)
            rows.append([*row[:-1], Mark(constant, "bad")] if constant else row)
    note = (
        "Every sample is its own control: the tests look only at samples that one model gets right and the other "
        "wrong. Changes are in points, with 95 % intervals (Newcombe; of several labels: bootstrap). "
        f"n = {integer(_largest_n(findings))}."
    )
    return DataTable("What each defence gains and costs", columns, rows, note)


def changes_table(findings: DefenceFindings) -> DataTable | None:
    """The gain under every attack and ε; shown, and not concluded from."""
    rows: list[list[Cell]] = [
        [
            subject,
            defence,
            gain.slice.name,
            Mark(gain.slice.eps_text, order=gain.slice.eps),
            estimate(gain),
            gain.p_value,
        ]
        for subject in findings.subjects
        for defence in findings.defences
        for gain in findings.gains(subject, defence)
    ]
    if not rows:
        return None
    columns = [
        Column("Subject"),
        Column("Defence"),
        Column("Attack"),
        Column("ε"),
        Column("Gain", "percent"),
        Column("p", "p", "McNemar's exact test, not corrected"),
    ]
    note = "Described, and not concluded from: these p-values are not corrected for their number."
    return DataTable("Gain under every attack", columns, rows, note, collapsed=True)


def flips_table(findings: FindingIndex, models: Mapping[str, Mapping[str, str]]) -> DataTable | None:
    """How often answers flip under corruptions, before and after each defence; None where nothing was corrupted."""
    flips = {one.subject: one for one in findings.select("corruption.flip_probability", of="mean", group="all")}
    defences = distinct(defence for defended in models.values() for defence in defended)
    rows: list[list[Cell]] = [
        [subject, *(estimate(flips.get(name)) for name in (subject, *(defended.get(one, "") for one in defences)))]
        for subject, defended in models.items()
        if subject in flips
    ]
    if not rows:
        return None
    columns = [Column("Subject"), Column("Undefended", "percent"), *(Column(one, "percent") for one in defences)]
    note = (
        "Flip probability, the mean over all perturbations and severities that were tried. 0 is also what a model has "
        "that always says the same."
    )
    return DataTable("Answers that flip under corruptions", columns, rows, note)


def _tested(findings: DefenceFindings, subject: str, defence: str, *, attacked: bool) -> list[Cell]:
    accuracy = findings.accuracy(subject, defence, findings.group if attacked else CLEAN)
    gain = findings.gain(subject, defence, attacked=attacked)
    test = findings.test(subject, defence, attacked=attacked)
    p = None if test is None else test.concluded_p
    concluded = "" if test is None else Mark(test.verdict, _TONES.get(test.verdict, "neutral"), p_equals(p), order=p)
    # The n of all cells stands in the note, for which there is more room.
    return [estimate(accuracy, counted=False), estimate(gain, counted=False), concluded]


def _largest_n(findings: DefenceFindings) -> int:
    clean = measured(findings.accuracy(subject, NONE, CLEAN) for subject in findings.subjects)
    return max((share.n or 0 for share in clean), default=0)
