"""A store that cannot be, or whose files somebody else has written, is told in one sentence, and nothing is lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from assay.flows.report.records import run_rows
from assay.infra.errors import InputError
from assay.infra.storage.artifacts import RunRecord
from assay.infra.storage.store import Store
from assay.infra.storage.sweep import clean, close_crashed_runs

RECORD = json.loads(RunRecord("2026-11-22-0200-k3f9", "night", "2026-11-22T02:00:00.000+00:00", 0, "host", 1).to_text())


@pytest.mark.parametrize(
    "url",
    [
        "nope://x",
        "http://127.0.0.1:9/x",
        "a\0b",
        "file://\0",
        "x" * 300,
        "x" * 5000,
        "/proc/x",
        "/dev/null",
        "zip://{folder}/f.zip",
        "{folder}/f.zip",
        "data://x",
        "reference://x",
        "ftp://no.invalid/x",
    ],
)
def test_a_store_that_cannot_be_is_one_sentence(tmp_path: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f.zip").write_bytes(b"PK\x05\x06" + b"\0" * 18)
    with pytest.raises(InputError) as caught:
        Store(url.format(folder=tmp_path)).open()
    assert len(str(caught.value)) < 700
    assert "\0" not in str(caught.value)


@pytest.mark.parametrize("content", ["[1]", "{", "", '{"format": "one"}', '{"format": null}', "\x00", '"text"'])
def test_a_store_json_that_is_none_is_refused_and_left_alone(tmp_path: Path, content: str) -> None:
    (tmp_path / "store.json").write_text(content)
    for enter in (Store.open, Store.look):
        with pytest.raises(InputError, match=r"store.json cannot be read"):
            enter(Store(str(tmp_path)))
    assert (tmp_path / "store.json").read_text() == content


DAMAGES = [
    {"stages": 3},
    {"stages": [3]},
    {"stages": [{}]},
    {"started": 5},
    {"started": "yesterday"},
    {"writing": None},
    {"notices": [1]},
    {"seconds": "long"},
    {"pid": "me"},
    {"status": None},
    {"report": 7},
    {"settings": []},
]


@pytest.mark.parametrize("damage", DAMAGES, ids=[json.dumps(damage) for damage in DAMAGES])
def test_a_damaged_record_hides_itself_only_and_stops_a_clean_up(tmp_path: Path, damage: dict[str, object]) -> None:
    store = Store(str(tmp_path)).open()
    store.folder.write_json("runs/whole.json", RECORD | {"id": "whole", "status": "done"})
    store.folder.write_json("runs/torn.json", RECORD | {"id": "torn"} | damage)
    store.folder.write("stages/ingest/k/part", b"rows")
    assert [run.id for run in store.runs()] == ["whole"]
    assert close_crashed_runs(store) == []
    with pytest.raises(InputError, match=r"runs/torn.json is no record of a run.*nothing was removed"):
        clean(store, keep=0)
    with pytest.raises(InputError, match=r"runs/torn.json is no record of a run: mend or delete it"):
        store.run("torn")
    assert {row[0]: row[2] for row in run_rows(store)} == {"whole": "done", "torn": "damaged"}
    assert store.folder.exists("stages/ingest/k/part")


@pytest.mark.parametrize("lease", [{}, {"until": "soon"}, {"until": 1e12, "pid": "me"}, {"until": None, "pid": 1}])
def test_a_lease_that_cannot_be_read_has_run_out(tmp_path: Path, lease: dict[str, object]) -> None:
    store = Store(str(tmp_path)).open()
    store.folder.write_json(f"runs/{RECORD['id']}.json", RECORD)
    store.folder.write_json(f"leases/{RECORD['id']}.json", lease)
    assert [run.status for run in close_crashed_runs(store)] == ["crashed"]
