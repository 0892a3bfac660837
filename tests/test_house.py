"""The house stands: no file imports in a circle, and every room is named by an import contract."""

from __future__ import annotations

import ast
import re
import tomllib
from collections.abc import Iterator, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
STOREYS = ("infra", "data", "tasks", "flows")


def modules_of(root: Path) -> dict[str, ast.Module]:
    """The syntax trees of all modules, by their dotted names."""
    paths = [path for storey in STOREYS for path in sorted((root / storey).rglob("*.py"))]
    named = {path: ("assay", *path.relative_to(root).with_suffix("").parts) for path in paths}
    return {".".join(parts).removesuffix(".__init__"): ast.parse(path.read_text()) for path, parts in named.items()}


def imported(tree: ast.AST, known: Mapping[str, object]) -> Iterator[str]:
    """The modules of ours that a module imports, inside functions too; not what is imported for types only."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.dump(node.test):
            continue
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name in known)
        elif isinstance(node, ast.ImportFrom):
            for name in node.names:
                full = f"{node.module}.{name.name}"
                yield from [one for one in (full, node.module) if one in known][:1]
        else:
            yield from imported(node, known)


def imports_of(modules: Mapping[str, ast.Module]) -> dict[str, set[str]]:
    """What each module imports of ours."""
    return {name: set(imported(tree, modules)) - {name} for name, tree in modules.items()}


def circle_in(graph: Mapping[str, set[str]]) -> list[str]:
    """What imports each other in a circle; empty where nothing does."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as fault:
        return list(fault.args[1])
    return []


def between_rooms(graph: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """Which rooms of `tasks/` each room imports from."""
    rooms: dict[str, set[str]] = {}
    for name, others in graph.items():
        room, used = room_of(name), {room_of(other) for other in others}
        if room:
            rooms.setdefault(room, set()).update(used - {room, ""})
    return rooms


def room_of(module: str) -> str:
    """The room of `tasks/` that a module lies in; empty for what lies elsewhere."""
    return ".".join(module.split(".")[:3]) if module.startswith("assay.tasks.") else ""


def unnamed_rooms(root: Path) -> set[str]:
    """The rooms of `tasks/` that no import contract of pyproject.toml names."""
    contracts = tomllib.loads((root / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    named = {name for contract in contracts for key in ("modules", "source_modules") for name in contract.get(key, ())}
    rooms = {f"assay.tasks.{path.parent.name}" for path in (root / "tasks").glob("*/__init__.py")}
    return rooms - named


def test_neither_files_nor_rooms_import_in_a_circle() -> None:
    graph = imports_of(modules_of(ROOT))
    assert circle_in(graph) == []
    assert circle_in(between_rooms(graph)) == []


@pytest.mark.parametrize("late", ["import assay.b", "def f() -> None:\n    from assay.b import x"])
def test_a_circle_is_found_also_through_a_function(late: str) -> None:
    modules = {"assay.a": ast.parse(late), "assay.b": ast.parse("from assay import a")}
    assert set(circle_in(imports_of(modules))) == {"assay.a", "assay.b"}
    typed = ast.parse("if TYPE_CHECKING:\n    import assay.b")
    assert circle_in(imports_of({**modules, "assay.a": typed})) == []


def test_rooms_can_be_in_a_circle_where_files_are_not() -> None:
    graph = {"assay.tasks.a.x": {"assay.tasks.b.y"}, "assay.tasks.b.z": {"assay.tasks.a.w"}}
    assert circle_in(graph) == []
    assert set(circle_in(between_rooms(graph))) == {"assay.tasks.a", "assay.tasks.b"}


def test_every_room_is_named_by_an_import_contract() -> None:
    assert unnamed_rooms(ROOT) == set()


def test_a_room_that_no_contract_names_is_found(tmp_path: Path) -> None:
    (tmp_path / "tasks" / "attic").mkdir(parents=True)
    (tmp_path / "tasks" / "attic" / "__init__.py").touch()
    (tmp_path / "pyproject.toml").write_text('[[tool.importlinter.contracts]]\nmodules = ["assay.tasks.trust"]\n')
    assert unnamed_rooms(tmp_path) == {"assay.tasks.attic"}


RIDDLES = {"said", "told", "found", "here", "mine", "told_by", "Told", "_told", "_told_in_words", "_tonight"}
"""Names that say nothing of what they name."""
READ_AS_IT_IS = (
    *("infra", "flows/commands", "flows/configuration", "flows/check.py", "flows/reproduce", "tasks/ingest"),
    *("tasks/labeling", "tasks/language", "tasks/pruning", "tasks/overfitting", "tasks/subjects/networks"),
    *("tasks/attacks/terms", "tasks/corruptions", "tasks/drift", "tasks/label_errors"),
    *("tasks/agreement", "tasks/diagnostics", "tasks/hardness"),
)
"""The rooms in which no name is a riddle any more; the others follow."""


def names_given(tree: ast.AST) -> Iterator[str]:
    """What a module gives names to: values, parameters, attributes, functions and classes."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.id if isinstance(node, ast.Name) else node.attr
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name


@pytest.mark.parametrize("room", READ_AS_IT_IS)
def test_names_are_no_riddles(room: str) -> None:
    place = ROOT / room
    paths = [place] if place.is_file() else sorted(place.rglob("*.py"))
    trees = {path: ast.parse(path.read_text()) for path in paths}
    assert {str(path): names for path, tree in trees.items() if (names := RIDDLES & set(names_given(tree)))} == {}


def test_a_riddle_is_found() -> None:
    riddles = ast.parse("def told_by(said):\n    found, self.here = said, 1\n")
    assert set(names_given(riddles)) == {"told_by", "said", "found", "here"}


def test_nothing_installs_us_by_a_name_that_is_not_ours() -> None:
    """`assay-audit` is not registered on the package index: whoever registers it would run where it is installed."""
    places = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "action.yml", *(ROOT / "docs").rglob("*.md")]
    places += [path for folder in (*STOREYS, "assay") for path in (ROOT / folder).rglob("*.py")]
    wrong = re.compile(r"(pip|pipx|uv|uvx)\b[^\n]{0,60}\b(install|--from)\b[^\n]{0,60}(?<![\w./-])assay-audit\b")
    found = [str(path.relative_to(ROOT)) for path in places if wrong.search(path.read_text(encoding="utf-8"))]
    assert found == []
