"""Lines without an end, brackets without number, NULs, too many columns: a sentence with the file and the line."""

import gzip
import io
import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from assay.infra.errors import InputError

Read = Callable[..., object]
GOOD = b'{"id": "a", "x": 1, "label": "b"}\n{"id": "c", "x": 2, "label": "d"}\n'


@pytest.mark.parametrize("depth", [33, 1000, 50_000, 100_000])
@pytest.mark.parametrize("closed", [True, False])
def test_a_line_nested_too_deeply_is_turned_away_by_its_line(
    read: Callable[..., object], tmp_path: Path, depth: int, closed: bool
) -> None:
    line = b'{"id": "e", "x": ' + b"[" * depth + (b"]" * depth + b"}" if closed else b"")
    (tmp_path / "a.jsonl").write_bytes(GOOD + line)
    found = read(jsonl="a.jsonl", id="id", label="label")
    expected = f"objects and lists stand {depth + 1:,} deep in each other, and at most 32 are read"
    assert found.reasons == [("a.jsonl", 3, None, expected)]
    (tmp_path / "b.jsonl").write_bytes(line + b"\n" + GOOD)
    assert [row for _, row, _, _ in read(jsonl="b.jsonl", id="id", label="label").reasons] == [1]


def test_brackets_inside_texts_are_no_depth(read: Callable[..., object], tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_bytes(
        b'{"id": "e", "x": "'
        + b"[" * 1000
        + b'\\"", "label": "b"}\n'
        + GOOD.replace(b"1", b'"1"').replace(b"2", b'"2"')
    )
    assert read(jsonl="a.jsonl", id="id", label="label").samples.num_rows == 3


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.jsonl", b"\0" * 10_000, "a.jsonl has a NUL byte in line 1"),
        ("a.csv", b"x,y\n1,2\n1,\0\n", "a.csv has a NUL byte in line 3"),
        ("a.csv", b"x" * 10_000_000, r"a.csv has a row of more than 8 MiB that begins in line 1"),
        ("a.csv", b"x,y\n1,2\n" + b"3" * 10_000_000, r"a.csv has a row of more than 8 MiB that begins in line 3"),
        ("a.csv", b",".join(b"c%d" % at for at in range(900_000)), "a header of more than 1 MiB in line 1"),
        ("a.csv", b",".join(b"c%d" % at for at in range(100_000)) + b"\n", "columns, the next one is 'c4096'"),
        ("a.jsonl", json.dumps({f"c{at}": 1 for at in range(5000)}).encode(), "more than 4,096 columns"),
        ("a.csv", b"x,y,x\n1,2,3\n", "two columns named 'x'"),
        ("a.csv.gz", gzip.compress(b"x,y\n1,2\n" * 1000)[:-20], "a.csv.gz cannot be read"),
        ("a.csv.gz", gzip.compress(b"\0" * 100_000_000), "a.csv.gz has a row of more than 8 MiB"),
    ],
    ids=["nul", "late nul", "long line", "long row", "long header", "columns", "fields", "twice", "cut short", "bomb"],
)
def test_what_no_table_has_is_refused_by_file_and_line(
    read: Callable[..., object], tmp_path: Path, name: str, content: bytes, said: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(InputError, match=said):
        read(**{"jsonl" if "jsonl" in name else "csv": name})


@pytest.mark.parametrize("files", [0, 2])
def test_a_zip_is_one_file(read: Callable[..., object], tmp_path: Path, files: int) -> None:
    sink = io.BytesIO()
    with zipfile.ZipFile(sink, "w") as archive:
        for number in range(files):
            archive.writestr(f"{number}.csv", "x,y\n1,2\n")
    (tmp_path / "a.csv.zip").write_bytes(sink.getvalue())
    with pytest.raises(InputError, match=f"holds {files} files"):
        read(csv="a.csv.zip")


def test_columns_of_one_name_in_parquet_are_refused(read: Callable[..., object], tmp_path: Path) -> None:
    pq.write_table(pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["x", "x"]), tmp_path / "a.parquet")
    with pytest.raises(InputError, match=r"a\.parquet has two columns named 'x'"):
        read(parquet="a.parquet")


@pytest.mark.parametrize(
    ("column", "said"),
    [
        (pa.array([[("a", 1)]] * 2, pa.map_(pa.string(), pa.int64())), "map<string, int64"),
        (pa.array([0, 1], pa.timestamp("us", "Mars/Olympus")), "Mars/Olympus"),
    ],
    ids=["map", "zone"],
)
def test_columns_that_no_stage_reads_are_refused(
    read: Callable[..., object], tmp_path: Path, column: pa.Array, said: str
) -> None:
    pq.write_table(pa.table({"label": ["a", "b"], "x": column}), tmp_path / "a.parquet")
    with pytest.raises(InputError, match=f"a.parquet has .*{said}.* in column 'x'"):
        read(parquet="a.parquet", label="label")


