"""What a night asks of its store: so many requests, and so many more for each partition (docs/clusters.md has them)."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
from s3_door import Door
from served_nights import served_team, write_nights

from assay.flows.audit import audit
from assay.flows.configuration.loading import load_project
from assay.flows.running import engine_of
from assay.infra.stages.runs import Run
from assay.infra.storage.store import Store
from assay.infra.terminal import Progress

pytestmark = pytest.mark.services

PER_PARTITION = 64
"""Reads and writes, over all stages that the night computes per partition: 58 when this was written, 128 before."""


def requests_of(team: Path, url: str, door: Door, partitions: int) -> tuple[Counter[str], int]:
    """The requests of one night without a report, by method, and how many stages computed something."""
    write_nights(team, store=url, engine="serial")
    changes = [f"compute.partitions={partitions}"]
    project = load_project(team / "pipelines.yaml", pipeline="night", overrides=changes)
    before, progress = Counter(door.seen), Progress()
    with Run("night", Store(url).open(), engine_of(project, progress), progress, compute=project.compute) as run:
        assert audit(project.pipeline("night"), project.folder).failures == ()
        run.record.status = "done"
    return door.seen - before, len(run.record.stages)


def test_requests_grow_with_partitions_by_a_bounded_number_each(s3: str, door: Door, tmp_path: Path) -> None:
    team = served_team(tmp_path / "team")
    few, stages = requests_of(team, f"{s3}/few", door, 4)
    many, _ = requests_of(team, f"{s3}/many", door, 20)
    again, _ = requests_of(team, f"{s3}/many", door, 20)
    each = {method: (many[method] - few[method]) / 16 for method in sorted(many)}
    print(f"{stages} stages; 4 partitions {dict(few)}; each further one {each}; all from the store {dict(again)}")
    assert sum(each.values()) < PER_PARTITION
    assert again.total() < few.total()
