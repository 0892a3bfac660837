"""What `fresh` makes of a result that comes out otherwise: it replaces the earlier one, which stays readable."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest
from plumbing_workload import Numbers

from assay.infra.errors import RunError
from assay.infra.stages.partitions import collect
from assay.infra.stages.stage import stage, write_table
from assay.infra.storage.artifacts import Artifact
from assay.infra.storage.store import Store
from assay.infra.storage.sweep import clean

CALLS: list[str] = []


@stage(version=1, title="look outside")
def look_outside(path: str) -> Artifact[Numbers]:
    CALLS.append(path)
    values = [int(word) for word in Path(path).read_text().split()]
    return write_table(pa.table({"id": [f"{at}" for at in range(len(values))], "x": values}), into=Numbers)


def values(artifact: Artifact[Numbers]) -> list[int]:
    return collect(artifact, ["x"])["x"].to_pylist()


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    CALLS.clear()
    path = tmp_path / "outside.txt"
    path.write_text("1 2")
    return path


def test_fresh_replaces_what_comes_out_otherwise_and_later_runs_take_the_new_one(make_run, outside):
    with make_run():
        old = look_outside(str(outside))
    outside.write_text("3 4")
    with make_run(fresh=True) as run:
        new = look_outside(str(outside))
        assert values(new) == [3, 4]
        assert [text for text in run.record.notices if "another" in text] != []
    with make_run() as run:
        assert look_outside(str(outside)) == new
        assert values(old) == [1, 2]
        assert run.record.notices == []
    assert len(CALLS) == 2


def test_fresh_that_comes_out_the_same_leaves_nothing_behind(make_run, outside, tmp_path):
    with make_run():
        old = look_outside(str(outside))
    before = {path for path in (tmp_path / "store" / "stages").rglob("*") if path.is_file()}
    with make_run(fresh=True) as run:
        assert look_outside(str(outside)) == old
        assert look_outside(str(outside)) == old
        assert run.record.notices == []
    assert {path for path in (tmp_path / "store" / "stages").rglob("*") if path.is_file()} == before
    assert len(CALLS) == 3


def test_what_differs_is_computed_once_in_a_fresh_run(make_run, outside):
    with make_run():
        look_outside(str(outside))
    outside.write_text("5")
    with make_run(fresh=True):
        assert look_outside(str(outside)) == look_outside(str(outside))
    outside.write_text("6")
    with make_run(fresh=True):
        assert values(look_outside(str(outside))) == [6]
    with make_run():
        assert values(look_outside(str(outside))) == [6]


def test_a_clean_up_keeps_what_stands_for_others_and_forgets_what_stands_for_nothing(make_run, outside, tmp_path):
    with make_run():
        look_outside(str(outside))
    outside.write_text("7")
    with make_run(fresh=True):
        look_outside(str(outside))
    store = Store(str(tmp_path / "store"))
    clean(store, keep=1)
    with make_run():
        assert values(look_outside(str(outside))) == [7]
    assert len(CALLS) == 2
    clean(store, keep=0)
    assert store.folder.sizes("successors") == {}


def test_two_runs_that_disagree_are_told_how_to_go_on(make_run, outside):
    with make_run() as run:
        look_outside(str(outside))
        manifest = run.store.manifest("look_outside", look_outside.key((str(outside),), {}))
    outside.write_text("8")
    with make_run(store=str(outside.parent / "other")) as run:
        look_outside(str(outside))
        other = run.store.manifest("look_outside", look_outside.key((str(outside),), {}))
    with pytest.raises(RunError, match="--fresh to replace"):
        Store(str(outside.parent / "store")).commit(other)
    assert manifest is not None
