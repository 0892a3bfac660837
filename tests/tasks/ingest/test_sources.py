"""A source is what its files hold, not where they lie; bad input is one sentence that names the file and the place."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import csv
from pydantic import ValidationError

from assay.infra.errors import InputError
from assay.tasks.ingest.settings import Source
from assay.tasks.ingest.sources import resolve

Reader = Callable[..., Any]

GOOD = "id,x,y\na,1,0\nb,2,1\n"


def source_fingerprint(source: Source, base_dir: object) -> str:
    return resolve(source, str(base_dir)).fingerprint


def fill(folder: Path, content: str = GOOD, name: str = "a.csv") -> Path:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(content)
    return folder


def test_a_moved_folder_is_the_same_source(tmp_path: Path) -> None:
    one, two = fill(tmp_path / "one"), fill(tmp_path / "two")
    relative, absolute = Source(csv="a.csv"), Source(csv=str(two / "a.csv"))
    assert source_fingerprint(relative, one) == source_fingerprint(relative, two)
    assert source_fingerprint(absolute, one) == source_fingerprint(relative, one)
    assert resolve(absolute, one).settings == resolve(relative, one).settings == Source(csv=("a.csv",))


def test_a_changed_byte_or_name_is_another_source(tmp_path: Path) -> None:
    one = source_fingerprint(Source(csv="*.csv"), fill(tmp_path / "one"))
    assert one != source_fingerprint(Source(csv="*.csv"), fill(tmp_path / "two", GOOD.replace("2", "3")))
    assert one != source_fingerprint(Source(csv="*.csv"), fill(tmp_path / "three", name="b.csv"))


def test_patterns_find_files_in_order_and_once(tmp_path: Path) -> None:
    for name in ("b.csv", "a.csv", "c.txt"):
        fill(tmp_path / "d", name=name)
    source = resolve(Source(csv=["d/*.csv", "d/a.csv"]), tmp_path)
    assert [file.name for file in source.files] == ["a.csv", "b.csv"]


def test_files_of_one_name_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    fill(tmp_path / "mon")
    fill(tmp_path / "tue")
    source = resolve(Source(csv="*/a.csv"), tmp_path)
    assert [file.name for file in source.files] == ["mon/a.csv", "tue/a.csv"]


def test_urls_are_read_like_files(read: Reader) -> None:
    import fsspec

    with fsspec.open("memory://bucket/day/a.csv", "wb") as file:
        file.write(GOOD.encode())
    result = read(2, csv="memory://bucket/day/*.csv", id="id", label="y")
    assert result.samples.column("id").to_pylist() == ["a", "b"]


def test_an_embedded_sample_has_a_fingerprint_of_its_own() -> None:
    low = source_fingerprint(Source(dataset="sample/alarms-spo2-low"), "/")
    assert low != source_fingerprint(Source(dataset="sample/alarms-heart-rate-low"), "/")
    assert low == source_fingerprint(Source(dataset="sample/alarms-spo2-low"), "/elsewhere")


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({}, "here is none of them"),
        ({"csv": "a.csv", "jsonl": "b.jsonl"}, "here is csv and jsonl"),
        ({"csv": "a.csv", "gold_in": ["test"]}, "gold_in needs split"),
        ({"csv": "a.csv", "classes": ["a", "a"]}, "named twice in classes"),
        ({"csv": "a.csv", "columns": {"x": "integer"}}, "int"),
        ({"csv": "a.csv", "max_rejects": 1.5}, "less than or equal to 1"),
        ({"csv": "a.csv", "lable": "y"}, "lable"),
    ],
)
def test_impossible_settings_are_refused(settings: dict[str, object], sentence: str) -> None:
    with pytest.raises(ValidationError, match=sentence):
        Source.model_validate(settings)


def check(read: Reader, sentence: str, **settings: object) -> None:
    with pytest.raises(InputError) as caught:
        read(**settings)
    message = str(caught.value)
    assert re.search(sentence, message), message
    assert message.endswith((".", "?"))
    assert "\n" not in message


def test_a_missing_file_says_where_it_was_looked_for(read: Reader, tmp_path: Path) -> None:
    check(read, rf"no file a\.csv \(csv\); it was looked for at {tmp_path}/a\.csv", csv="a.csv")
    check(read, r"No file matches d/\*\.csv", csv="d/*.csv")
    (tmp_path / "d").mkdir()
    check(read, "d .csv. is a folder", csv="d")


def test_an_empty_file_is_refused(read: Reader, tmp_path: Path) -> None:
    fill(tmp_path, "")
    check(read, r"a\.csv \(csv\) is empty", csv="a.csv")
    fill(tmp_path, "\n\n")
    check(read, r"a\.csv has no header line", csv="a.csv")
    fill(tmp_path, "id,x\n")
    check(read, r"a\.csv has no rows", csv="a.csv", id="id", classes=["n", "y"])
    fill(tmp_path, "\n", "a.jsonl")
    check(read, r"a\.jsonl has no rows", jsonl="a.jsonl", classes=["n", "y"])
    pq.write_table(pa.table({"id": pa.array([], pa.string())}), tmp_path / "a.parquet")
    check(read, r"a\.parquet has no rows", parquet="a.parquet", id="id", classes=["n", "y"])


def test_text_in_another_encoding_names_byte_and_line(read: Reader, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b"id,x\na,1\nb,caf\xe9\n")
    check(read, r"a\.csv is not UTF-8 text \(byte 0xE9 in line 3\)", csv="a.csv", id="id", classes=["n", "y"])
    (tmp_path / "b.csv").write_bytes("id,x\na,1\n".encode("utf-16"))
    check(read, r"b\.csv is UTF-16", csv="b.csv", id="id", classes=["n", "y"])


def test_a_quote_that_never_closes_names_its_line(read: Reader, tmp_path: Path) -> None:
    fill(tmp_path, 'id,x\na,1\nb,"2\nc,3\n')
    check(read, r"a\.csv has a quoted cell that opens in line 3", csv="a.csv", id="id", classes=["n", "y"])


@pytest.mark.parametrize("size", [3, 100, 0.5, 0.99])
def test_a_truncated_parquet_file_is_refused_by_name(read: Reader, tmp_path: Path, size: float) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"id": [str(i) for i in range(1000)]}), path)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(size if size >= 1 else size * len(whole))])
    check(read, r"a\.parquet is not a whole Parquet file", parquet="a.parquet", id="id", classes=["n", "y"])


def test_a_damaged_row_group_is_refused_by_name(read: Reader, tmp_path: Path) -> None:
    path = tmp_path / "a.parquet"
    pq.write_table(pa.table({"id": [str(i) for i in range(100_000)]}), path, row_group_size=10_000, compression="zstd")
    content = bytearray(path.read_bytes())
    content[len(content) // 2 : len(content) // 2 + 2000] = b"\xff" * 2000
    path.write_bytes(content)
    check(read, r"a\.parquet is not a whole Parquet file", parquet="a.parquet", id="id", classes=["n", "y"])


def test_a_packed_file_that_was_cut_short_is_refused_by_name(read: Reader, tmp_path: Path) -> None:
    import gzip

    packed = gzip.compress("".join(f"a{i},{i}\n" for i in range(10_000)).encode())
    (tmp_path / "a.csv.gz").write_bytes(packed[: len(packed) // 2])
    check(read, r"a\.csv\.gz cannot be read", csv="a.csv.gz", classes=["n", "y"])


def test_columns_that_are_not_there_are_answered_with_those_that_are(read: Reader, tmp_path: Path) -> None:
    fill(tmp_path)
    check(
        read,
        r"a\.csv has no column 'idd', which `id` names; it has id, x, y\. Did you mean id\?",
        csv="a.csv",
        id="idd",
    )
    check(read, "which `label` names", csv="a.csv", id="id", label="gold")
    check(read, "which `features` names", csv="a.csv", id="id", features=["z"])
    check(read, "which `required` names", csv="a.csv", id="id", required=["z"])
    check(read, "which `columns` names", csv="a.csv", id="id", columns={"z": "int"})


def test_a_feature_may_not_take_the_name_of_the_id(read: Reader, tmp_path: Path) -> None:
    fill(tmp_path)
    check(read, r"a\.csv has a column 'id', .*say `id: id`", csv="a.csv", label="y")
    fill(tmp_path, "name,gold\na,1\nb,0\n")
    check(read, "say `label: gold`", csv="a.csv", id="name", classes=["n", "y"])


def test_two_columns_of_one_name_are_refused(read: Reader, tmp_path: Path) -> None:
    fill(tmp_path, "id,x,x\na,1,2\n")
    check(read, r"a\.csv has two columns named 'x'", csv="a.csv", id="id")


def test_files_of_one_source_share_their_columns(read: Reader, tmp_path: Path) -> None:
    fill(tmp_path)
    fill(tmp_path, "id,x\na,1\n", "b.csv")
    check(read, r"b\.csv has no column 'y', which a\.csv has", csv=["a.csv", "b.csv"], id="id")
    pq.write_table(pa.table({"id": ["a"], "x": [1.5]}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"id": ["b"], "x": ["many"]}), tmp_path / "b.parquet")
    check(
        read,
        r"b\.parquet has string in column 'x', read as double like the first file's",
        parquet="*.parquet",
        id="id",
        classes=["n", "y"],
    )


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_a_lake_may_grow_by_a_column_where_features_name_those_to_keep(read: Reader, tmp_path: Path, kind: str) -> None:
    write = {"parquet": pq.write_table, "csv": csv.write_csv}[kind]
    table = pa.table({"id": ["a", "b"], "x": [1, 2], "gold": ["n", "y"]})
    write(table, tmp_path / f"1.{kind}")
    write(table.set_column(0, "id", [["c", "d"]]).add_column(1, "new", [[3, 4]]), tmp_path / f"2.{kind}")
    source = {kind: f"*.{kind}", "id": "id", "label": "gold"}
    check(read, rf"2\.{kind} has a column 'new', which 1\.{kind} has not", **source)
    assert read(**source, features=["x"]).samples["x"].to_pylist() == [1, 2, 1, 2]
    write(table.drop_columns("x"), tmp_path / f"2.{kind}")
    check(read, rf"2\.{kind} has no column 'x', which 1\.{kind} has", **source, features=["x"])


def test_ids_and_labels_must_be_names_or_whole_numbers(read: Reader, tmp_path: Path) -> None:
    pq.write_table(pa.table({"k": [0.5, 1.5], "v": [[1], [2]]}), tmp_path / "a.parquet")
    check(read, "has double in id column 'k'", parquet="a.parquet", id="k", classes=["n", "y"])
    check(read, r"has list<.*> in label column 'v'", parquet="a.parquet", label="v")


def test_a_source_without_gold_asks_for_its_classes(read: Reader, tmp_path: Path) -> None:
    fill(tmp_path)
    check(read, r"a\.csv has no gold labels to read the classes off; give `classes`", csv="a.csv", id="id")
    fill(tmp_path, "id,y\na,ham\nb,ham\n")
    check(read, "All gold labels of .* are 'ham'; give `classes`", csv="a.csv", id="id", label="y")
    fill(tmp_path, "id,y\n" + "".join(f"{i},{i}\n" for i in range(2000)))
    check(read, "The largest class of .* is 1999", csv="a.csv", id="id", label="y")


def test_votes_and_named_gold_need_classes(read: Reader, tmp_path: Path) -> None:
    fill(tmp_path, "id,f,y\na,0,ham\nb,1,spam\n")
    check(read, "are names and its votes are codes; give `classes`", votes="a.csv", id="id", label="y")
    fill(tmp_path, "id,f,note\na,0,x\nb,1,y\n")
    check(read, "has string in column 'note' where whole-number votes", votes="a.csv", id="id", classes=["n", "y"])
    fill(tmp_path, "id,f\na,0\nb,\nc,1.0\n")
    check(read, r"expected \(-1 where it abstains, never empty\)", votes="a.csv", id="id", classes=["n", "y"])
    (tmp_path / "a.json").write_text("[]")
    check(read, r"a\.json \(votes\) is neither", votes="a.json")


def test_an_embedded_data_set_with_a_typo_is_answered(read: Reader) -> None:
    check(read, "did you mean sample/breast-cancer", dataset="sample/breast-cancr")
    check(read, "did you mean youtube-spam", dataset="youtube-spm")


def test_nan_in_gold_is_unlabelled_but_half_a_class_is_rejected(read: Reader, tmp_path: Path) -> None:
    pq.write_table(pa.table({"id": ["a", "b", "c"], "y": [1.0, np.nan, 0.5]}), tmp_path / "a.parquet")
    result = read(parquet="a.parquet", id="id", label="y", classes=["0", "1"])
    assert result.samples.column("gold").to_pylist() == [1, None]
    assert result.reasons == [("a.parquet", 3, "y", "gold label '0.5' is none of the classes 0, 1")]
