"""A folder stands for the files below it, and the root of a disk is not read to its end."""

import fsspec
import pytest

from assay.infra.errors import InputError
from assay.tasks.ingest import file_search
from assay.tasks.ingest.file_search import files_below


@pytest.fixture
def folder(tmp_path):
    for name in ("b.csv", "a/c.csv", "a/notes.md", ".hidden/d.csv", "a/.hidden"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    return str(tmp_path)


def test_all_files_are_found_in_order_but_for_those_in_hidden_folders(folder):
    found = files_below(fsspec.filesystem("file"), folder, (".csv",), "data")
    assert found == [f"{folder}/{name}" for name in ("a/.hidden", "a/c.csv", "a/notes.md", "b.csv")]


def test_a_folder_with_too_much_else_in_it_is_refused_and_one_with_many_of_its_own_is_not(folder, monkeypatch):
    monkeypatch.setattr(file_search, "MOST_OTHERS", 1)
    assert len(files_below(fsspec.filesystem("file"), folder, (".csv", ".md"), "data")) == 4
    with pytest.raises(InputError, match=r"do not end in \.csv; name the folder .*, or a pattern such as /.*/\*\.csv"):
        files_below(fsspec.filesystem("file"), folder, (".csv",), "data")


def test_elsewhere_the_listing_of_the_store_is_taken():
    memory = fsspec.filesystem("memory")
    memory.pipe("/walked/a/x.csv", b"1")
    assert files_below(memory, "/walked", (".csv",), "data") == ["/walked/a/x.csv"]


def test_a_link_to_a_folder_elsewhere_is_followed_and_one_that_would_bring_files_twice_is_not(tmp_path):
    for name in ("data/cats/1.png", "elsewhere/dogs/2.png", "elsewhere/dogs/small/3.png"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("x")
    data, dogs = tmp_path / "data", tmp_path / "elsewhere" / "dogs"
    for link, target in (
        (data / "dogs", dogs),
        (data / "latest", data / "cats"),  # is looked at anyway
        (data / "up", tmp_path),  # holds this one
        (dogs / "again", data),
        (data / "small", dogs / "small"),  # below what `dogs` brought
        (data / "gone", tmp_path / "nowhere"),
    ):
        link.symlink_to(target)
    found = files_below(fsspec.filesystem("file"), str(data), (".png",), "data")
    assert found == [f"{data}/{name}" for name in ("cats/1.png", "dogs/2.png", "dogs/small/3.png", "gone")]
