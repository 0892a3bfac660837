"""A file of a million rows is read in pieces: no piece needs much more than its own share."""

import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from assay.tasks.ingest.pieces import index_file, plan_pieces
from assay.tasks.ingest.reading import prepare, read_piece
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
