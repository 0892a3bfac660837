"""What every stage of a plan will cost.

Rows are followed from what is there to what is promised, and each stage is held against the earlier work most like it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from types import MappingProxyType

from assay.flows.forecast.history import WIDENED, Basis, Executed, most_alike
from assay.flows.forecast.scaling import SLACK, Range, expected, kept
from assay.infra.likeness import Given, Work, is_by_sample, rows_among
from assay.infra.plans import CACHED, PlannedStage

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

    @property
    def is_unknown(self) -> bool:
        """Whether it will run and nobody knows what that costs."""
        return self.basis == "not run yet"


def stage_forecasts(
    planned: Sequence[PlannedStage], known: Sequence[Executed], share: float | None = None
) -> list[StageForecast]:
    """The forecast of every stage of a plan, in its order. With a `share`, of a run on that share of its samples, of
    which the store has nothing but the samples themselves."""
    rows: dict[str, int] = {}
    return [_forecast(one, known, rows, share) for one in planned]


def _forecast(
    planned: PlannedStage, known: Sequence[Executed], rows: dict[str, int], share: float | None
) -> StageForecast:
    work = planned.work
    if work is None:
        return StageForecast(planned, None)
    enters = not work.given
    if planned.outlook == CACHED and (share is None or enters):
        rows.update((made.digest, _shared(made, share if enters else None)) for made in planned.makes.values())
        return StageForecast(planned, None)
    alike, basis = most_alike(planned.stage, work, known)
    over = rows_among(rows, work.given) if work.given else alike[0].rows if alike else 0
    for name, made in planned.makes.items():
        entered = _rows_made(name, made, work, over, alike)
        rows[made.digest] = _shared(Given(made.kind, made.digest, entered), share if enters else None)
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


def _shared(artifact: Given, share: float | None) -> int:
    return artifact.rows if share is None or not is_by_sample(artifact.kind) else max(1, round(artifact.rows * share))


def _cost(quantity: str, work: Work, over: int, alike: Sequence[Executed]) -> Range:
    """One of the costs, by the amount that it grows with."""
    per_row = 1.0 if quantity in _BY_ROW else work.effort
    points = [(one.rows * (1.0 if quantity in _BY_ROW else one.effort), one.took.get(quantity, 0.0)) for one in alike]
    return expected(points, over * per_row)


def _as_the_last(quantity: str, partial: Sequence[Executed], whole: Range) -> Range:
    """Where the last night computed only what was new: as the latest such nights, and at the most all of it."""
    took = median(one.took.get(quantity, 0.0) for one in partial[:_NIGHTS])
    return Range(took, took / SLACK, max(took * SLACK, whole.high))


def _rows_made(name: str, artifact: Given, work: Work, over: int, alike: Sequence[Executed]) -> int:
    """How many rows an output will have; only a table of samples grows with what goes in before that was seen."""
    drawn = min(1.0, work.effort)  # a share of the samples is drawn, all of them gone over
    points = [(one.rows * min(1.0, one.effort), float(one.made.get(name, 0))) for one in alike]
    if is_by_sample(artifact.kind):
        return round(kept(points, over * drawn)) if points else round(over * drawn)
    if len({size for size, _ in points}) == 1:
        return round(points[0][1])
    return round(expected(points, over * drawn).value) if points else 0
