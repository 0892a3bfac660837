"""A Delta table is read as it is now: deleted rows are gone, partitions are columns, a new version is another night."""

import json
import shutil
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable, write_deltalake

from assay.infra.errors import InputError
from assay.tasks.ingest.file_search import delta_files

ROWS = pa.table(
    {
        "id": [f"p{row}" for row in range(40)],
        "site": ["St Mary", "north"] * 20,
        "dose": pa.array(range(40), pa.int64()),
        "right": ["a", "b", "a", "b"] * 10,
    }
)


@pytest.fixture
def lake(tmp_path: Path) -> Path:
    write_deltalake(tmp_path / "lake", ROWS.slice(0, 30), partition_by=["site"])
    write_deltalake(tmp_path / "lake", ROWS.slice(30), mode="append")
    return tmp_path / "lake"


def rows_of(files: list[str]) -> set[str]:
    return {row for file in files for row in pq.ParquetFile(file).read(["id"])["id"].to_pylist()}


def test_the_latest_version_is_what_the_library_reads(lake: Path) -> None:
    table = DeltaTable(lake)
    assert rows_of(delta_files(str(lake), "lake")) == set(ROWS["id"].to_pylist())
    table.delete("dose < 5")
    left = delta_files(str(lake), "lake")
    assert (
        rows_of(left) == set(DeltaTable(lake).to_pyarrow_table()["id"].to_pylist()) == {f"p{at}" for at in range(5, 40)}
    )
    lying = [str(file) for file in lake.rglob("*.parquet")]
    assert set(left) < set(lying)
    assert rows_of(lying) > rows_of(left)  # what was deleted still lies there


def test_a_source_reads_it_with_its_partitions_as_columns(read: Any, lake: Path) -> None:
    DeltaTable(lake).delete("dose < 5")
    samples = read(3, parquet=str(lake), id="id", label="right").samples
    assert sorted(samples["id"].to_pylist()) == sorted(f"p{at}" for at in range(5, 40))
    assert set(samples["site"].to_pylist()) == {"St Mary", "north"}


PROTOCOLS = {
    "deletion vectors": {
        "minReaderVersion": 3,
        "minWriterVersion": 7,
        "readerFeatures": ["deletionVectors"],
        "writerFeatures": ["deletionVectors"],
    },
    "mapped columns": {"minReaderVersion": 2, "minWriterVersion": 5},
}


def test_folders_are_read_whether_or_not_a_writer_put_their_names_into_percents(tmp_path: Path) -> None:
    lake, awkward = tmp_path / "lake", ["a/b", "St Mary", "2026-01-02 03:04", "50%", "..", "%2e%2e", "Zoë"]
    write_deltalake(lake, ROWS.slice(0, 7).set_column(1, "site", pa.array(awkward)), partition_by=["site"])
    files = delta_files(str(lake), "lake")
    assert rows_of(files) == {f"p{row}" for row in range(7)}
    [log] = (lake / "_delta_log").glob("*.json")
    log.write_text(log.read_text().replace("%25", "%"))  # as older writers have it: the names as they are on the disk
    assert delta_files(str(lake), "lake") == files


@pytest.mark.parametrize("what", PROTOCOLS)
def test_tables_that_say_more_than_their_files_are_refused(lake: Path, what: str) -> None:
    first = lake / "_delta_log" / f"{0:020}.json"
    actions = [json.loads(line) for line in first.read_text().splitlines()]
    for action in actions:
        if "protocol" in action:
            action["protocol"] = PROTOCOLS[what]
        if "metaData" in action and what == "mapped columns":
            action["metaData"]["configuration"]["delta.columnMapping.mode"] = "name"
            schema = json.loads(action["metaData"]["schemaString"])
            for number, field in enumerate(schema["fields"], start=1):
                named = {"delta.columnMapping.id": number, "delta.columnMapping.physicalName": field["name"]}
                field["metadata"] = named
            action["metaData"]["schemaString"] = json.dumps(schema)
    first.write_text("\n".join(map(json.dumps, actions)))
    with pytest.raises(InputError, match=f"lake is a Delta table with {what}, .*; write what it holds now to Parquet"):
        delta_files(str(lake), "lake")


def test_an_empty_table_a_broken_log_and_a_missing_extra_are_a_sentence(
    lake: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    DeltaTable(lake).delete()
    with pytest.raises(InputError, match="without a row in its latest version"):
        delta_files(str(lake), "lake")
    monkeypatch.setitem(sys.modules, "deltalake", None)
    with pytest.raises(InputError, match=r"\(extra `delta`\), is not installed: pip install 'deltalake>="):
        delta_files(str(lake), "lake")
    monkeypatch.undo()
    shutil.rmtree(lake / "_delta_log")
    (lake / "_delta_log").mkdir()
    with pytest.raises(InputError, match="whose log cannot be read"):
        delta_files(str(lake), "lake")