def test_times_outside_the_calendar_are_turned_away(read: Callable[..., object], tmp_path: Path) -> None:
    times = pa.array([0, 2**62], pa.timestamp("us"))
    pq.write_table(pa.table({"label": ["a", "b"], "x": times}), tmp_path / "a.parquet")
    found = read(parquet="a.parquet", classes=("a", "b"), label="label")
    assert found.reasons == [("a.parquet", 2, "x", "a time outside the years 1 to 9999")]


@pytest.mark.parametrize("delimiter", ["\n", "\r", "\0", '"', "x", "1", "é", "ab", ""])
def test_what_separates_no_cells_is_no_delimiter(read: Callable[..., object], delimiter: str) -> None:
    with pytest.raises(ValueError, match="delimiter"):
        read(csv="a.csv", delimiter=delimiter)


def test_one_column_has_one_meaning(read: Callable[..., object]) -> None:
    with pytest.raises(ValueError, match="id and label both name the column x"):
        read(csv="a.csv", id="x", label="x")
    for setting, named in {"features": ["x", "y"], "split": "x", "group": "x"}.items():
        with pytest.raises(ValueError, match=f"label and {setting} both name the column x"):
            read(csv="a.csv", label="x", **{setting: named})
    with pytest.raises(ValueError, match="id and labels both name the column x"):
        read(csv="a.csv", id="x", labels=["x", "y"])


def png(folder: Path, height: int, width: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.zeros((height, width), np.uint8)).save(folder / f"{height}x{width}.png")


def test_extreme_images_are_turned_away(read: Callable[..., object], tmp_path: Path) -> None:
    for extent in ((8, 8), (9, 9), (1, 40_000), (4000, 1)):
        png(tmp_path / "scans" / "ab"[extent[0] % 2], *extent)
    found = read(images="scans", pixels={"resize": 64, "crop": 8})
    assert sorted(file for file, *_ in found.reasons) == ["a/4000x1.png", "b/1x40000.png"]
    assert all("more than 32,767 on a side" in reason for *_, reason in found.reasons)


def test_a_link_that_leaves_its_folder_is_turned_away(read: Callable[..., object], tmp_path: Path) -> None:
    png(tmp_path / "scans" / "a", 8, 8)
    png(tmp_path / "scans" / "b", 8, 8)
    png(tmp_path / "elsewhere", 8, 8)
    (tmp_path / "scans" / "a" / "link.png").symlink_to(tmp_path / "elsewhere" / "8x8.png")
    (tmp_path / "scans" / "a" / "within.png").symlink_to(tmp_path / "scans" / "b" / "8x8.png")
    ((file, _, _, reason),) = read(images="scans").reasons
    assert file == "a/link.png"
    assert "leaves its folder through a symbolic link" in reason


def test_masks_and_names_of_samples_are_no_classes(read: Callable[..., object], tmp_path: Path) -> None:
    png(tmp_path / "scans" / "images", 8, 8)
    png(tmp_path / "scans" / "masks", 8, 8)
    with pytest.raises(InputError, match=r"masks/8x8\.png is a mask"):
        read(images="scans")


def test_zero_for_abstaining_is_refused(read: Callable[..., object], tmp_path: Path) -> None:
    (tmp_path / "v.csv").write_text("r1,r2,label\n0,1,1\n2,0,2\n1,1,1\n")
    with pytest.raises(InputError, match="is 0 written where a function abstains"):
        read(votes="v.csv", label="label")
    (tmp_path / "w.csv").write_text("r1,r2,label\n-1,1,1\n2,0,2\n1,1,1\n")
    assert read(votes="w.csv", label="label").classes == ("0", "1", "2")


def test_the_column_of_ids_in_a_table_of_votes_is_told_from_a_vote(read: Callable[..., object], tmp_path: Path) -> None:
    (tmp_path / "v.csv").write_text("id,r1\na,1\nb,0\n")
    with pytest.raises(InputError, match="say `id: id`"):
        read(votes="v.csv")


def test_pipes_among_images_are_refused_by_name(read: Callable[..., object], tmp_path: Path) -> None:
    png(tmp_path / "scans" / "a", 8, 8)
    os.mkfifo(tmp_path / "scans" / "a" / "x.png")
    with pytest.raises(InputError, match=r"is a named pipe"):
        read(images="scans")
