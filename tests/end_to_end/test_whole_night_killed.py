"""The whole chain, killed at five moments drawn by seed and started again: it ends as if nothing had happened."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path

import pytest
from command_line import Command, digests, environment, records, still_there
from shrunken_night import PIPELINES

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1800), pytest.mark.xdist_group("whole-night-killed")]

KILLS = 5


def committed(store: Path) -> int:
    """How many stages have given their results."""
    return sum(1 for _ in store.glob("stages/*/*/manifest.json"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("killed")
    (folder / "pipelines.yaml").write_text(PIPELINES)
    return folder


def night(folder: Path, env: Mapping[str, str], store: str, workers: int, at_once: int) -> Command:
    options = ["--set", f"compute.workers={workers}", "--set", f"compute.at_once={at_once}", "--json"]
    return Command.start(["run", "shrunken", "--store", store, *options], folder=folder, env=env)


def test_five_kills_one_or_two_workers_one_or_four_stages_at_once_are_all_the_same_night(
    folder: Path, tmp_path: Path
) -> None:
    env = environment(tmp_path)
    quiet = night(folder, env, "quiet", workers=1, at_once=1)
    assert quiet.wait(900) == 0, quiet.err
    [undisturbed] = records(folder / "quiet")
    stages = committed(folder / "quiet")

    draw, store = random.Random(16), folder / "killed"
    for moment in sorted(draw.sample(range(2, stages - 2), KILLS)):
        run = night(folder, env, "killed", workers=2, at_once=4)
        run.until(lambda: committed(store) >= moment, f"{moment} of {stages} stages", 600)  # noqa: B023 - used at once
        family = run.offspring()
        run.kill()
        assert still_there(family) == []
    last = night(folder, env, "killed", workers=2, at_once=4)
    assert last.wait(900) == 0, last.err
    *killed, ended = records(store)
    assert [record["status"] for record in killed] == ["crashed"] * KILLS
    assert digests(ended) == digests(undisturbed)
    assert committed(store) == stages
    files = [file for file in store.rglob("*") if file.is_file()]
    assert not [file for file in files if ".tmp-" in file.name or "leases" in file.parts]
