"""From tests to verdicts: which look at the test set it is, what level that leaves, and what the controls say.

Every look reuses the same samples, so their p-values depend on each other in ways that nobody knows. What holds under
any dependence is to divide the level: α_t = α / (t (t + 1)), which sums to α over all t. Looks are counted in the
findings of all earlier runs in the store, whatever their pipeline. The tests themselves do not depend on it, so that
they can be planned and come from the store; only what is said of them does. A model that answers the same to the same
samples, asked the same, is no new look-up.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, isfinite, log, sqrt
from typing import Literal

import numpy as np

from assay.data.schemas import IndependenceTests
from assay.infra.errors import InputError
from assay.infra.stages.partitions import collect
from assay.infra.stages.runs import Run
from assay.infra.storage.artifacts import Artifact
from assay.tasks.overfitting.independence import (
    NINE_TENTHS,
    ORBIT,
    Record,
    Tested,
    bernstein_bound,
    exact_gap,
    maurer_pontil_bound,
    records_from,
    samples_needed,
)
from assay.tasks.overfitting.settings import Overfitting
from assay.tasks.statistics.findings import Finding, findings_of
from assay.tasks.statistics.multiplicity import OWN_LEVEL, adjusted
from assay.tasks.statistics.proportions import share

VerdictName = Literal["overfit", "no evidence", "inconclusive", "underpowered"]


@dataclass(frozen=True)
class Verdict:
    """One word, and the sentence behind it."""

    name: VerdictName
    why: str


def verdict(
    tested: Tested,
    gap: float,
    alpha: float,
    *,
    bound: str = "paper",
    fresh: Tested | None = None,
    fresh_needed: bool = False,
) -> Verdict:
    """What the test says at level `alpha`, where a gap of size `gap` is worth finding.

    `fresh` is the negative control, the same test on samples on which no model was ever chosen: where it rejects too,
    the symmetry that the test rests on does not hold. Where the symmetry is an assumption about the data
    (`fresh_needed`), a rejection without such a control is inconclusive, and so is one whose gap lies no further above
    the control's than chance could: two sets of one size on which the same symmetry fails are rejected by turns.
    """
    if tested.p > alpha:
        return _not_rejected(tested, gap, alpha, bound)
    if tested.mean < 0:
        return Verdict(
            "inconclusive",
            f"the adversarial estimate lies {-tested.mean:.4f} below the test error: an assumption fails, but a model "
            "fitted to the test set would show the opposite",
        )
    if fresh is not None and fresh.p <= alpha:
        return Verdict(
            "inconclusive", "fresh samples are rejected too, so the symmetry that the test rests on does not hold"
        )
    if fresh_needed and fresh is None:
        return Verdict(
            "inconclusive",
            "no fresh samples were given, and without them a model fitted to the test set cannot be told from data on "
            "which the symmetry does not hold",
        )
    if fresh_needed and fresh is not None and tested.mean - fresh.mean <= fresh.minimum_gap:
        return Verdict(
            "inconclusive",
            f"the {fresh.n} fresh samples have a gap of {fresh.mean:.4f}, and are too few to tell it from "
            f"{tested.mean:.4f}: only gaps from {counts_from(fresh):.4f} on can be",
        )
    return Verdict(
        "overfit", f"the adversarial estimate of the error lies {tested.mean:.4f} above the error on the test set"
    )


def counts_from(fresh: Tested) -> float:
    """From which gap on the test set it can be told from that of fresh samples."""
    return fresh.mean + fresh.minimum_gap


def needed(tested: Tested, gap: float, alpha: float, bound: str = "paper") -> int | None:
    """How many samples would show a true gap of that size nine times out of ten, with this spread; None if none would.

    Where too few samples turn wrong to give such a gap, it is the largest that they could give.
    """
    gap = min(gap, tested.reach)
    if gap <= 0 or not isfinite(tested.minimum_gap):
        return None
    if bound == "paper":
        return samples_needed(tested.sigma, tested.span, gap, alpha)
    times = (tested.minimum_gap + NINE_TENTHS * tested.sigma / sqrt(tested.n)) / gap
    return ceil(tested.n * max(times, times**2))


def _not_rejected(tested: Tested, gap: float, alpha: float, bound: str) -> Verdict:
    if tested.minimum_gap > gap:
        enough = needed(tested, gap, alpha, bound)
        more = f"; {enough} would show {min(gap, tested.reach):.2g} nine times out of ten" if enough is not None else ""
        return Verdict("underpowered", f"{tested.n} samples show observed gaps from {tested.minimum_gap:.4f} on{more}")
    if tested.reach < tested.minimum_gap:
        return Verdict(
            "underpowered",
            f"the adversarial examples found could show a gap of {tested.reach:.4f} at most, and it would have to be "
            f"{tested.minimum_gap:.4f}: too few samples turn wrong when they are moved",
        )
    return Verdict(
        "no evidence",
        f"the test saw nothing; an observed gap from {tested.minimum_gap:.4f} on would have been significant. It "
        "bounds what moving samples shows, not by how much the score is too good",
    )


def spent_level(alpha: float, look: int) -> float:
    """The level of the look-up number `look`, counted from 1.

    >>> spent_level(0.05, 1), round(sum(spent_level(0.05, look) for look in range(1, 10_000)), 4)
    (0.025, 0.05)
    """
    return alpha / (look * (look + 1))


def look_up(test_set: str, asked: Iterable[str]) -> str:
    """What tells one look-up at a test set from another: everything that was asked of it at once, in any order."""
    return hashlib.blake2b(repr([test_set, sorted(asked)]).encode(), digest_size=16).hexdigest()


def numbered(look_ups: Sequence[str], history: Mapping[str, int]) -> dict[str, int]:
    """The number of each look-up at one test set; one that the history knows keeps its number.

    Counting goes on from the highest number ever given, so that earlier runs may be forgotten; where it is known
    without its look-up, that has no name.

    >>> numbered(["c", "a", "c"], {"a": 1, "b": 2})
    {'c': 3, 'a': 1}
    >>> numbered(["b"], {"": 7})
    {'b': 8}
    """
    numbers: dict[str, int] = {}
    latest = max(history.values(), default=0)
    for look_up in look_ups:
        if look_up not in numbers:
            numbers[look_up] = history.get(look_up) or (latest := latest + 1)
    return numbers


@dataclass(frozen=True)
class Judged:
    """A test with its level, the number of the look-up it belongs to, and, unless it is only shown, its verdict."""

    record: Record
    level: float
    look: int
    look_up: str
    p_adjusted: float | None = None
    verdict: Verdict | None = None
    needed: int | None = None
    counts: float | None = None
    """From which gap on it counts as overfitting, beside these fresh samples."""


def judge(
    records: Sequence[Record], options: Overfitting, history: Mapping[str, Mapping[str, int]], stream: str = ""
) -> list[Judged]:
    """Every test of a run, judged; `history` holds the look-ups of earlier runs with their numbers.

    They are counted under the name of what the samples come from, `stream`, so that counting does not begin anew when
    a sample is mended, and under their fingerprint, so that it does not when the file has another name. All tests of
    one subject on one test set are one look-up, corrected for their number (Holm).
    """
    judged: list[Judged] = []
    numbers = _numbers(records, history, stream)
    for subject in dict.fromkeys(record.subject for record in records):
        of_subject = [record for record in records if record.subject == subject]
        asked = [record for record in of_subject if record.role == "test"]
        for test_set in dict.fromkeys(record.test_set for record in asked):
            key = _look_up(of_subject, test_set)
            family = [record for record in asked if record.test_set == test_set]
            judged += _judged(family, of_subject, options, numbers[key], key)
    return judged


def judged_findings(judged: Sequence[Judged]) -> list[Finding]:
    """What the report, the gates and the next runs read of the tests that were judged; a look-up of several is said
    once."""
    return list(dict.fromkeys(finding for test in judged for finding in _findings(test)))


def at_level(record: Record, level: float, recorded: float) -> Record:
    """The record with the smallest gap that is significant at `level`, where it was written down at level `recorded`.

    The exact test, the paper's bound and Maurer and Pontil's are evaluated anew; by betting the gap grows with
    √ln(1/level), as it does in the tails of a normal law, and 1 is the largest there can be.
    """
    tested = record.tested
    if record.chances is not None:
        gap = exact_gap(np.array(record.chances), level)
    elif record.bound == "paper":
        gap = bernstein_bound(tested.n, tested.sigma, tested.span, level)
    elif record.bound == "maurer-pontil":
        gap = maurer_pontil_bound(tested.n, tested.sigma, tested.span, level)
    else:
        gap = min(1.0, tested.minimum_gap * sqrt(log(1 / level) / log(1 / recorded)))
    return replace(record, tested=replace(tested, minimum_gap=gap))


def _numbers(records: Sequence[Record], history: Mapping[str, Mapping[str, int]], stream: str) -> dict[str, int]:
    """The number of every look-up of this run."""
    asked = [record for record in records if record.role == "test"]
    look_ups: dict[str, list[str]] = {}
    known: dict[str, dict[str, int]] = {}
    for test_set, subject in dict.fromkeys((record.test_set, record.subject) for record in asked):
        of_subject = [record for record in asked if record.subject == subject]
        look_ups.setdefault(stream or test_set, []).append(_look_up(of_subject, test_set))
        earlier = known.setdefault(stream or test_set, {})
        for name in (stream, test_set):
            for key, number in history.get(name, {}).items():
                earlier[key] = max(number, earlier.get(key, 0))
    return {key: number for name, keys in look_ups.items() for key, number in numbered(keys, known[name]).items()}


def _look_up(of_subject: Sequence[Record], test_set: str) -> str:
    asked = [record for record in of_subject if record.role == "test" and record.test_set == test_set]
    return look_up(test_set, (f"{record.generator} {record.bound} {record.models} {record.model}" for record in asked))


def _judged(
    family: Sequence[Record], of_subject: Sequence[Record], options: Overfitting, look: int, key: str
) -> Iterator[Judged]:
    level = spent_level(options.alpha, look)
    decisive = [record for record in family if record.generator != ORBIT or record.bound == "exact"]
    corrected = iter(adjusted([record.tested.p for record in decisive]))
    for record in family:
        leveled = at_level(record, level, options.alpha)
        if record not in decisive:
            yield Judged(leveled, level, look, key)
            continue
        p = next(corrected)
        same_test = (other for other in of_subject if other.role == "fresh" and other.generator == record.generator)
        fresh = next((other for other in same_test if other.models == record.models), None)
        control = at_level(fresh, level, options.alpha).tested if fresh is not None else None
        tested = replace(leveled.tested, log_p=log(p) if p > 0 else leveled.tested.log_p)
        alone = record.generator == ORBIT
        judgement = verdict(tested, options.gap, level, bound=record.bound, fresh=control, fresh_needed=not alone)
        more = needed(leveled.tested, options.gap, level, record.bound) if judgement.name == "underpowered" else None
        judgement = _beside_controls(judgement, of_subject, record, level)
        counts = None
        if control is not None and control.p > level:
            counts = max(counts_from(control), leveled.tested.minimum_gap)
        yield Judged(leveled, level, look, key, p, judgement, more, counts)
    for record in of_subject:
        if record.role != "test":
            yield Judged(at_level(record, level, options.alpha), level, look, key)


def _beside_controls(judgement: Verdict, of_subject: Sequence[Record], record: Record, level: float) -> Verdict:
    """The verdict. Where nothing was found, it means nothing if a copy that was fitted to the test set is not found
    either, and little if no positive control shows that something could be."""
    if judgement.name != "no evidence":
        return judgement
    seen = [
        other for other in of_subject if other.generator == record.generator and other.role in ("training", "dishonest")
    ]
    missed = [other for other in seen if not (other.tested.p <= level and other.tested.mean > 0)]
    if copy := next((other.tested for other in missed if other.role == "dishonest"), None):
        why = f"the copy that was fitted to the test set was not found either (p = {copy.p:.2g}, gap {copy.mean:.4f})"
        return Verdict("underpowered", why)
    if len(missed) < len(seen) or record.generator == ORBIT:
        return judgement
    why = "the samples that it learned from are not rejected either" if seen else "there is no positive control"
    return Verdict(judgement.name, f"{judgement.why}; and {why}, so nothing here shows that the test could find memory")


def group_of(record: Record) -> str:
    """The slice that a record's findings are about: the control, the number of models, the inequality; or nothing."""
    parts: list[str] = [record.role] if record.role != "test" else []
    parts += [f"N={record.models}"] if record.models > 1 else []
    parts += [record.bound] if record.generator == ORBIT and record.bound != "exact" else []
    return ", ".join(parts)


