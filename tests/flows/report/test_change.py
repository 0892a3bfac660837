"""The page of a change: what got worse first, which settings differ, and the samples whose answer turned."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from assay.flows.report.change import RunChange, change_as_text, flipped, write_change
from assay.infra.errors import InputError
from assay.infra.storage.artifacts import RunRecord
from assay.infra.storage.store import Store
from tests.support.direct_nights import latest, perform_night
from tests.support.finished_runs import leave_run
from tests.support.team_project import team_project


@pytest.fixture(scope="module")
def change(tmp_path_factory: pytest.TempPathFactory) -> RunChange:
    """A night, and another with a stricter model."""
    folder = tmp_path_factory.mktemp("team")
    team_project(folder)
    perform_night(folder, "night")
    _, before = latest(folder, "night")
    file = folder / "pipelines.yaml"
    file.write_text(file.read_text().replace('model.py:predict"}\n  pair', 'model.py:predict_strictly"}\n  pair'))
    perform_night(folder, "night")
    store, after = latest(folder, "night")
    return RunChange(store, before, after)


def test_what_got_worse_stands_first_and_is_paired(change: RunChange) -> None:
    lines = change_as_text(change).splitlines()
    assert lines[1].startswith(("1 number of the scorecard got worse", "2 numbers of the scorecard got worse"))
    assert lines[2].startswith("subject: ")
    assert "setting  subjects.0.model: model.py:predict → model.py:predict_strictly" in lines
    marked = [line for line in lines if line.startswith("≠ ")]
    assert marked
    assert marked[0].startswith("≠ subject.recall (subject, gold, D5, well): ")


def test_runs_of_two_pipelines_are_said_to_be(change: RunChange) -> None:
    other = RunChange(change.store, replace(change.before, pipeline="another"), change.after)
    assert change_as_text(other).splitlines()[1].startswith("they are of two pipelines")
    assert "of two pipelines" not in change_as_text(change)


def test_the_page_shows_the_samples_whose_answer_turned(change: RunChange) -> None:
    part = flipped(change)
    assert part is not None
    assert 0 < len(part.samples) <= 10
    assert part.samples[0].note == "right before, wrong now; in truth well"
    assert part.samples[0].votes
    page = Path(write_change(change)).read_text()
    assert page.startswith("<!doctype html>")
    for words in (
        "what changed",
        change.before.id,
        part.samples[0].id,
        part.samples[0].votes,
        "Settings, data and results",
        "subjects.0.model: model.py:predict → model.py:predict_strictly",
        "before [",
    ):
        assert words in page
    names = [name for name in ("Findings that moved", "Answers that turned") if f">{name}</h2>" in page]
    assert names == ["Findings that moved", "Answers that turned"]


def test_nothing_moves_between_a_run_and_itself(change: RunChange) -> None:
    same = RunChange(change.store, change.after, change.after)
    assert (same.moved, same.on_scorecard, flipped(same)) == ({}, [], None)
    assert same.state.text.startswith("Nothing of the scorecard got worse")


def test_numbers_that_a_refused_run_did_not_measure_are_counted(change: RunChange) -> None:
    refused = leave_run(change.store, "another", [])
    words = RunChange(change.store, change.before, change.store.run(refused)).state.text
    assert words.startswith("Nothing of the scorecard got worse, 3 numbers are not measured any more since ")


def test_runs_of_other_shares_are_refused(change: RunChange, tmp_path: Path) -> None:
    with pytest.raises(InputError, match="different shares"):
        RunChange(Store(str(tmp_path)), change.before, replace(change.after, share=0.5))


def test_of_two_gates_with_one_bound_both_are_shown(tmp_path: Path) -> None:
    def run(*outcomes: str) -> RunRecord:
        gates = [{"gate": "subject.accuracy at least 0.9", "outcome": outcome} for outcome in outcomes]
        return RunRecord("r", "p", "2026-11-22T02:00:00+00:00", 0, "host", 1, gates=gates)

    change = RunChange(Store(str(tmp_path)), run("passed", "passed"), run("failed", "warned", "warned"))
    assert [row[1:] for row in change.gates] == [("passed", "failed"), ("passed", "warned"), ("–", "warned")]
