"""A night that is struck in the middle and started again, beside one that nothing happens to: the same result?

    python benchmarks/chaos.py [--kills 20] [--quick]

The whole chain on pictures, shrunken, on two workers with up to four stages at work at once. A case is a night over an
empty store that is struck once or twice, at a moment drawn by seed (so many results and partitions later), by SIGKILL,
SIGINT or SIGTERM, against the run, a worker or Prefect's server; then it is started again. What was finished when it
was struck should not be done again: the claim is the share of that CPU time which the last run did not spend.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from claims import claim, tell

from assay.infra.manifests import Manifest
from assay.infra.store import Store

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from command_line import Command, digests, environment, records, still_there
from shrunken_night import PIPELINES
from struck_nights import Strike, comes_so_far, strikes_of_case

MOST_FURTHER = 60
"""A quiet night leaves a few hundred files of progress; a strike comes within so many of the last."""
PATIENCE = 900.0


@dataclass(frozen=True)
class Case:
    """What became of one night: CPU seconds of what was finished when it was struck, and of what was done after."""

    finished: float
    afterwards: float
    used: float
    """CPU seconds of all processes of the struck attempts, starting up included."""
    hit: bool
    same: bool
    left_over: int

    def kept(self, whole: float) -> float:
        """The share of the finished work that was not done again, where the whole night's work is so much.

        >>> Case(finished=40.0, afterwards=65.0, used=70.0, hit=True, same=True, left_over=0).kept(whole=100.0)
        0.875
        """
        again = max(0.0, self.finished + self.afterwards - whole)
        return max(0.0, 1.0 - again / self.finished) if self.finished else 1.0


def night(folder: Path, store: str) -> Command:
    """The command, at work."""
    options = ["--set", "compute.workers=2", "--set", "compute.at_once=4", "--store", store]
    return Command.start(["run", "shrunken", *options], folder=folder, env=environment(folder / "home"))


def manifests(store: Path) -> list[Manifest]:
    """All committed results."""
    opened = Store(str(store))
    places = [file.parent for file in store.glob("stages/*/*/manifest.json")]
    found = (opened.manifest(place.parent.name, place.name) for place in places)
    return [one for one in found if one is not None]


def finished_work(store: Path) -> float:
    """CPU seconds of committed results, and of finished partitions of those that are not."""
    marks = (part for file in store.glob("stages/*/*/marks/*/*.json") for part in _part_in(file))
    return sum(one.cpu_seconds for one in manifests(store)) + sum(marks)


def _part_in(mark: Path) -> Iterator[float]:
    with suppress(OSError, json.JSONDecodeError, KeyError, TypeError):  # a training's mark, or one that is gone again
        if not (mark.parents[2] / "manifest.json").exists():
            yield float(json.loads(mark.read_text())["cpu_seconds"])


def used_by(attempt: Command) -> float:
    """CPU seconds of a night's processes so far."""
    total = 0.0
    for one in [psutil.Process(attempt.process.pid), *attempt.offspring()]:
        with suppress(psutil.Error):
            spent = one.cpu_times()
            total += spent.user + spent.system
    return total


def case(folder: Path, number: int, quiet: dict[str, str]) -> Case:
    """One night, struck and started again."""
    draw, times = strikes_of_case(number)
    store, families, used = folder / f"case-{number}", list[psutil.Process](), 0.0
    for _ in range(times):
        attempt = night(folder, store.name)
        if comes_so_far(attempt, store, draw.randrange(1, MOST_FURTHER)):
            used += used_by(attempt)
            families += Strike.of_case(number).hit(attempt)
        attempt.wait(PATIENCE)
    finished = finished_work(store)
    before = {one.run for one in manifests(store)}
    last = night(folder, store.name)
    if last.wait(PATIENCE) != 0:
        raise SystemExit(last.out + last.err)
    *_, record = records(store)
    afterwards = sum(one.cpu_seconds for one in manifests(store) if one.run not in before)
    return Case(finished, afterwards, used, bool(families), digests(record) == quiet, len(still_there(families)))


def undisturbed(folder: Path) -> tuple[dict[str, str], float]:
    """The digests of a night that nothing happens to, and the CPU seconds of its work."""
    run = night(folder, "quiet")
    if run.wait(PATIENCE) != 0:
        raise SystemExit(run.out + run.err)
    [record] = records(folder / "quiet")
    return digests(record), sum(one.cpu_seconds for one in manifests(folder / "quiet"))


def claims(cases: list[Case], whole: float) -> Iterator[dict[str, Any]]:
    """What the cases come to."""
    hit = [one for one in cases if one.hit]
    more = {
        "digests_equal": all(one.same for one in cases),
        "identical": f"{sum(one.same for one in cases)} of {len(cases)}",
        "hit": len(hit),
        "left_over": sum(one.left_over for one in cases),
        "night_cpu_seconds": round(whole, 1),
    }
    yield claim(
        "finished work that a struck night keeps", [one.kept(whole) for one in hit], unit="share of CPU", **more
    )
    shares = [one.finished / one.used for one in hit if one.used]
    yield claim("finished work in all that struck attempts used, starting included", shares, unit="share of CPU")


def main() -> None:
    """As many nights as asked; the exit code says whether all came to the same result."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=20, help="how many nights are struck")
    parser.add_argument("--quick", action="store_true", help="small and once: whether it works, not how fast it is")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "pipelines.yaml").write_text(PIPELINES)
        quiet, whole = undisturbed(folder)
        cases = []
        for number in range(2 if options.quick else options.kills):
            cases.append(case(folder, number, quiet))
            print(json.dumps({"case": number, **vars(cases[-1])}), file=sys.stderr, flush=True)
        for line in claims(cases, whole):
            tell(line)
    if not all(one.same and not one.left_over for one in cases):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
