"""From tests to verdicts: which look at the test set it is, what level that leaves, and what the controls say."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import isfinite, log, sqrt

import numpy as np

from assay.tasks.overfitting.bernstein import bernstein_bound, maurer_pontil_bound
from assay.tasks.overfitting.orbits import GENERATOR as ORBIT
from assay.tasks.overfitting.orbits import exact_gap
from assay.tasks.overfitting.records import Record
from assay.tasks.overfitting.settings import Overfitting
from assay.tasks.overfitting.spending import look_up, numbered, spent_level
from assay.tasks.overfitting.verdicts import Verdict, counts_from, needed, verdict
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.multiplicity import OWN_LEVEL, adjusted
from assay.tasks.statistics.proportions import share


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
    for subject in dict.fromkeys(one.subject for one in records):
        mine = [one for one in records if one.subject == subject]
        asked = [one for one in mine if one.role == "test"]
        for test_set in dict.fromkeys(one.test_set for one in asked):
            key = _look_up(mine, test_set)
            family = [one for one in asked if one.test_set == test_set]
            judged += _judged(family, mine, options, numbers[key], key)
    return judged


def judged_findings(judged: Sequence[Judged]) -> list[Finding]:
    """What the report, the gates and the next runs read of the tests that were judged; a look-up of several is said
    once."""
    return list(dict.fromkeys(finding for one in judged for finding in _findings(one)))


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
    asked = [one for one in records if one.role == "test"]
    look_ups: dict[str, list[str]] = {}
    known: dict[str, dict[str, int]] = {}
    for test_set, subject in dict.fromkeys((one.test_set, one.subject) for one in asked):
        mine = [one for one in asked if one.subject == subject]
        look_ups.setdefault(stream or test_set, []).append(_look_up(mine, test_set))
        earlier = known.setdefault(stream or test_set, {})
        for name in (stream, test_set):
            for key, number in history.get(name, {}).items():
                earlier[key] = max(number, earlier.get(key, 0))
    return {key: number for name, keys in look_ups.items() for key, number in numbered(keys, known[name]).items()}


def _look_up(mine: Sequence[Record], test_set: str) -> str:
    asked = [one for one in mine if one.role == "test" and one.test_set == test_set]
    return look_up(test_set, (f"{one.generator} {one.bound} {one.models} {one.model}" for one in asked))


def _judged(
    family: Sequence[Record], mine: Sequence[Record], options: Overfitting, look: int, key: str
) -> Iterator[Judged]:
    level = spent_level(options.alpha, look)
    decisive = [one for one in family if one.generator != ORBIT or one.bound == "exact"]
    corrected = iter(adjusted([one.tested.p for one in decisive]))
    for record in family:
        here = at_level(record, level, options.alpha)
        if record not in decisive:
            yield Judged(here, level, look, key)
            continue
        p = next(corrected)
        fresh = _control(mine, record)
        control = at_level(fresh, level, options.alpha).tested if fresh is not None else None
        judgement = verdict(
            replace(here.tested, log_p=log(p) if p > 0 else here.tested.log_p),
            options.gap,
            level,
            bound=record.bound,
            fresh=control,
            fresh_needed=record.generator != ORBIT,
        )
        more = needed(here.tested, options.gap, level, record.bound) if judgement.name == "underpowered" else None
        judgement = _unless_unseen(_unless_blind(judgement, mine, record, level), mine, record, level)
        counts = None
        if control is not None and control.p > level:
            counts = max(counts_from(control), here.tested.minimum_gap)
        yield Judged(here, level, look, key, p, judgement, more, counts)
    for record in mine:
        if record.role != "test":
            yield Judged(at_level(record, level, options.alpha), level, look, key)


def _control(mine: Sequence[Record], record: Record) -> Record | None:
    """The same test on fresh samples, of the same models."""
    alike = (other for other in mine if other.role == "fresh" and other.generator == record.generator)
    return next((other for other in alike if other.models == record.models), None)


def _unless_blind(judgement: Verdict, mine: Sequence[Record], record: Record, level: float) -> Verdict:
    """The verdict, but no evidence means nothing where a copy that was fitted to the test set is not found either."""
    copies = [other for other in mine if other.role == "dishonest" and other.generator == record.generator]
    missed = [copy for copy in copies if copy.tested.p > level or copy.tested.mean <= 0]
    if judgement.name != "no evidence" or not missed:
        return judgement
    return Verdict(
        "underpowered",
        f"the copy that was fitted to the test set was not found either (p = {missed[0].tested.p:.2g}, gap "
        f"{missed[0].tested.mean:.4f})",
    )


def _unless_unseen(judgement: Verdict, mine: Sequence[Record], record: Record, level: float) -> Verdict:
    """The verdict; where nothing was found, and no positive control shows that something could be, it says so."""
    seen = [other for other in mine if other.generator == record.generator and other.role in ("training", "dishonest")]
    if judgement.name != "no evidence" or any(other.tested.p <= level and other.tested.mean > 0 for other in seen):
        return judgement
    if record.generator == ORBIT:
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
    blank = Finding("", of=record.generator, group=group_of(record), subject=record.subject, n=tested.n)

    def measured(metric: str, value: float | None) -> Finding:
        return replace(blank, metric=f"overfitting.{metric}", value=value)

    p = replace(measured("p_value", tested.p), p_value=tested.p, p_adjusted=judged.p_adjusted)
    yield p if judged.verdict is None else replace(p, verdict=judged.verdict.name, unit=OWN_LEVEL)
    floor = tested.minimum_gap if isfinite(tested.minimum_gap) else None
    low, high = (None, None) if floor is None else (tested.mean - floor, tested.mean + floor)
    yield replace(measured("gap", tested.mean), low=low, high=high)
    yield measured("minimum_gap", floor)
    yield _share("overfitting.error", record.error, judged)
    if record.adversarial_error is not None:
        yield _share("overfitting.adversarial_error", record.adversarial_error, judged)
    yield measured("estimate", record.estimate)
    if judged.needed is not None:
        yield measured("samples_needed", judged.needed)
    if judged.counts is not None and isfinite(judged.counts):
        yield measured("counts_from", judged.counts)
    if judged.verdict is not None:
        yield replace(measured("level", judged.level), n=judged.look)
        yield replace(measured("look_up", judged.look), of=record.test_set, group=judged.look_up)


def _share(metric: str, value: float, judged: Judged) -> Finding:
    record = judged.record
    return share(
        metric,
        round(value * record.tested.n),
        record.tested.n,
        of=record.generator,
        group=group_of(record),
        subject=record.subject,
    )
