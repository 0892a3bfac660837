"""Gates on change against what teams do without them: false alarms in nights where nothing changed, and drops found.

A year is 400 nights of twelve gates. In one kind of year a tenth of the samples is new every night, and the model
answers a few of the others anew for nothing; in the other kind all samples are new every night. All ways of judging see
the same nights. Run it: `python -m benchmarks.gates` (twenty minutes), or with `--quick`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cache

import numpy as np
import numpy.typing as npt

from assay.flows.report.gates import Budget
from assay.tasks.statistics.between_runs import RunDifference, Sampled, by_intervals, difference, right_or_wrong
from assay.tasks.statistics.e_process import NewSamples, evidence
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.gates import look
from assay.tasks.statistics.proportions import share
from assay.tasks.statistics.settings import Gate

NIGHTS, GATES, QUARTER = 400, 12, 91
ACCURACY, CHURN, AFTER = 0.9, 0.01, 14
"""How often the model is right, and changes its answer from night to night for nothing; so many nights pass before a
drop is given up as not found."""
DROPS = (0.01, 0.02, 0.05)
GATE = Gate(finding="subject.accuracy", against="last-passed", drop_at_most=0.0)


@dataclass(frozen=True)
class Night:
    """Which samples were audited, and on which of them the model was right; a sample that stays keeps its place."""

    ids: npt.NDArray[np.int64]
    right: npt.NDArray[np.bool_]

    @property
    def hits(self) -> int:
        """How many are right."""
        return int(self.right.sum())

    def sampled(self) -> Sampled:
        """The night as gates take it."""
        return right_or_wrong([str(one) for one in self.ids], self.right)


Judge = Callable[[Night, Night], bool]
"""Whether a night raises an alarm, given the one that it is held against."""


@dataclass(frozen=True)
class Way:
    """A way of judging nights: against the last that passed, or always against the first."""

    judge: Judge
    accepted: bool = False


def nights(n: int, drop: float, fresh: float, rng: np.random.Generator) -> Iterator[Night]:
    """Nights of a model; from the second on it has lost so much of its accuracy."""
    ids, right = np.arange(n), rng.random(n) < ACCURACY
    level, count = ACCURACY - drop, n
    yield Night(ids, right)
    right = right & (rng.random(n) >= drop / ACCURACY)
    while True:
        new = rng.random(n) < fresh
        ids, count = np.where(new, count + np.arange(n), ids), count + n
        swaps = rng.random(n)
        lost, gained = right & (swaps < CHURN / level), ~right & (swaps < CHURN / (1 - level))
        right = np.where(new, rng.random(n) < level, (right & ~lost) | gained)
        yield Night(ids, right)


def on_change(level: float) -> Judge:
    """Ours, at the level of the budget."""
    rng = np.random.default_rng(1)

    def judge(before: Night, after: Night) -> bool:
        if _standard_errors_lost(before, after) < 2:  # a level below 1 in 1000 takes more than three
            return False
        usual, strict = (difference(before.sampled(), after.sampled(), rng, one) for one in (0.95, 1 - 2 * level))
        assert isinstance(usual, RunDifference)
        assert isinstance(strict, RunDifference)
        return look(GATE, Finding("subject.accuracy"), usual, strict, "last", level).raw == "failed"

    return judge


def _standard_errors_lost(before: Night, after: Night) -> float:
    """How plain a loss is: only what is plain needs the interval, which takes a thousand times as long."""
    same = before.ids == after.ids
    if 2 * same.sum() >= len(same):
        lost, gained = (int((same & one & ~other).sum()) for one, other in _both_ways(before.right, after.right))
        return float((lost - gained) / max(1.0, lost + gained) ** 0.5)
    n, pooled = len(same), (before.hits + after.hits) / (2 * len(same))
    return float((before.hits - after.hits) / max(1.0, 2 * n * pooled * (1 - pooled)) ** 0.5)


def _both_ways(
    one: npt.NDArray[np.bool_], other: npt.NDArray[np.bool_]
) -> tuple[tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]], ...]:
    return (one, other), (other, one)


def constant(bound: float) -> Judge:
    """A constant gate: the value may not be so much below what it was."""
    return lambda _before, after: after.hits < (ACCURACY - bound) * len(after.ids)


@cache
def _interval(hits: int, n: int) -> Finding:
    return share("a.b", hits, n)


def apart(before: Night, after: Night) -> bool:
    """The 95 % intervals of both nights lie apart, the later one lower."""
    was, now = (_interval(one.hits, len(one.ids)) for one in (before, after))
    assert was.low is not None
    assert now.high is not None
    return now.high < was.low


def unpaired(before: Night, after: Night) -> bool:
    """The difference of both intervals, as if the samples were others, is not 0 at 2.5 %."""
    found = by_intervals(_interval(before.hits, len(before.ids)), _interval(after.hits, len(after.ids)))
    return found is not None and found.high < 0


def false_alarms(ways: Mapping[str, Way], n: int, fresh: float, rng: np.random.Generator) -> dict[str, float]:
    """Alarms a quarter of twelve gates over a year in which nothing changed. Nights in a row that fail against one
    baseline are one alarm: the gate is red, and stays so."""
    alarms = dict.fromkeys(ways, 0)
    for _ in range(GATES):
        series = nights(n, 0.0, fresh, rng)
        baseline, red = dict.fromkeys(ways, next(series)), dict.fromkeys(ways, False)
        for _ in range(NIGHTS):
            tonight = next(series)
            for name, way in ways.items():
                alarmed = way.judge(baseline[name], tonight)
                alarms[name] += alarmed and not red[name]
                red[name] = alarmed
                baseline[name] = baseline[name] if alarmed or way.accepted else tonight
    return {name: count / NIGHTS * QUARTER for name, count in alarms.items()}


def nights_until_found(
    ways: Mapping[str, Way], n: int, drop: float, fresh: float, rng: np.random.Generator
) -> dict[str, int | None]:
    """On which night after a drop each way sees it, held against the night before; None where it is given up."""
    series = nights(n, drop, fresh, rng)
    before, later = next(series), [next(series) for _ in range(AFTER)]
    return {
        name: next((at for at, night in enumerate(later, 1) if way.judge(before, night)), None)
        for name, way in ways.items()
    }


def together(n: int, known: int, drop: float, years: int, rng: np.random.Generator, best_of: int = 1) -> float:
    """In how many quarters (or in the thirty nights after a drop) what new samples say together comes to an alarm; the
    first night is the best of so many."""
    nights, alarms = QUARTER if not drop else known + 30, 0
    for _ in range(years):
        right = rng.binomial(n, [ACCURACY - drop * (night >= known) for night in range(nights)])
        right[0] = rng.binomial(n, ACCURACY, size=best_of).max()
        by_night = evidence([NewSamples(int(hits), n) for hits in right], QUARTER)
        alarms += max(by_night) >= Budget(1, "quarter", GATES * QUARTER, GATES).alarm
    return alarms / years


def say_together(years: int) -> None:
    """One JSON line per number of new samples a night: false alarms of all gates, and the drops that are found."""
    for n in (50, 150, 500, 5000):
        rng = np.random.default_rng(23)
        line: dict[str, object] = {"way": "new samples together", "n": n, "quarters": years}
        line["false alarms a quarter"] = round(GATES * together(n, QUARTER, 0.0, years, rng), 3)
        line["after the best of ten"] = round(GATES * together(n, QUARTER, 0.0, years, rng, best_of=10), 3)
        line |= {
            f"drop {drop:g} after {known} nights": round(together(n, known, drop, years // 10, rng), 3)
            for known in (14, 30, 60)
            for drop in DROPS
        }
        print(json.dumps(line), flush=True)


def main() -> None:
    """One JSON line per kind of year, number of samples and way of judging."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="one year and ten drops: whether it works")
    years, drops = (1, 10) if parser.parse_args().quick else (100, 400)
    say_together(years * 10)
    level = Budget(1, "quarter", GATES * QUARTER).level
    ways = {
        "gate on change, against last-passed": Way(on_change(level)),
        "gate on change, against accepted": Way(on_change(level), accepted=True),
        "constant gate, 1 point below": Way(constant(0.01)),
        "constant gate, 3 points below": Way(constant(0.03)),
        "intervals apart": Way(apart),
        "difference of intervals": Way(unpaired),
    }
    for fresh in (0.1, 1.0):
        for n in (500, 5000):
            rng = np.random.default_rng(17)
            counted = [false_alarms(ways, n, fresh, rng) for _ in range(years)]
            waited = {drop: [nights_until_found(ways, n, drop, fresh, rng) for _ in range(drops)] for drop in DROPS}
            for name in ways:
                line: dict[str, object] = {"way": name, "n": n, "new every night": fresh, "years": years}
                line |= _mean([one[name] for one in counted])
                line |= {f"drop {drop:g}": _found([one[name] for one in each]) for drop, each in waited.items()}
                print(json.dumps(line), flush=True)


def _mean(alarms: list[float]) -> dict[str, object]:
    """The mean over the years, with the interval that their spread gives it."""
    mean, half = float(np.mean(alarms)), 1.96 * float(np.std(alarms)) / len(alarms) ** 0.5
    return {"false alarms a quarter": round(mean, 3), "interval": [round(mean - half, 3), round(mean + half, 3)]}


def _found(waited: list[int | None]) -> dict[str, float | None]:
    known = [one for one in waited if one is not None]
    return {"found": round(len(known) / len(waited), 3), "nights": float(np.median(known)) if known else None}


if __name__ == "__main__":
    main()
