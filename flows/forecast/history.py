"""What stages did in earlier runs: how much work of which kind, and what it took. Only records of runs are read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Literal

from assay.flows.report.times import covered
from assay.infra.likeness import Work
from assay.infra.manifests import RunRecord, StageRecord

RUNS = 60
"""So many of the latest runs are looked at."""
_OVERHEADS = 5

Basis = Literal["the same work", "the same settings on other input", "other settings", "not run yet"]
WIDENED: Mapping[Basis, float] = {"the same work": 1.0, "the same settings on other input": 1.1, "other settings": 2.5}
"""How much wider a range is, by how like the earlier work is."""


@dataclass(frozen=True)
class Executed:
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


def executed(records: Sequence[RunRecord]) -> list[Executed]:
    """What the latest of these runs computed, the latest first; records of earlier versions say too little."""
    return [one for record in reversed(records[-RUNS:]) for stage in record.stages for one in _executed(stage)]


def _executed(stage: StageRecord) -> Iterator[Executed]:
    if stage.cached or not stage.cost or not stage.work or stage.partitions_reused:
        return
    work = stage.work
    rows_made = {name: int(handle.get("rows") or 0) for name, handle in stage.outputs.items()}
    took = {**stage.cost, "seconds": stage.worked}
    like, own, partial = str(work["like"]), str(work["own"]), bool(stage.partitions_taken)
    yield Executed(stage.stage, like, own, float(work["effort"]), int(work["rows"]), took, rows_made, partial)


def most_alike(stage: str, work: Work, known: Iterable[Executed]) -> tuple[list[Executed], Basis]:
    """The earlier work that is most like this, and how like it is."""
    same = [one for one in known if one.stage == stage]
    if alike := [one for one in same if one.like == work.like]:
        return alike, "the same work"
    if alike := [one for one in same if one.own == work.own]:
        return alike, "the same settings on other input"
    return same, "other settings" if same else "not run yet"


def overhead(records: Sequence[RunRecord]) -> float:
    """The seconds of a run in which no stage is under way (its start, its page): the median of the latest runs."""
    spent = [record.seconds - _covered(record) for record in records[-RUNS:] if record.report is not None]
    return max(0.0, median(spent[-_OVERHEADS:])) if spent else 0.0


def _covered(record: RunRecord) -> float:
    began = [(one.cost["began"], one) for one in record.stages if "began" in one.cost]
    return covered([(start + one.seconds - one.worked, start + one.seconds) for start, one in began])
