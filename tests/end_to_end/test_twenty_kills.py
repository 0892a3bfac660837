"""Twenty kills at moments drawn by seed: of a worker, of Prefect's server, of the run, by three signals, also twice.

Whatever is hit, the night ends with the digests of one that nothing happened to, nobody is left behind, and every file
in the store belongs to something that a clean-up knows of.
"""

from __future__ import annotations

from pathlib import Path

import psutil
import pytest
from command_line import Command, digests, environment, records, still_there
from struck_nights import Strike, comes_so_far, strikes_of_case
from team_project import team_project

from assay.flows.audit import audit
from assay.flows.configuration.loading import load_project
from assay.flows.running import engine_of
from assay.infra.stages.runs import Run
from assay.infra.storage.store import INGREDIENTS, MANIFESTS, Store
from assay.infra.storage.sweep import clean
from assay.infra.terminal import Progress

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1500), pytest.mark.xdist_group("interrupted-runs")]


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return team_project(tmp_path_factory.mktemp("team"))


@pytest.fixture(scope="module")
def undisturbed(team: Path) -> dict[str, str]:
    """The digests of a run that nothing happens to."""
    place = str(team / "undisturbed")
    project = load_project(team / "pipelines.yaml", pipeline="night", overrides=["compute.engine=serial"], store=place)
    progress = Progress()
    with Run("night", Store(place).open(), engine_of(project, progress), progress, compute=project.compute) as run:
        assert audit(project.pipeline("night"), project.folder).failures == ()
        run.record.status = "done"
    [record] = records(team / "undisturbed")
    return digests(record)


def unaccounted(store: Path) -> set[str]:
    """Files of the store that no record, manifest or run in progress knows of."""
    opened = Store(str(store))
    known = {"store.json"}
    for run in opened.runs():
        known |= {f"runs/{run.id}.json", f"runs/{run.id}/findings.parquet", f"runs/{run.id}/source.json"}
        known |= {f"{INGREDIENTS}/{one.get('sha256')}" for one in run.ingredients}
        for stage in run.stages:
            manifest = opened.manifest(stage.stage, stage.key)
            assert manifest is not None
            known |= {f"stages/{stage.stage}/{stage.key}/{name}" for name in MANIFESTS}
            known |= set(manifest.files)
            listed = opened.folder.sizes(f"partitions/{stage.stage}")
            known |= {name for name in listed if name.endswith(f"-{stage.key}.json")}
    there = {str(file.relative_to(store)) for file in store.rglob("*") if file.is_file()}
    return {name for name in there - known if not name.startswith(("reports/", "history/", "log/"))}


@pytest.mark.parametrize("case", range(20))
def test_a_night_that_is_hit_ends_as_one_that_is_not(
    team: Path, home: Path, undisturbed: dict[str, str], case: int
) -> None:
    draw, times = strikes_of_case(case)
    strike = Strike.of_case(case)
    store, families = team / f"hit-{case}", list[psutil.Process]()
    for _ in range(times):
        night = Command.start(["run", "night", "--store", store.name], folder=team, env=environment(home))
        if comes_so_far(night, store, draw.randrange(0, 12)):
            families += strike.hit(night)
        code, begun = night.wait(600), bool(list(store.glob("runs/*.json")))
        assert strike.may_end_in(code, begun), night.err
        assert "Traceback" not in night.err
        assert "Assay has a bug" not in night.err
    last = Command.start(["run", "night", "--store", store.name], folder=team, env=environment(home))
    assert last.wait(600) == 0, last.err
    assert still_there(families) == []
    *_, record = records(store)
    assert record["status"] == "done"
    assert digests(record) == undisturbed
    assert all(one["status"] != "running" for one in records(store))
    clean(Store(str(store)), keep=1)
    assert unaccounted(store) == set()
