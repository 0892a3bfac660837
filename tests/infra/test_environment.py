"""The environment that heavy libraries start in, and what a key says of how MKL computes."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
import torch

from assay.infra.storage.keys import processor_here

_PROCESSOR = "from assay.infra.storage.keys import processor_here; print(processor_here())"
_PREPARED = "from assay.infra.environment import prepare_environment; prepare_environment(); "
_STRICT = "import os; os.environ['MKL_CBWR'] = 'AUTO,STRICT'; "
_COMPUTED = "import torch; torch.rand(64, 64) @ torch.rand(64, 64); "


def _printed(code: str) -> str:
    """What another process prints, to which nobody has said how to compute."""
    bare = {name: value for name, value in os.environ.items() if name != "MKL_CBWR"}
    done = subprocess.run([sys.executable, "-c", code], env=bare, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.mark.parametrize("before", ["", _PREPARED, _PREPARED + _COMPUTED])
def test_a_plan_and_a_run_name_the_processor_alike_whoever_prepared_the_environment(before: str) -> None:
    assert _printed(before + _PROCESSOR) == processor_here()


@pytest.mark.skipif(not torch.backends.mkl.is_available(), reason="this Torch computes without MKL")
def test_a_process_that_multiplied_before_the_environment_was_prepared_does_not_call_itself_strict() -> None:
    assert _printed(_STRICT + _COMPUTED + _PROCESSOR).endswith("AUTO,STRICT")
    assert not _printed(_COMPUTED + _STRICT + _PROCESSOR).endswith("STRICT")
