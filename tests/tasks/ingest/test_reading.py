"""Files become the same samples and rejects however they are cut, and what does not fit is named by file and row."""

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from assay.data.schemas import Rejects, Samples
from assay.infra.errors import InputError

Reader = Callable[..., Any]

CSV = '''name,age,comment,kind
a,1,plain,ham
b,2,"two
lines, and a comma",spam

c,x,bad age,ham
d,4,too,many,cells
e,5
f,6,"said ""hi""",eggs
,7,no name,ham
g,,no age,
'''


def write_csv(path: Path, text: str = CSV) -> Path:
    path.write_bytes(text.encode())
    return path


def test_a_csv_file_becomes_samples_and_rejects(read: Reader, tmp_path: Path) -> None:
    write_csv(tmp_path / "a.csv")
    result = read(csv="a.csv", id="name", label="kind", columns={"age": "int"}, classes=["ham", "spam"])
    assert result.samples.schema.names[:2] == Samples.schema.names
    assert result.rejects.schema == Rejects.schema
    assert result.samples.to_pylist() == [
        {"id": "a", "gold": 0, "age": 1, "comment": "plain"},
        {"id": "b", "gold": 1, "age": 2, "comment": "two\nlines, and a comma"},
        {"id": "g", "gold": None, "age": None, "comment": "no age"},
    ]
    assert result.reasons == [
        ("a.csv", 6, "age", "'x' is not a whole number"),
        ("a.csv", 7, None, "5 cells where the header has 4"),
        ("a.csv", 8, None, "2 cells where the header has 4"),
        ("a.csv", 9, "kind", "gold label 'eggs' is none of the classes ham, spam"),
        ("a.csv", 10, "name", "there is no id"),
    ]
    assert result.rejects.column("id").to_pylist() == ["c", None, None, "f", None]


@pytest.mark.parametrize("partitions", [1, 2, 3, 7, 40])
def test_cuts_change_nothing(read: Reader, tmp_path: Path, partitions: int) -> None:
    for number in range(3):
        rows = "".join(f'{number}-{row},{row % 9},"x\n{row}",{"ham" if row % 2 else "spam"}\n' for row in range(11))
        write_csv(tmp_path / f"{number}.csv", "name,age,comment,kind\n" + rows + "broken\n")
    whole = read(csv="*.csv", id="name", label="kind")
    cut = read(partitions, csv="*.csv", id="name", label="kind")
    assert len(cut.pieces) == min(partitions, 36)
    assert cut.samples.equals(whole.samples)
    assert cut.rejects.equals(whole.rejects)
    assert cut.samples.num_rows == 33
    assert [reason[:2] for reason in cut.reasons] == [("0.csv", 24), ("1.csv", 24), ("2.csv", 24)]


CELL = st.text(alphabet='ab"\n\r, é', max_size=6)


@given(rows=st.lists(st.tuples(CELL, CELL), min_size=1, max_size=12), partitions=st.integers(1, 13))
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_what_a_csv_writer_wrote_comes_back(
    read: Reader, tmp_path: Path, rows: list[tuple[str, str]], partitions: int
) -> None:
    lines = ["one,two"] + [",".join('"' + cell.replace('"', '""') + '"' for cell in row) for row in rows]
    write_csv(tmp_path / "a.csv", "\n".join(lines) + "\n")
    result = read(
        partitions, csv="a.csv", columns={"one": "text", "two": "text"}, classes=["x", "y"], features=["one", "two"]
    )
    assert result.rejects.num_rows == 0
    assert list(zip(*(result.samples.column(name).to_pylist() for name in ("one", "two")), strict=True)) == rows


def test_samples_without_an_id_column_are_named_by_file_and_line(read: Reader, tmp_path: Path) -> None:
    write_csv(tmp_path / "a.csv", 'x\n1\n"2\n"\n3\n')
    result = read(2, csv="a.csv", classes=["n", "y"], columns={"x": "text"})
    assert result.samples.column("id").to_pylist() == ["a.csv:2", "a.csv:3", "a.csv:5"]


