"""Stage versions cannot be forgotten: `stage_versions.lock` holds a fingerprint of the code behind every stage.

A stage's fingerprint covers the syntax trees (comments and docstrings aside) of the functions, classes and constants
that it reaches by name, in whatever module they stand, and what these name of the tables of `data/` (`.tsv`, columns,
metrics), except the plumbing in `infra`: that moves bytes and computes no result, and the tests hold it to equal
digests. Moving code changes no fingerprint. What a table of choices lists (an attack, a labeler …) has a line of its
own, so that a new attack moves no stage's; so has each rulebook of ours. Changed code under an unchanged version fails
the check until the version goes up or somebody says why the results are the same.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from pathlib import Path

from ruamel.yaml import YAML

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "stage_versions.lock"
_COMPUTES = ("assay.tasks", "assay.data", "assay.infra.stages.exact", "assay.infra.settings")
_TABLES = ("NamedChoices", "TaggedChoices")
_RULEBOOKS = Path("tasks", "labeling", "rulebooks")
_ADDRESS = re.compile(r"assay(\.\w+)+:\w+")
_HEAD = "# stage | version | fingerprint of its code | why an older result still holds. Written by `make stage-lock`.\n"


@dataclass(frozen=True)
class Locked:
    """One line of the lock: a stage, its version, the fingerprint of its code, and why the results are the same."""

    stage: str
    version: int
    fingerprint: str
    reason: str = ""

    def __str__(self) -> str:
        return " | ".join([self.stage, str(self.version), self.fingerprint, self.reason]).rstrip(" |")


def stages_in(root: Path) -> dict[str, Locked]:
    """Every `@stage` of the rooms under `root`, every choice of their tables and every rulebook, with a fingerprint."""
    code = Code(root)
    stages: dict[str, Locked] = {}
    for path in sorted((root / "tasks").rglob("*.py")):
        module = _module_name(root, path)
        for node in code.module(module).tree.body:
            version = _stage_version(node)
            if isinstance(node, ast.FunctionDef) and version is not None:
                if node.name in stages:
                    raise SystemExit(f"Two stages are called {node.name}: a stage's name is part of its key.")
                stages[node.name] = Locked(node.name, version, code.fingerprint([(module, node.name)]))
            for choice, names in _choices_of(node):
                reached = [place for name in names if (place := code.place(module, name)) is not None]
                stages[choice] = Locked(choice, 0, code.fingerprint(reached))
        if path.parent == root / _RULEBOOKS and path.stem != "__init__":
            rulebook, defined = f"RULEBOOKS: {path.stem}", code.module(module).defined
            stages[rulebook] = Locked(rulebook, 0, code.fingerprint([(module, name) for name in defined]))
    return stages


def read_lock(path: Path) -> dict[str, Locked]:
    """The lock as it was last written."""
    if not path.exists():
        return {}
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    fields = [[field.strip() for field in line.split("|", 3)] for line in lines]
    return {name: Locked(name, int(version), code, *rest) for name, version, code, *rest in fields}


def complaints(now: dict[str, Locked], locked: dict[str, Locked]) -> list[str]:
    """What keeps the lock from being true, one sentence each."""
    sentences = []
    for name, stage in now.items():
        before = locked.get(name)
        if before is None:
            sentences.append(f"{name} is new: run `make stage-lock`.")
        elif stage.version < before.version:
            sentences.append(f"{name} went back from version {before.version} to {stage.version}: versions only go up.")
        elif stage.version > before.version:
            sentences.append(f"{name} is now version {stage.version}: run `make stage-lock`.")
        elif stage.fingerprint != before.fingerprint:
            sentences.append(
                f"{name} changed under version {stage.version}: raise its version where it is declared, or say why its "
                'results are the same with `make stage-lock REASON="…"`.'
            )
    return sentences + [f"{name} is gone: run `make stage-lock`." for name in locked.keys() - now.keys()]


def updated(now: dict[str, Locked], locked: dict[str, Locked], reason: str) -> dict[str, Locked]:
    """The new lock; a change under the same version is taken only with a reason."""
    result = {}
    for name, stage in now.items():
        before = locked.get(name)
        changed = before is not None and before.version == stage.version and before.fingerprint != stage.fingerprint
        if before is not None and (before.version > stage.version or (changed and not reason)):
            raise SystemExit("\n".join(complaints(now, locked)))
        kept = before.reason if before is not None and before.version == stage.version else ""
        result[name] = Locked(name, stage.version, stage.fingerprint, reason if changed else kept)
    return result


def main() -> int:
    """Check the lock, or write it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail if code changed under an unchanged version")
    parser.add_argument("--update", action="store_true", help="write the lock")
    parser.add_argument("--same-results", default="", metavar="REASON", help="why changed code gives the same results")
    asked = parser.parse_args()
    now, locked = stages_in(ROOT), read_lock(LOCK)
    if asked.update:
        lines = [str(stage) for _, stage in sorted(updated(now, locked, asked.same_results).items())]
        LOCK.write_text(_HEAD + "\n".join(lines) + "\n", encoding="utf-8")
        return 0
    failures = complaints(now, locked)
    print("\n".join(failures) if failures else f"{len(now)} stage versions agree with stage_versions.lock.")
    return 1 if failures else 0


