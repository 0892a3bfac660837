"""The engine in this process behaves as the others do; and where work goes is decided before it starts."""

import platform
from pathlib import Path

import pytest

from assay.infra.engines import devices as gpus
from assay.infra.engines.calls import Call, Slots
from assay.infra.engines.devices import Notices, route
from assay.infra.engines.opening import open_engine
from assay.infra.errors import InputError
from assay.infra.settings import Compute
from assay.infra.storage.keys import maker
from tests.infra import compute_calls as does


def calls(function: object, count: int, *args: object) -> list[Call]:
    return [Call(n, f"partition {n + 1} of {count}", function, (n, *args)) for n in range(count)]


def test_calls_run_in_order_and_only_when_asked_for() -> None:
    pulled: list[int] = []
    lazily = (pulled.append(call.index) or call for call in calls(does.square, 3))
    with open_engine(Compute(engine="serial")) as engine:
        outcomes = engine.run(lazily)
        assert next(outcomes).value == 0
        assert pulled == [0]
        assert [(o.index, o.value, o.worker) for o in outcomes] == [(1, 1, "this process"), (2, 4, "this process")]


def test_failures_are_retried_and_reported(tmp_path: Path) -> None:
    with open_engine(Compute(engine="serial", retries=2)) as engine:
        [passing] = engine.run(calls(does.succeed_at_third_try, 1, str(tmp_path)))
        assert (passing.value, len(list(tmp_path.iterdir()))) == (0, 3)
        [failing] = engine.run(calls(does.fail, 1, str(tmp_path)))
        assert (str(failing.error), len(list(tmp_path.iterdir()))) == ("the disk is elsewhere", 6)
        [leaving] = engine.run(calls(does.leave, 1))
        assert isinstance(leaving.error, InputError)
        assert "tried to end its process (exit 0)" in str(leaving.error)


def test_wrong_input_is_not_tried_again(tmp_path: Path) -> None:
    with open_engine(Compute(engine="serial")) as engine:
        [outcome] = engine.run(calls(does.refuse, 1, str(tmp_path)))
    assert isinstance(outcome.error, InputError)
    assert len(list(tmp_path.iterdir())) == 1


def test_fold_names_what_failed() -> None:
    done: list[int] = []
    with open_engine(Compute(engine="serial", retries=0)) as engine:
        folded = engine.fold(calls(does.fail_for, 4, 2, "two"), does.add, done=done.append)
        assert folded.value == 0 + 1 + 3
        assert [outcome.index for outcome in folded.failed] == [2]
        assert done == [1, 2, 3, 4]
        assert engine.fold([], does.add).value is None


def test_a_processor_is_named_with_its_instructions_and_its_maker() -> None:
    with open_engine(Compute(engine="serial", gpu="never")) as engine:
        architecture, widest, maker = engine.processor().split(" ", 2)
    assert architecture == platform.machine()
    assert widest.isupper() or widest == "baseline"
    assert maker  # two with the same instructions round differently


EPYC = "processor : 0\nvendor_id : AuthenticAMD\ncpu family : 26\nmodel : 2\nmodel name : AMD EPYC\n\nprocessor : 1\n"


def test_processors_of_one_maker_with_the_same_instructions_are_told_apart() -> None:
    assert maker(EPYC) == "AuthenticAMD 26.2"
    assert maker(EPYC.replace("26", "25")) == "AuthenticAMD 25.2"
    assert maker("processor : 0\nCPU implementer : 0x41\nCPU part : 0xd40\n") == "0x41 0xd40"


@pytest.mark.parametrize(
    ("gpu", "policy", "there", "slot"),
    [
        (False, "required", 0, "CPU"),
        (False, "preferred", 2, "CPU"),
        (True, "preferred", 2, "GPU"),
        (True, "preferred", 0, "CPU"),
        (True, "required", 1, "GPU"),
        (True, "never", 2, "CPU"),
    ],
)
def test_route(gpu: bool, policy: str, there: int, slot: str) -> None:
    settings = Compute.model_validate({"gpu": policy})
    assert route(gpu, settings, Slots(cpu=2, gpu=there), Notices(lambda _: None)) == slot


@pytest.mark.parametrize(
    ("engine", "way_out"),
    [
        ("local", r"nvidia-smi.*gpu: preferred"),
        ("tls://cluster:8786", r"assay worker --gpu tls://cluster:8786"),
        ("dask_kubernetes.operator.KubeCluster", r"no worker of dask_kubernetes.operator.KubeCluster offers a GPU"),
    ],
)
def test_a_required_gpu_that_is_missing_says_what_to_start(engine: str, way_out: str) -> None:
    with pytest.raises(InputError, match=way_out):
        route(True, Compute(gpu="required", engine=engine), Slots(cpu=2, gpu=0), Notices(lambda _: None))


def test_devices_are_those_that_this_process_may_see(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text("#!/bin/sh\necho 'GPU 0: A (UUID: GPU-a)'\necho 'GPU 1: A (UUID: GPU-b)'\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert gpus.cuda_devices() == ["0", "1"]
    for visible, devices in {"1": ["1"], "1,0": ["1", "0"], "": [], "-1": [], "0,-1,1": ["0"]}.items():
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", visible)
        assert gpus.cuda_devices() == devices
    program.write_text("#!/bin/sh\necho 'NVIDIA-SMI has failed'\nexit 9\n")
    assert gpus.cuda_devices() == []


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"engine": "locl"}, "there is no such engine.*did you mean local"),
        ({"engine": "local", "options": {"n": 1}}, "options are arguments of a Dask cluster class"),
        ({"workers": 0, "gpu_workers": 0}, "leaves nobody to do the work"),
        ({"memory": "plenty"}, "memory"),
        ({"partitions": 0}, "partitions"),
    ],
)
def test_impossible_settings_are_refused(settings: dict[str, object], sentence: str) -> None:
    with pytest.raises(ValueError, match=sentence):
        Compute(**settings)
