"""What a run will cost, from the work of earlier runs: each stage by a line through amounts and costs, the whole by
its longest chain.

Graham's bounds (1966): on m machines, work W whose longest chain is L takes at least max(L, W/m), and under any
order that leaves no machine idle while something could run at most W/m + (1 - 1/m) L.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from statistics import median
from types import MappingProxyType
from typing import Literal

from assay.flows.report.records import seconds_without_stages
from assay.infra.stages.branches import CACHED, WILL_RUN, PlannedStage
from assay.infra.storage.artifacts import RunRecord
from assay.infra.storage.keys import Given, Work, is_by_sample, rows_among

_LATEST = 5
_SAME = 0.02
"""Amounts that differ by less are taken for the same."""
SLACK = 1.25
"""The factor that a range reaches up and down at the least, and once more for every doubling beyond what is known."""
_SMALLEST = 1e-3
_IN_PROPORTION = 0.85
"""Of twice as many samples at least 1.8 times as many are kept, where a share of them is."""


@dataclass(frozen=True)
class Range:
    """What is expected, at the least and at the most."""

    value: float
    low: float
    high: float

    def wider(self, factor: float) -> Range:
        """The same value in a range that reaches further by a factor."""
        return Range(self.value, self.low / factor, self.high * factor)

    def looser(self, by: float) -> Range:
        """The same value in a range that reaches so much further at the least.

        >>> Range(0.2, 0.16, 0.25).looser(0.25), Range(8.0, 6.4, 10.0).looser(0.25)
        (Range(value=0.2, low=0.0, high=0.45), Range(value=8.0, low=6.4, high=10.0))
        """
        return Range(self.value, min(self.low, max(0.0, self.value - by)), max(self.high, self.value + by))


def expected_cost(points: Sequence[tuple[float, float]], amount: float) -> Range:
    """What an amount takes, given pairs of amount and what it took, the latest first.

    Of an amount that is known, what it took. Between and beyond at least two: a line with no negative part, which
    least squares of the relative errors give. From one other amount: in proportion, at least what the smaller and at
    most what the larger of both readings (all of it grows, nothing of it grows) says.

    >>> round(expected_cost([(200.0, 3.0), (100.0, 2.0)], 400.0).value, 6)
    5.0
    >>> expected_cost([(100.0, 2.0)], 400.0)
    Range(value=8.0, low=1.6, high=10.0)
    """
    sizes = _by_size(points)
    if not any(took for _, took in sizes):  # nothing of it, such as seconds of a GPU where there is none
        return Range(0.0, 0.0, 0.0)
    for size, took in sizes:
        if math.isclose(size, amount, rel_tol=_SAME):
            seen = [point for at, point in points if math.isclose(at, size, rel_tol=_SAME)][:_LATEST]
            return _around(took, max([SLACK, *(_ratio(cost, took) for cost in seen)]))
    if len(sizes) == 1:
        size, took = sizes[0]
        grown = took * amount / size if size else took
        return Range(grown, min(took, grown) / SLACK, max(took, grown) * SLACK)
    fixed, growing = fixed_and_growing(sizes)
    off = max(_ratio(fixed + growing * size, took) for size, took in sizes)
    doublings = min(abs(math.log2(max(amount, _SMALLEST) / max(size, _SMALLEST))) for size, _ in sizes)
    return _around(fixed + growing * amount, max(SLACK, off) * SLACK ** max(0.0, doublings - 1))


def expected_rows(points: Sequence[tuple[float, float]], amount: float) -> float:
    """How many of an amount of samples are kept, given pairs of an amount and what was kept of it, the latest first:
    of an amount that is known, what was kept of it; else the share that was kept of all, or what stays at a limit.

    >>> expected_rows([(900.0, 220.0), (450.0, 117.5)], 1800.0), expected_rows([(900.0, 150.0), (450.0, 150.0)], 1800.0)
    (450.0, 150.0)
    """
    sizes = _by_size(points)
    for size, held in sizes:
        if math.isclose(size, amount, rel_tol=_SAME):
            return held
    if (most := most_kept(points)) is not None:
        return min(most, expected_cost(points, amount).value)
    seen = sum(size for size, _ in sizes)
    return amount * sum(held for _, held in sizes) / seen if seen else 0.0


def most_kept(points: Sequence[tuple[float, float]]) -> float | None:
    """The most that is kept of whatever there is, given pairs of an amount and what was kept of it; None where twice as
    much was kept of twice as much.

    >>> most_kept([(1797.0, 150.0), (891.0, 150.0), (449.0, 117.0)]), most_kept([(600.0, 180.0), (300.0, 87.0)])
    (150.0, None)
    """
    sizes = _by_size(points)
    if len(sizes) < 2:
        return None
    (less, few), (more, many) = sizes[0], sizes[-1]
    return many if few and many / few < (more / less) ** _IN_PROPORTION else None


def fixed_and_growing(points: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """The fixed part and the growing part per unit, neither below 0, that are off by least relative to what was seen.

    >>> [round(part, 6) for part in fixed_and_growing([(1.0, 3.0), (2.0, 5.0)])]
    [1.0, 2.0]
    >>> fixed_and_growing([(1.0, 1.0), (2.0, 4.0)])[0], fixed_and_growing([(1.0, 4.0), (2.0, 2.0)])[1]
    (0.0, 0.0)
    """
    from scipy.optimize import nnls

    weights = [1 / max(took, _SMALLEST) for _, took in points]
    sizes = [[weight, weight * size] for weight, (size, _) in zip(weights, points, strict=True)]
    (fixed, growing), _ = nnls(sizes, [weight * took for weight, (_, took) in zip(weights, points, strict=True)])
    return float(fixed), float(growing)


def _by_size(points: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Per amount the median of the latest that it took."""
    ordered = groupby(sorted(points, key=lambda point: point[0]), lambda point: point[0])
    return [(size, median([took for _, took in list(ones)[:_LATEST]])) for size, ones in ordered]


