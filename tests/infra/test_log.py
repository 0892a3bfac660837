"""The log of a store is one chain, whoever writes at once, and what was changed in it is seen."""

import hashlib
import json
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from repository import ROOT

from assay.infra.errors import InputError
from assay.infra.storage.folders import Folder
from assay.infra.storage.log import append_to_log, entries_in, entry_row, log_action, log_lines
from assay.infra.storage.store import Store
from assay.infra.storage.sweep import clean

WRITER = """
import sys
from assay.infra.storage.log import log_action
from assay.infra.storage.store import Store
for number in range(40):
    log_action(Store(sys.argv[1]), "accept", run=f"{sys.argv[2]}-{number}")
"""


def logged(folder: Path, *actions: str) -> Store:
    store = Store(str(folder))
    for action in actions:
        log_action(store, action, run=f"of {action}")
    return store


def test_two_processes_that_write_at_once_make_one_chain(tmp_path: Path) -> None:
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path / "store"), name], cwd=ROOT) for name in "ab"
    ]
    assert [writer.wait(120) for writer in writers] == [0, 0]
    entries = entries_in(log_lines(Store(str(tmp_path / "store"))))
    assert [entry["number"] for entry in entries] == list(range(1, 81))
    assert {entry["run"] for entry in entries} == {f"{name}-{number}" for name in "ab" for number in range(40)}


def test_who_comes_second_looks_again_at_what_is_there(tmp_path: Path) -> None:
    store, seen = logged(tmp_path, "run"), list[list[str]]()

    def about(before):  # type: ignore[no-untyped-def]
        seen.append([entry["action"] for entry in before])
        if len(seen) == 1:
            log_action(store, "accept", run="meanwhile")
        return {"run": "late"}

    assert append_to_log(store, "label", about)["number"] == 3
    assert seen == [["run"], ["accept", "run"]]
    entries_in(log_lines(store))


@pytest.mark.parametrize("name", ["1.json", "notes.json", "000000001.json.0a1b.claim", "old/000000009.json"])
def test_what_is_no_entry_is_passed_over(tmp_path: Path, name: str) -> None:
    store = logged(tmp_path, "run", "accept")
    store.folder.write(f"log/{name}", b"{}")
    assert log_action(store, "label")["number"] == 3
    assert len(entries_in(log_lines(store))) == 3


def test_what_lies_in_the_way_is_named_rather_than_waited_for(tmp_path: Path) -> None:
    store = logged(tmp_path, "run")
    (tmp_path / "log" / "000000002.json").mkdir()
    with pytest.raises(InputError, match=r"log/000000002\.json is in the way"):
        log_action(store, "accept")


def test_a_name_of_a_user_that_is_no_text_is_logged_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOGNAME", "a\udcff")
    assert entries_in(log_lines(logged(tmp_path, "run")))[0]["by"].startswith("a\udcff@")


@pytest.mark.parametrize("more", [{}, {"action": "run"}, {"id": "1", "at": 5, "by": "b", "action": "run"}])
def test_an_entry_that_only_continues_the_chain_breaks_it(tmp_path: Path, more: dict[str, object]) -> None:
    store = logged(tmp_path, "run")
    before = hashlib.sha256(log_lines(store)[-1]).hexdigest()
    store.folder.write("log/000000002.json", json.dumps({"number": 2, "before": before} | more).encode())
    with pytest.raises(InputError, match="breaks at its entry 2"):
        entries_in(log_lines(store))


@pytest.mark.parametrize("at", [1, 2, 3])
def test_an_entry_that_was_changed_or_removed_is_seen(tmp_path: Path, at: int) -> None:
    lines = log_lines(logged(tmp_path, "run", "accept", "label", "attest"))
    assert [entry["action"] for entry in entries_in(lines)] == ["run", "accept", "label", "attest"]
    changed = json.dumps(json.loads(lines[at - 1]) | {"by": "somebody"}).encode()
    for broken in ([*lines[: at - 1], changed, *lines[at:]], lines[: at - 1] + lines[at:], [*lines[:at], b"{"]):
        with pytest.raises(InputError, match=f"breaks at its entry ({at}|{at + 1})"):
            entries_in(broken)


def test_secrets_are_not_written_and_hashes_are_short_where_they_are_listed(tmp_path: Path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.setattr("assay.infra.storage.log.masked_in", lambda about: about | {"why": "masked"})
    store = Store(str(tmp_path))
    log_action(store, "accept", run="r1", why="token", plan="ab" * 32)
    (entry,) = entries_in(log_lines(store))
    assert entry["why"] == "masked"
    assert entry_row(entry)[3:] == ["accept", "run r1; why masked; plan abababababab…"]


def test_what_a_killed_process_left_beside_the_log_goes_and_what_is_being_written_stays(tmp_path: Path) -> None:
    store = logged(tmp_path, "run", "accept")
    for name, seconds in (
        ("000000003.json.0a1b.claim", 3600),
        (".000000003.json.2c.claim.tmp-3d", 3600),
        ("x.claim", 1),
    ):
        (tmp_path / "log" / name).write_bytes(b"{}")
        os.utime(tmp_path / "log" / name, (time.time() - seconds,) * 2)
    clean(store)
    assert sorted(file.name for file in (tmp_path / "log").iterdir()) == ["000000001.json", "000000002.json", "x.claim"]


def test_entries_of_a_remote_log_are_read_many_at_a_time_and_in_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = logged(tmp_path, *("run" for _ in range(40)))
    lines, together = log_lines(store), threading.Barrier(20, timeout=20)
    read = type(store.folder).read

    def far_away(folder: Folder, name: str) -> bytes:
        together.wait()  # twenty have to be under way before any of them is answered
        return read(folder, name)

    monkeypatch.setattr(Folder, "is_local", False)
    monkeypatch.setattr(Folder, "read", far_away)
    assert log_lines(store) == lines
