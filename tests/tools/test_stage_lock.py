"""Changed stage code under an unchanged version does not pass; `make check` holds this repository against its lock."""

from pathlib import Path

import pytest
from stage_lock import complaints, stages_in, updated

TASK = '''
from assay.infra.stages.stage import stage
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


def test_what_stands_beside_the_formula_and_is_not_reached_moves_nothing(tree: Path):
    before = stages_in(tree)
    formula = tree / "tasks/room/formula.py"
    formula.write_text(formula.read_text() + "\ndef other(x):\n    return 3\n")
    assert complaints(stages_in(tree), before) == []


def test_moving_a_formula_to_another_module_moves_nothing(tree: Path):
    before = stages_in(tree)
    (tree / "tasks/room/formula.py").rename(tree / "tasks/room/answers.py")
    task = tree / "tasks/room/task.py"
    task.write_text(task.read_text().replace("room.formula", "room.answers"))
    assert complaints(stages_in(tree), before) == []


@pytest.mark.parametrize(
    ("imports", "call"),
    [
        ("from assay.tasks.room import formula", "return formula.answer(x)"),
        ("", "from assay.tasks.room.formula import answer as late; return late(x)"),
        ("", 'return called("assay.tasks.room.formula:answer", x)'),
        ("from assay.tasks.room.formula import answer\n\nTABLE = {1: answer}", "return TABLE[1](x)"),
        ("from assay.tasks.room.formula import Rule", "return Rule().of(x)"),
    ],
    ids=["by its module", "imported late", "by its address", "through a constant", "through a method"],
)
def test_a_formula_is_reached_however_it_is_named(tree: Path, imports: str, call: str):
    formula = "def answer(x):\n    return x + {}\n\nclass Rule:\n    def of(self, x):\n        return answer(x)\n"
    task = TASK.format(version=1).replace("from assay.tasks.room.formula import answer", imports)
    (tree / "tasks/room/task.py").write_text(task.replace("return answer(x)", call))
    (tree / "tasks/room/formula.py").write_text(formula.format(1))
    before = stages_in(tree)
    (tree / "tasks/room/formula.py").write_text(formula.format(2))
    assert ["work changed under version 1" in each for each in complaints(stages_in(tree), before)] == [True]


def test_what_runs_as_the_module_is_imported_is_part_of_it(tree: Path):
    before = stages_in(tree)
    formula = tree / "tasks/room/formula.py"
    formula.write_text(formula.read_text() + "\nif True:\n    answer.wrapped = 3\n")
    assert "work changed under version 1" in complaints(stages_in(tree), before)[0]


@pytest.mark.slow
def test_a_new_choice_has_a_line_of_its_own_and_moves_no_stage(tree: Path):
    table = "from assay.infra.user_code.choices import NamedChoices\nfrom assay.tasks.room import formula\n\n{}\n"
    table += "RULES = NamedChoices('rule', ({}))\n"
    first, second = "def one_up(x):\n    return x + 1\n", "def two_up(x):\n    return x + 2\n"
    (tree / "tasks/room/table.py").write_text(table.format(first, "Rule('up', one_up),"))
    task = TASK.format(version=1).replace("room.formula import answer", "room.table import RULES")
    (tree / "tasks/room/task.py").write_text(task.replace("return answer(x)", "return RULES.of(x)"))
    before = stages_in(tree)
    assert set(before) == {"work", "RULES: up"}
    (tree / "tasks/room/table.py").write_text(
        table.format(first + second, "Rule('up', one_up), Rule('twice', two_up),")
    )
    assert complaints(stages_in(tree), before) == ["RULES: twice is new: run `make stage-lock`."]
    (tree / "tasks/room/table.py").write_text(table.format(first.replace("+ 1", "- 1"), "Rule('up', one_up),"))
    assert [each.partition(" under")[0] for each in complaints(stages_in(tree), before)] == ["RULES: up changed"]


@pytest.mark.slow
def test_the_columns_of_a_table_are_part_of_the_stages_that_make_it_and_of_no_others(tree: Path):
    (tree / "data").mkdir()
    kind = "from assay.data.schemas import ListedTable\n\nclass {name}(ListedTable):\n    pass\n"
    for name in ("Answers", "Others"):
        (tree / f"data/{name.lower()}.py").write_text(kind.format(name=name))
    (tree / "data/columns.py").write_text("class ListedTable:\n    pass\n")
    (tree / "data/columns.yaml").write_text("Answers: {id: string}\nOthers: {id: string}\n")
    imports = "from assay.data.answers import Answers\n"
    (tree / "tasks/room/formula.py").write_text(f"{imports}\ndef answer(x):\n    return Answers, x\n")
    before = stages_in(tree)
    (tree / "data/columns.yaml").write_text("Answers: {id: string}\nOthers: {id: string, n: int64}\n")
    assert complaints(stages_in(tree), before) == []
    (tree / "data/columns.yaml").write_text("Answers: {id: string, n: int64}\nOthers: {id: string}\n")
    assert "work changed under version 1" in complaints(stages_in(tree), before)[0]


@pytest.mark.slow
def test_the_metrics_of_a_stage_are_part_of_the_code_that_asks_for_them(tree: Path):
    (tree / "data").mkdir()
    (tree / "data/metrics.yaml").write_text("attack: {steps: {unit: steps}}\nother: {}\n")
    code = 'METRICS = metrics_of("attack")\n\n\ndef answer(x):\n    return METRICS, x\n'
    (tree / "tasks/room/formula.py").write_text(code)
    before = stages_in(tree)
    (tree / "data/metrics.yaml").write_text("attack: {steps: {unit: steps}}\nother: {n: {unit: samples}}\n")
    assert complaints(stages_in(tree), before) == []
    (tree / "data/metrics.yaml").write_text("attack: {steps: {unit: seconds}}\nother: {}\n")
    assert "work changed under version 1" in complaints(stages_in(tree), before)[0]


def test_a_table_of_constants_is_part_of_the_stages_whose_code_names_it(tree: Path):
    (tree / "data").mkdir()
    (tree / "data/constants.tsv").write_text("noise\t0.1\n")
    (tree / "tasks/room/formula.py").write_text('def answer(x):\n    return x + read("constants.tsv")\n')
    before = stages_in(tree)
    (tree / "data/others.tsv").write_text("noise\t0.3\n")
    assert complaints(stages_in(tree), before) == []
    (tree / "data/constants.tsv").write_text("noise\t0.2\n")
    assert "work changed under version 1" in complaints(stages_in(tree), before)[0]