def _around(value: float, factor: float) -> Range:
    return Range(value, value / factor, value * factor)


def _ratio(first: float, second: float) -> float:
    """By which factor two things differ."""
    smaller, larger = sorted((max(first, _SMALLEST), max(second, _SMALLEST)))
    return larger / smaller


RUNS = 60
"""So many of the latest runs are looked at."""
_OVERHEADS = 5

Basis = Literal["the same work", "the same settings on other input", "other settings", "not run yet"]
WIDENED: Mapping[Basis, float] = {"the same work": 1.0, "the same settings on other input": 1.1, "other settings": 2.5}
"""How much wider a range is, by how like the earlier work is."""


@dataclass(frozen=True)
class ExecutedStage:
    """A stage as a run computed it."""

    stage: str
    like: str
    own: str
    effort: float
    rows: int
    took: Mapping[str, float]
    """Seconds, of the clock (`seconds`), of processors (`cpu`) and GPUs (`gpu`); `partitions` and `bytes`."""
    made: Mapping[str, int]
    """The rows of its outputs, by name."""
    is_partial: bool = False
    """Whether only what was new was computed, and the rest taken from an earlier night."""


def executed_stages(records: Sequence[RunRecord]) -> list[ExecutedStage]:
    """What the latest of these runs computed, the latest first; records of earlier versions say too little."""
    executed = []
    for stage in (stage for record in reversed(records[-RUNS:]) for stage in record.stages):
        if stage.cost and (work := stage.work) and not (stage.cached or stage.partitions_reused):
            rows_made = {name: int(handle.get("rows") or 0) for name, handle in stage.outputs.items()}
            took = {**stage.cost, "seconds": stage.worked}
            like, own, partial = str(work["like"]), str(work["own"]), bool(stage.partitions_taken)
            effort, rows = float(work["effort"]), int(work["rows"])
            executed.append(ExecutedStage(stage.stage, like, own, effort, rows, took, rows_made, partial))
    return executed


