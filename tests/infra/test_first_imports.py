"""What workers import before their first call, and that no stage is charged for what it only waits for."""

import subprocess
import sys
import time
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import pytest
from plumbing_workload import Numbers, Piece, make_numbers

from assay.flows import running
from assay.flows.configuration.loading import load_project
from assay.flows.running import libraries_of
from assay.infra.engines.calls import Call, Engine
from assay.infra.engines.opening import open_engine
from assay.infra.settings import Compute
from assay.infra.stages.partitions import map_pieces
from assay.infra.stages.runs import Run
from assay.infra.stages.stage import stage
from assay.infra.storage.artifacts import Artifact
from assay.infra.storage.store import Store
from assay.infra.terminal import Progress

PIPELINES = Path(__file__).parents[2] / "pipelines.yaml"
RARE = "wave"  # nothing else imports sounds


@stage(version=1)
def make(rows: int) -> Artifact[Numbers]:
    return map_pieces(make_numbers, [Piece(0, rows)], into=Numbers)


def has_imported(engine: Engine, name: str) -> bool:
    (outcome,) = engine.run([Call(0, "looking", eval, (f"{name!r} in __import__('sys').modules",))])
    assert outcome.error is None
    return bool(outcome.value)


@pytest.mark.xdist_group("dask")
def test_workers_import_before_their_first_call_what_they_are_told() -> None:
    with open_engine(Compute(workers=1, gpu_workers=0)) as engine:
        assert not has_imported(engine, RARE)
    # These are forks of the same process, which was told nothing of it.
    with open_engine(Compute(workers=1, gpu_workers=0), libraries=["nobody_has_this", RARE]) as engine:
        assert has_imported(engine, RARE)


def test_what_a_process_reads_before_its_environment_is_set_imports_no_arrow() -> None:
    """Its allocator is chosen when Arrow is first imported, and the workers' is that of the C library."""
    ask = "import assay.infra.engines.dask_processes, sys; print('pyarrow' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True).stdout == "False\n"


def test_who_conducts_a_night_of_images_or_texts_imports_no_pytorch() -> None:
    """Workers compute with it; where there are some, the flow's process is spared a second and 180 MB."""
    kinds = ("images", "images_inside", "texts", "terms", "trust", "overfitting")
    flows = ", ".join(f"assay.flows.audits.{kind}_flow" for kind in kinds)
    ask = f"import sys, {flows}, assay.flows.report.run_page; print('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", ask], capture_output=True, text=True, check=True).stdout == "False\n"


@pytest.mark.parametrize(
    ("name", "libraries"),
    [
        ("breast-cancer", ("snorkel.labeling.model",)),
        ("digits", ("torch", "torch._dynamo")),
        ("reviews", ("torch", "torch._dynamo")),
    ],
)
def test_audits_say_what_their_workers_will_need(name: str, libraries: tuple[str, ...]) -> None:
    project = load_project(PIPELINES, pipeline=name)
    reader, *wanted = libraries_of(project.pipelines[name])
    assert import_module(reader).prepare
    assert tuple(wanted) == libraries


@pytest.mark.parametrize(
    ("expected", "wanted"), [({}, 2), ({"stages": {}, "unknown": ["label"]}, 2), ({"stages": {}, "unknown": []}, 0)]
)
def test_where_nothing_is_left_to_compute_workers_import_nothing_first(
    expected: dict[str, object], wanted: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such a night only asks a model of somebody's own again about a few samples."""
    told: list[Sequence[str]] = []
    monkeypatch.setattr(running, "engine_of", lambda project, progress, libraries: told.append(libraries))
    project = load_project(PIPELINES, pipeline="breast-cancer", store=str(tmp_path))
    pipeline, store = project.pipeline("breast-cancer"), Store(project.store).open()
    with running._open_run(project, pipeline, store, expected, 0, orchestrated=False):
        pass
    assert [len(libraries) for libraries in told] == [wanted]


def test_the_first_stage_waits_for_workers_and_is_not_charged_for_it(tmp_path: Path, monkeypatch) -> None:
    """By a clock that only goes on while the engine starts: how busy the machine is says nothing."""
    settings, slow, now = Compute(engine="serial"), 0.5, [0.0]
    clock = SimpleNamespace(perf_counter=lambda: now[0], thread_time=time.thread_time)
    monkeypatch.setattr("assay.infra.stages.stage.time", clock)
    monkeypatch.setattr(Run, "warm_up", lambda _: None)  # in the background the engine may be there before it is asked

    def started_late() -> Engine:
        now[0] += slow
        return open_engine(settings)

    with Run("test", Store(str(tmp_path)).open(), started_late, Progress(), compute=settings) as run:
        make(10)
        make(20)
    first, second = run.record.stages
    assert (first.cost["waited"], second.cost["waited"]) == (slow, 0.0)
    assert (first.seconds, first.worked) == (slow, 0.0)
