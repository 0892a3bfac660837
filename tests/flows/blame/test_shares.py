"""`assay blame` chooses the worst judged change, asks before it computes, and answers in a sentence or as JSON."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from direct_nights import perform_night, project_in
from finished_runs import leave_run
from planted_changes import plant

from assay.flows.blame.changes import SampleChange
from assay.flows.blame.hybrids import Hybrids
from assay.flows.cli import answer
from assay.flows.nights.notify import Night, message_of
from assay.infra.errors import UnwritableError
from assay.infra.storage.store import Store


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """A night that passes, and one that its gate fails, with labels flipped and weights of an earlier epoch."""
    folder = plant(tmp_path_factory.mktemp("two"))
    ran = [perform_night(folder, "night").run]
    ran.append(perform_night(plant(folder, "labels", "epoch"), "night").run)
    return folder, ran


def blame(two: tuple[Path, list[str]], *arguments: str) -> int:
    folder, _ = two
    return answer(["blame", *arguments, "--config", str(folder / "pipelines.yaml"), "--store", str(folder / "store")])


@pytest.mark.slow
def test_without_a_terminal_it_says_what_it_costs_and_how_to_go_on(two, capsys: pytest.CaptureFixture[str]) -> None:
    assert blame(two, "latest") == 2
    told = capsys.readouterr()
    assert "To be run: 2 hybrids" in told.err
    assert "add --yes to go on." in told.err
    assert "40 altered samples" in told.out


def test_the_worst_judged_change_is_shared_out(two, capsys: pytest.CaptureFixture[str]) -> None:
    _, (earlier, later) = two
    assert blame(two, later, "--yes", "--json") == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["run"], told["against"]) == (later, earlier)
    assert told["finding"] == {"metric": "subject.accuracy", "of": "gold", "group": "D5", "subject": "own"}
    assert {one["part"] for one in told["shares"]} == {"samples", "weights"}
    assert sum(one["value"] for one in told["shares"]) == pytest.approx(told["change"]["value"], abs=1e-12)
    assert told["sentence"].startswith("subject.accuracy (own, gold, D5): of \N{MINUS SIGN}")
    assert " come from " in told["sentence"]
    assert "the weights (epoch.txt)" in told["sentence"]
    assert blame(two, later) == 0  # everything is in the store now: nobody is asked
    assert "Nothing has to be computed." in capsys.readouterr().err
    assert blame(two, later, "--subject", "another") == 2
    assert "Nothing like that on the scorecard got worse" in capsys.readouterr().err
    assert blame(two, later, "--subject", "own", "--group", "D5") == 0


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--finding", "subject.accuracy"), "say which with --of, --group and --subject."),
        (("--finding", "subject.acuracy"), "have no subject.acuracy like that in common."),
        (("--against", "latest"), "is no other run of night: name one with --against."),
    ],
)
def test_what_cannot_be_asked_is_one_sentence(
    two, arguments: tuple[str, ...], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert blame(two, "latest", *arguments) == 2
    assert sentence in capsys.readouterr().err


def test_a_night_that_measured_nothing_has_no_drop_to_share(two, capsys: pytest.CaptureFixture[str]) -> None:
    folder, (earlier, _) = two
    store = Store(str(folder / "store"))
    empty = leave_run(store, "night", [])
    try:
        assert blame(two, empty, "--against", earlier) == 2
    finally:
        store.folder.remove(f"runs/{empty}.json")
    assert f"Run {empty} (done) measured nothing that run {earlier} did" in capsys.readouterr().err


def test_the_first_night_has_nothing_to_be_held_against(two, capsys: pytest.CaptureFixture[str]) -> None:
    assert blame(two, two[1][0]) == 2
    assert "is the first of night" in capsys.readouterr().err


def test_the_message_of_a_red_night_says_how_to_ask(two) -> None:
    folder, (_, later) = two
    store = Store(project_in(folder, "night").store)
    message = message_of([Night("night", "red", datetime.now(UTC), store.run(later))], store, None)
    assert f"assay blame {later} says" in message.text
    assert json.loads(message.as_json())["nights"][0]["blame"] == f"assay blame {later}"


def test_samples_are_counted_in_words() -> None:
    assert SampleChange(1, 2, 3).in_words() == "1 new sample, 2 removed samples and 3 altered samples"
    assert SampleChange().in_words() == "the order of the samples"


@pytest.mark.parametrize("step", ["planned", "valued"])
def test_a_store_that_takes_nothing_is_said_and_not_taken_for_runs_that_do_not_mix(
    two: tuple[Path, list[str]], step: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    really = getattr(Hybrids, step)

    def refuse(*arguments: object) -> object:
        monkeypatch.setattr(Hybrids, step, really)
        raise UnwritableError("Cannot write to store: read-only file system.")

    monkeypatch.setattr(Hybrids, step, refuse)
    assert blame(two, "latest", "--yes") == 2
    said = capsys.readouterr()
    assert said.err.strip().endswith("Cannot write to store: read-only file system.")
    assert "do not go together" not in said.out + said.err