def most_similar(stage: str, work: Work, known: Iterable[ExecutedStage]) -> tuple[list[ExecutedStage], Basis]:
    """The earlier work that is most like this, and how like it is."""
    same = [executed for executed in known if executed.stage == stage]
    if alike := [executed for executed in same if executed.like == work.like]:
        return alike, "the same work"
    if alike := [executed for executed in same if executed.own == work.own]:
        return alike, "the same settings on other input"
    return same, "other settings" if same else "not run yet"


def overhead(records: Sequence[RunRecord]) -> float:
    """The seconds of a run in which no stage is under way: the median of the latest runs."""
    spent = [seconds_without_stages(record) for record in records[-RUNS:] if record.report is not None]
    return median(spent[-_OVERHEADS:]) if spent else 0.0


QUANTITIES = ("seconds", "cpu", "gpu", "partitions", "bytes")
_BY_ROW = ("partitions", "bytes")
"""What does not grow with epochs and steps."""
_NIGHTS = 5
_LEAST_SECONDS = 0.25
"""No range of a stage is narrower to either side: a process that waits for a disk, or for another one."""
_NOTHING: Mapping[str, Range] = MappingProxyType({})


@dataclass(frozen=True)
class StageForecast:
    """A stage of a plan with what it will cost; `costs` is empty where it comes from the store, or was never run."""

    planned: PlannedStage
    basis: Basis | None
    """How like the earlier work is; None where the stage comes from the store."""
    earlier: int = 0
    """How many earlier results the costs stand on."""
    costs: Mapping[str, Range] = field(default_factory=lambda: _NOTHING)
    rows: int = 0

    @property
    def seconds(self) -> Range:
        """How long it will take by the clock."""
        return self.costs.get("seconds", Range(0.0, 0.0, 0.0))

    @property
    def clock(self) -> Range:
        """As `seconds`, in a range for this stage alone: what goes wrong in many short ones does not add up."""
        return self.seconds.looser(_LEAST_SECONDS)


def _stage_forecast(
    planned: PlannedStage, known: Sequence[ExecutedStage], rows: dict[str, int], share: float | None
) -> StageForecast:
    work = planned.work
    enters = not work.given
    if planned.outlook == CACHED and (share is None or enters):
        rows.update((made.digest, _rows_on_share(made, share if enters else None)) for made in planned.makes.values())
        return StageForecast(planned, None)
    alike, basis = most_similar(planned.stage, work, known)
    over = rows_among(rows, work.given) if work.given else alike[0].rows if alike else 0
    for name, made in planned.makes.items():
        entered = _rows_made(name, made, work, over, alike)
        rows[made.digest] = _rows_on_share(Given(made.kind, made.digest, entered), share if enters else None)
    if not alike:
        return StageForecast(planned, basis, rows=over)
    whole, partial = ([planned for planned in alike if planned.is_partial == wanted] for wanted in (False, True))
    if share is None and alike[0].is_partial and basis == "the same work":
        costs = {name: _as_the_last(name, partial, _cost(name, work, over, whole)) for name in QUANTITIES}
    elif not whole:
        return StageForecast(planned, "not run yet", rows=over)
    else:
        costs = {name: _cost(name, work, over, whole).wider(WIDENED[basis]) for name in QUANTITIES}
    return StageForecast(planned, basis, len(alike), costs, over)


def _rows_on_share(artifact: Given, share: float | None) -> int:
    return artifact.rows if share is None or not is_by_sample(artifact.kind) else max(1, round(artifact.rows * share))


def _cost(quantity: str, work: Work, over: int, alike: Sequence[ExecutedStage]) -> Range:
    """One of the costs, by the amount that it grows with."""
    per_row = 1.0 if quantity in _BY_ROW else work.effort
    points = [
        (executed.rows * (1.0 if quantity in _BY_ROW else executed.effort), executed.took.get(quantity, 0.0))
        for executed in alike
    ]
    return expected_cost(points, over * per_row)


