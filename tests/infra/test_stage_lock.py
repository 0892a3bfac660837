"""Changed stage code under an unchanged version does not pass; `make check` holds this repository against its lock."""

from pathlib import Path

import pytest

from assay.infra.stage_lock import complaints, stages_in, updated

TASK = '''
from assay.infra.stage import stage
from assay.tasks.room.formula import answer

@stage(version={version}, title="x")
def work(x: int) -> int:
    """Docstring."""
    return answer(x)
'''


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    room = tmp_path / "tasks" / "room"
    room.mkdir(parents=True)
    (room / "task.py").write_text(TASK.format(version=1))
    (room / "formula.py").write_text("def answer(x):\n    return x + 1\n")
    return tmp_path


def test_comments_and_docstrings_change_nothing(tree: Path):
    before = stages_in(tree)
    (tree / "tasks/room/formula.py").write_text(
        '"""New words."""\n\ndef answer(x):\n    # a comment\n    return x + 1\n'
    )
    assert complaints(stages_in(tree), before) == []


def test_a_formula_that_a_stage_imports_is_part_of_it(tree: Path):
    before = stages_in(tree)
    (tree / "tasks/room/formula.py").write_text("def answer(x):\n    return x + 2\n")
    assert "work changed under version 1" in complaints(stages_in(tree), before)[0]
    with pytest.raises(SystemExit, match="raise its version"):
        updated(stages_in(tree), before, reason="")


def test_a_raised_version_or_a_reason_settles_it(tree: Path):
    before = stages_in(tree)
    (tree / "tasks/room/formula.py").write_text("def answer(x):\n    return 1 + x\n")
    settled = updated(stages_in(tree), before, reason="addition commutes")
    assert settled["work"].reason == "addition commutes"
    assert complaints(stages_in(tree), settled) == []
    (tree / "tasks/room/task.py").write_text(TASK.format(version=2))
    assert complaints(stages_in(tree), settled) == ["work is now version 2: run `make stage-lock`."]
    assert updated(stages_in(tree), settled, reason="")["work"].version == 2


def test_versions_only_go_up_and_stages_do_not_vanish(tree: Path):
    now = stages_in(tree)
    (tree / "tasks/room/task.py").write_text(TASK.format(version=0))
    assert "only go up" in complaints(stages_in(tree), now)[0]
    assert complaints({}, now) == ["work is gone: run `make stage-lock`."]
    assert complaints(now, {}) == ["work is new: run `make stage-lock`."]
