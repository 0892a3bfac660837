"""Only ordinary files are opened, whatever a name leads to."""

import os
import socket
from pathlib import Path

import pytest

from assay.infra.errors import InputError
from assay.infra.storage.folders import require_regular
from assay.infra.user_code.references import read_given_file


def test_what_is_no_ordinary_file_is_named_for_what_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("/dev/zero")
    with socket.socket(socket.AF_UNIX) as listening:
        monkeypatch.chdir(tmp_path)  # the address of a socket may not be long
        listening.bind("sock")
        for name, kind in (("pipe", "a named pipe"), ("sock", "a socket"), ("link", "a device"), (".", "a folder")):
            with pytest.raises(InputError, match=f"weights is {kind}, and only ordinary files"):
                read_given_file(tmp_path / name, "weights")


def test_a_path_with_a_nul_is_refused_in_words() -> None:
    with pytest.raises(InputError, match="is no path"):
        require_regular("a\0b")


def test_an_ordinary_file_is_read_whole_and_a_large_one_refused_by_its_size(tmp_path: Path) -> None:
    (tmp_path / "words").write_bytes(b"some words")
    assert read_given_file(tmp_path / "words") == b"some words"
    with pytest.raises(InputError, match="has 10 bytes, and at most 9 are read"):
        read_given_file(tmp_path / "words", most=9)
    with pytest.raises(InputError, match="more bytes than its size says"):
        read_given_file(Path("/proc/self/status"))


def test_what_is_not_there_is_for_the_caller_to_say(tmp_path: Path) -> None:
    require_regular(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError):
        read_given_file(tmp_path / "nowhere")
