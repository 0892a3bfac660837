"""What `assay plan` says of a run is what the run then does, and saying it writes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from team_project import team_project

from assay.flows.audit import audit
from assay.flows.cli import answer
from assay.flows.configuration.loading import Project, load_project
from assay.flows.forecast.plan import walk_plan
from assay.flows.running import CONTRACT_STAGES, engine_of
from assay.infra.errors import InputError
from assay.infra.stages.branches import CACHED, MAY_RUN, WILL_RUN
from assay.infra.stages.runs import Run
from assay.infra.storage.store import Store
from assay.infra.terminal import Progress
from assay.tasks.ingest.task import ingest
from assay.tasks.ordering.task import check_order


@pytest.fixture
def team(tmp_path: Path) -> Path:
    return team_project(tmp_path / "team")


def project(team: Path, *overrides: str) -> Project:
    settings = ["compute.engine=serial", *overrides]
    return load_project(team / "pipelines.yaml", pipeline="night", overrides=settings, store=str(team / "store"))


def planned(team: Path, *overrides: str, seed: int = 0) -> list[tuple[str, str]]:
    chosen = project(team, *overrides)
    return [(stage.stage, stage.outlook) for stage in walk_plan(chosen, chosen.pipeline("night"), seed)[0]]


def perform(team: Path, *overrides: str) -> list[tuple[str, bool]]:
    """The stages of a run, and whether each was cached."""
    chosen, progress = project(team, *overrides), Progress()
    with Run("night", Store(chosen.store).open(), engine_of(chosen, progress), progress, compute=chosen.compute) as run:
        assert audit(chosen.pipeline("night"), chosen.folder).failures == ()
        run.record.status = "done"
        return [(stage.stage, stage.cached) for stage in run.record.stages]


def everything(folder: Path) -> dict[str, tuple[int, int]]:
    """Every file with its size and time."""
    files = (file for file in folder.rglob("*") if file.is_file() and "__pycache__" not in file.parts)
    return {str(file): (file.stat().st_size, file.stat().st_mtime_ns) for file in files}


def test_before_the_first_run_only_the_first_stage_is_certain(team: Path) -> None:
    before = everything(team)
    stages = planned(team)
    assert stages[0] == ("ingest", WILL_RUN)
    assert {outlook for _, outlook in stages[1:]} == {MAY_RUN}
    assert [name for name, _ in stages][:3] == ["ingest", "apply_labeling_functions", "summarize_labeling"]
    assert everything(team) == before
    assert not (team / "store").exists()


def test_whoever_waits_for_work_hears_of_the_first_stage_that_is_not_in_the_store(team: Path) -> None:
    heard: list[str] = []

    def walk(*overrides: str) -> list[str]:
        chosen = project(team, *overrides)
        walk_plan(chosen, chosen.pipeline("night"), on_missing=heard.append)
        return heard

    assert walk()[0] == "ingest"
    heard.clear()
    perform(team)
    assert walk() == []
    assert walk("pruning.correlation=0.5")


def test_a_plan_is_what_the_run_then_does(team: Path) -> None:
    perform(team)
    before = everything(team)
    assert {outlook for _, outlook in planned(team)} == {CACHED}
    changed = dict(planned(team, "pruning.correlation=0.5"))
    assert changed["apply_labeling_functions"] == CACHED
    assert changed["prune_labeling_functions"] == WILL_RUN
    assert changed["order_adversarially"] == MAY_RUN
    assert everything(team) == before

    done = perform(team, "pruning.correlation=0.5")
    assert [name for name, _ in done] == [name for name, _ in planned(team, "pruning.correlation=0.5")]
    for name, cached in done:
        assert cached or changed[name] in (WILL_RUN, MAY_RUN)
        assert not cached or changed[name] in (CACHED, MAY_RUN)


def test_another_seed_redoes_what_draws(team: Path) -> None:
    perform(team)
    other = dict(planned(team, seed=1))
    assert other["apply_labeling_functions"] == CACHED
    assert other["measure_ordering"] == WILL_RUN


def test_the_command_prints_it_as_a_table(
    team: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(team)
    assert answer(["plan", "night", "--store", "store"]) == 0
    head, first, second, *_ = capsys.readouterr().out.splitlines()
    assert head.split() == ["stage", "of", "will", "where", "from"]
    assert [word.strip() for word in first.split("  ") if word] == ["ingest", WILL_RUN, "CPU workers", "not run yet"]
    assert [word.strip() for word in second.split("  ") if word] == [
        "label",
        "curation",
        MAY_RUN,
        "CPU workers",
        "not run yet",
    ]


def test_the_plan_names_the_subject_that_the_run_would_refuse(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    pair = "[{name: mine, model: nowhere.py:f}, {name: plain, model: logistic}]"
    Path("pipelines.yaml").write_text(
        f"pipelines:\n  night:\n    source: {{dataset: sample/breast-cancer}}\n    subjects: {pair}\n"
    )
    assert answer(["plan", "night"]) == 2
    said = capsys.readouterr()
    assert "subject plain" in said.out
    assert "pipelines.yaml:4: subjects.0.model" in said.err
    assert "nowhere.py" in said.err


def test_wrong_input_is_told_by_the_plan_already(team: Path) -> None:
    (team / "patients.csv").unlink()
    with pytest.raises(InputError, match=r"There is no file patients\.csv"):
        planned(team)


def test_the_stages_that_check_a_contract_are_known_by_their_names() -> None:
    assert {ingest.name, check_order.name} == CONTRACT_STAGES