def _as_the_last(quantity: str, partial: Sequence[ExecutedStage], whole: Range) -> Range:
    """Where the last night computed only what was new: as the latest such nights, and at the most all of it."""
    took = median(executed.took.get(quantity, 0.0) for executed in partial[:_NIGHTS])
    return Range(took, took / SLACK, max(took * SLACK, whole.high))


def _rows_made(name: str, artifact: Given, work: Work, over: int, alike: Sequence[ExecutedStage]) -> int:
    """How many rows an output will have; only a table of samples grows with what goes in before that was seen."""
    drawn = min(1.0, work.effort)  # a share of the samples is drawn, all of them gone over
    points = [(executed.rows * min(1.0, executed.effort), float(executed.made.get(name, 0))) for executed in alike]
    if is_by_sample(artifact.kind):
        return round(expected_rows(points, over * drawn)) if points else round(over * drawn)
    if len({size for size, _ in points}) == 1:
        return round(points[0][1])
    return round(expected_cost(points, over * drawn).value) if points else 0


SHARES = (0.5, 0.25, 0.1, 0.05, 0.02, 0.01)


@dataclass(frozen=True)
class Forecast:
    """What a run will cost: its stages, and the clock from its start to its report."""

    stages: tuple[StageForecast, ...]
    seconds: Range
    slots: int

    @property
    def unknown(self) -> list[str]:
        """The titles of the stages that will run and never have."""
        return list(dict.fromkeys(stage.planned.title for stage in self.stages if stage.basis == "not run yet"))

    @property
    def dearest(self) -> list[StageForecast]:
        """The stages that take longest, the longest first."""
        return sorted((stage for stage in self.stages if stage.costs), key=lambda stage: -stage.seconds.value)

    def total(self, quantity: str) -> float:
        """The sum of one of the costs over all stages."""
        return sum(stage.costs[quantity].value for stage in self.stages if stage.costs)


def forecast_of_plan(
    planned: Sequence[PlannedStage],
    known: Sequence[ExecutedStage],
    *,
    slots: int,
    overhead: float,
    share: float | None = None,
) -> Forecast:
    """The forecast of a plan on so many slots; `overhead` are the seconds without any stage. With a `share`, of a run
    on that share of its samples, of which the store has nothing but the samples themselves."""
    rows: dict[str, int] = {}
    stages = tuple(_stage_forecast(stage, known, rows, share) for stage in planned)
    m = max(1, slots)
    value, low = (_at_least(stages, at, m) for at in ("value", "low"))
    chain, work = _longest_chain(stages, "high"), sum(stage.seconds.high for stage in stages)
    high = work / m + (1 - 1 / m) * chain
    return Forecast(stages, Range(value + overhead, low + overhead, max(value, high) + overhead), m)


def share_that_fits(expected_at: Callable[[float], Forecast], budget: float) -> float | None:
    """The largest of a few shares of the samples that is expected to end within so many seconds."""
    return next((share for share in SHARES if expected_at(share).seconds.value <= budget), None)


def _at_least(stages: Sequence[StageForecast], end: str, slots: int) -> float:
    """What no order of the stages goes below; what may turn out unchanged is not counted at the low end."""
    certain = [stage for stage in stages if end != "low" or stage.planned.outlook == WILL_RUN]
    work: float = sum(getattr(stage.seconds, end) for stage in certain)
    return max(_longest_chain(certain, end), work / slots)


def _longest_chain(stages: Sequence[StageForecast], end: str) -> float:
    """The longest chain of stages each of which needs what the one before makes."""
    ready: dict[str, float] = {}
    longest = 0.0
    for forecast in stages:
        start = max((ready.get(given.digest, 0.0) for given in forecast.planned.work.given), default=0.0)
        over = start + float(getattr(forecast.seconds, end))
        ready.update((made.digest, over) for made in forecast.planned.makes.values())
        longest = max(longest, over)
    return longest