def _findings(judged: Judged) -> Iterator[Finding]:
    record, tested = judged.record, judged.record.tested
    of, group, subject = record.generator, group_of(record), record.subject
    blank = Finding("", of, group, subject, n=tested.n)

    def measured(metric: str, value: float | None) -> Finding:
        return replace(blank, metric=f"overfitting.{metric}", value=value)

    p = replace(measured("p_value", tested.p), p_value=tested.p, p_adjusted=judged.p_adjusted)
    yield p if judged.verdict is None else replace(p, verdict=judged.verdict.name, unit=OWN_LEVEL)
    floor = tested.finite_gap
    low, high = (None, None) if floor is None else (tested.mean - floor, tested.mean + floor)
    yield replace(measured("gap", tested.mean), low=low, high=high)
    yield measured("minimum_gap", floor)
    for metric, error in (("error", record.error), ("adversarial_error", record.adversarial_error)):
        if error is not None:
            yield share(f"overfitting.{metric}", round(error * tested.n), tested.n, of=of, group=group, subject=subject)
    yield measured("estimate", record.estimate)
    if judged.needed is not None:
        yield measured("samples_needed", judged.needed)
    if judged.counts is not None and isfinite(judged.counts):
        yield measured("counts_from", judged.counts)
    if judged.verdict is not None:
        yield replace(measured("level", judged.level), n=judged.look)
        yield replace(measured("look_up", judged.look), of=record.test_set, group=judged.look_up)


