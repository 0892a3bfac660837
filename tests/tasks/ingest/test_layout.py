"""A piece is known by its own file and by how files are read; by no other file."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.tasks.ingest.entry import prepare
from assay.tasks.ingest.layout import content_of_pieces, plan_pieces
from assay.tasks.ingest.settings import Source
from assay.tasks.ingest.sources import resolve

ROWS = 6


def parquet(path: Path, first: int) -> None:
    pq.write_table(pa.table({"key": [f"{first + at}" for at in range(ROWS)], "x": [first] * ROWS}), path)


def csv(path: Path, first: int) -> None:
    path.write_text("key,x\n" + "".join(f"{first + at},{first}\n" for at in range(ROWS)))


def jsonl(path: Path, first: int) -> None:
    path.write_text("".join(json.dumps({"key": f"{first + at}", "x": first}) + "\n" for at in range(ROWS)))


def iob(path: Path, first: int) -> None:
    path.write_text("".join(f"word{first + at}\tB-Drug\n\n" for at in range(ROWS)))


WRITERS: dict[str, Callable[[Path, int], None]] = {"parquet": parquet, "csv": csv, "jsonl": jsonl, "iob": iob}


@pytest.fixture(autouse=True)
def _a_file_is_a_piece(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("assay.tasks.ingest.layout.PIECE_ROWS", ROWS)


def contents(folder: Path, kind: str, classes: tuple[str, ...] = (), **settings: object) -> dict[str, str]:
    """What the piece of each file is known by."""
    source = resolve(Source.model_validate({kind: f"*.{kind}", **settings}), folder)
    reading, files = prepare(source)
    content = content_of_pieces(source, reading, classes)
    assert content is not None
    return {piece.spans[0].name: content(piece) for piece in plan_pieces(files, None, ROWS)}


@pytest.mark.parametrize("kind", list(WRITERS))
def test_other_files_change_nothing_and_its_own_content_and_name_do(tmp_path, kind):
    write = WRITERS[kind]
    write(tmp_path / f"b.{kind}", 100)
    write(tmp_path / f"c.{kind}", 200)
    before = contents(tmp_path, kind)
    write(tmp_path / f"a.{kind}", 300)
    after = contents(tmp_path, kind)
    assert {name: after[name] for name in before} == before
    write(tmp_path / f"c.{kind}", 201)
    (tmp_path / f"b.{kind}").rename(tmp_path / f"d.{kind}")
    changed = contents(tmp_path, kind)
    assert changed[f"a.{kind}"] == after[f"a.{kind}"]
    assert len({*after.values(), changed[f"c.{kind}"], changed[f"d.{kind}"]}) == len(after) + 2


def test_how_files_are_read_is_part_of_it(tmp_path):
    csv(tmp_path / "a.csv", 100)
    read = [
        contents(tmp_path, "csv"),
        contents(tmp_path, "csv", id="key"),
        contents(tmp_path, "csv", label="x"),
        contents(tmp_path, "csv", ("no", "yes"), label="x"),
        contents(tmp_path, "csv", required="x"),
        contents(tmp_path, "csv", columns={"x": "text"}),
        contents(tmp_path, "csv", features=["x"]),
    ]
    assert len({one["a.csv"] for one in read}) == len(read)
    assert contents(tmp_path, "csv", max_rejects=0.5) == read[0]


def test_a_moved_folder_holds_the_same_pieces(tmp_path):
    (tmp_path / "here").mkdir()
    csv(tmp_path / "here" / "a.csv", 100)
    before = contents(tmp_path / "here", "csv")
    (tmp_path / "here").rename(tmp_path / "there")
    assert contents(tmp_path / "there", "csv") == before


def test_what_is_more_than_its_files_is_not_known(tmp_path):
    sample = resolve(Source(dataset="sample/breast-cancer"), tmp_path)
    assert content_of_pieces(sample, prepare(sample)[0], ()) is None
