"""How near the forecast of a stage comes: embedded pipelines on a quarter and half of their samples, twice, and whole.

    python benchmarks/forecast.py [PIPELINE …] [--workers 1] [--quick]

Every run is an `assay run` of its own over one store a pipeline: the forecast of the whole is the one that it said at
its head, from the records of those before it. Stages under a second are counted apart: the clock there is mostly the
machine's. A claim is the share of stages that took within a quarter of what was expected; beside it stands what no
forecast can do better than, the whole run once more over nothing: the share within a quarter of what the same stage
took before.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from claims import claim, tell

from assay.infra.storage.artifacts import RunRecord, StageRecord
from assay.infra.storage.store import Store

ROOT = Path(__file__).resolve().parents[1]
PIPELINES = ("breast-cancer", "first-night", "digits-quick", "digits-defended-quick", "digits", "digits-overfitting")
SHARES, WHOLE = ("25%", "50%"), "100%"
ROUNDS = ((), ("--fresh",))
WITHIN = 0.25
SHORT = 1.0
UNITS = {"seconds": "s", "cpu": "s of processors"}
FORECAST, ONCE_MORE = "their forecast", "the same run before"

Pair = tuple[str, float, float]
"""A stage's title, what was expected of it, and what it took."""


def night(name: str, store: Path, share: str, workers: int, *further: str) -> RunRecord:
    """The record of one `assay run`."""
    command = [sys.executable, "-m", "assay.flows.cli", "run", name, "--config", str(ROOT / "pipelines.yaml")]
    command += ["--store", str(store), "--sample", share, "--set", f"compute.workers={workers}", *further]
    done = subprocess.run(command, capture_output=True, text=True, env=os.environ | {"ASSAY_SERVER_IDLE": "0"})
    if done.returncode not in (0, 1):
        raise SystemExit(done.stdout + done.stderr)
    return Store(str(store)).runs(name)[-1]


def pairs(record: RunRecord, quantity: str) -> list[Pair]:
    """Of every computed stage that was foreseen, what was expected and what it took."""
    known = record.forecast["stages" if quantity == "seconds" else "cpu"]
    computed = [one for one in record.stages if not one.cached and one.place in known]
    return [(one.title, known[one.place][0], _took(one, quantity)) for one in computed]


def once_more(record: RunRecord, again: RunRecord, quantity: str) -> list[Pair]:
    """Of every stage that two runs of the same work computed, what it took in the one and in the other."""
    before = {one.place: one for one in record.stages if not one.cached}
    both = [(before[one.place], one) for one in again.stages if not one.cached and one.place in before]
    return [(now.title, _took(was, quantity), _took(now, quantity)) for was, now in both]


def _took(stage: StageRecord, quantity: str) -> float:
    return stage.worked if quantity == "seconds" else stage.cost["cpu"]


def near(found: list[Pair], within: float = WITHIN) -> float:
    """The share of the pairs whose forecast is off by no more than so much of what it took."""
    return sum(abs(was - took) <= within * took for _, was, took in found) / len(found) if found else float("nan")


def _near_or_short(every: list[Pair]) -> float:
    """The share within a quarter of what it took, or half a second; a page asks for a factor of 1.25 either way."""
    return sum(abs(was - took) <= max(WITHIN * took, 0.5) for _, was, took in every) / max(1, len(every))


def inside(record: RunRecord) -> float:
    """The share of the computed stages that took a time within their range."""
    known = record.forecast["stages"]
    seen = [(known[one.place], one.worked) for one in record.stages if not one.cached and one.place in known]
    return sum(low <= took <= high for (_, low, high), took in seen) / len(seen) if seen else float("nan")


def main() -> None:
    """Every pipeline at three sizes, told as it is done, and the shares over all of them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("pipelines", nargs="*", default=list(PIPELINES))
    parser.add_argument("--workers", type=int, default=1, help="with the flow itself as many as there are cores")
    parser.add_argument("--quick", action="store_true", help="one pipeline: whether it works, not how near it comes")
    options = parser.parse_args()
    said: dict[tuple[str, str], list[Pair]] = {(of, quantity): [] for of in (FORECAST, ONCE_MORE) for quantity in UNITS}
    for name in PIPELINES[:1] if options.quick else options.pipelines:
        with tempfile.TemporaryDirectory() as place:
            store = Path(place) / "store"
            for further, share in itertools.product(ROUNDS, SHARES):
                night(name, store, share, options.workers, *further)
            whole = night(name, store, WHOLE, options.workers)
            again = night(name, store, WHOLE, options.workers, "--fresh")
        slowest = sorted(pairs(whole, "seconds"), key=lambda one: -one[2])[:12]
        print(json.dumps({name: slowest}), file=sys.stderr, flush=True)
        tell_whole(name, whole)
        for quantity in UNITS:
            found = {FORECAST: pairs(whole, quantity), ONCE_MORE: once_more(whole, again, quantity)}
            for of, each in found.items():
                tell_stages(name, of, each, quantity)
                said[of, quantity] += each
    for (of, quantity), each in said.items():
        tell_stages("all", of, each, quantity)


def tell_stages(name: str, of: str, every: list[Pair], quantity: str) -> None:
    """The claim about the stages: those of a second and longer, and the shorter ones beside it."""
    long, short = [one for one in every if one[2] >= SHORT], [one for one in every if one[2] < SHORT]
    close = sum(abs(was - took) <= 0.5 for _, was, took in short)
    tell(
        claim(
            f"{name}: stages within a quarter of {of}, in {UNITS[quantity]}, of those of {SHORT:g} s and longer",
            [near(long)],
            unit="share",
            stages=len(long),
            within_half=round(near(long, 0.5), 3),
            all_within_a_quarter_or_half_a_second=round(_near_or_short(every), 3),
            shorter=len(short),
            shorter_within_a_quarter=round(near(short), 3),
            shorter_within_half_a_second=round(close / max(1, len(short)), 3),
        )
    )


def tell_whole(name: str, record: RunRecord) -> None:
    """The claim about the whole run: expected, and what it took."""
    expected, low, high = record.forecast["seconds"]
    tell(
        claim(
            f"{name}: seconds of the whole run, expected from a quarter and a half of its samples",
            [expected],
            [record.seconds],
            unit="s",
            low=low,
            high=high,
            stages_inside_their_range=round(inside(record), 3),
        )
    )


if __name__ == "__main__":
    main()
