"""Machines of two makes that compute the same bits share a store where the profile is portable, and only there."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable

import pyarrow as pa
import pytest

from assay.data.schemas import Classes
from assay.infra.engines.opening import open_engine
from assay.infra.settings import Compute
from assay.infra.stages.runs import Run
from assay.infra.stages.stage import stage, write_table
from assay.infra.storage import keys
from assay.infra.storage.artifacts import Artifact

HASH = "from assay.infra.storage.kernels import kernel_bits; print(kernel_bits())"


def bits(**variables: str) -> str:
    ran = subprocess.run(
        [sys.executable, "-c", HASH], env=os.environ | variables, capture_output=True, text=True, check=True
    )
    return ran.stdout.strip()


def test_the_bits_are_those_of_the_processor_and_not_of_the_process() -> None:
    here = bits(OMP_NUM_THREADS="1")
    assert here == bits(OMP_NUM_THREADS="2")
    assert here != bits(ATEN_CPU_CAPABILITY="default", ONEDNN_MAX_CPU_ISA="SSE41")  # as an older processor has it


@stage(version=1, title="one number")
def one_number(number: int) -> Artifact[Classes]:
    return write_table(pa.table({"code": [number], "name": ["x"]}, schema=Classes.schema), into=Classes)


@pytest.mark.parametrize(("profile", "taken"), [("strict", False), ("portable", True)])
def test_a_result_of_another_make_is_taken_where_it_computes_the_same_bits(
    make_run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch, profile: str, taken: bool
) -> None:
    with make_run(profile=profile) as run:
        one_number(1)
    named = run.store.manifest("one_number", run.record.stages[0].key).ingredients["profile"]["processor"]
    assert named.startswith("portable ") == (profile == "portable")
    monkeypatch.setattr(keys, "processor_here", lambda: "x86_64 AVX2 AnotherMaker 1.1")
    keys.numeric_profile.cache_clear()
    try:
        with make_run(profile=profile) as again:
            one_number(1)
    finally:
        keys.numeric_profile.cache_clear()
    assert again.record.stages[0].cached == taken


def test_one_that_computes_other_bits_is_another_processor(
    make_run: Callable[..., Run], monkeypatch: pytest.MonkeyPatch
) -> None:
    with make_run(profile="portable"):
        one_number(1)
    monkeypatch.setattr(keys, "kernel_bits", lambda: "0123456789ab")
    keys.numeric_profile.cache_clear()
    try:
        with make_run(profile="portable") as again:
            one_number(1)
    finally:
        keys.numeric_profile.cache_clear()
    assert not again.record.stages[0].cached


def test_workers_say_their_bits() -> None:
    with open_engine(Compute(engine="local", workers=1, gpu="never", profile="portable")) as engine:
        assert engine.processor("portable") == keys.processor_of("portable")
