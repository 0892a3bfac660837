"""What the overfitting test shows in the report: a verdict on every subject with the gap that could have been found."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from math import isfinite

from assay.tasks.overfitting.judging import Judged
from assay.tasks.overfitting.orbits import GENERATOR as ORBIT
from assay.tasks.overfitting.page_synthetic import synthetic_blocks, synthetic_line
from assay.tasks.overfitting.page_windows import window_blocks
from assay.tasks.overfitting.records import Record, Role
from assay.tasks.overfitting.synthetic_findings import Runs
from assay.tasks.reporting.estimates import share_estimate
from assay.tasks.reporting.numerals import integer, number, p_equals, p_value, plain
from assay.tasks.reporting.parts import Block, Cell, Column, DataTable, Estimate, Mark, Paragraph, Part, Tone, Verdict
from assay.tasks.statistics.findings import FindingIndex, measured

_TONES: dict[str, Tone] = {"overfit": "bad", "no evidence": "good"}
_ROLES: dict[Role, str] = {
    "test": "test set",
    "training": "what it learned from",
    "fresh": "fresh samples",
    "dishonest": "fitted to the test set",
}
_WARNING = (
    "A rejection says that model and test set are not independent, or that shifted images are not as likely as the "
    "originals: a model tuned to centred objects on an honest test set shows the same as one that memorised it. Hence "
    "the controls: fresh samples should not be rejected, a copy that was fitted to the test set should be, and the "
    "error should not jump from offset 0 to 1. Samples that the model learned from should be rejected too, if it "
    "learned them where they stand: one that was trained on windows all over its images (augment: [window]) knows "
    "them at every offset."
)
_FRESH = (
    "Fresh samples are fresh once. From the second night on models have been measured on them, and whoever chooses "
    "models by what is said of them here fits models to them too: both sets then show the same gap, and what should be "
    "overfit is inconclusive. Their error is therefore left out of the table; the curve over the offset shows it, "
    "since it is the control: choose nothing by it, and bring new samples once models were chosen."
)
_SPENT = (
    "Night after night the same samples are asked. Look-up t may spend α / (t (t + 1)); all tests of a subject in one "
    "night are one look-up, and the same model on the same samples again is none."
)
_COLUMNS = [
    Column("Subject"),
    Column("Samples"),
    Column("Generator"),
    Column("Verdict"),
    Column("p", "p", "Of this test; of several generators the corrected one (Holm), and below it the plain one"),
    Column("Gap", "number", "T̄ = R_g − R_S, ± the smallest gap; only above zero is it overfitting"),
    Column("Smallest gap", "number", "What would have been significant, observed on this many samples"),
    Column("n", "integer"),
]
_ERRORS = [
    Column("Subject"),
    Column("Samples"),
    Column("Generator"),
    Column("Error", "percent", "R_S with Wilson's 95 % interval"),
    Column("Adversarial error", "percent", "R_adv: where the generator may choose; no estimate of the error"),
    Column("Estimate", "percent", "R_g: adversarial errors weighted by density; under independence the error"),
]


def page(findings: FindingIndex, judged: Sequence[Judged], simulated: Sequence[Runs] = (), alpha: float = 0.05) -> Part:
    """The part of the report about overfitting: judged tests, what else was seen of them, synthetic experiments.

    `alpha` is the level of the latter; each judged test has its own.
    """
    blocks: list[Block] = []
    if judged:
        blocks += [_table(judged), *(Paragraph(_why(one)) for one in judged if one.verdict is not None)]
        blocks += [_errors(judged), Paragraph(_SPENT)]
        if any(one.record.generator != ORBIT for one in judged):
            blocks.append(Paragraph(_WARNING))
        if any(one.record.role == "fresh" for one in judged):
            blocks.append(Paragraph(_FRESH))
    blocks += [*window_blocks(findings), *synthetic_blocks(simulated, alpha)]
    names = [one.verdict.name for one in judged if one.verdict is not None]
    sentences = [*(_sentence(one) for one in judged if one.verdict is not None), *synthetic_line(simulated, alpha)]
    sentence = " ".join(sentences) or "No test could be made."
    return Part("Overfitting", sentence, blocks, "overfitting", _tone(names), ", ".join(dict.fromkeys(names)))


_CONCLUDED = {
    "overfit": "{0} is fitted to its {1} test samples: its score on them is too good",
    "no evidence": "Nothing says that {0} is fitted to its {1} test samples",
    "inconclusive": "Whether {0} is fitted to its {1} test samples cannot be told from this test",
    "underpowered": "The {1} test samples are too few to tell whether {0} is fitted to them",
}


def verdict(findings: FindingIndex) -> tuple[Verdict, ...]:
    """The line about overfitting for the terminal and the head of the page; none where nothing was tested.

    It says p coarsely: whoever tunes a model by it should learn as little of the test set as possible.
    """
    judged = [test for test in findings.select("overfitting.p_value") if test.verdict]
    lines = []
    for test in judged:
        about = (test.subject, test.of, test.group)
        beside = (findings.get(f"overfitting.{metric}", *about) for metric in ("minimum_gap", "level"))
        floor, level = (None if one is None else one.value for one in beside)
        corrected = "" if test.concluded_p == test.p_value else "corrected "
        lines.append(
            f"{_CONCLUDED[test.verdict].format(test.subject, integer(test.n))} (by {_generator(test.of)}: "
            f"{corrected}{coarse(test.concluded_p, level)}; a gap from {number(floor)} on would be significant)"
        )
    lines += _synthetic_verdict(findings)
    if not lines:
        return ()
    return (Verdict("; ".join(lines), _tone({test.verdict for test in judged})),)


def _tone(verdicts: Collection[str]) -> Tone:
    return "bad" if "overfit" in verdicts else "good" if set(verdicts) == {"no evidence"} else "neutral"


def coarse(p: float | None, level: float | None) -> str:
    """A p-value as a step of a short ladder, or only that it is above the level of its look-up.

    >>> coarse(0.0004, 0.025), coarse(0.02, 0.025), coarse(0.03, 0.025)
    ('p < 0.001', 'p < 0.05', 'p above the level 0.025')
    """
    if p is None or level is None or p > level:
        return f"p above the level {level or 0:.2g}"
    return next((f"p < {step:g}" for step in (0.001, 0.01, 0.05) if p < step), "p < 1")


def _synthetic_verdict(findings: FindingIndex) -> list[str]:
    lines = []
    for experiment in findings.distinct("of", "overfitting.rejected"):
        shares = measured(findings.select("overfitting.rejected", of=experiment))
        most = max((share.value or 0.0 for share in shares), default=0.0)
        where = [share.slice.eps_text for share in shares if share.value == most]
        runs = shares[0].n if shares else 0
        at = f"at ε = {', '.join(where)}" if most else "at any ε"
        lines.append(f"{round(most * (runs or 0))} of {runs} {experiment} models rejected {at}")
    return lines


def _table(judged: Sequence[Judged]) -> DataTable:
    rows = [_row(one) for one in judged]
    note = "Where no verdict stands, the test is a control, or is shown beside the one that decides."
    return DataTable("Tests of independence", _COLUMNS, rows, note)


def _errors(judged: Sequence[Judged]) -> DataTable:
    """What a test compares, once for each set of samples; of fresh ones nothing, so that they stay what they are."""
    shown = [one.record for one in judged if one.record.generator != ORBIT or one.record.bound == "exact"]
    rows = [
        [*_named(one), *(_share(error, one.tested.n) for error in (one.error, one.adversarial_error)), one.estimate]
        if one.role != "fresh"
        else [*_named(one), None, None, None]
        for one in shown
    ]
    return DataTable("The errors behind the tests", _ERRORS, rows)


def _row(judged: Judged) -> list[Cell]:
    record, tested = judged.record, judged.record.tested
    name = judged.verdict.name if judged.verdict is not None else ""
    floor = tested.minimum_gap if isfinite(tested.minimum_gap) else None
    gap = Estimate(tested.mean) if floor is None else Estimate(tested.mean, tested.mean - floor, tested.mean + floor)
    corrected = judged.p_adjusted is not None and judged.p_adjusted != tested.p
    plain_p = f"plain {p_value(tested.p)}"
    p: Cell = Mark(p_value(judged.p_adjusted), below=plain_p, order=judged.p_adjusted) if corrected else tested.p
    return [*_named(record), Mark(name, _TONES.get(name, "neutral")) if name else "", p, gap, floor, tested.n]


def _named(record: Record) -> list[Cell]:
    models = f", {record.models} seeds" if record.models > 1 else ""
    by = f" ({record.bound})" if record.generator == ORBIT else ""
    return [record.subject + models, _ROLES[record.role], _generator(record.generator) + by]


def _share(value: float | None, n: int) -> Cell:
    hits = None if value is None else share_estimate(round(value * n), n)
    return None if value is None or hits is None else replace(hits, value=value)  # a mean of several models' shares


def _generator(name: str) -> str:
    return {"orbit": "orbits"}.get(name, name)


def _sentence(judged: Judged) -> str:
    assert judged.verdict is not None
    record, tested = judged.record, judged.record.tested
    return (
        f"{record.subject}: {judged.verdict.name} ({_generator(record.generator)}, gap {number(tested.mean, 4)}, "
        f"{p_equals(tested.p, judged.p_adjusted)}, at level {judged.level:.2g}, n = {integer(tested.n)}; an observed "
        f"gap from {number(tested.minimum_gap, 4)} on would have been significant)."
    )


def _why(judged: Judged) -> str:
    assert judged.verdict is not None
    record, counts = judged.record, ""
    if judged.counts is not None:
        least = number(judged.counts, 4)
        counts = f" A gap counts as overfitting from {least} on: there it can be told from that of these fresh samples."
    return (
        f"{record.subject}, {_generator(record.generator)}: {judged.verdict.name}, because {judged.verdict.why}. "
        f"Look-up {judged.look} at this test set, level {plain(round(judged.level, 6))}.{counts}"
    )
