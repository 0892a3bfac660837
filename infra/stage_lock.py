"""Stage versions cannot be forgotten: `stage_versions.lock` holds a fingerprint of the code behind every stage.

A stage's fingerprint covers the syntax tree (comments and docstrings aside) of its room's modules and of everything of
ours that they import, except the plumbing in `infra`: that moves bytes and computes no result, and the tests hold
it to equal digests. Changed code under an unchanged version fails the check until the version goes up or
somebody says why the results are the same.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "stage_versions.lock"
_COMPUTES = ("assay.tasks", "assay.data", "assay.infra.seeds", "assay.infra.exact", "assay.infra.settings")
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
    """Every `@stage` of the rooms under `root`, with its version and fingerprint as the code stands."""
    stages: dict[str, Locked] = {}
    for path in sorted((root / "tasks").rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in tree.body:
            version = _stage_version(node)
            if isinstance(node, ast.FunctionDef) and version is not None:
                if node.name in stages:
                    raise SystemExit(f"Two stages are called {node.name}: a stage's name is part of its key.")
                stages[node.name] = Locked(node.name, version, _fingerprint(root, path))
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


def _fingerprint(root: Path, start: Path) -> str:
    """The hash of the syntax trees of a module and of all modules that it leads to."""
    todo, trees = [start], {}
    while todo:
        path = todo.pop()
        if path in trees:
            continue
        tree = ast.parse(path.read_text(encoding="utf-8"))
        trees[path] = ast.dump(_without_docstrings(tree))
        todo += [found for name in _imports(tree) if (found := _module_file(root, name)) is not None]
    text = "\n".join(f"{path.relative_to(root)}\n{trees[path]}" for path in sorted(trees))
    return hashlib.blake2b(text.encode(), digest_size=12).hexdigest()


def _imports(tree: ast.Module) -> list[str]:
    names = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names += [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return [name for name in names if name.startswith(_COMPUTES)]


def _module_file(root: Path, name: str) -> Path | None:
    path = root.joinpath(*name.split(".")[1:])
    return next((found for found in (path.with_suffix(".py"), path / "__init__.py") if found.exists()), None)


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
