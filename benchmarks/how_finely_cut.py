"""How finely the code is cut, ours and four peers' counted alike: lines of code, files, imports, circles."""

from __future__ import annotations

import argparse
import ast
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from claims import claim, tell

ROOT = Path(__file__).resolve().parent.parent
OURS = tuple(ROOT / storey for storey in ("infra", "data", "tasks", "flows"))
PEERS = {"foolbox": "3.3.4", "datatrove": "0.10.1", "cleanlab": "2.9.0", "inspect_ai": "0.3.285"}


@dataclass(frozen=True)
class Counted:
    """What a package comes to: `code` are lines without imports, docstrings, comments and blanks."""

    package: str
    code: int
    files: int
    small_files: int
    imports: int
    circles: int
    called_one: int

    @property
    def row(self) -> str:
        """A row of the table that `--table` prints."""
        share = self.imports / (self.imports + self.code)
        cells = (
            self.package,
            f"{self.code:,}",
            f"{self.files:,}",
            f"{self.code / self.files:.0f}",
            f"{self.small_files / self.files:.0%}",
            f"{share:.1%}",
            f"{self.circles}",
            f"{self.called_one:,}",
        )
        return "| " + " | ".join(cells) + " |"


def counted(name: str, modules: Mapping[str, str]) -> Counted:
    """The counts of a package, from the source of each of its modules by dotted name."""
    trees = {module: ast.parse(source) for module, source in modules.items()}
    lines = {module: lines_of(source, trees[module]) for module, source in modules.items()}
    names = [node.id for tree in trees.values() for node in ast.walk(tree) if isinstance(node, ast.Name)]
    return Counted(
        package=name,
        code=sum(code for code, _ in lines.values()),
        files=len(lines),
        small_files=sum(code < 40 for code, _ in lines.values()),
        imports=sum(imports for _, imports in lines.values()),
        circles=len(circles_in({module: imported(tree, module, set(trees)) for module, tree in trees.items()})),
        called_one=names.count("one"),
    )


def lines_of(source: str, tree: ast.Module) -> tuple[int, int]:
    """The lines of code and of imports of a module; docstrings, comments and blank lines are neither."""
    left_out, imports = set[int](), set[int]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            left_out |= set(range(node.lineno, (node.end_lineno or 0) + 1))
        elif isinstance(node, ast.Import | ast.ImportFrom):
            imports |= set(range(node.lineno, (node.end_lineno or 0) + 1))
    written = [number for number, line in enumerate(source.splitlines(), 1) if line.strip() and line.strip()[0] != "#"]
    code = [number for number in written if number not in left_out | imports]
    return len(code), len(imports.intersection(written))


def imported(tree: ast.Module, module: str, known: set[str]) -> set[str]:
    """The modules of a package that a module imports: late imports count, and those for types alone."""
    names = set[str]()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            package = any(name.startswith(f"{module}.") for name in known)
            above = (
                ".".join([*module.split("."), "__init__"][: -node.level - (not package)]) + "." if node.level else ""
            )
            start = (above + (node.module or "")).rstrip(".")
            names |= {start} | {f"{start}.{alias.name}" for alias in node.names}
    return (names & known) - {module}


def circles_in(graph: Mapping[str, set[str]]) -> list[set[str]]:
    """The largest sets of modules that all lead to each other (Tarjan's strongly connected components)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    circles = []

    def visit(module: str) -> None:
        index[module] = low[module] = len(index)
        stack.append(module)
        for other in sorted(graph[module]):
            if other not in index:
                visit(other)
            if other in stack:
                low[module] = min(low[module], low[other])
        if low[module] == index[module]:
            circle = set[str]()
            while module not in circle:
                circle.add(stack.pop())
            if len(circle) > 1:
                circles.append(circle)

    sys.setrecursionlimit(max(sys.getrecursionlimit(), 4 * len(graph) + 1000))
    for module in sorted(graph):
        if module not in index:
            visit(module)
    return circles


def our_modules() -> dict[str, str]:
    """The sources of this repository's four storeys."""
    paths = [path for storey in OURS for path in storey.rglob("*.py") if "__pycache__" not in path.parts]
    return {dotted(("assay", *path.relative_to(ROOT).parts)): path.read_text(encoding="utf-8") for path in paths}


def wheel_modules(wheel: Path, package: str) -> dict[str, str]:
    """The sources in a wheel of a package; tests that it ships are left out, as ours are."""
    with zipfile.ZipFile(wheel) as packed:
        files = [Path(name) for name in packed.namelist() if name.startswith(f"{package}/") and name.endswith(".py")]
        kept = [file for file in files if "tests" not in file.parts]
        return {dotted(file.parts): packed.read(str(file)).decode("utf-8") for file in kept}


def dotted(parts: tuple[str, ...]) -> str:
    """The name under which a file is imported."""
    return ".".join(parts).removesuffix(".py").removesuffix(".__init__")


def main() -> None:
    """Count, and print the claims or a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="ours alone; the peers are fetched from the package index")
    parser.add_argument("--table", action="store_true", help="a table instead of claims")
    options = parser.parse_args()
    ours, peers = counted("assay", our_modules()), []
    with tempfile.TemporaryDirectory() as folder:
        for peer, version in {} if options.quick else PEERS.items():
            fetch = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", folder, f"{peer}=={version}"]
            subprocess.run(fetch, check=True)
            wheel = next(Path(folder).glob(f"{peer}-*.whl"))
            peers.append(counted(f"{peer} {version}", wheel_modules(wheel, peer)))
    if options.table:
        print("| | code lines | files | code a file | files under 40 | imports | circles | `one` |")
        print("|---|---|---|---|---|---|---|---|")
        print("\n".join(row.row for row in (ours, *peers)))
        return
    tell(claim("lines of code", [ours.code], unit="lines", **asdict(ours)))
    for peer in peers:
        beside = [peer.code / peer.files]
        tell(
            claim(
                "code in a file", [ours.code / ours.files], beside, unit="lines", peer_is=peer.package, **asdict(peer)
            )
        )


if __name__ == "__main__":
    main()
