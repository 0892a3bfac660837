"""How busy a night keeps eight one-core workers: trainings and attacks that only sleep, on a real Dask cluster.

    python benchmarks/simulated_night.py [--quick]

Twelve trainings of unlike length; forty attacks, each in a few partitions, that stand on one of them. The share of the
workers' slots that are busy between the first training's start and the last training's end is measured by the workers
themselves. Sleeping costs no processor, so the machine may have fewer cores than there are workers.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
from claims import claim, tell

from assay.infra.engines.calls import Call
from assay.infra.engines.opening import open_engine
from assay.infra.environment import prepare_environment
from assay.infra.settings import Compute
from assay.infra.stages.branches import Branch, branch_outcomes, start_branch, subflow
from assay.infra.stages.partitions import map_pieces
from assay.infra.stages.runs import Run
from assay.infra.stages.stage import stage
from assay.infra.stages.trainings import Checkpoints, train_on_worker
from assay.infra.storage.artifacts import Artifact, Files, Table
from assay.infra.storage.store import Store
from assay.infra.terminal import Progress

WORKERS, TRAININGS, ATTACKS, PARTITIONS = 8, 12, 40, 6
_SHORTEST, _LONGEST = 6.0, 18.0
"""Seconds of a training; an attack takes about a third of one, over all its partitions."""


class Model(Files):
    """What a training leaves."""


class Slept(Table):
    """When somebody slept."""

    schema = pa.schema(
        [
            pa.field("id", pa.string(), nullable=False),
            pa.field("began", pa.float64(), nullable=False),
            pa.field("ended", pa.float64(), nullable=False),
        ]
    )


@dataclass(frozen=True)
class Nap:
    """One partition of an attack."""

    name: str
    seconds: float
    log: str


def sleep(nap: Nap) -> pa.Table:
    """A partition of an attack: sleeps, and writes down when."""
    began, ended = _slept(nap.name, nap.seconds, nap.log)
    return pa.table({"id": [nap.name], "began": [began], "ended": [ended]}, schema=Slept.schema)


def learn(*, checkpoints: Checkpoints, who: str, seconds: float, log: str) -> dict[str, bytes]:  # noqa: ARG001
    """A training: sleeps, and writes down when."""
    return {"slept": repr(_slept(who, seconds, log)).encode()}


def _slept(name: str, seconds: float, log: str) -> tuple[float, float]:
    began = time.time()
    time.sleep(seconds)
    ended = time.time()
    Path(log, name).write_text(f"{began} {ended}")
    return began, ended


@stage(version=1)
def train(name: str, seconds: float, log: str) -> Artifact[Model]:
    """A model, after a while."""
    model: Artifact[Model] = train_on_worker(learn, into=Model, who=name, seconds=seconds, log=log)
    return model


@stage(version=1)
def attack(model: Artifact[Model], name: str, seconds: float, log: str) -> Artifact[Slept]:  # noqa: ARG001
    """An attack on a model, in partitions."""
    naps = [Nap(f"{name}-{at}", seconds / PARTITIONS, log) for at in range(PARTITIONS)]
    slept: Artifact[Slept] = map_pieces(sleep, naps, into=Slept)
    return slept


@subflow("night")
def night(scale: float, log: str) -> dict[str, Any]:
    """All trainings, and every attack as soon as its model is there."""
    draw = random.Random(0)
    lengths = [scale * draw.uniform(_SHORTEST, _LONGEST) for _ in range(TRAININGS)]
    models = [
        start_branch(f"training {at}", train, f"training-{at}", seconds, log) for at, seconds in enumerate(lengths)
    ]
    attacks: dict[str, Branch[Any]] = {}
    for number in range(ATTACKS):
        victim, seconds = models[number % TRAININGS], scale * draw.uniform(_SHORTEST, _LONGEST) / 3
        attacks[f"attack {number}"] = start_branch(f"attack {number}", attack, victim, f"attack-{number}", seconds, log)
    return branch_outcomes(attacks)


def busy(log: Path) -> dict[str, float]:
    """The share of the slots that slept between the first training's start and the last training's end."""
    naps = {file.name: tuple(map(float, file.read_text().split())) for file in log.iterdir()}
    trainings = [times for name, times in naps.items() if name.startswith("training")]
    first, last = min(began for began, _ in trainings), max(ended for _, ended in trainings)
    slept = sum(max(0.0, min(ended, last) - max(began, first)) for began, ended in naps.values())
    end = max(ended for _, ended in naps.values())
    return {"share": slept / (WORKERS * (last - first)), "trainings": last - first, "night": end - first}


def once(scale: float, processes: bool) -> tuple[float, dict[str, float]]:
    """The seconds of a simulated night, and how busy the workers were."""
    threads: dict[str, Any] = {
        "n_workers": WORKERS,
        "threads_per_worker": 1,
        "processes": False,
        "dashboard_address": None,
    }
    engine_there: dict[str, Any] = {"engine": "distributed.LocalCluster", "options": threads}
    compute = Compute(gpu="never", **({"workers": WORKERS} if processes else engine_there))
    with tempfile.TemporaryDirectory() as place, open_engine(compute) as engine:
        log, warm = Path(place, "log"), Path(place, "warm")
        log.mkdir()
        warm.mkdir()
        calls = (Call(at, f"nap {at}", sleep, (Nap(f"{at}", 0.5, str(warm)),)) for at in range(2 * WORKERS))
        assert all(outcome.error is None for outcome in engine.run(calls))  # every worker has imported what it needs
        run = Run("night", Store(f"{place}/store").open(), lambda: engine, Progress(), compute=compute)
        with run:
            began = time.perf_counter()
            made = night(scale, str(log))
            seconds = time.perf_counter() - began
        assert len(made) == ATTACKS, run.record.failures
        return seconds, busy(log)


def main() -> None:
    """The night, as often as asked; the share of busy slots is the claim."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="short naps and once: whether it works")
    parser.add_argument("--threads", action="store_true", help="workers in this process, where 8 cannot be started")
    options = parser.parse_args()
    prepare_environment()
    scale, repeats = (0.1, 1) if options.quick else (1.0, options.repeats)
    nights = [once(scale, not options.threads) for _ in range(repeats)]
    tell(
        claim(
            f"slots busy, {WORKERS} workers, {TRAININGS} trainings, {ATTACKS} attacks",
            [measured["share"] for _, measured in nights],
            unit="share of slots between first and last training",
            seconds=round(min(seconds for seconds, _ in nights), 1),
            trainings_seconds=round(min(measured["trainings"] for _, measured in nights), 1),
        )
    )


if __name__ == "__main__":
    main()
