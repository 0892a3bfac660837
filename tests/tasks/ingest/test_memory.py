"""A file of a million rows is read in pieces: no piece needs much more than its own share."""

import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.tasks.ingest.entry import prepare, read_piece
from assay.tasks.ingest.layout import index_file, plan_pieces, read_span
from assay.tasks.ingest.settings import Source
from assay.tasks.ingest.sources import resolve

ROWS, PIECES = 1_000_000, 40


def write_million(path: Path) -> None:
    numbers = np.arange(ROWS)
    block = pa.table(
        {"id": numbers, "x": numbers * 0.5, "note": np.where(numbers % 2, "odd, and quoted", "even"), "y": numbers % 3}
    )
    import pyarrow.csv

    pyarrow.csv.write_csv(block, path)


def test_a_million_rows_in_forty_pieces_stay_bounded(tmp_path: Path, read: Callable[..., Any]) -> None:
    path = tmp_path / "a.csv"
    write_million(path)
    size = path.stat().st_size
    source = resolve(Source(csv="a.csv", id="id", label="y"), tmp_path)
    tracemalloc.start()
    reading, _ = prepare(source)
    index = index_file(source.files[0], reading.layout)
    _, planning = tracemalloc.get_traced_memory()
    pieces = plan_pieces([index], PIECES)
    rows, arrow, python = 0, 0, 0
    for piece in pieces:
        tracemalloc.reset_peak()
        before_python, before_arrow = tracemalloc.get_traced_memory()[0], pa.total_allocated_bytes()
        samples, rejects = read_piece(piece, reading, ("0", "1", "2"))
        assert rejects.num_rows == 0
        rows += samples.num_rows
        arrow = max(arrow, pa.total_allocated_bytes() - before_arrow)
        python = max(python, tracemalloc.get_traced_memory()[1] - before_python)
        del samples, rejects
    tracemalloc.stop()
    share = size / PIECES
    assert (len(pieces), rows) == (PIECES, ROWS)
    assert index.rows == ROWS
    assert planning < 120e6  # a chunk of sixteen megabytes and masks over it, whatever the size of the file
    assert python < 6 * share
    assert arrow < 4 * share


def test_a_piece_of_votes_takes_the_bits_that_they_are_written_in(tmp_path: Path, read: Callable[..., Any]) -> None:
    """Sixty-four functions as int8: six megabytes of votes, where whole numbers of 64 bits took fifty, and twice."""
    rows, functions = 100_000, 64
    votes = {f"f{at}": np.resize(np.array([0, 1, -1], np.int8), rows) for at in range(functions)}
    pq.write_table(pa.table({"id": np.arange(rows), **votes}), tmp_path / "v.parquet")
    source = resolve(Source(votes="v.parquet", id="id", classes=["n", "y"]), tmp_path)
    reading, files = prepare(source)
    [piece] = plan_pieces(files, 1)
    before = pa.total_allocated_bytes()
    held: list[int] = []

    def looked_at(*arguments: Any) -> Any:
        rows = read_span(*arguments)
        held.append(pa.total_allocated_bytes() - before)
        return rows

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("assay.tasks.ingest.entry.read_span", looked_at)
        samples, _ = read_piece(piece, reading, ("n", "y"))
    assert samples.num_rows == rows
    assert max(held) < 3 * rows * functions
