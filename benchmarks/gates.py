"""Gates on change against what teams do without them: false alarms in nights where nothing changed, and drops found.

Every simulated night draws fresh samples in part (a tenth is replaced), and the model errs anew on a few of those that
stay: nothing changed, but no two nights are the same. Run it: `python -m benchmarks.gates`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt

from assay.flows.report.alarm_budget import Budget
from assay.tasks.statistics.between_runs import RunDifference, by_intervals, difference
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.gates import Gate
from assay.tasks.statistics.gates_on_change import Compared, look
from assay.tasks.statistics.proportions import share
from assay.tasks.statistics.sampled import Sampled, right_or_wrong

NIGHTS, GATES, QUARTER = 400, 12, 91
ACCURACY, CHURN, FRESH, AFTER = 0.9, 0.01, 0.1, 14
"""How often the model is right, changes its answer from night to night for nothing, and which share of samples is new;
so many nights pass before a drop is given up as not found."""
REPEATS = 60

Judge = Callable[[Sampled, Sampled], bool]
"""Whether a night raises an alarm, given the last that passed and itself."""


def nights(n: int, drop: float, rng: np.random.Generator) -> Iterator[Sampled]:
    """Nights of a model; from the second on it has lost so much of its accuracy."""
    ids, right = np.arange(n), rng.random(n) < ACCURACY
    fresh = n
    yield _named(ids, right)
    right = right & (rng.random(n) >= drop / ACCURACY)
    level = ACCURACY - drop
    while True:
        new = rng.random(n) < FRESH
        ids = np.where(new, fresh + np.arange(n), ids)
        fresh += n
        swaps = rng.random(n)
        lost, gained = right & (swaps < CHURN / level), ~right & (swaps < CHURN / (1 - level))
        right = np.where(new, rng.random(n) < level, (right & ~lost) | gained)
        yield _named(ids, right)


def _named(ids: npt.NDArray[np.int64], right: npt.NDArray[np.bool_]) -> Sampled:
    return right_or_wrong([str(one) for one in ids], right)


def on_change(bound: float, level: float, rng: np.random.Generator) -> Judge:
    """Ours: the drop on the samples that both nights have, at the level of the budget."""
    gate = Gate(finding="subject.accuracy", against="last-passed", drop_at_most=bound)

    def judge(before: Sampled, after: Sampled) -> bool:
        usual, strict = (difference(before, after, rng, one) for one in (0.95, 1 - 2 * level))
        assert isinstance(usual, RunDifference)
        assert isinstance(strict, RunDifference)
        return look(gate, Compared(Finding("subject.accuracy"), usual, strict), "last", level).raw == "failed"

    return judge


def constant(bound: float) -> Judge:
    """A constant gate: the value may not be so much below what it was."""
    return lambda _before, after: after.value < ACCURACY - bound


def apart(before: Sampled, after: Sampled) -> bool:
    """The intervals of both nights lie apart, the later one lower."""
    was, now = (share("a.b", int(one.above.sum()), len(one.ids)) for one in (before, after))
    assert was.low is not None
    assert now.high is not None
    return now.high < was.low


def unpaired(before: Sampled, after: Sampled) -> bool:
    """The difference of both intervals, as if the samples were others."""
    sides = [share("a.b", int(one.above.sum()), len(one.ids)) for one in (before, after)]
    found = by_intervals(*sides)
    return found is not None and found.high < 0


def false_alarms(judge: Judge, n: int, rng: np.random.Generator) -> float:
    """Alarms a quarter of twelve gates over 400 nights in which nothing changed; the last night that passed is the
    baseline. Nights in a row that fail against one baseline are one alarm: the gate is red, and stays so."""
    alarms = 0
    for _ in range(GATES):
        series = nights(n, 0.0, rng)
        passed, red = next(series), False
        for _ in range(NIGHTS):
            tonight = next(series)
            alarmed = judge(passed, tonight)
            alarms += alarmed and not red
            red = alarmed
            passed = passed if alarmed else tonight
    return alarms / NIGHTS * QUARTER


def found(judge: Judge, n: int, drop: float, rng: np.random.Generator) -> tuple[float, float | None]:
    """The share of drops that are found within a fortnight, and the median nights until then; held against the night
    before the drop."""
    waited = []
    for _ in range(REPEATS):
        series = nights(n, drop, rng)
        before = next(series)
        night = next((at for at in range(1, AFTER + 1) if judge(before, next(series))), None)
        waited += [] if night is None else [night]
    return len(waited) / REPEATS, float(np.median(waited)) if waited else None


def main() -> None:
    """One JSON line per number of samples and way of judging."""
    level = Budget(1, "quarter", GATES * QUARTER).level
    for n in (500, 5000):
        ways: dict[str, Judge] = {
            "gate on change, drop_at_most 0, 1 false alarm a quarter": on_change(0.0, level, np.random.default_rng(1)),
            "constant gate, 1 point below": constant(0.01),
            "constant gate, 3 points below": constant(0.03),
            "intervals apart": apart,
            "difference of intervals": unpaired,
        }
        for name, judge in ways.items():
            rng = np.random.default_rng(17)
            line = {"way": name, "n": n, "false alarms a quarter": round(false_alarms(judge, n, rng), 2)}
            for drop in (0.01, 0.02, 0.05):
                share_found, median = found(judge, n, drop, rng)
                line[f"drop {drop:g}"] = {"found": round(share_found, 2), "nights": median}
            print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
