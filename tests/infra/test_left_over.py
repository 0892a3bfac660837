"""What a kill leaves beside committed results goes with the next clean-up, and what a run can go on from stays."""

from __future__ import annotations

from pathlib import Path

import pytest
from plumbing_workload import Numbers, Piece, Scaled, explode_on, make_numbers

from assay.infra.errors import RunError
from assay.infra.stages.partitions import map_partitions, map_pieces
from assay.infra.stages.stage import stage
from assay.infra.storage.artifacts import Artifact
from assay.infra.storage.store import Store
from assay.infra.storage.sweep import clean


@stage(version=1)
def make() -> Artifact[Numbers]:
    return map_pieces(make_numbers, [Piece(0, 5), Piece(5, 10)], into=Numbers)


@stage(version=1)
def fragile(numbers: Artifact[Numbers], marker: str) -> Artifact[Scaled]:
    return map_partitions(explode_on, numbers, into=Scaled, marker=marker, bad="7")


def files(root: Path) -> set[str]:
    return {str(path.relative_to(root)) for path in (root / "stages").rglob("*") if path.is_file()}


def test_marks_and_drafts_beside_a_committed_result_go_and_results_stay(make_run, tmp_path):
    with make_run() as run:
        made = make()
        run.record.status = "done"
    place = Path(made.uri).parent
    before = files(tmp_path / "store")
    (place / "marks" / "numbers").mkdir(parents=True)
    (place / "marks" / "numbers" / "00000.json").write_text("{}")
    (place / "numbers" / "part-00000.tmp-0123").write_bytes(b"half")
    swept = clean(Store(str(tmp_path / "store")))
    assert len(swept.results) == 2
    assert swept.bytes == 6
    assert files(tmp_path / "store") == before
    assert clean(Store(str(tmp_path / "store"))).results == ()


def test_finished_partitions_of_a_broken_stage_stay_for_the_next_run(make_run, tmp_path):
    marker = tmp_path / "broken"
    marker.touch()
    with make_run(), pytest.raises(RunError):
        fragile(make(), str(marker))
    before = files(tmp_path / "store")
    assert any("/marks/" in name for name in before)
    clean(Store(str(tmp_path / "store")))
    assert files(tmp_path / "store") == before
    marker.unlink()
    with make_run() as run:
        fragile(make(), str(marker))
        assert run.record.stages[-1].partitions_reused == 1
