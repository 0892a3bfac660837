"""A training survives its worker and its run, and gives what it would have given undisturbed."""

from itertools import pairwise
from types import SimpleNamespace
from typing import NamedTuple

import pyarrow as pa
import pytest
from plumbing_workload import Numbers, Piece, Scaled, Weights, double, make_numbers
from training_workload import STEPS, Steps, learn, seen_beside

from assay.infra.engines.opening import open_engine
from assay.infra.errors import RunError
from assay.infra.settings import Compute
from assay.infra.stages import trainings
from assay.infra.stages.partitions import collect, map_partitions, map_pieces, read_files
from assay.infra.stages.runs import Run
from assay.infra.stages.stage import stage
from assay.infra.stages.trainings import Checkpoints, train_on_worker
from assay.infra.storage.artifacts import Artifact
from assay.infra.storage.store import Store
from assay.infra.terminal import Progress, ShownStage


class Learned(NamedTuple):
    files: Artifact[Weights]
    curve: Artifact[Steps]


@stage(version=1)
def numbers(cut: list[int]) -> Artifact[Numbers]:
    return map_pieces(make_numbers, [Piece(a, b) for a, b in pairwise([0, *cut])], into=Numbers)


@stage(version=1)
def train(samples: Artifact[Numbers], marker: str, how: str) -> Learned:
    # The marker is an argument, so an undisturbed training has another key than a disturbed one.
    return Learned(*train_on_worker(learn, samples, into=Weights, curve=Steps, factor=3, marker=marker, how=how))


@stage(version=1)
def train_without_a_curve(samples: Artifact[Numbers]) -> Artifact[Weights]:
    return train_on_worker(learn, samples, into=Weights, factor=3)


def steps_taken(run, learned: Learned) -> list[int]:
    return collect(learned.curve, None)["state"].to_pylist()


def test_a_training_sees_all_rows_in_order_and_gives_files_and_a_curve(run):
    learned = train(numbers([2, 3, 6]), "", "")
    states = [1 * 3 + 15]
    for _ in range(STEPS - 1):
        states.append(states[-1] * 3 + 15)
    assert steps_taken(run, learned) == states
    assert read_files(learned.files) == {"model": str(states[-1]).encode()}


def test_checkpoints_are_gone_once_the_stage_is_committed(run):
    learned = train(numbers([6]), "", "")
    assert (
        run.store.folder.sizes(learned.files.uri.removeprefix(f"{run.store.url}/").rsplit("/", 1)[0] + "/marks") == {}
    )


def test_an_interrupted_run_goes_on_where_it_was_and_gives_the_same(make_run, tmp_path):
    notices = []
    marker = tmp_path / "marker"
    with make_run() as run, pytest.raises(KeyboardInterrupt):
        train(numbers([6]), str(marker), "interrupt")
    with make_run() as run:
        run.progress.notice = notices.append
        learned = train(numbers([6]), str(marker), "interrupt")
        undisturbed = train(numbers([6]), "", "")
    assert learned.files.digest == undisturbed.files.digest
    assert learned.curve.digest == undisturbed.curve.digest
    assert notices == ["The train goes on after step 2, where it was interrupted."]


def test_a_fresh_run_begins_anew(make_run, tmp_path):
    marker = tmp_path / "marker"
    with make_run(), pytest.raises(KeyboardInterrupt):
        train(numbers([6]), str(marker), "interrupt")
    marker.unlink()
    with make_run(fresh=True), pytest.raises(KeyboardInterrupt):
        train(numbers([6]), str(marker), "interrupt")
    assert marker.read_text() == "2"


def test_a_step_that_fails_is_tried_again_from_the_last_checkpoint(run, tmp_path):
    marker = tmp_path / "marker"
    assert steps_taken(run, train(numbers([6]), str(marker), "raise")) == steps_taken(run, train(numbers([6]), "", ""))


def test_a_table_that_nobody_announced_is_an_error(run):
    with pytest.raises(RunError, match="a table beside its files"):
        train_without_a_curve(numbers([6]))


