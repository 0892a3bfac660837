"""Words of the field: riddles are found in the names of modules, functions, classes and variables."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parent.parent
STOREYS = ("infra", "data", "tasks", "flows")
RIDDLES = {
    "acting": "plugin_scope",
    "alike": "clusters",
    "going_on": "resume",
    "judged": "order_test",
    "judging": "order_test",
    "known_ranges": "ranges",
    "likeness": "work_signature",
    "looking": "first_look",
    "no_answers": "failed_calls",
    "parcels": "shuffle",
    "patience": "retry",
    "positions": "row_offsets",
}
"""Module names that nobody can look up, and what the thing is called elsewhere."""

ROOMS_WITHOUT_A_SUBJECT = {"utils", "util", "helpers", "helper", "common", "misc", "base", "core"}
MOST_CALLED_ONE = 300


def modules(root: Path) -> Iterator[Path]:
    """Every module of the four storeys."""
    for storey in STOREYS:
        yield from sorted((root / storey).rglob("*.py"))


def riddles(paths: Iterator[Path]) -> list[str]:
    """The modules and folders that are called by a riddle, each with a better name."""
    parts = {part for path in paths for part in (*path.parts[:-1], path.stem)}
    better = [f"{part}: say {RIDDLES[part]}" for part in sorted(parts & RIDDLES.keys())]
    return better + [f"{part}: a name that says nothing" for part in sorted(parts & ROOMS_WITHOUT_A_SUBJECT)]


def called_one(source: str) -> int:
    """How often a thing that has a name is called `one`."""
    return sum(isinstance(node, ast.Name) and node.id == "one" for node in ast.walk(ast.parse(source)))


def test_no_module_is_called_by_a_riddle() -> None:
    assert riddles(path.relative_to(ROOT) for path in modules(ROOT)) == []


def test_a_riddle_is_found_with_a_better_name() -> None:
    assert riddles(iter([Path("infra/patience.py"), Path("tasks/utils/x.py")])) == [
        "patience: say retry",
        "utils: a name that says nothing",
    ]


def test_things_are_called_by_their_names() -> None:
    assert sum(called_one(path.read_text(encoding="utf-8")) for path in modules(ROOT)) <= MOST_CALLED_ONE


def test_what_is_called_one_is_counted() -> None:
    assert called_one("for one in findings: print(one, another)") == 2