def _stage_version(node: ast.stmt) -> int | None:
    if not isinstance(node, ast.FunctionDef):
        return None
    for decorator in node.decorator_list:
        if isinstance(decorator, ast.Call) and isinstance(decorator.func, ast.Name) and decorator.func.id == "stage":
            for keyword in decorator.keywords:
                if keyword.arg == "version" and isinstance(keyword.value, ast.Constant):
                    return int(str(keyword.value.value))
    return None


def _choices_of(node: ast.stmt) -> Iterator[tuple[str, set[str]]]:
    """Each choice that a table lists, as `TABLE: choice`, with the names that it is made of."""
    table = _table_in(node)
    if table is None:
        return
    for element in _listed(table[1]):
        first = element
        while isinstance(first, ast.Call) and first.args:
            first = first.args[0]
        word = str(first.value) if isinstance(first, ast.Constant) else ast.unparse(first)
        if not isinstance(element, ast.Starred):  # another table, which has lines of its own
            yield f"{table[0]}: {word}", {each.id for each in ast.walk(element) if isinstance(each, ast.Name)}


def _table_in(node: ast.AST) -> tuple[str, ast.Call] | None:
    """The name and the call of `TABLE = NamedChoices(…)`; None for anything else."""
    if not isinstance(node, ast.Assign | ast.AnnAssign) or not isinstance(node.value, ast.Call):
        return None
    target = node.targets[0] if isinstance(node, ast.Assign) else node.target
    called = ast.unparse(node.value.func).rpartition(".")[2].partition("[")[0]
    return (target.id, node.value) if called in _TABLES and isinstance(target, ast.Name) else None


def _listed(call: ast.Call) -> list[ast.expr]:
    """The choices that the call of a table lists, in its tuples."""
    arguments = [*call.args, *(keyword.value for keyword in call.keywords)]
    return [element for argument in arguments if isinstance(argument, ast.Tuple) for element in argument.elts]


@dataclass(frozen=True)
class Module:
    """A module's syntax tree, what it defines by name, and what each imported name stands for."""

    tree: ast.Module
    defined: Mapping[str, list[ast.stmt]]
    imported: Mapping[str, str]
    """The full dotted name by the name it is bound to."""
    loose: list[ast.stmt]
    """Statements that define no name and do something as the module is imported."""


class Code:
    """The modules of ours under a root, and what of them is reached from a name."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._modules: dict[str, Module] = {}
        self._statements: dict[ast.stmt, tuple[str, list[tuple[str, str]]]] = {}
        columns, metrics = root / "data" / "columns.yaml", root / "data" / "metrics.yaml"
        self._columns: dict[str, dict[str, str]] = YAML(typ="safe").load(columns) if columns.exists() else {}
        self._metrics: dict[str, dict[str, object]] = YAML(typ="safe").load(metrics) if metrics.exists() else {}

    def module(self, name: str) -> Module:
        """A module of ours by its dotted name."""
        if name not in self._modules:
            path = self._file(name)
            assert path is not None, name
            self._modules[name] = _parsed(ast.parse(path.read_text(encoding="utf-8")))
        return self._modules[name]

    def fingerprint(self, start: Sequence[tuple[str, str]]) -> str:
        """The hash of all definitions that some names lead to, wherever they stand and in whatever order."""
        waiting, seen, lines = list(start), set(start), set[str]()
        while waiting:
            for line, leads_to in self._definition(*waiting.pop()):
                lines.add(line)
                waiting += [place for place in leads_to if place not in seen]
                seen.update(leads_to)
        return hashlib.blake2b("\n".join(sorted(lines)).encode(), digest_size=12).hexdigest()

    def place(self, module: str, name: str) -> tuple[str, str] | None:
        """The module and the name under which a name of a module is defined; None for what is not computed by us."""
        found = self.module(module)
        if name in found.defined:
            return module, name
        return self._place_of(found.imported.get(name, ""))

    def _place_of(self, dotted: str) -> tuple[str, str] | None:
        module, _, name = dotted.rpartition(".")
        if not module.startswith(_COMPUTES) or self._file(module) is None:
            return None
        return self.place(module, name) if dotted not in self._modules and self._file(dotted) is None else None

    def _definition(self, module: str, name: str) -> Iterator[tuple[str, list[tuple[str, str]]]]:
        """The syntax trees of a definition and of its module's loose statements, each with the definitions it names."""
        found = self.module(module)
        for node in (*found.defined.get(name, ()), *found.loose):
            if node not in self._statements:
                listed = [*self._columns_in(node), *self._metrics_in(node), *self._tables_in(node)]
                written = _dumped(node) + "".join(map(str, listed))
                self._statements[node] = written, list(self._named_in(node, found, module))
            yield self._statements[node]

    def _columns_in(self, node: ast.stmt) -> Iterator[list[tuple[str, str]]]:
        """The columns of a kind of table that extends `ListedTable`: they stand under its name in data/columns.yaml."""
        for each in ast.walk(node):
            if isinstance(each, ast.ClassDef) and "ListedTable" in map(ast.unparse, each.bases):
                yield list(self._columns.get(each.name, {}).items())

    def _metrics_in(self, node: ast.stmt) -> Iterator[list[tuple[str, object]]]:
        """What `metrics_of("attack")` gives: the metrics of a stage stand under its name in data/metrics.yaml."""
        for each in ast.walk(node):
            if isinstance(each, ast.Call) and ast.unparse(each.func) == "metrics_of":
                for stage in each.args:
                    yield list(self._metrics.get(getattr(stage, "value", ""), {}).items())

    def _tables_in(self, node: ast.stmt) -> Iterator[str]:
        """The hashes of the tables below data/ (constants, words) that a statement names."""
        for each in ast.walk(node):
            if isinstance(each, ast.Constant) and isinstance(each.value, str) and each.value.endswith(".tsv"):
                for file in sorted((self._root / "data").rglob(Path(each.value).name)):
                    yield hashlib.blake2b(file.read_bytes()).hexdigest()

    def _named_in(self, node: ast.stmt, found: Module, module: str) -> Iterator[tuple[str, str]]:
        """The definitions of ours that a statement names: by name, as an attribute of a module, as "module:name"."""
        table = _table_in(node)
        skipped = {id(each) for element in _listed(table[1]) for each in ast.walk(element)} if table else set()
        imported = {**found.imported, **_imports_in(node)}
        for each in ast.walk(node):
            dotted = ""
            if id(each) in skipped:
                continue
            if isinstance(each, ast.Name):
                if each.id in found.defined:
                    yield module, each.id
                dotted = imported.get(each.id, "")
            elif isinstance(each, ast.Attribute) and isinstance(each.value, ast.Name):
                dotted = f"{imported.get(each.value.id, '')}.{each.attr}"
            elif isinstance(each, ast.Constant) and isinstance(each.value, str) and _ADDRESS.fullmatch(each.value):
                dotted = each.value.replace(":", ".")
            place = self._place_of(dotted)
            if place is not None:
                yield place

    def _file(self, name: str) -> Path | None:
        path = self._root.joinpath(*name.split(".")[1:])
        return next((found for found in (path.with_suffix(".py"), path / "__init__.py") if found.is_file()), None)


