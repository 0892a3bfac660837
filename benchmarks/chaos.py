"""A night that is struck in the middle and started again, beside one that nothing happens to: the same result?

    python benchmarks/chaos.py [--kills 20] [--quick]

The whole chain on pictures, shrunken, on two workers with up to four stages at work at once. A case is a night over an
empty store that is struck once or twice, at a moment drawn by seed (so many results and partitions later), by SIGKILL,
SIGINT or SIGTERM, against the run, a worker or Prefect's server; then it is started again. What was finished when it
was struck should not be done again: the claim is the share of its CPU time that stands in the results in the end.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
from claims import claim, tell

from assay.infra.storage.artifacts import Manifest, Part
from assay.infra.storage.store import Store

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from command_line import Command, digests, environment, records, still_there
from shrunken_night import PIPELINES
from struck_nights import Strike, comes_so_far, strikes_of_case

MOST_FURTHER = 60
"""A quiet night leaves a few hundred files of progress; a strike comes within so many of the last."""
PATIENCE, SHARE = 900.0, "share of CPU"


@dataclass(frozen=True)
class Case:
    """What became of one night."""

    finished: float
    """CPU seconds of results and partitions that were finished when it was struck (last)."""
    kept: float
    """Those of them that are part of the results in the end: not done again."""
    used: float
    """CPU seconds of all processes of the struck attempts up to the strike, starting up included."""
    hit: bool
    same: bool
    left_over: int


def night(folder: Path, store: str) -> Command:
    """The command, at work."""
    options = ["--set", "compute.workers=2", "--set", "compute.at_once=4", "--store", store]
    return Command.start(["run", "shrunken", *options], folder=folder, env=environment(folder / "home"))


def files_of(store: Path) -> list[Path]:
    """The JSON files of a store's stages; a walk, unlike a glob, does not mind a folder that is removed meanwhile."""
    walk = os.walk(store / "stages")
    return [Path(folder, name) for folder, _, names in walk for name in names if name.endswith(".json")]


def manifests(store: Path) -> list[Manifest]:
    """All committed results."""
    opened = Store(str(store))
    places = [file.parent for file in files_of(store) if file.name == "manifest.json"]
    found = (opened.manifest(place.parent.name, place.name) for place in places)
    return [one for one in found if one is not None]


def finished_work(store: Path) -> dict[str, float]:
    """CPU seconds of committed results, and of finished partitions of those that are not, by what tells each apart."""
    results = {_name(one): one.cpu_seconds for one in manifests(store)}
    marks = (part for file in files_of(store) if file.parts[-3] == "marks" for part in _part_in(file))
    return results | dict(marks)


def in_the_end(store: Path) -> set[str]:
    """What tells apart all that the committed results are made of. Of what is done twice, times and worker differ."""
    found = manifests(store)
    parts = (part for one in found for output in one.outputs.values() for part in output.parts)
    return {_name(one) for one in found} | {_told_apart(part) for part in parts}


def _name(manifest: Manifest) -> str:
    return f"{manifest.stage}/{manifest.key} by {manifest.run}, {manifest.created}"


def _told_apart(part: Part) -> str:
    names = ",".join(file.file for file in part.files)
    return f"{names} by {part.worker}, {part.wall_seconds} s, {part.cpu_seconds} s"


def _part_in(mark: Path) -> Iterator[tuple[str, float]]:
    if (mark.parents[2] / "manifest.json").exists():
        return
    with suppress(OSError, ValueError, KeyError, TypeError):  # a training's mark, or one that is gone again
        part = Part.from_json(json.loads(mark.read_text()))
        yield _told_apart(part), part.cpu_seconds


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
    store, families, used, finished = folder / f"case-{number}", list[psutil.Process](), 0.0, dict[str, float]()
    for _ in range(times):
        attempt = night(folder, store.name)
        if comes_so_far(attempt, store, draw.randrange(1, MOST_FURTHER)):
            used, finished = used + used_by(attempt), finished_work(store)
            families += Strike.of_case(number).hit(attempt)
        attempt.wait(PATIENCE)
    last = night(folder, store.name)
    if last.wait(PATIENCE) != 0:
        raise SystemExit(last.out + last.err)
    *_, record = records(store)
    end = in_the_end(store)
    kept = sum(seconds for what, seconds in finished.items() if what in end)
    same, left = digests(record) == quiet, len(still_there(families))
    return Case(round(sum(finished.values()), 2), round(kept, 2), round(used, 2), bool(families), same, left)


def undisturbed(folder: Path) -> tuple[dict[str, str], float]:
    """The digests of a night that nothing happens to, and the CPU seconds of its work."""
    run = night(folder, "quiet")
    if run.wait(PATIENCE) != 0:
        raise SystemExit(run.out + run.err)
    [record] = records(folder / "quiet")
    return digests(record), sum(one.cpu_seconds for one in manifests(folder / "quiet"))


def claims(cases: list[Case], whole: float) -> Iterator[dict[str, Any]]:
    """What the cases come to."""
    hit = [one for one in cases if one.hit and one.finished]
    more = {
        "digests_equal": all(one.same for one in cases),
        "identical": f"{sum(one.same for one in cases)} of {len(cases)}",
        "hit": sum(one.hit for one in cases),
        "left_over": sum(one.left_over for one in cases),
        "night_cpu_seconds": round(whole, 1),
    }
    yield claim("finished work that a struck night keeps", [one.kept / one.finished for one in hit], unit=SHARE, **more)
    shares = [one.finished / one.used for one in hit]
    yield claim("finished work in all that struck attempts used, starting included", shares, unit=SHARE)


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
