"""Where the time of a run went: what computed, what waited, and when no stage was at work at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from assay.infra.manifests import RunRecord
from assay.infra.store import Store


@dataclass(frozen=True)
class StageTime:
    """The stages of one title: how many were computed and how many taken from the store, and their seconds.

    `computed` is processor time of the stage and its partitions, wherever they ran; `waited` is what is left of the
    wall-clock time: for a slot, for disks, for others on the same machine. Stages overlap, so sums may exceed the run.
    """

    title: str
    stages: int
    cached: int
    wall: float
    computed: float

    @property
    def waited(self) -> float:
        """Seconds in which the stage was under way and nothing of it computed."""
        return max(0.0, self.wall - self.computed)


@dataclass(frozen=True)
class Times:
    """The time of a run by stage, the longest first, and its seconds without any stage under way: orchestration."""

    stages: tuple[StageTime, ...]
    seconds: float
    orchestration: float


def times_of(store: Store, record: RunRecord) -> Times:
    """The times of a run, from its record and the manifests of the stages that it computed."""
    by_title: dict[str, list[StageTime]] = {}
    busy: list[tuple[float, float]] = []
    for executed in record.stages:
        if executed.cached:
            by_title.setdefault(executed.title, []).append(StageTime(executed.title, 0, 1, 0.0, 0.0))
            continue
        manifest = store.manifest(executed.stage, executed.key)
        if manifest is None:  # it has been cleaned up since; its seconds are in the record
            by_title.setdefault(executed.title, []).append(StageTime(executed.title, 1, 0, executed.seconds, 0.0))
            continue
        by_title.setdefault(executed.title, []).append(
            StageTime(executed.title, 1, 0, executed.seconds, manifest.cpu_seconds)
        )
        ended = datetime.fromisoformat(manifest.created).timestamp()
        busy.append((ended - manifest.wall_seconds, ended))
    summed = [
        StageTime(
            title,
            sum(executed.stages for executed in ones),
            sum(executed.cached for executed in ones),
            sum(executed.wall for executed in ones),
            sum(executed.computed for executed in ones),
        )
        for title, ones in by_title.items()
    ]
    longest = tuple(sorted(summed, key=lambda executed: (-executed.wall, executed.title)))
    return Times(longest, record.seconds, max(0.0, record.seconds - covered(busy)))


def covered(spans: Sequence[tuple[float, float]]) -> float:
    """The length of all spans together, what several cover counted once.

    >>> covered([(0, 2), (1, 3), (5, 6)])
    4.0
    """
    total, reached = 0.0, float("-inf")
    for start, end in sorted(spans):
        total += max(0, end - max(start, reached))
        reached = max(reached, end)
    return total


def in_rows(times: Times, most: int = 12) -> list[list[str]]:
    """The times as rows of text: the stages that took longest, the rest together, and the whole run."""
    shown, rest = times.stages[:most], times.stages[most:]
    rows = [_row(one.title, one.stages, one.cached, one.wall, one.computed, one.waited) for one in shown]
    if rest:
        rows.append(_row(f"{len(rest)} others", *_sums(rest)))
    rows.append(_row("all stages", *_sums(times.stages)))
    rows.append(["no stage under way", "", "", f"{times.orchestration:.1f}", "", ""])
    rows.append(["the run", "", "", f"{times.seconds:.1f}", "", ""])
    return rows


HEADINGS = ["stage", "computed", "from store", "seconds", "computing", "waiting"]


def _row(title: str, stages: int, cached: int, wall: float, computed: float, waited: float) -> list[str]:
    return [title, str(stages), str(cached), f"{wall:.1f}", f"{computed:.1f}", f"{waited:.1f}"]


def _sums(stages: Sequence[StageTime]) -> tuple[int, int, float, float, float]:
    return (
        sum(one.stages for one in stages),
        sum(one.cached for one in stages),
        sum(one.wall for one in stages),
        sum(one.computed for one in stages),
        sum(one.waited for one in stages),
    )
