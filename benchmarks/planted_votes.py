"""Votes with a planted truth, made on the workers partition by partition, as the stage that begins a benchmark.

Sixty functions, right 55 to 95 % of the time they vote, voting on 10 to 60 % of the samples; every tenth one copies
nine in ten votes of the one before it, so that pruning has work to do. With more than two classes a function votes for
one of them only, as keyword rules do. A partition is made from the seed and its own number: it is the same on any
worker.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from assay.data.schemas import Classes, Samples, Votes
from assay.infra.stages.partitions import map_pieces
from assay.infra.stages.stage import say, stage, write_table
from assay.infra.storage.artifacts import Artifact

_COPIES, _EVERY = 0.9, 10


class Planted(NamedTuple):
    """Samples with their true class and no feature, the votes on them, and the classes."""

    samples: Artifact[Samples]
    votes: Artifact[Votes]
    classes: Artifact[Classes]


@dataclass(frozen=True)
class Range:
    """Rows `start` to `stop`, from 0."""

    number: int
    start: int
    stop: int


@stage(version=1, title="plant votes")
def plant_votes(
    rows: int, functions: int, partitions: int, seed: int, classes: int = 2, coverage: tuple[float, float] = (0.1, 0.6)
) -> Planted:
    """So many samples with the votes of so many functions on them, each voting on a share within `coverage`."""
    bounds = [rows * number // partitions for number in range(partitions + 1)]
    ranges = [Range(number, bounds[number], bounds[number + 1]) for number in range(partitions)]
    samples, votes = map_pieces(
        planted, ranges, into=(Samples, Votes), functions=functions, classes=classes, coverage=coverage, seed=seed
    )
    say(f"{rows} samples, {functions} functions")
    names = pa.table(
        {"code": np.arange(classes), "name": [f"class {code}" for code in range(classes)]}, schema=Classes.schema
    )
    return Planted(samples, votes, write_table(names, into=Classes))


def planted(
    piece: Range, functions: int, classes: int, coverage: tuple[float, float], seed: int
) -> tuple[pa.Table, pa.Table]:
    """One partition: its samples and their votes."""
    generator = np.random.default_rng([seed, piece.number])
    rows = piece.stop - piece.start
    truth = generator.integers(0, classes, rows, dtype=np.int8)
    ids = pa.array([f"s{row:08d}" for row in range(piece.start, piece.stop)])
    columns: dict[str, pa.Array] = {}
    before = np.empty(0, np.int8)
    for position, (accuracy, share) in enumerate(_skills(functions, coverage, seed)):
        if position % _EVERY == 1:
            before = _copied(before, generator)
        elif classes == 2:
            before = _votes(truth, accuracy, share, generator)
        else:
            before = _keyword(truth, position % classes, classes, accuracy, share, generator)
        columns[f"lf_{position:02d}"] = pa.array(before)
    return pa.table({"id": ids, "gold": pa.array(truth.astype(np.int16))}), pa.table({"id": ids, **columns})


def _skills(functions: int, coverage: tuple[float, float], seed: int) -> list[tuple[float, float]]:
    generator = np.random.default_rng(seed)
    return list(zip(generator.uniform(0.55, 0.95, functions), generator.uniform(*coverage, functions), strict=True))


def _votes(
    truth: npt.NDArray[np.int8], accuracy: float, coverage: float, generator: np.random.Generator
) -> npt.NDArray[np.int8]:
    """Abstain, be right, or be wrong: one random number decides."""
    drawn = generator.random(len(truth), np.float32)
    return np.select([drawn < coverage * accuracy, drawn < coverage], [truth, 1 - truth], np.int8(-1)).astype(np.int8)


def _keyword(
    truth: npt.NDArray[np.int8],
    code: int,
    classes: int,
    accuracy: float,
    coverage: float,
    generator: np.random.Generator,
) -> npt.NDArray[np.int8]:
    """Vote for one class or abstain, so that a share `coverage` is voted on, and `accuracy` of it rightly."""
    own, others = coverage * accuracy * classes, coverage * (1 - accuracy) * classes / (classes - 1)
    chance = np.where(truth == code, min(own, 0.95), others)
    return np.where(generator.random(len(truth), np.float32) < chance, np.int8(code), np.int8(-1)).astype(np.int8)


def _copied(before: npt.NDArray[np.int8], generator: np.random.Generator) -> npt.NDArray[np.int8]:
    return np.where(generator.random(len(before), np.float32) < _COPIES, before, np.int8(-1)).astype(np.int8)
