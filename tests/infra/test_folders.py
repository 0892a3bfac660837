"""A file in a folder is there whole or not at all."""

import errno
import os
from pathlib import Path

import pytest

from assay.infra.errors import InputError
from assay.infra.storage.folders import Folder


@pytest.fixture(params=["local", "memory"])
def folder(request: pytest.FixtureRequest, tmp_path: Path) -> Folder:
    return Folder(str(tmp_path / "store") if request.param == "local" else f"memory://{tmp_path.name}")


def test_what_is_written_is_read(folder: Folder):
    folder.write("a/b.bin", b"one")
    folder.write("a/b.bin", b"two")
    assert folder.read("a/b.bin") == b"two"
    assert folder.sizes("a") == {"a/b.bin": 3}
    assert folder.folders("nowhere") == []


def test_of_two_creators_the_first_wins(folder: Folder):
    assert folder.create("manifest.json", b"first")
    assert not folder.create("manifest.json", b"second")
    assert folder.read("manifest.json") == b"first"
    assert list(folder.sizes(".".join(["manifest", "json"]))) == ["manifest.json"]


def test_a_write_that_breaks_leaves_what_was_there(folder: Folder):
    folder.write("x", b"old")

    def half() -> None:
        with folder.writing("x") as sink:
            sink.write(b"half")
            raise RuntimeError("broken")

    with pytest.raises(RuntimeError):
        half()
    assert list(folder.sizes("x")) == ["x"]
    assert folder.read("x") == b"old"


@pytest.mark.parametrize("name", ["../x", "/etc/x", "a/../../x", "", "a//b", "."])
def test_names_cannot_leave_the_folder(folder: Folder, name: str):
    with pytest.raises(InputError, match="not a name inside"):
        folder.write(name, b"")


def test_without_hard_links_the_first_still_wins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def unsupported(*_args: object) -> None:
        raise OSError(errno.EOPNOTSUPP, "Operation not supported")

    monkeypatch.setattr("os.link", unsupported)
    folder = Folder(str(tmp_path))
    assert folder.create("manifest.json", b"first")
    assert not folder.create("manifest.json", b"second")
    assert folder.read("manifest.json") == b"first"
    assert [path.name for path in tmp_path.iterdir()] == ["manifest.json"]


def test_removing_what_is_not_there_is_no_error(folder: Folder):
    folder.remove("nothing/here")


def test_damaged_json_reads_as_nothing(folder: Folder):
    folder.write("half.json", b'{"a": 1')
    assert folder.read_json("half.json") is None
    assert folder.read_json("none.json") is None


def test_full_disk_is_one_sentence_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    folder = Folder(str(tmp_path))

    def full(*_args: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.replace", full)
    with pytest.raises(InputError, match="no space is left there"):
        folder.write("x", b"1")
    assert list(tmp_path.iterdir()) == []


def test_an_unwritable_place_is_one_sentence(tmp_path: Path):
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(InputError, match="Cannot write to"):
        Folder(str(tmp_path / "file")).write("x", b"1")
    with pytest.raises(InputError, match=f"Cannot write to {tmp_path}/file: "):  # in a store that takes the rest
        Folder(str(tmp_path)).write("file/x", b"1")
    (tmp_path / "index.html").mkdir()
    with pytest.raises(InputError, match=f"Cannot write to {tmp_path}/index.html: a folder stands there; move it away"):
        Folder(str(tmp_path)).write("index.html", b"1")


def test_what_may_not_be_read_is_not_said_to_be_unwritable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    def refused(*_: object) -> bytes:
        raise PermissionError(errno.EACCES, "denied", f"{tmp_path}/runs/r1.json")

    monkeypatch.setattr(Folder, "read", refused)
    with pytest.raises(InputError, match=f"Cannot read {tmp_path}/runs: permission denied"):
        Folder(str(tmp_path)).read_json("runs/r1.json")


def test_a_file_is_shared_under_another_name_and_outlives_the_first(folder):
    folder.write("a/one", b"content")
    assert folder.share("a/one", "b/two")
    assert folder.share("a/one", "b/two")
    folder.remove("a/one")
    assert folder.read("b/two") == b"content"
    assert not folder.share("a/one", "b/three")
    assert not folder.exists("b/three")


def test_where_there_are_no_hard_links_a_shared_file_is_copied(tmp_path, monkeypatch):
    def refuse(source: str, target: str) -> None:
        raise OSError(errno.EPERM, "Operation not permitted")

    folder = Folder(str(tmp_path))
    folder.write("a/one", b"content")
    monkeypatch.setattr(os, "link", refuse)
    assert folder.share("a/one", "b/two")
    assert folder.read("b/two") == b"content"
    assert os.stat(tmp_path / "b" / "two").st_nlink == 1


def test_only_what_is_named_is_removed_whatever_signs_are_in_its_name(folder: Folder):
    for name in ("night[a]/x", "nighta/x", "night*/x"):
        folder.write(name, b"1")
    folder.remove("night[a]")
    folder.remove("night*")
    assert [name for name in ("night[a]/x", "nighta/x", "night*/x") if folder.exists(name)] == ["nighta/x"]
