"""What a whole run will take, its stages at once where they need nothing of each other; and what share would fit.

Graham's bounds (1966): on m machines, work W whose longest chain is L takes at least max(L, W/m), and under any order
that leaves no machine idle while something could run at most W/m + (1 - 1/m) L.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from assay.flows.forecast.history import Executed
from assay.flows.forecast.scaling import Range
from assay.flows.forecast.stages import StageForecast, stage_forecasts
from assay.infra.plans import WILL_RUN, PlannedStage

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
        return list(dict.fromkeys(one.planned.title for one in self.stages if one.is_unknown))

    @property
    def dearest(self) -> list[StageForecast]:
        """The stages that take longest, the longest first."""
        return sorted((one for one in self.stages if one.costs), key=lambda one: -one.seconds.value)

    def total(self, quantity: str) -> float:
        """The sum of one of the costs over all stages."""
        return sum(one.costs[quantity].value for one in self.stages if one.costs)


def forecast(
    planned: Sequence[PlannedStage],
    known: Sequence[Executed],
    *,
    slots: int,
    overhead: float,
    share: float | None = None,
) -> Forecast:
    """The forecast of a plan on so many slots; `overhead` are the seconds without any stage."""
    stages = tuple(stage_forecasts(planned, known, share))
    m = max(1, slots)
    value, low = (_at_least(stages, at, m) for at in ("value", "low"))
    chain, work = _longest(stages, "high"), sum(one.seconds.high for one in stages)
    high = work / m + (1 - 1 / m) * chain
    return Forecast(stages, Range(value + overhead, low + overhead, max(value, high) + overhead), m)


def share_that_fits(
    planned: Sequence[PlannedStage], known: Sequence[Executed], *, slots: int, overhead: float, budget: float
) -> float | None:
    """The largest of the usual shares whose run, from its samples on, is expected to fit into so many seconds."""
    for share in SHARES:
        if forecast(planned, known, slots=slots, overhead=overhead, share=share).seconds.value <= budget:
            return share
    return None


def _at_least(stages: Sequence[StageForecast], end: str, slots: int) -> float:
    """What no order of the stages goes below; what may turn out unchanged is not counted at the low end."""
    certain = [one for one in stages if end != "low" or one.planned.outlook == WILL_RUN]
    work: float = sum(getattr(one.seconds, end) for one in certain)
    return max(_longest(certain, end), work / slots)


def _longest(stages: Sequence[StageForecast], end: str) -> float:
    """The longest chain of stages each of which needs what the one before makes."""
    ready: dict[str, float] = {}
    longest = 0.0
    for forecast in stages:
        work = forecast.planned.work
        start = max((ready.get(given.digest, 0.0) for given in (work.given if work else ())), default=0.0)
        over = start + float(getattr(forecast.seconds, end))
        ready.update((made.digest, over) for made in forecast.planned.makes.values())
        longest = max(longest, over)
    return longest
