"""Keys know the versions and the device that numbers depend on; on a GPU every operation is deterministic if it can."""

import os
import subprocess
import sys
from types import SimpleNamespace

import pytest
import torch

from assay.infra.engines.devices import deterministic_torch, deterministically
from assay.infra.stages import runs
from assay.infra.stages.stage import stage
from assay.infra.storage import keys as storage_keys
from assay.infra.storage.keys import numeric_profile, package_versions

H200 = {"gpu": "NVIDIA H200", "cuda": "12.8", "cudnn": "91002", "tf32": "convolutions"}


@stage(version=1, gpu=True)
def looks(value: int) -> None:
    """A stage that would like a GPU."""


def test_the_version_of_pillow_is_in_every_key_and_in_every_manifest():
    assert numeric_profile()["pillow"] == package_versions()["pillow"] != "absent"


def test_the_versions_of_a_stages_own_libraries_are_in_its_key_alone(make_run, monkeypatch):
    @stage(version=1)
    def counts() -> None:
        """A stage that needs no library."""

    @stage(version=1, libraries=["gensim"])
    def embeds() -> None:
        """A stage whose numbers gensim makes."""

    keys = []
    for version in ("4.4.0", "4.5.0"):
        monkeypatch.setattr(storage_keys, "package_versions", lambda version=version: {"gensim": version})
        with make_run():
            keys.append((counts.key((), {}), embeds.key((), {})))
    assert keys[0][0] == keys[1][0]
    assert keys[0][1] != keys[1][1]


def test_a_stage_on_a_gpu_has_the_device_and_its_libraries_in_its_key(make_run, monkeypatch):
    keys = []
    for found in (H200, H200 | {"gpu": "NVIDIA L4"}, H200 | {"cudnn": "90000"}, H200):
        monkeypatch.setattr(runs, "accelerator_here", lambda found=found: found)
        with make_run(gpu_workers=1):
            keys.append(looks.key((1,), {}))
    assert keys[0] == keys[3]
    assert len(set(keys)) == 3
    with make_run(gpu_workers=1) as run:
        assert looks.ingredients(run, (1,), {})["profile"].items() >= (H200 | {"device": "gpu"}).items()


def test_a_stage_on_a_processor_asks_no_gpu(make_run, monkeypatch):
    monkeypatch.setattr(runs, "accelerator_here", lambda: pytest.fail("asked"))
    with make_run(gpu="never") as run:
        assert looks.ingredients(run, (1,), {})["profile"]["device"] == "cpu"


def modes() -> tuple[bool, bool]:
    return torch.are_deterministic_algorithms_enabled(), torch.is_deterministic_algorithms_warn_only_enabled()


def test_algorithms_are_deterministic_inside_and_as_before_outside():
    with pytest.raises(KeyError), deterministic_torch("cuda"):
        raise KeyError(modes())
    with deterministic_torch("cuda"):
        assert modes() == (True, False)
    assert modes() == (False, False)
    with deterministic_torch("cpu"):
        assert modes() == (False, False)


def test_an_operation_without_a_deterministic_version_is_named_and_the_work_still_done():
    seen = []

    def work() -> str:
        seen.append(modes())
        if not modes()[1]:
            raise RuntimeError("roll_backward_cuda does not have a deterministic implementation, but you set …")
        return "done"

    with pytest.warns(UserWarning, match="roll_backward_cuda has no deterministic version on a GPU"):
        assert deterministically(work, "cuda") == "done"
    assert seen == [(True, False), (True, True)]
    assert modes() == (False, False)


def test_any_other_fault_is_raised_as_it_is():
    def work() -> None:
        raise RuntimeError("CUDA out of memory")

    with pytest.raises(RuntimeError, match="out of memory"):
        deterministically(work, "cuda")


def test_a_gpu_slot_settles_what_a_workers_environment_might(monkeypatch):
    from assay.infra.engines import devices

    monkeypatch.setattr(devices, "slot_here", lambda: "GPU")
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.backends, "cudnn", cudnn := SimpleNamespace(benchmark=True, allow_tf32=False))
    variable = "CUBLAS_WORKSPACE_CONFIG"
    monkeypatch.delenv(variable, raising=False)
    asked = []
    monkeypatch.setattr(torch, "ones", lambda *_size, device: asked.append((device, os.environ[variable])))
    monkeypatch.setattr(torch, "addmm", lambda *_given: None)
    devices._begin_cublas.cache_clear()
    assert devices.torch_device_here() == "cuda"
    assert devices.torch_device_here() == "cuda"
    assert (cudnn.benchmark, cudnn.deterministic, cudnn.allow_tf32) == (False, True, True)
    assert asked == [("cuda", ":4096:8")], "the first product is made under it"
    assert variable not in os.environ, "Torch would parse it at every product"


SWAPS_ITSELF = """
import sys, time, types
time.sleep(1)
whole = types.ModuleType(__name__)
whole.__spec__, whole.AutoModel = __spec__, "a model"
sys.modules[__name__] = whole
"""
TWO_THREADS = """
import time
from concurrent.futures import ThreadPoolExecutor
from assay.infra.engines.devices import declare_image_operators, transformers_library
declare_image_operators()
with ThreadPoolExecutor(2) as threads:
    first = threads.submit(transformers_library)
    time.sleep(0.3)
    second = threads.submit(transformers_library)
    print(first.result().AutoModel, second.result().AutoModel, sep=", ")
"""


def test_two_threads_that_import_transformers_at_once_both_get_all_of_it(tmp_path):
    (tmp_path / "transformers.py").write_text(SWAPS_ITSELF)
    path = os.pathsep.join([str(tmp_path), *sys.path])
    asked = [sys.executable, "-c", TWO_THREADS]
    ended = subprocess.run(asked, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, check=True)
    assert ended.stdout == "a model, a model\n"
