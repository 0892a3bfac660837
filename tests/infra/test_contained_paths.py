"""A path out of data leads below its folder in every spelling, or nowhere; honest names stay as they are."""

from __future__ import annotations

import os
import posixpath
import shutil
import socket
from functools import partial
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
import pytest
from hostile_paths import MARKER, Traps, require_nothing_of
from hypothesis import given
from hypothesis import strategies as st

from assay.infra.errors import InputError
from assay.infra.storage.folders import Folder, contained, escape_of
from assay.infra.storage.parquet import read_parquet

HONEST = (
    "a.png",
    "cat/sub/a.png",
    "./cat//a.png",
    "scans/../a.png",
    "site=St%20Mary/part-0.parquet",
    "site=a%2Fb/part 0.parquet",
    "50%.png",
    "a%zz.png",
    "..a/b..png",
    "...hidden/a.png",
    "frame:7.png",
    "2026-01-02T03:04:05.png",
    "a\\b.png",
    "Zoë/字幕 😀.png",
    "x" * 251 + ".png",
    "~/a.png",
    "a?b#c.png",
)


@pytest.mark.parametrize("path", HONEST)
def test_honest_names_are_followed_as_they_are_written(tmp_path: Path, path: str) -> None:
    place = contained(tmp_path, path, "The table")
    assert place == posixpath.normpath(f"{tmp_path}/{path}")
    assert contained("s3://bucket/data", path, "The table") == f"s3://bucket/data/{posixpath.normpath(path)}"
    os.makedirs(os.path.dirname(place), exist_ok=True)
    Path(place).write_text("x")
    assert contained(tmp_path, path, "The table") == place


@given(st.text(alphabet=st.sampled_from("./\\%25eEfF:~ a\0\n"), max_size=24))
def test_whatever_is_followed_lies_below_in_every_spelling(path: str) -> None:
    if escape_of(path):
        return
    for _ in range(12):
        for spelling in (path, path.replace("\\", "/")):
            place = posixpath.normpath(posixpath.join("/data/here", spelling))
            assert place.startswith("/data/here") or not place.strip("/. ")
        path = unquote(path)


@pytest.mark.parametrize("folder", ["local", "s3://bucket/data", "memory://data"])
def test_three_hundred_hostile_paths_lead_nowhere(tmp_path: Path, folder: str) -> None:
    traps = Traps.lay(tmp_path, MARKER.encode(), ".txt")
    refusals = []
    for path in traps.paths(1):
        try:
            place = contained(traps.folder if folder == "local" else folder, path, "The table")
        except InputError as refusal:
            refusals.append(str(refusal))
        else:
            assert folder != "local" or not os.path.isfile(place)
            assert place.startswith((str(traps.folder), folder))
    assert len(refusals) > 200
    assert all("\n" not in refusal and refusal.isprintable() for refusal in refusals)
    require_nothing_of(MARKER, refusals)


def test_a_path_is_not_decoded_without_end() -> None:
    assert escape_of(f"%{'25' * 14}41.png") == ""
    assert "is percent-encoded 16 times or more" in escape_of("a/" * 1000 + "%" + "25" * 1000)
    assert "leaves its folder" in escape_of(f"%{'25' * 12}2e%{'25' * 12}2e/a.png")


def test_links_within_the_folder_and_a_folder_that_is_a_link_are_followed(tmp_path: Path) -> None:
    (tmp_path / "real" / "sub").mkdir(parents=True)
    (tmp_path / "real" / "sub" / "a").write_text("x")
    (tmp_path / "real" / "again").symlink_to("sub")
    (tmp_path / "named").symlink_to("real")
    assert Path(contained(tmp_path / "named", "again/a", "It")).read_text() == "x"
    assert Path(contained((tmp_path / "named").as_uri(), "again/a", "It").removeprefix("file://")).read_text() == "x"


def test_links_of_a_cache_of_the_hub_lead_to_the_blobs_of_their_repository(tmp_path: Path) -> None:
    data, other = tmp_path / "datasets--a--b", tmp_path / "datasets--c--d"
    for repository in (data, other):
        (repository / "blobs").mkdir(parents=True)
        (repository / "blobs" / "b10b").write_text(repository.name)
    snapshot = data / "snapshots" / "c0ffee"
    (snapshot / "data").mkdir(parents=True)
    (snapshot / "data" / "own").symlink_to("../../../blobs/b10b")
    (snapshot / "data" / "other").symlink_to("../../../../datasets--c--d/blobs/b10b")
    for folder, below in ((snapshot, "data/"), (snapshot / "data", ""), (data / "snapshots", "c0ffee/data/")):
        assert Path(contained(folder, f"{below}own", "It")).read_text() == data.name
        with pytest.raises(InputError, match="leaves its folder through a symbolic link"):
            contained(folder, f"{below}other", "It")
    shutil.rmtree(data / "blobs")
    (tmp_path / "blobs").mkdir()
    (tmp_path / "blobs" / "b10b").write_text("beside")
    (snapshot / "data" / "own").unlink()
    (snapshot / "data" / "own").symlink_to(tmp_path / "blobs" / "b10b")
    with pytest.raises(InputError, match="leaves its folder through a symbolic link"):
        contained(snapshot, "data/own", "It")


def test_what_is_no_ordinary_file_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        monkeypatch.chdir(tmp_path)
        listening.bind("sock")
        for name, kind in (("pipe", "a named pipe"), ("sock", "a socket")):
            with pytest.raises(InputError, match=rf"'{name}' \(The log\) is {kind}"):
                contained(tmp_path, name, "The log")
    with pytest.raises(InputError, match=r"The log names the file 7, which is no text"):
        contained(tmp_path, 7, "The log")


def test_a_store_reads_nothing_that_its_records_name_outside(tmp_path: Path) -> None:
    traps = Traps.lay(tmp_path, MARKER.encode(), ".json")
    (traps.folder / "mine.json").write_text("{}")
    folder = Folder(str(traps.folder))
    assert folder.read_json("mine.json") == {}
    contents = []
    readers = (folder.read, folder.read_json, lambda name: folder.open(name).read(), partial(read_parquet, folder))
    for path in traps.paths(2):
        for read in readers:
            try:
                contents.append(read(path))
            except (InputError, OSError, pa.ArrowInvalid) as refusal:
                contents.append(str(refusal))
        try:
            folder.share(path, "taken")
            folder.write(path, b"written")
        except (InputError, OSError) as refusal:
            contents.append(str(refusal))
    require_nothing_of(MARKER, contents)
    taken = traps.folder / "taken"
    assert not taken.exists() or taken.read_bytes() == b"written"  # what an honest name of ours was given
    assert traps.secret.read_text() == MARKER
    assert [entry.name for entry in traps.secret.parent.iterdir()] == [traps.secret.name]
