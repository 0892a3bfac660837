"""The benchmarks: each can be called by name, and each claim is a line that says what it compares."""

import importlib
import importlib.util
import json
import subprocess
import sys
from collections import Counter
from types import ModuleType

import pytest
from repository import ROOT


def loaded(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"benchmarks_{name}", ROOT / "benchmarks" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_claim_gives_medians_and_the_ratio_of_neighbours():
    line = loaded("claims").claim("sums", [1.0, 2.0, 4.0], [4.0, 2.0, 40.0], unit="s", rows=7)
    assert (line["ours"], line["peer"], line["ratio"], line["ratio_spread"]) == (2.0, 4.0, 4.0, [1.0, 10.0])
    assert (line["unit"], line["repeats"], line["rows"]) == ("s", 3, 7)


def test_without_a_peer_there_is_no_ratio():
    line = loaded("claims").claim("start", [1.0], unit="s")
    assert line["peer"] is line["ratio"] is line["ratio_spread"] is None


def test_every_benchmark_is_a_script_and_an_unknown_one_is_refused_by_name():
    assert all((ROOT / "benchmarks" / f"{name}.py").exists() for name in loaded("__main__").NAMES)
    asked = subprocess.run([sys.executable, "-m", "benchmarks", "majoriti"], cwd=ROOT, capture_output=True, text=True)
    assert asked.returncode == 2
    assert "there is no benchmark 'majoriti'; there are how_finely_cut, house, " in asked.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", loaded("__main__").NAMES)
def test_every_benchmark_runs_small_and_tells_its_claims(name):
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", name, "--quick"], cwd=ROOT, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    assert lines
    for line in lines:
        assert {"name", "ours", "peer", "ratio", "ratio_spread", "unit", "repeats"} <= line.keys()
        assert line["ours"] > 0
        assert line.get("digests_equal", True)


def test_five_runs_tell_what_is_asked_once_and_what_for_every_partition_and_range(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    asked = importlib.import_module("store_requests")
    runs = {(p, r): Counter({"GET": 7 + 3 * p + 5 * r + 2 * p * r + r * r, "PUT": 4 * p}) for p, r in asked.CUTS}
    found = asked.coefficients(runs)
    assert found["GET"] == {"once": 7, "partition": 3, "range": 5, "partition and range": 2, "range and range": 1}
    assert found["PUT"] == {"once": 0, "partition": 4, "range": 0, "partition and range": 0, "range and range": 0}
    summed = importlib.import_module("many_partitions").requests(found, partitions=100, ranges=10)
    assert summed == {"GET": 7 + 300 + 50 + 2000 + 100, "PUT": 400}


def test_code_is_counted_without_imports_docstrings_comments_and_blanks(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    cut = importlib.import_module("how_finely_cut")
    first = '"""Doc."""\n\nimport os\nfrom p import (\n    second,\n)\n\n# why\nX = [one for one in os.sep]\n'
    second = "from typing import TYPE_CHECKING\n\nif TYPE_CHECKING:\n    from .first import X\n"
    third = "def late():\n    from p.sub import fourth\n    return fourth\n"
    modules = {"p": "", "p.first": first, "p.second": second, "p.sub": "", "p.sub.fourth": "from ..third import late\n"}
    counts = cut.counted("p", {**modules, "p.third": third})
    assert (counts.code, counts.imports, counts.files, counts.called_one) == (4, 8, 6, 2)
    assert counts.circles == 2  # first and second, though for types; third and fourth, though late