@pytest.mark.xdist_group("dask")
def test_a_worker_killed_in_the_middle_of_a_training_changes_nothing_and_the_bar_moves(tmp_path):
    seen: list[tuple[int, int]] = []

    class Watching(Progress):
        def advance(self, stage: ShownStage, done: int, total: int) -> None:
            seen.append((done, total))
            if (done, total) == (2, STEPS):
                seen_beside(str(marker)).touch()

    settings = Compute(workers=1, gpu_workers=0)
    store = Store(str(tmp_path / "store")).open()
    marker = tmp_path / "marker"
    with Run("test", store, lambda: open_engine(settings), Watching(), compute=settings):
        samples = numbers([3, 6])
        killed = train(samples, str(marker), "kill")
        undisturbed = train(samples, "", "")
    assert marker.exists()
    assert (killed.files.digest, killed.curve.digest) == (undisturbed.files.digest, undisturbed.curve.digest)
    assert (2, STEPS) in seen  # while the worker was being replaced, people saw how far it was


def test_the_bar_hears_of_epochs_without_a_checkpoint_as_often_as_it_looks(tmp_path, monkeypatch):
    clock = [100.0]
    monkeypatch.setattr(trainings, "time", SimpleNamespace(monotonic=lambda: clock[0]))
    checkpoints, seen = Checkpoints(str(tmp_path), "marks/training"), []
    for epoch in range(1, 7):
        clock[0] += 0.2
        checkpoints.reached(epoch, 20)
        seen.append(checkpoints.progress())
    assert seen == [(1, 20), (1, 20), (1, 20), (4, 20), (4, 20), (4, 20)]
    checkpoints.save(7, 20, {})
    assert (checkpoints.progress(), checkpoints.last_step()) == ((7, 20), 7)


def test_a_damaged_checkpoint_is_passed_over_for_the_one_before(tmp_path):
    checkpoints = Checkpoints(str(tmp_path), "stages/s/k/marks/training")
    for step in (1, 2, 3):
        checkpoints.save(step, 5, {"state": b"state %d" % step})
    assert checkpoints.latest() == (3, {"state": b"state 3"})
    (tmp_path / "stages/s/k/marks/training/step-000003/state").write_bytes(b"state")
    assert checkpoints.latest() == (2, {"state": b"state 2"})
    assert not (tmp_path / "stages/s/k/marks/training/step-000001").exists()
    assert checkpoints.progress() == (3, 5)


@pytest.mark.parametrize("rows", [1, 2, 4, 7])
def test_inputs_are_cut_anew_into_partitions_of_at_most_so_many_rows(run, rows):
    @stage(version=1)
    def sums(left: Artifact[Numbers], right: Artifact[Numbers]) -> Artifact[Scaled]:
        return map_partitions(beside_each_other, left, right, into=Scaled, rows=rows)

    made = sums(numbers([3, 4, 6]), numbers([1, 6]))
    assert made.partitions == -(-6 // rows)
    assert collect(made, None)["x"].to_pylist() == [0, 2, 4, 6, 8, 10]
    sizes = [part.files[0].rows for part in run.store.output(made).parts]
    assert max(sizes) <= rows
    assert max(sizes) - min(sizes) <= 1


def test_nothing_at_all_is_one_empty_partition(run):
    @stage(version=1)
    def none_left(samples: Artifact[Numbers]) -> Artifact[Scaled]:
        return map_partitions(double, map_partitions(no_rows, samples, into=Numbers), into=Scaled, rows=2, factor=2)

    assert (none_left(numbers([3, 6])).rows, none_left(numbers([3, 6])).partitions) == (0, 1)


def beside_each_other(left: pa.Table, right: pa.Table) -> pa.Table:
    import pyarrow.compute as pc

    assert left["id"].to_pylist() == right["id"].to_pylist()
    return left.set_column(1, "x", pc.add(left["x"], right["x"]))


def no_rows(table: pa.Table) -> pa.Table:
    return table.slice(0, 0)