def test_types_are_inferred_and_codes_with_zeros_stay_text(read: Reader, tmp_path: Path) -> None:
    write_csv(tmp_path / "a.csv", "id,n,f,b,zip,t\n007,1,1.5,true,0123,NA\n008,NA,,false,0456,\n")
    result = read(csv="a.csv", id="id", classes=["n", "y"])
    types = {field.name: str(field.type) for field in result.samples.schema}
    assert types == {
        "id": "string",
        "gold": "int16",
        "n": "int64",
        "f": "double",
        "b": "bool",
        "zip": "string",
        "t": "string",
    }
    assert result.samples.to_pylist()[1] == {
        "id": "008",
        "gold": None,
        "n": None,
        "f": None,
        "b": False,
        "zip": "0456",
        "t": "",
    }


def test_a_value_beyond_the_inferred_type_is_rejected_and_can_be_declared(read: Reader, tmp_path: Path) -> None:
    write_csv(tmp_path / "a.csv", "id,n\n" + "".join(f"{row},{row}\n" for row in range(10_000)) + "last,1.5\n")
    assert read(csv="a.csv", id="id", classes=["n", "y"]).reasons == [
        ("a.csv", 10_002, "n", "'1.5' is not a whole number")
    ]
    declared = read(csv="a.csv", id="id", classes=["n", "y"], columns={"n": "float"})
    assert (declared.rejects.num_rows, declared.samples.num_rows) == (0, 10_001)


def test_packed_files_and_byte_order_marks_are_read(read: Reader, tmp_path: Path) -> None:
    (tmp_path / "a.csv.gz").write_bytes(gzip.compress(b"\xef\xbb\xbfid,n\r\na,1\r\nb,2\r\n"))
    result = read(2, csv="a.csv.gz", id="id", classes=["n", "y"])
    assert result.samples.column("id").to_pylist() == ["a", "b"]
    assert len(result.pieces) == 2


def test_another_delimiter_and_another_order_of_columns(read: Reader, tmp_path: Path) -> None:
    write_csv(tmp_path / "a.csv", "id;n\na;1\n")
    write_csv(tmp_path / "b.csv", "n;id\n2;b\n")
    result = read(csv=["a.csv", "b.csv"], id="id", classes=["n", "y"], delimiter=";")
    assert result.samples.to_pylist() == [{"id": "a", "gold": None, "n": 1}, {"id": "b", "gold": None, "n": 2}]


@pytest.mark.parametrize(("mark", "written"), [(";", '";"'), ("\t", r'"\t"')])
def test_cells_that_another_sign_parts_are_one_column_and_the_sign_is_named(
    read: Reader, tmp_path: Path, mark: str, written: str
) -> None:
    write_csv(tmp_path / "a.csv", f"id{mark}n\na{mark}1\n")
    with pytest.raises(InputError, match=re.escape(f"write `delimiter: {written}`")):
        read(csv="a.csv", id="id", classes=["n", "y"])


def test_a_field_with_values_of_several_types_is_named(read: Reader, tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"id": 1, "seen": {"at": [1, "two"]}}\n' * 3)
    with pytest.raises(InputError, match=r"a\.jsonl has values of several types in field 'seen'"):
        read(jsonl="a.jsonl", id="id", classes=["n", "y"])


JSON_LINES = [
    '{"id": 1, "x": 1.5, "tags": ["a"], "kind": "ham"}',
    "",
    '{"id": 2, "x": null, "tags": [], "kind": null}',
    '{"id": 3, "x": "much", "tags": [], "kind": "ham"}',
    "not json",
    "[1]",
    '{"id": 4, "x": 2, "tags": ["b", "c"], "kind": "spam"}',
]


@pytest.mark.parametrize("partitions", [None, 1, 3, 7])
def test_json_lines_reject_line_by_line(read: Reader, tmp_path: Path, partitions: int | None) -> None:
    (tmp_path / "a.jsonl").write_text("\n".join(JSON_LINES))
    result = read(partitions, jsonl="a.jsonl", id="id", label="kind", columns={"x": "float"})
    assert result.samples.to_pylist() == [
        {"id": "1", "gold": 0, "x": 1.5, "tags": ["a"]},
        {"id": "2", "gold": None, "x": None, "tags": []},
        {"id": "4", "gold": 1, "x": 2.0, "tags": ["b", "c"]},
    ]
    assert [(row, column) for _, row, column, _ in result.reasons] == [(4, "x"), (5, None), (6, None)]
    assert [reason.split(":")[0] for *_, reason in result.reasons] == [
        "'much' where double was expected",
        "not JSON",
        "[1] where an object was expected",
    ]


