"""What the statistics show in the report: which gates passed, and what correcting for many tests changed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from assay.tasks.reporting.estimates import column, table_of
from assay.tasks.reporting.numerals import integer, plain, plural
from assay.tasks.reporting.parts import Block, DataTable, Mark, Paragraph, Part, Verdict
from assay.tasks.statistics.findings import Finding, FindingIndex
from assay.tasks.statistics.gates import GateResult, Outcome
from assay.tasks.statistics.multiplicity import COMPARED, OWN_LEVEL, RELATED, family_size, is_test
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
_HELP = {"holm": "Holm's correction", "none": "Not corrected, as asked"}


def page(findings: FindingIndex, gates: Sequence[GateResult], settings: Statistics) -> Part:
    """The part of the report about gates and tests, from the judged gates and the corrected findings."""
    blocks: list[Block] = [table_of("Gates", gates, _COLUMNS)] if gates else []
    blocks.append(Paragraph(_correction(findings, settings)))
    if tested := [finding for finding in findings if is_test(finding)]:
        blocks.append(_tests("The tests of this run", tested, _HELP[settings.correction]))
    if own := [finding for finding in findings if is_test(finding, OWN_LEVEL)]:
        blocks.append(_tests("Tests that keep a level of their own", own, "Within what was asked together"))
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
        return (
            f"All {plural(len(gates), 'gate')} passed." if len(gates) > 1 else "The one gate of this pipeline passed."
        )
    failed = sum(gate.outcome == "failed" for gate in gates)
    return (
        f"{failed} of {plural(len(gates), 'gate')} failed. {broken[0].sentence}"
        if failed
        else f"{len(broken)} of {plural(len(gates), 'gate')} could not be asked. {broken[0].sentence}"
    )


def _correction(findings: Sequence[Finding], settings: Statistics) -> str:
    """What was done about many tests in one run, in words, with their number."""
    family, level = family_size(findings), plain(settings.significance)
    own, compared, related = (
        sum(is_test(finding, unit) for finding in findings) for unit in (OWN_LEVEL, COMPARED, RELATED)
    )
    aside = ""
    if compared:
        how = "corrected among themselves" if settings.correction == "holm" else "not corrected either"
        aside += f" {plural(compared, 'more test is', 'more tests are')} only compared with these, and {how}."
    if related:
        how = "are corrected among themselves" if settings.correction == "holm" else "are not corrected either"
        aside += f" The {plural(related, 'test')} of pairs of measures of hardness {how}."
    if own:
        own_tests = plural(own, "test keeps", "tests keep")
        aside += f" {own_tests} a level of {'its' if own == 1 else 'their'} own over all nights, by what came before."
    if not family:
        none = "no test that is corrected with others" if aside else "no statistical test"
        return f"This run made {none}, so there is nothing to correct for their number.{aside}"
    tests = plural(family, "test")
    if settings.correction == "none":
        return (
            f"This run made {tests} at the level {level}. Their p-values are not corrected for their number, as asked."
            f"{aside}"
        )
    tested = [finding for finding in findings if is_test(finding)]
    raw, held = (
        sum(p is not None and p <= settings.significance for p in some)
        for some in ([test.p_value for test in tested], [test.p_adjusted for test in tested])
    )
    return (
        f"This run made {tests}. Among so many, one may look significant by chance alone, so the p-values are "
        "corrected with Holm's method, which keeps the chance of even one false alarm in the whole run at "
        f"{level}. {integer(raw)} of them reach that level uncorrected, {integer(held)} after the correction.{aside}"
    )


def _tests(title: str, tested: Sequence[Finding], corrected: str) -> DataTable:
    rows = sorted(tested, key=lambda test: test.p_value if test.p_value is not None else 1.0)
    columns = [
        column("Test", "metric"),
        column("About", lambda test: ", ".join(piece for piece in (test.subject, test.of, test.group) if piece)),
        column("Value", "value", "number"),
        column("n", "n", "integer"),
        column("p", "p_value", "p"),
        column("p, corrected", "p_adjusted", "p", corrected),
        column("Verdict", "verdict"),
    ]
    return table_of(title, rows, columns, collapsed=len(rows) > 16)
