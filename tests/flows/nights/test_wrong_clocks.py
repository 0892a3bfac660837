"""A night of a machine whose clock was years ahead, and the nights after somebody set it right."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from nights_on_record import FIRST, night

from assay.flows.cli import answer
from assay.flows.configuration.loading import load_project
from assay.flows.nights.after_run import prometheus_samples
from assay.flows.nights.history import append_to_history, read_history
from assay.flows.nights.notify import check_nights, nights_of
from assay.flows.report.gates import accept, accepted
from assay.flows.report.records import find_run, missed_since_the_last_run
from assay.infra.storage.store import Store
from assay.infra.storage.sweep import clean

AHEAD = 3000
"""So many days after the first night."""


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    monkeypatch.chdir(tmp_path)
    written = "pipelines: {digits: {schedule: '0 2 * * *', source: {dataset: sample/digits}}}"
    Path("pipelines.yaml").write_text(written)
    store = Store(str(tmp_path / "artifacts")).open()
    for number, accuracy in ((AHEAD, 0.1), (0, 0.8), (1, 0.9)):
        append_to_history(store, night(store, number, accuracy=accuracy))
    return store


def test_the_latest_run_is_the_last_whose_date_has_come(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    names = [run.id[:4] for run in store.runs()]
    assert names == [f"{FIRST + timedelta(days=AHEAD):%Y}", "2026", "2026"]
    assert find_run(store, "digits").id.startswith("2026-11-21")
    assert nights_of(store.runs(), {})["digits"].run == find_run(store, "latest")
    began = [value for name, _, value in prometheus_samples(store.runs(), []) if name.endswith("timestamp_seconds")]
    assert began == [(FIRST + timedelta(days=1)).timestamp()]
    assert answer(["runs", "--last", "1"]) == 0
    assert capsys.readouterr().out.splitlines()[1].startswith("2026-11-21")
    assert read_history(store, "digits")["started"][-1].as_py() == FIRST + timedelta(days=1)
    assert answer(["history", "digits", "subject.accuracy"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("2026-11-21")


def test_a_clean_up_keeps_the_latest_of_these(store: Store) -> None:
    assert len(clean(store, keep=1).runs) == 2
    assert [run.id[:10] for run in store.runs()] == ["2026-11-21"]


def test_a_night_that_does_not_come_is_missed_all_the_same(store: Store) -> None:
    project = load_project(Path("pipelines.yaml").absolute())
    project = replace(project, store=store.url)
    check_nights(project, print, FIRST + timedelta(hours=25))
    check_nights(project, print, FIRST + timedelta(hours=49))
    assert missed_since_the_last_run(store) == {"digits": FIRST + timedelta(days=2)}


def test_so_does_a_baseline_that_was_accepted_under_such_a_clock(store: Store) -> None:
    run = find_run(store, "digits")
    accept(store, run, "now")
    later = (datetime.now(UTC) + timedelta(days=AHEAD)).isoformat(timespec="seconds")
    store.folder.write_json(f"accepted/digits/{later[:4]}-other.json", {"run": "other", "at": later})
    standing = accepted(store, "digits")
    assert standing is not None
    assert standing["run"] == run.id


def test_clocks_of_two_machines_may_be_some_minutes_apart(store: Store) -> None:
    soon = night(store, 2)
    soon.started = (datetime.now(UTC) + timedelta(minutes=5)).isoformat()
    store.save_run(soon)
    assert store.runs()[-1].id == soon.id
