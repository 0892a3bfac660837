"""Samples for the tests of subjects, made where worker processes can import what makes them."""

from dataclasses import dataclass

import pyarrow as pa

SPLITS = ("train", "test", "train", "val", None)


@dataclass(frozen=True)
class Rows:
    """A range of sample numbers."""

    start: int
    stop: int


def rows_without_split(piece: Rows) -> pa.Table:
    """Samples of three classes with a text."""
    numbers = range(piece.start, piece.stop)
    return pa.table({
        "id": pa.array([f"sample-{number}" for number in numbers], pa.string()),
        "gold": pa.array([number % 3 for number in numbers], pa.int16()),
        "text": pa.array([f"text {number}" for number in numbers], pa.string()),
    })  # fmt: skip


def rows_with_split(piece: Rows) -> pa.Table:
    """The same samples, two in five of them in `train`, one each in `test`, in `val` and nowhere."""
    splits = [SPLITS[number % 5] for number in range(piece.start, piece.stop)]
    return rows_without_split(piece).append_column("split", pa.array(splits, pa.string()))
