"""Two runs of the same pipeline at the same moment over one store on S3: every result is committed once, by whoever
came first, and both end with the digests of a run by itself."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from command_line import Command, digests, environment
from s3_door import Door
from served_nights import records_in, served_team, write_nights

from assay.infra.storage.store import Store

pytestmark = [pytest.mark.services, pytest.mark.timeout(900)]


def race(team: Path, env: dict[str, str], runs: int) -> list[Command]:
    options = ["run", "night", "--set", "compute.workers=1"]
    return [Command.start(options, folder=team, env=env) for _ in range(runs)]


def test_two_runs_racing_commit_every_result_once(s3: str, door: Door, tmp_path: Path) -> None:
    team = served_team(tmp_path / "team")
    marks = team / "marks"
    env = environment(tmp_path / "home", TEAM_MARKS=str(marks), PYTHONPATH=os.environ.get("PYTHONPATH", ""))
    write_nights(team, store=str(tmp_path / "alone"), engine="local")
    [alone] = race(team, env, 1)
    assert alone.wait() == 0, alone.err

    write_nights(team, store=s3, engine="local")
    (marks / "hold").touch()
    both = race(team, env, 2)
    for run in both:  # both compute the same predictions, and neither has committed them
        run.until(lambda: len(list(marks.glob("held-*"))) == 2, "two workers at patient p350")
    (marks / "hold").unlink()
    for run in both:
        assert run.wait() == 0, run.err
        assert "Traceback" not in run.err

    [quiet], records = records_in(str(tmp_path / "alone")), records_in(s3)
    assert [one["status"] for one in records] == ["done", "done"]
    assert [digests(one) for one in records] == [digests(quiet)] * 2
    claims = {path: found for path, found in door.claims.items() if s3.removeprefix("s3:/") in path}
    manifests = {path: found for path, found in claims.items() if path.endswith("/manifest.json")}
    assert all(found.count(200) == 1 for found in manifests.values())
    assert any(412 in found for found in manifests.values()), "the two never met"
    committed = {stage["key"] for stage in records[0]["stages"]}
    assert len(manifests) == len(committed)
    store = Store(s3)
    for stage in records[0]["stages"]:
        manifest = store.manifest(stage["stage"], stage["key"])
        assert manifest is not None
        assert manifest.run in {one["id"] for one in records}
        assert store.damage(manifest) == []