def _parsed(tree: ast.Module) -> Module:
    defined: dict[str, list[ast.stmt]] = {}
    loose: list[ast.stmt] = []
    for node in _without_docstrings(tree).body:
        names = _names_of(node)
        for name in names:
            defined.setdefault(name, []).append(node)
        if not names and not isinstance(node, ast.Import | ast.ImportFrom | ast.Pass) and not _says_nothing(node):
            loose.append(node)
    return Module(tree, defined, _imports_in(tree), loose)


def _names_of(node: ast.stmt) -> set[str]:
    """The names that a statement of a module defines."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    targets = node.targets if isinstance(node, ast.Assign) else []
    if isinstance(node, ast.AnnAssign | ast.AugAssign):
        targets = [node.target]
    return {each.id for target in targets for each in ast.walk(target) if isinstance(each, ast.Name)}


def _says_nothing(node: ast.stmt) -> bool:
    """Whether a statement computes nothing: imports for types, and the docstring below a constant."""
    if isinstance(node, ast.If):
        return ast.unparse(node.test).endswith("TYPE_CHECKING")
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _imports_in(tree: ast.AST) -> dict[str, str]:
    """The full dotted name of everything that is imported anywhere in a tree, by the name it is bound to."""
    imported = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            imported.update({alias.asname or alias.name: alias.name for alias in node.names})
        elif isinstance(node, ast.ImportFrom) and node.module:
            imported.update({alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names})
    return imported


def _module_name(root: Path, path: Path) -> str:
    return ".".join(("assay", *path.relative_to(root).with_suffix("").parts)).removesuffix(".__init__")


def _dumped(node: ast.stmt) -> str:
    """A statement's syntax tree without its imports, which are followed, and without the choices that a table lists."""
    table = _table_in(node)
    if table is not None:
        arguments = [*table[1].args, *(keyword.value for keyword in table[1].keywords)]
        return " ".join([table[0], *(ast.dump(each) for each in arguments if not isinstance(each, ast.Tuple))])
    imports = [ast.dump(each) for each in ast.walk(node) if isinstance(each, ast.Import | ast.ImportFrom)]
    return reduce(lambda text, each: text.replace(each, ""), imports, ast.dump(node))


def _without_docstrings(tree: ast.Module) -> ast.Module:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and node.body:
            first = node.body[0]
            if (
                isinstance(first, ast.Expr)
                and isinstance(first.value, ast.Constant)
                and isinstance(first.value.value, str)
            ):
                node.body = node.body[1:] or [ast.Pass()]
    return tree


if __name__ == "__main__":
    sys.exit(main())
