"""What the statistics show in the report: which gates passed, and what correcting for many tests changed."""

from __future__ import annotations

from collections.abc import Sequence
from operator import attrgetter
from typing import Literal

from assay.tasks.reporting.estimates import column, table_of
from assay.tasks.reporting.numerals import plain, plural
from assay.tasks.reporting.parts import Block, Column, DataTable, Mark, Paragraph, Part, Verdict
from assay.tasks.statistics.findings import Finding, FindingIndex
from assay.tasks.statistics.gates import GateResult, Outcome
from assay.tasks.statistics.multiplicity import COMPARED, CONCLUDED, OWN_LEVEL, PRIMARY, RELATED, family_size, is_test
from assay.tasks.statistics.settings import Statistics

_TONES: dict[Outcome, Literal["good", "bad", "neutral"]] = {
    "failed": "bad",
    "not asked": "bad",
    "warned": "neutral",
    "inconclusive": "neutral",
    "passed": "good",
}
_ORDER = list(_TONES)
_COLUMNS = [
    column("Gate", lambda result: result.gate.title()),
    column("Outcome", lambda result: Mark(result.outcome, _TONES[result.outcome], order=_ORDER.index(result.outcome))),
    column("Why", "sentence"),
]
_CLAIMS = [
    column("Claim", "metric"),
    column("About", lambda test: ", ".join(filter(None, (test.subject, test.of, test.group)))),
    column("Value", "value", "number"),
    column("n", "n", "integer"),
    column("p", "p_value", "p"),
    column("p, corrected", "p_adjusted", "p", "Tested in sequence, at the whole level"),
    column("Verdict", "verdict"),
]


def page(findings: FindingIndex, gates: Sequence[GateResult], settings: Statistics) -> Part:
    """The part of the report about gates and tests, from the judged gates and the corrected findings."""
    blocks: list[Block] = [table_of("Gates", gates, _COLUMNS)] if gates else []
    blocks += [Paragraph(_correction(findings, settings)), *_families(findings, settings)]
    if first := [finding for finding in findings if is_test(finding, PRIMARY)]:
        blocks.append(table_of("Primary claims that are shown", sorted(first, key=attrgetter("p_value")), _CLAIMS))
    return Part("Gates and tests", _passed(gates), blocks, "gates", *_judged(gates))


def verdict(gates: Sequence[GateResult]) -> tuple[Verdict, ...]:
    """The line about the gates for the terminal and the head of the page; none where the pipeline sets none."""
    if not gates:
        return ()
    broken = [gate for gate in gates if not gate.passed]
    kept = sum(gate.outcome == "passed" for gate in gates)
    asked = sum(gate.outcome != "not asked" for gate in gates)
    text = f"{kept} of {asked} gates passed" if asked else "No gate was asked"
    for outcome in ("failed", "not asked", "warned", "inconclusive"):
        if named := [gate.gate.title() for gate in gates if gate.outcome == outcome]:
            text += f"; {outcome}: {'; '.join(named)}"
    return (Verdict(text, "bad" if broken else "good"),)


def _judged(gates: Sequence[GateResult]) -> tuple[Literal["good", "bad", "neutral"], str]:
    """How the part is marked, and in which words."""
    if not gates:
        return "neutral", ""
    broken, asked = (sum(gate.outcome == outcome for gate in gates) for outcome in ("failed", "not asked"))
    if asked and not broken:
        return "bad", f"{plural(asked, 'gate')} not asked"
    if not broken and any(gate.outcome != "passed" for gate in gates):
        return "neutral", "passed, with warnings"
    return ("bad", f"{plural(broken, 'gate')} failed") if broken else ("good", "passed")


def _passed(gates: Sequence[GateResult]) -> str:
    if not gates:
        return "This pipeline sets no gates, so nothing could fail it; the findings stand for themselves."
    broken = [gate for gate in gates if not gate.passed]
    unsure = [gate for gate in gates if gate.outcome in ("warned", "inconclusive")]
    if not broken and unsure:
        kept = len(gates) - len(unsure)
        return f"{kept} of {plural(len(gates), 'gate')} passed, and none failed the run. {unsure[0].sentence}"
    if not broken:
        return f"All {len(gates)} gates passed." if len(gates) > 1 else "The one gate of this pipeline passed."
    failed = sum(gate.outcome == "failed" for gate in gates)
    how = f"{failed or len(broken)} of {plural(len(gates), 'gate')} {'failed' if failed else 'could not be asked'}"
    return f"{how}. {broken[0].sentence}"


def _correction(findings: Sequence[Finding], settings: Statistics) -> str:
    """What was done about many tests in one run, in words; the table of families says what each level covers."""
    primary, family = sum(is_test(finding, PRIMARY) for finding in findings), family_size(findings)
    level = plain(settings.significance)
    if not family:
        return "This run made no test that is corrected with others."
    if settings.correction == "none":
        tests = plural(family, "test")
        return (
            f"This run made {tests} at the level {level}; their p-values are not corrected for their number, as asked."
        )
    also = f"Holm's method corrects all {plural(family, 'test')} together as well, also beyond that sequence."
    return (
        f"What this run concludes first is fixed by its settings: each subject is better than one constant answer, the "
        f"order of the first labeler is adverse, no defence costs a class {plain(100 * settings.margin)} points of its "
        f"recall. These claims are tested one after the other, each at the level {level}, until one is not shown: "
        f"{plural(primary, 'is', 'are') if primary else 'none is'} shown so. "
        f"{'This run made only one test.' if family == 1 else also} Each family below keeps the "
        "chance of even one false alarm within itself at its level; over several of them it is larger."
    )


_FAMILIES = (
    (PRIMARY, "Primary claims", "in a fixed sequence, until one is not shown"),
    (CONCLUDED, "All other tests of the run", "Holm, the primary claims counted"),
    (COMPARED, "What is only compared with these", "Holm, among themselves"),
    (RELATED, "Pairs of measures of hardness", "Holm, among themselves"),
    (OWN_LEVEL, "Tests with a level of their own", "where they are made, over all nights or within one search"),
)


def _families(findings: FindingIndex, settings: Statistics) -> list[Block]:
    """What each level covers, and nothing wider."""
    level, rows = plain(settings.significance), list[tuple[str, int, int, str, str]]()
    for unit, name, how in _FAMILIES:
        tests = [finding for finding in findings if is_test(finding, unit)]
        held = sum((test.concluded_p or 0.0) <= settings.significance for test in tests)
        own = unit == OWN_LEVEL
        how = how if own or settings.correction == "holm" else "not corrected, as asked"
        if tests:
            rows.append((name, len(tests), held, "its own" if own else level, how))
    above = [floor for name in ("attack", "corruption") for floor in findings.select(f"{name}.above_chance") if floor.n]
    if above:
        shown = sum(floor.verdict == "more than chance" for floor in above)
        rows.append(("Changes above the noise floor", len(above), shown, level, "not corrected for their number"))
    flags = [flag for flag in findings.select("attack.red_flag") if flag.n]
    if flags:
        raised = sum(flag.value == 1.0 for flag in flags)
        rows.append(("Red flags", len(flags), raised, "0.01 each", "not corrected for their number"))
    reached = Column("At the level", "integer", "How many of them reach it")
    columns = [Column("Family"), Column("Tests", "integer"), reached, Column("Level"), Column("How")]
    return [DataTable("What each level covers", columns, rows)] if rows else []