def test_a_field_that_appears_late_is_rejected_unless_columns_are_chosen(read: Reader, tmp_path: Path) -> None:
    lines = [json.dumps({"id": row, "x": row}) for row in range(10_000)]
    lines.append('{"id": 10000, "x": 1, "new": 2}')
    (tmp_path / "a.jsonl").write_text("\n".join(lines))
    late = read(jsonl="a.jsonl", id="id", classes=["n", "y"])
    assert late.reasons == [
        ("a.jsonl", 10_001, "new", "field 'new' is not known from the first rows; declare it in `columns`")
    ]
    chosen = read(jsonl="a.jsonl", id="id", classes=["n", "y"], features=["x"])
    assert (chosen.rejects.num_rows, chosen.samples.num_rows) == (0, 10_001)
    declared = read(jsonl="a.jsonl", id="id", classes=["n", "y"], columns={"new": "int"})
    assert declared.samples.column("new").to_pylist()[-2:] == [None, 2]


def parquet(path: Path, rows: int = 50, group: int = 7, **columns: object) -> Path:
    table = pa.table(
        {
            "key": pa.array([f"{path.stem}-{row}" for row in range(rows)]).dictionary_encode(),
            "x": pa.array(np.arange(rows, dtype=np.float64)),
            "y": pa.array([None if row % 5 == 0 else row % 3 for row in range(rows)], pa.int64()),
            **columns,
        }
    )
    pq.write_table(table, path, row_group_size=group)
    return path


@pytest.mark.parametrize("partitions", [None, 1, 4, 13, 99])
def test_parquet_is_cut_by_rows_whatever_its_row_groups(read: Reader, tmp_path: Path, partitions: int | None) -> None:
    parquet(tmp_path / "a.parquet")
    parquet(tmp_path / "b.parquet", rows=3)
    result = read(partitions, parquet="*.parquet", id="key", label="y")
    assert result.samples.column("id").to_pylist() == [f"a-{i}" for i in range(50)] + [f"b-{i}" for i in range(3)]
    assert result.classes == ("0", "1", "2")
    assert result.samples.column("gold").to_pylist()[:6] == [None, 1, 2, 0, 1, None]
    assert result.samples.schema.field("id").type == pa.string()
    assert len(result.pieces) == min(partitions or 1, 53)


def test_missing_gold_is_unlabelled_and_a_missing_feature_may_enter_unless_required(
    read: Reader, tmp_path: Path
) -> None:
    pq.write_table(
        pa.table({"id": ["a", "b", "c"], "x": [1.0, np.nan, None], "y": [0.0, np.nan, 1.0]}), tmp_path / "a.parquet"
    )
    free = read(parquet="a.parquet", id="id", label="y")
    assert free.samples.column("gold").to_pylist() == [0, None, 1]
    assert free.rejects.num_rows == 0
    strict = read(parquet="a.parquet", id="id", label="y", required=["x"])
    assert [(row, column) for _, row, column, _ in strict.reasons] == [(2, "x"), (3, "x")]


def test_gold_in_hides_the_gold_of_other_parts(read: Reader, tmp_path: Path) -> None:
    write_csv(tmp_path / "a.csv", "id,y,part\na,0,train\nb,1,test\nc,1,valid\n")
    result = read(csv="a.csv", id="id", label="y", split="part", gold_in=["test", "valid"])
    assert result.samples.column("gold").to_pylist() == [None, 1, 1]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_votes_come_as_a_table(read: Reader, tmp_path: Path, ending: str) -> None:
    columns = {"id": ["a", "b", "c"], "f": [0, 1, -1], "g": [None, 2, 0], "y": [0, 1, 2]}
    if ending == "parquet":
        pq.write_table(pa.table(columns), tmp_path / "v.parquet")
    else:
        write_csv(tmp_path / "v.csv", "id,f,g,y\na,0,,0\nb,1,2,1\nc,-1,0,2\n")
    result = read(votes=f"v.{ending}", id="id", label="y")
    assert result.classes == ("0", "1", "2")
    assert result.samples.select(["f", "g"]).to_pylist() == [{"f": 0, "g": -1}, {"f": 1, "g": 2}, {"f": -1, "g": 0}]
    assert {result.samples.schema.field(name).type for name in ("f", "g")} == {pa.int8()}


