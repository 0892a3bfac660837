"""A Parquet file may call bytes text that are none: those rows are rejected by name, and no others."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.infra.errors import InputError
from assay.tasks.ingest.parquet import parquet_columns, parquet_rows
from assay.tasks.ingest.settings import Source
from assay.tasks.ingest.source_files import SourceFile


def claimed(values: list[bytes | None]) -> pa.Array:
    """Bytes that call themselves text."""
    return pa.array(values, pa.binary()).view(pa.string())


def test_rows_whose_text_is_not_utf8_are_rejected_by_row_and_column(tmp_path: Path) -> None:
    notes, ids = claimed([b"a", b"\xff", None, b"\xe9t\xe9"]), claimed([b"1", b"2", b"3", b"\xff"])
    table = pa.table({"id": ids, "note": notes, "x": [1.0, 2.0, 3.0, 4.0]})
    pq.write_table(table, tmp_path / "t.parquet")
    read = parquet_rows(str(tmp_path / "t.parquet"), "t.parquet", 0, 4, table.schema)
    assert read.table.to_pydict() == {"id": ["1", "3"], "note": ["a", None], "x": [1.0, 3.0]}
    assert read.positions.tolist() == [1, 3]
    assert [(reject.row, reject.column) for reject in read.rejects] == [(2, "note"), (4, "id")]


def test_rows_are_counted_from_the_start_of_the_file(tmp_path: Path) -> None:
    table = pa.table({"id": claimed([b"a", b"b", b"\xff", b"d"])})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=2)
    read = parquet_rows(str(tmp_path / "t.parquet"), "t.parquet", 2, 4, table.schema)
    assert (read.positions.tolist(), [reject.row for reject in read.rejects]) == ([4], [3])


def test_lists_of_such_text_are_refused_by_column(tmp_path: Path) -> None:
    lists = pa.ListArray.from_arrays(pa.array([0, 1, 2], pa.int32()), claimed([b"a", b"\xff"]))
    pq.write_table(pa.table({"words": lists}), tmp_path / "t.parquet")
    with pytest.raises(InputError, match=r"t\.parquet holds values in column 'words' that cannot be read"):
        parquet_rows(str(tmp_path / "t.parquet"), "t.parquet", 0, 2, pa.schema([("words", pa.list_(pa.string()))]))


def test_decimals_are_the_numbers_that_they_are(tmp_path: Path) -> None:
    amounts = {
        "id": pa.array([3, 4], pa.decimal128(38, 0)),
        "paid": pa.array(["1.25", None]).cast(pa.decimal128(10, 2)),
    }
    pq.write_table(pa.table(amounts), tmp_path / "t.parquet")
    file = SourceFile(str(tmp_path / "t.parquet"), "t.parquet", "parquet")
    types, _ = parquet_columns([file], Source(parquet="t.parquet"))
    read = parquet_rows(file.url, file.name, 0, 2, types)
    assert read.table.to_pydict() == {"id": [3, 4], "paid": [1.25, None]}
    pq.write_table(pa.table({"id": pa.array([10**30], pa.decimal128(38, 0))}), tmp_path / "t.parquet")
    with pytest.raises(
        InputError, match=r"t\.parquet has decimal128\(38, 0\) in column 'id', read as int64 .*, and a value does not"
    ):
        parquet_rows(file.url, file.name, 0, 1, types, ("id",))
