"""What `assay serve` watches: nights that did not come, and messages that wait."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from loopback_hooks import Hook, hook
from nights_on_record import FIRST, night

from assay.flows.cli import answer
from assay.flows.configuration.loading import Project, load_project
from assay.flows.nights.history import append_to_history, read_history
from assay.flows.nights.notify import check_nights, nights_watched
from assay.flows.report.records import missed_nights
from assay.infra.storage.store import Store
from assay.infra.storage.sweep import Lease

CONFIG = """
notify: {webhook: {url_from: HOOK_URL, secret_from: HOOK_SECRET}, grace: 20, at_latest: 60}
pipelines:
  digits: {schedule: "0 2 * * *", source: {dataset: sample/digits}}
"""
HOURS = timedelta(hours=1)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    (tmp_path / "pipelines.yaml").write_text(CONFIG)
    return load_project(tmp_path / "pipelines.yaml")


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Hook]:
    with hook() as made:
        monkeypatch.setenv("HOOK_URL", made.url)
        monkeypatch.setenv("HOOK_SECRET", "s3cret")
        yield made


def titles(server: Hook) -> list[str]:
    import json

    return [json.loads(body)["title"] for _, body in server.got]


def test_a_night_that_did_not_come_is_told_once_and_green_again_after_the_next(project: Project, server: Hook) -> None:
    store, heard = Store(project.store).open(), []
    check_nights(project, heard.append, FIRST - HOURS)  # served since one o'clock
    night(store, 0)
    check_nights(project, heard.append, FIRST + HOURS)
    missed = FIRST + 24 * HOURS
    check_nights(project, heard.append, missed + timedelta(minutes=19))
    assert heard == []
    for minutes in (20, 21, 50):
        check_nights(project, heard.append, missed + timedelta(minutes=minutes))
    assert heard == ["No run of digits came for 2026-11-21T02:00Z, 20 minutes ago."]
    check_nights(project, heard.append, missed + 25 * HOURS)
    night(store, 3)
    check_nights(project, heard.append, missed + 49 * HOURS)
    assert titles(server) == ["Assay: digits missed its night", "Assay: digits green again"]
    assert b"no run came for 2026-11-21 02:00 UTC" in server.got[0][1]


def test_a_night_that_still_runs_makes_the_next_one_skip_and_is_not_missed(project: Project, server: Hook) -> None:
    store, heard = Store(project.store).open(), []
    check_nights(project, heard.append, FIRST - HOURS)
    going = night(store, 0, status="running", accuracy=None)
    lease = Lease(store, going.id)
    lease.take()
    check_nights(project, heard.append, FIRST + 26 * HOURS)
    lease.release()
    going.status, going.seconds = "done", 26 * 3600.0
    store.save_run(going)
    check_nights(project, heard.append, FIRST + 26 * HOURS)
    assert heard == []
    assert server.got == []


def test_a_schedule_that_is_new_has_missed_nothing(project: Project, server: Hook) -> None:
    heard: list[str] = []
    check_nights(project, heard.append, FIRST + HOURS)
    check_nights(project, heard.append, FIRST + 2 * HOURS)
    assert heard == []


def test_nights_missed_while_nobody_served_are_noticed(project: Project, server: Hook) -> None:
    heard: list[str] = []
    check_nights(project, heard.append, FIRST - HOURS)
    check_nights(project, heard.append, FIRST + 100 * HOURS)
    assert len(heard) == 1
    assert titles(server) == ["Assay: digits missed its night"]
    missed = missed_nights(Store(project.store).open())["digits"]
    assert missed == [FIRST + number * 24 * HOURS for number in range(5)]


def test_missed_nights_stand_between_the_runs_on_the_page_in_the_list_and_in_the_trend(
    project: Project, server: Hook, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(project.file.parent)
    store = Store(project.store).open()
    check_nights(project, print, FIRST - HOURS)
    for number in (0, 3):
        append_to_history(store, night(store, number))
        check_nights(project, print, FIRST + (24 * number + 23) * HOURS)
    check_nights(project, print, FIRST + 96 * HOURS + timedelta(minutes=40))
    page = store.folder.read("reports/index.html").decode()
    assert "2 runs of 1 pipeline, 3 nights missed" in page
    rows = [row.split("</tr>")[0] for row in page.split("<tbody>")[1].split("<tr>")[1:]]
    assert ["missed" in row for row in rows] == [True, False, True, True, False]
    assert "No run came for 2026-11-22 02:00 UTC." in rows[2]
    assert ">missed</span>" in page.split('class="states"')[1].split("</ul>")[0]  # how it stands now
    capsys.readouterr()
    assert answer(["runs"]) == 0
    lines = capsys.readouterr().out.splitlines()[1:]
    assert [line.startswith("no run") for line in lines] == [True, False, True, True, False]
    assert lines[0].endswith("No run came for 2026-11-24 02:00 UTC.")
    assert answer(["history", "digits", "subject.accuracy"]) == 0
    drawn = capsys.readouterr().out
    assert "nights  ✓––✓–" in drawn
    assert drawn.count("missed") == 3


def test_a_night_that_was_missed_stays_on_record_when_its_schedule_goes(project: Project, server: Hook) -> None:
    check_nights(project, print, FIRST - HOURS)
    check_nights(project, print, FIRST + HOURS)
    unscheduled = project.pipelines["digits"].model_copy(update={"schedule": None})
    check_nights(replace(project, pipelines={"digits": unscheduled}), print, FIRST + 50 * HOURS)
    assert missed_nights(Store(project.store).open()) == {"digits": [FIRST]}


def test_a_killed_run_is_told_as_broken(project: Project, server: Hook) -> None:
    store = Store(project.store).open()
    night(store, 0, status="running", accuracy=None)
    check_nights(project, print, FIRST + HOURS)
    check_nights(project, print, FIRST + 2 * HOURS)
    assert titles(server) == ["Assay: digits broken"]
    assert read_history(store, "digits")["status"].to_pylist() == ["crashed"]


def test_of_a_killed_run_that_is_cleaned_away_the_history_stays(project: Project, server: Hook) -> None:
    store = Store(project.store).open()
    night(store, 0, status="running", accuracy=None)
    assert answer(["store", "clean", "--keep", "0", "--store", store.url]) == 0
    assert (store.runs(), read_history(store, "digits")["status"].to_pylist()) == ([], ["crashed"])


def test_watching_outlives_a_broken_file_and_ends_with_its_block(project: Project, server: Hook) -> None:
    import time

    night(Store(project.store).open(), 0, status="gate failed")
    project.file.write_text("pipelines: [")
    heard: list[str] = []
    with nights_watched(replace(project), heard.append, tick=0.05):
        deadline = time.monotonic() + 60
        while "Told by webhook: digits red" not in heard and time.monotonic() < deadline:
            time.sleep(0.02)
    assert "Told by webhook: digits red" in heard
    assert titles(server).count("Assay: digits red") == 1