_COUNTED, _HIGHEST = "overfitting.look_up", "overfitting.look_ups"


def judge_tests(
    tests: Sequence[Artifact[IndependenceTests]], settings: Overfitting, stream: str, run: Run
) -> tuple[list[Judged], list[Finding]]:
    """Every test judged at the level that its look-up leaves, and the findings on the verdicts.

    `stream` is what the audited samples come from, by name. Every run hands on the highest number of each test set in
    the store, so that none is given back when the runs that spent it are forgotten.
    """
    records = [record for artifact in tests for record in records_from(collect(artifact, None))]
    history = earlier_look_ups(run)
    judged = judge(records, settings, history, stream)
    findings = judged_findings(judged)
    numbers = {name: max(known.values()) for name, known in history.items()}
    for test in judged:
        if test.verdict is not None:
            findings.append(Finding(_COUNTED, stream, test.look_up, test.record.subject, value=test.look))
            for name in (stream, test.record.test_set):
                numbers[name] = max(test.look, numbers.get(name, 0))
    findings = list(dict.fromkeys(findings))  # tests that are one look-up are counted once
    findings += [Finding(_HIGHEST, of=name, value=number) for name, number in sorted(numbers.items())]
    return judged, findings


def earlier_look_ups(run: Run) -> Mapping[str, dict[str, int]]:
    """By test set, the number of every look-up that other runs have reported; the highest ones known have no name."""
    by_test_set: dict[str, dict[str, int]] = {}
    for record in run.store.runs():
        if record.id == run.id or not record.findings or not (record.settings or {}).get("overfitting"):
            continue
        try:
            findings = findings_of(run.store, record)
        except InputError as error:  # a damaged earlier run is no reason to have no report today
            run.notice(f"{error} Looks at a test set that only it counted are not counted any more.")
            continue
        for finding in findings:
            if finding.metric in (_COUNTED, _HIGHEST) and finding.value is not None:
                known = by_test_set.setdefault(finding.of, {})
                known[finding.group] = max(int(finding.value), known.get(finding.group, 0))
    return by_test_set
