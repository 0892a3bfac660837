"""The tables about defences: the paper's Table 5, what each gains and costs with its tests, and flips."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from assay.tasks.attacks.page_findings import eps_text, eps_value
from assay.tasks.defenses.answers import CLEAN
from assay.tasks.defenses.comparing import NONE
from assay.tasks.defenses.page_findings import Defended
from assay.tasks.reporting.numerals import integer, p_equals
from assay.tasks.reporting.parts import Cell, Column, DataTable, Estimate, Mark, Tone
from assay.tasks.statistics.findings import Finding

_TONES: dict[str, Tone] = {"better": "good", "worse": "bad"}


def layout_table(found: Defended) -> DataTable:
    """Accuracy per subject in the layout of Table 5: as it is, attacked, and attacked with each defence."""
    columns = [Column(""), *(Column(subject, "percent") for subject in found.subjects)]
    rows: list[list[Cell]] = [
        ["None", *(_estimate(found.accuracy(subject, NONE, CLEAN)) for subject in found.subjects)],
        ["Attack", *(_estimate(found.accuracy(subject, NONE, found.group)) for subject in found.subjects)],
    ]
    rows += [
        [defence, *(_estimate(found.accuracy(subject, defence, found.group)) for subject in found.subjects)]
        for defence in found.defences
    ]
    note = (
        f"None: clean images, no defence. Attack: no defence, {found.against()} at ε = {eps_text(found.group)}. The "
        "other rows: the same attack on the defended model. Intervals are 95 % (Wilson)."
    )
    return DataTable("Accuracy without and with defences", columns, rows, note)


def tests_table(found: Defended) -> DataTable:
    """Per defended model: clean and attacked accuracy, how they changed, and whether McNemar's test says so."""
    several = len(found.subjects) > 1
    columns = [
        *([Column("Subject")] if several else []), Column("Defence"), Column("Clean", "percent"),
        Column("Change", "percent", "The defended model's accuracy on clean images minus the original's"),
        Column("Test", help="McNemar's exact test, corrected for all tests of the run"),
    ]  # fmt: skip
    if found.group:
        columns += [
            Column("Attacked", "percent"), Column("Gain", "percent", "The same under attack"),
            Column("Test", help="The same under attack"),
        ]  # fmt: skip
    rows: list[list[Cell]] = []
    for subject in found.subjects:
        for defence in found.defences:
            row: list[Cell] = [*([subject] if several else []), defence]
            row += _tested(found, subject, defence, attacked=False)
            row += _tested(found, subject, defence, attacked=True) if found.group else []
            said = found.degenerate(subject, defence)
            rows.append([*row[:-1], Mark(said, "bad")] if said else row)
    note = (
        "Every sample is its own control: the tests look only at samples that one model gets right and the other "
        "wrong. Changes are in points, with 95 % intervals (Newcombe; of several labels: bootstrap). "
        f"n = {integer(_largest_n(found))}."
    )
    return DataTable("What each defence gains and costs", columns, rows, note)


def changes_table(found: Defended) -> DataTable | None:
    """The gain under every attack and ε; shown, and not concluded from."""
    rows: list[list[Cell]] = []
    for subject in found.subjects:
        for defence in found.defences:
            for one in found.gains(subject, defence):
                if one.group != CLEAN:
                    group, _, attack = one.group.partition(", ")
                    eps = Mark(eps_text(group), order=eps_value(group))
                    rows.append([subject, defence, attack, eps, _estimate(one), one.p_value])
    if not rows:
        return None
    columns = [Column("Subject"), Column("Defence"), Column("Attack"), Column("ε"), Column("Gain", "percent"),
               Column("p", "p", "McNemar's exact test, not corrected")]  # fmt: skip
    note = "Described, and not concluded from: these p-values are not corrected for their number."
    return DataTable("Gain under every attack", columns, rows, note, collapsed=True)


def flips_table(findings: Sequence[Finding], models: Mapping[str, Mapping[str, str]]) -> DataTable | None:
    """How often answers flip under corruptions, before and after each defence; None where nothing was corrupted."""
    flips = {one.subject: one for one in findings
             if (one.metric, one.of, one.group) == ("corruption.flip_probability", "mean", "all")}  # fmt: skip
    defences = list(dict.fromkeys(defence for defended in models.values() for defence in defended))
    rows: list[list[Cell]] = [
        [subject, _estimate(flips.get(subject)), *(_estimate(flips.get(made.get(one, ""))) for one in defences)]
        for subject, made in models.items()
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


def _tested(found: Defended, subject: str, defence: str, *, attacked: bool) -> list[Cell]:
    accuracy = found.accuracy(subject, defence, found.group if attacked else CLEAN)
    gain = found.gain(subject, defence, attacked=attacked)
    test = found.test(subject, defence, attacked=attacked)
    if test is None:
        return [_without_n(accuracy), _without_n(gain), ""]
    p = test.p_value if test.p_adjusted is None else test.p_adjusted
    said = Mark(test.verdict, _TONES.get(test.verdict, "neutral"), p_equals(p), order=p)
    return [_without_n(accuracy), _without_n(gain), said]


def _largest_n(found: Defended) -> int:
    every = (found.accuracy(subject, NONE, CLEAN) for subject in found.subjects)
    return max((one.n or 0 for one in every if one is not None), default=0)


def _without_n(finding: Finding | None) -> Estimate | None:
    """With its interval; the n of all cells stands in the note, for which there is more room."""
    return None if (cell := _estimate(finding)) is None else replace(cell, n=None)


def _estimate(finding: Finding | None) -> Estimate | None:
    if finding is None or finding.value is None:
        return None
    return Estimate(finding.value, finding.low, finding.high, finding.n)
