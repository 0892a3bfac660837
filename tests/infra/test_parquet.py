"""Tables come out of their files as they went in, however many columns they have."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.infra.storage.folders import Folder
from assay.infra.storage.parquet import read_parquet


@pytest.mark.parametrize("columns", [None, ["f299", "id", "f7"], [f"f{at}" for at in reversed(range(200))]])
def test_a_table_of_many_columns_is_read_whole(tmp_path: Path, columns: list[str] | None) -> None:
    table = pa.table({"id": ["a", "b"]} | {f"f{at}": pa.array([at, None], pa.int16()) for at in range(300)})
    pq.write_table(table, tmp_path / "wide.parquet", row_group_size=1)
    wanted = table if columns is None else table.select(columns)
    found = read_parquet(Folder(str(tmp_path)), "wide.parquet", columns)
    assert found.equals(wanted)
    assert found.schema == wanted.schema
