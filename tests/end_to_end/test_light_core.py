"""Tables, rules, gates, report and exports need no library for networks or texts; what needs one is refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from absent_libraries import without
from command_line import Command, environment

HEAVY = ["gensim", "lemminflect", "lime", "nltk", "snorkel", "textattack", "torch", "torchvision", "transformers"]
pytestmark = pytest.mark.xdist_group("first-audit")
Ended = Callable[..., Command]


@pytest.fixture
def core(installed: Path, home: Path, tmp_path: Path) -> Ended:
    """A command of the installed wheel, ended, where none of these libraries can be imported."""
    env = environment(home, PYTHONPATH=without(HEAVY, tmp_path / "absent"))

    def run(*arguments: str) -> Command:
        command = Command.start(arguments, folder=tmp_path, env=env, program=str(installed))
        command.wait()
        return command

    return run


def test_a_table_is_audited_judged_and_exported_without_them(core: Ended, tmp_path: Path) -> None:
    asked = ["weak_labels.labelers=[majority]", "ordering.compare=false", "compute.engine=serial"]
    night = core("run", "breast-cancer", "--json", *(word for each in asked for word in ("--set", each)))
    assert night.process.returncode == 0, night.err
    assert Path(night.answer["report"]).is_file()
    judged = core("gate", "latest")
    assert "1 of 1 gates passed" in judged.out, judged.err
    exported = core("export", "latest", "--to", "sets")
    assert exported.process.returncode == 0, exported.err
    assert [*(tmp_path / "sets").rglob("*.parquet")]


@pytest.mark.parametrize(
    ("name", "place", "library"),
    [
        ("breast-cancer", "weak_labels.labelers", "snorkel"),
        ("first-night", "subjects.0", "torch"),
        ("reviews-weak", "subjects.0", "transformers"),
        ("overfitting-synthetic-quick", "overfitting", "torch"),
    ],
)
def test_what_needs_them_is_refused_at_the_door_with_one_command(
    core: Ended, name: str, place: str, library: str
) -> None:
    refused = core("run", name)
    assert refused.process.returncode == 2
    [line] = [line for line in refused.err.splitlines() if f"{place} — needs" in line]
    command = line.split("run `pip install ")[1]
    assert f"'{library}" in command
    assert {line.split("run `")[1] for line in refused.err.splitlines()} == {f"pip install {command}"}
