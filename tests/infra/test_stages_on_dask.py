"""Stages on real worker processes: the same digests, whatever the workers go through."""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from plumbing_workload import Numbers, Piece, Scaled, burn, count_slowly, double, kill_once, make_numbers

from assay.infra.engines.calls import Engine
from assay.infra.engines.opening import open_engine
from assay.infra.errors import InputError, RunError
from assay.infra.settings import Compute
from assay.infra.stages.partitions import collect, map_partitions, map_pieces, reduce_partitions
from assay.infra.stages.runs import Run
from assay.infra.stages.stage import stage, write_table
from assay.infra.stages.steps import on_workers
from assay.infra.storage.artifacts import Artifact, Part
from assay.infra.storage.store import Store
from assay.infra.terminal import Progress

pytestmark = pytest.mark.xdist_group("dask")


class Kept:
    """An engine that outlives the runs of a test module: starting workers takes seconds."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def __getattr__(self, name: str) -> object:
        return getattr(self._engine, name)

    def close(self) -> None:
        """Not yet."""


@pytest.fixture(scope="module")
def two_workers() -> Iterator[Engine]:
    with open_engine(Compute(workers=2, gpu_workers=0)) as engine:
        yield engine


@pytest.fixture(scope="module")
def plain_and_gpu() -> Iterator[Engine]:
    with open_engine(Compute(workers=1, gpu_workers=1)) as engine:
        yield engine


@pytest.fixture
def run_on(tmp_path: Path) -> Callable[..., Run]:
    def make(engine: Engine, store: str = "store", **compute: object) -> Run:
        opened = Store(str(tmp_path / store)).open()
        return Run("test", opened, lambda: Kept(engine), Progress(), compute=Compute(**compute))

    return make


@stage(version=1)
def make(rows: int, pieces: int) -> Artifact[Numbers]:
    step = -(-rows // pieces)
    return map_pieces(make_numbers, [Piece(at, min(rows, at + step)) for at in range(0, rows, step)], into=Numbers)


@stage(version=1)
def fragile(numbers: Artifact[Numbers], marker: str) -> Artifact[Scaled]:
    return map_partitions(kill_once, numbers, into=Scaled, marker=marker)


@stage(version=1)
def plain(numbers: Artifact[Numbers]) -> Artifact[Scaled]:
    return map_partitions(double, numbers, into=Scaled, factor=2)


@stage(version=1, gpu=True)
def on_gpu(numbers: Artifact[Numbers]) -> Artifact[Scaled]:
    return map_partitions(double, numbers, into=Scaled, factor=2)


def parts(run: Run, artifact: Artifact[Scaled]) -> tuple[Part, ...]:
    return run.store.output(artifact).parts


def test_workers_and_this_process_give_the_same_digest(two_workers, run_on, make_run):
    with run_on(two_workers) as run:
        distributed = plain(make(40, 8))
        assert len({part.worker for part in parts(run, distributed)}) == 2
    with make_run() as run:
        serial = plain(make(40, 5))
    assert distributed.digest == serial.digest


def test_a_worker_killed_in_the_middle_of_a_stage_changes_nothing(two_workers, run_on, tmp_path):
    with run_on(two_workers) as run:
        numbers = make(20, 10)
        expected = plain(numbers)
        marker = tmp_path / "killed"
        survived = fragile(numbers, str(marker))
        assert marker.exists()
        assert survived.digest == expected.digest
        assert run.record.stages[-1].partitions_computed == 10


def test_gpu_partitions_run_on_the_gpu_worker_and_no_others_do(plain_and_gpu, run_on):
    with run_on(plain_and_gpu) as run:
        numbers = make(24, 12)
        there, elsewhere = parts(run, on_gpu(numbers)), parts(run, plain(numbers))
        made = parts(run, numbers)
    assert {part.device for part in there} == {"gpu"}
    assert {part.device for part in (*elsewhere, *made)} == {"cpu"}
    assert {part.worker for part in there}.isdisjoint(part.worker for part in (*elsewhere, *made))


def test_no_gpu_and_required_is_refused_before_anything_is_written(run_on):
    with (
        open_engine(Compute(workers=1, gpu_workers=0, gpu="required")) as engine,
        run_on(engine, gpu="required") as run,
    ):
        numbers = make(4, 2)
        with pytest.raises(InputError, match="assay worker"):
            on_gpu(numbers)
        assert [record.title for record in run.record.stages] == ["make"]


@stage(version=1)
def burnt(names: list[str], folder: str) -> Artifact[Numbers]:
    found = on_workers(burn, [0.2] * len(names), names, folder=folder)
    table = pa.table({"id": found, "x": pa.array(range(len(found)), pa.int64())})
    return write_table(table, into=Numbers)


def test_what_is_no_partitions_is_computed_on_workers_and_counts_as_the_stages(run_on, two_workers, tmp_path):
    names = ["b", "a", "c", "d"]
    with run_on(two_workers) as run:
        result = burnt(names, str(tmp_path))
        assert collect(result, None)["id"].to_pylist() == names
    assert str(os.getpid()) not in {(tmp_path / name).read_text() for name in names}
    assert run.record.stages[0].cost["cpu"] > 0.2 * len(names)


@stage(version=1)
def counted(numbers: Artifact[Numbers], folder: str) -> Artifact[Numbers]:
    rows = reduce_partitions(count_slowly, numbers, folder=folder)
    return write_table(pa.table({"id": ["rows"], "x": [rows]}), into=Numbers)


def test_what_is_counted_on_workers_counts_as_the_stages(run_on, two_workers, tmp_path):
    with run_on(two_workers) as run:
        assert collect(counted(make(40, 4), str(tmp_path)), None)["x"].to_pylist() == [40]
    made = run.record.stages[1]
    assert made.cost["cpu"] > 0.2 * 4
    assert 0.2 <= run.store.manifest(made.stage, made.key).least_seconds < 0.2 * 4


@pytest.mark.parametrize(
    ("name", "error", "sentence"),
    [("input", InputError, "row 3 is wrong"), ("bug", RunError, "burnt, call 2 failed for good: ValueError: boom")],
)
def test_a_call_on_workers_that_fails_ends_its_stage_in_words(run_on, two_workers, tmp_path, name, error, sentence):
    with run_on(two_workers), pytest.raises(error, match=sentence):
        burnt(["a", name], str(tmp_path))
