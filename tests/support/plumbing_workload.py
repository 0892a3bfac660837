"""Kinds and partition functions that the tests of the plumbing share, where workers can import them."""

import os
import time
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc

from assay.infra.errors import InputError
from assay.infra.stages.exact import Least
from assay.infra.stages.partitions import Tallied
from assay.infra.storage.artifacts import Files, Table

SCHEMA = pa.schema([pa.field("id", pa.string(), nullable=False), pa.field("x", pa.int64(), nullable=False)])


class Numbers(Table):
    """Numbers with an id."""

    schema = SCHEMA


class Scaled(Table):
    """Numbers, multiplied."""

    schema = SCHEMA


class Weights(Files):
    """Any files."""


@dataclass(frozen=True)
class Piece:
    """A range of numbers."""

    start: int
    stop: int


def make_numbers(piece: Piece) -> pa.Table:
    ids = [f"{i:03d}" for i in range(piece.start, piece.stop)]
    return pa.table({"id": ids, "x": pa.array(range(piece.start, piece.stop), pa.int64())})


def double(table: pa.Table, factor: object) -> pa.Table:
    return table.set_column(1, "x", pc.multiply(table["x"], pa.array(factor) if hasattr(factor, "shape") else factor))


def total(table: pa.Table) -> dict[str, object]:
    return {"sum": pc.sum(table["x"]).as_py() or 0, "least": Least(table["id"][0].as_py())}


def explode_on(table: pa.Table, marker: str, bad: str, tally: bool = False) -> object:
    """Double the numbers, but fail as long as the marker file is there and the partition holds the bad number."""
    if bad == "input":
        raise InputError("row 3 is wrong")
    if Path(marker).exists() and int(bad) in table["x"].to_pylist():
        raise ValueError("boom")
    doubled = double(table, 2)
    return Tallied(doubled, {"rows": table.num_rows, "first": Least(table["id"][0].as_py())}) if tally else doubled


def kill_once(table: pa.Table, marker: str) -> pa.Table:
    """Double the numbers; the worker that gets the number 7 first leaves a marker and kills itself."""
    if 7 in table["x"].to_pylist() and not Path(marker).exists():
        Path(marker).touch()
        os.kill(os.getpid(), 9)
    return double(table, 2)


def wait_for(table: pa.Table, marker: str) -> pa.Table:
    """Double the numbers when the marker file is there; leave one named after the partition first."""
    Path(f"{marker}.{table['id'][0].as_py()}").touch()
    while not Path(marker).exists():
        time.sleep(0.02)
    return double(table, 2)


def beside(left: pa.Table, right: pa.Table) -> pa.Table:
    """The sum of two tables that must hold the same samples."""
    assert left["id"] == right["id"]
    return left.set_column(1, "x", pc.add(left["x"], right["x"]))


def burn(seconds: float, name: str, folder: str) -> str:
    """Use the processor for so long, and say in which process; `input` and `bug` fail."""
    if name == "input":
        raise InputError("row 3 is wrong")
    if name == "bug":
        raise ValueError("boom")
    until = time.process_time() + seconds
    while time.process_time() < until:
        pass
    (Path(folder) / name).write_text(str(os.getpid()))
    return name


def count_slowly(numbers: pa.Table, folder: str) -> int:
    """The rows of a partition, after a fifth of a second of a processor."""
    burn(0.2, "counted", folder)
    return numbers.num_rows
