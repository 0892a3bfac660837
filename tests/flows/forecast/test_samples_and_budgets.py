"""A team's nights: a sample stands for no whole run, a budget ends a run in order, forecasts are held to account."""

from __future__ import annotations

from pathlib import Path

import pytest
from team_project import team_project

from assay.flows.cli import answer
from assay.flows.configuration.loading import Project, load_project
from assay.flows.forecast.plan import (
    forecast_before_run,
    forecast_for_record,
    forecast_summary,
    forecasts_and_facts,
    walk_plan,
)
from assay.flows.nights import history
from assay.flows.nights.notify import nights_of
from assay.flows.report.all_nights import entries_of
from assay.flows.report.gates import Past
from assay.flows.report.records import find_run
from assay.flows.running import engine_of, perform
from assay.infra.engines.calls import Allowance
from assay.infra.errors import InputError, RunError
from assay.infra.stages.runs import Run
from assay.infra.storage.artifacts import RunRecord
from assay.infra.storage.store import Store
from assay.infra.terminal import Progress
from assay.tasks.reporting.index import render_index


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A team after two samples and a whole night."""
    folder = team_project(tmp_path_factory.mktemp("team"))
    for share in (0.5, 0.25, 1.0):
        night(folder, share)
    return folder


def project(team: Path, *overrides: str) -> Project:
    settings = ["compute.engine=serial", *overrides]
    return load_project(team / "pipelines.yaml", pipeline="night", overrides=settings, store=str(team / "store"))


def night(team: Path, share: float = 1.0, *overrides: str, seconds: float | None = None, seed: int = 0) -> RunRecord:
    chosen, progress = project(team, *overrides), Progress()
    run = Run(
        "night",
        Store(chosen.store).open(),
        engine_of(chosen, progress),
        progress,
        compute=chosen.compute,
        share=share,
        seed=seed,
        allowance=Allowance(seconds, "a moment"),
    )
    run.record.forecast = forecast_for_record(chosen, chosen.pipeline("night"), seed, share, fresh=False)
    with run:
        perform(run, chosen, chosen.pipeline("night"))
    return run.record


def runs(team: Path) -> list[RunRecord]:
    return Store(str(team / "store")).runs()


@pytest.mark.slow
def test_a_sample_is_in_no_history_state_or_trend(team: Path) -> None:
    half, quarter, whole = runs(team)[:3]
    assert [one.share for one in (half, quarter, whole)] == [0.5, 0.25, 1.0]
    store = Store(str(team / "store"))
    for record in (half, quarter, whole):
        history.append_to_history(store, record)
    assert set(history.read_history(store, "night")["run"].to_pylist()) == {whole.id}
    assert nights_of([half, quarter], {}) == {}
    assert nights_of([half, quarter, whole], {})["night"].run is whole
    page = render_index([one for one in entries_of(store) if one.run != whole.id])
    assert page.count("in no trend") == 2
    assert 'class="trend' not in page


@pytest.mark.slow
def test_a_sample_is_held_against_samples_of_its_share_only(team: Path) -> None:
    store, (half, quarter, whole) = Store(str(team / "store")), runs(team)[:3]
    assert Past(store, whole).nights == []
    later = RunRecord("zzz", "night", "2099-01-01T00:00:00+00:00", 0, "h", 1, share=0.25)
    assert [one.id for one in Past(store, later).nights] == [quarter.id]
    assert find_run(store, "night").id not in (half.id, quarter.id)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["compare", "HALF", "WHOLE"], "different shares of the samples"),
        (["accept", "HALF", "--why", "x"], "not a baseline for later nights"),
        (["export", "HALF", "--to", "out"], "not handed on"),
        (["blame", "HALF"], "not blamed on anything"),
    ],
)
def test_what_takes_a_whole_run_refuses_a_sample(
    team: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: list[str], said: str
) -> None:
    monkeypatch.chdir(team)
    names = {"HALF": runs(team)[0].id, "WHOLE": runs(team)[2].id}
    assert answer([*(names.get(word, word) for word in command), "--store", "store"]) == 2
    told = capsys.readouterr()
    assert said in told.err + told.out


def test_the_page_of_a_sample_says_so_at_its_head(team: Path) -> None:
    half, _, whole = runs(team)[:3]
    pages = [Path(str(one.report)).read_text(encoding="utf-8") for one in (half, whole)]
    assert "This page is about a sample of 50 %, drawn by seed 0." in pages[0].split("<dl")[1][:3000]
    assert "This page is about a sample" not in pages[1]


def test_a_sample_is_a_share_of_the_same_samples(team: Path) -> None:
    rows = {one.share: {stage.title: stage.work["rows"] for stage in one.stages} for one in runs(team)[:3]}
    assert rows[1.0]["label"] == rows[0.5]["sample"] == rows[0.25]["sample"] == rows[1.0]["ingest"]
    assert rows[0.25]["label"] < rows[0.5]["label"] < rows[1.0]["label"]


def test_two_sizes_say_what_the_whole_will_take_stage_by_stage(team: Path) -> None:
    whole = runs(team)[2]
    came = forecasts_and_facts(whole)
    assert len(came) > 10
    assert all(one.expected is not None for one in came)
    assert whole.forecast["unknown"] == []
    page = Path(str(whole.report)).read_text(encoding="utf-8")
    assert "The run was expected to take" in page


def test_other_settings_change_only_what_they_change(team: Path) -> None:
    chosen = project(team, "ordering.datasets=4")
    expected, _ = forecast_before_run(chosen, chosen.pipeline("night"))
    basis = {one.planned.stage: one.basis for one in expected.stages}
    assert basis["apply_labeling_functions"] is None  # in the store
    assert basis["order_adversarially"] == "other settings"
    assert forecast_summary(expected).startswith("Forecast: ")


def test_places_of_a_plan_are_those_of_the_run(team: Path) -> None:
    planned, _ = walk_plan(project(team), project(team).pipeline("night"))
    assert {(one.place, one.stage) for one in planned} == {(one.place, one.stage) for one in runs(team)[2].stages}


def test_a_budget_that_is_over_begins_nothing_more_and_the_next_run_goes_on(team: Path) -> None:
    with pytest.raises(RunError, match=r"was not begun: the budget of a moment was over\. What was made is kept"):
        night(team, 1.0, seconds=0.0, seed=5)
    stopped = runs(team)[-1]
    assert stopped.status == "broken"
    assert stopped.report is not None
    assert any("the budget of a moment was over" in one for one in stopped.failures)
    assert all(one.cached for one in stopped.stages if one.title != "statistics")
    assert night(team, seed=5).status == "done"


def test_a_run_that_will_not_fit_says_what_is_dearest_and_which_share_would(team: Path) -> None:
    chosen = project(team, "budget=0.02s", "compute.partitions=3")
    expected, [sentence] = forecast_before_run(chosen, chosen.pipeline("night"), seed=9)
    assert "The budget of 0.02s is likely over before the end" in sentence
    assert expected.dearest[0].planned.title in sentence
    assert "would fit" in sentence


@pytest.mark.parametrize("budget", ["40", "soon", "0m", "-3m", "1d"])
def test_what_is_no_time_is_refused_with_how_to_write_one(team: Path, budget: str) -> None:
    with pytest.raises(InputError, match=r"budget: .*expected hours, minutes or seconds, as in 2h, 40m, 90s or 1h30m"):
        project(team, f"budget={budget}")


def test_the_plan_prints_what_it_will_take(
    team: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(team)
    asked = ["plan", "night", "--store", "store", "--set", "compute.engine=serial", "--seed", "77", "--sample", "10%"]
    assert answer(asked) == 0
    out = capsys.readouterr().out
    head = out.splitlines()[0].split()
    assert {"stage", "takes", "range", "CPU", "partitions", "keeps", "from"} <= set(head)
    assert "GPU" not in head
    assert "the same work" in out
    assert out.splitlines()[-1].startswith("Forecast: ")