def test_a_vote_outside_the_classes_names_function_and_row(read: Reader, tmp_path: Path) -> None:
    write_csv(tmp_path / "v.csv", "id,f,g\na,0,1\nb,1,5\nc,-2,0\n")
    result = read(votes="v.csv", id="id", classes=["n", "y"])
    assert result.reasons == [
        ("v.csv", 3, "g", "g votes 5, and a vote is -1 to abstain or a class from 0 to 1"),
        ("v.csv", 4, "f", "f votes -2, and a vote is -1 to abstain or a class from 0 to 1"),
    ]
    assert result.samples.column("id").to_pylist() == ["a"]


@pytest.mark.parametrize("bits", [pa.int8(), pa.int16(), pa.uint8(), pa.int64()])
def test_votes_of_however_many_bits_enter_alike(read: Reader, tmp_path: Path, bits: pa.DataType) -> None:
    """Files of votes are read in the bits they are written in, which may differ from file to file."""
    ids, wide = [f"s{at}" for at in range(6)], pa.int64()
    first = pa.table({"id": ids, "f": pa.array([0, 1, None, 1, 7, 1], bits), "g": pa.array([1, 0, 0, 1, 1, 0], wide)})
    second = pa.table({"id": [f"t{at}" for at in range(2)], "f": pa.array([-1, 1], wide), "g": pa.array([0, 1], bits)})
    for name, table in (("v1.parquet", first), ("v2.parquet", second)):
        pq.write_table(table, tmp_path / name)
    result = read(votes="v*.parquet", id="id", classes=["n", "y"])
    assert result.samples["f"].to_pylist() == [0, 1, -1, 1, 1, -1, 1]
    assert result.samples["g"].to_pylist() == [1, 0, 0, 1, 0, 0, 1]
    assert result.samples.schema.field("f").type == pa.int8()
    assert result.reasons == [("v1.parquet", 5, "f", "f votes 7, and a vote is -1 to abstain or a class from 0 to 1")]


def test_a_function_that_never_votes_is_still_one(read: Reader, tmp_path: Path) -> None:
    write_csv(tmp_path / "v.csv", "id,f,silent\na,0,\nb,1,\n")
    result = read(votes="v.csv", id="id")
    assert result.samples.column("silent").to_pylist() == [-1, -1]


def test_a_feature_of_small_integers_is_no_vote(read: Reader, tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": ["a"], "x": pa.array([3], pa.int8())}), tmp_path / "a.parquet")
    assert read(parquet="a.parquet", id="id", classes=["n", "y"]).samples.schema.field("x").type == pa.int16()


def test_the_embedded_patients_keep_their_names_and_classes(read: Reader) -> None:
    result = read(3, dataset="sample/breast-cancer")
    assert result.samples.num_rows == 569
    assert result.classes == ("malignant", "benign")
    assert result.samples.column_names[2:4] == ["mean radius", "mean texture"]
    assert sum(result.samples.column("gold").to_pylist()) == 357


def test_a_piece_of_a_written_plan_reads_the_same(read: Reader, tmp_path: Path) -> None:
    from dataclasses import asdict

    from pydantic import TypeAdapter

    from assay.tasks.ingest.entry import read_piece
    from assay.tasks.ingest.layout import Piece

    write_csv(tmp_path / "a.csv")
    result = read(2, csv="a.csv", id="name", label="kind", classes=["ham", "spam"])
    written = json.dumps([asdict(piece) for piece in result.pieces])
    again = TypeAdapter(list[Piece]).validate_json(written)
    assert again == result.pieces
    assert read_piece(again[0], result.reading, result.classes)[0].num_rows == 3
