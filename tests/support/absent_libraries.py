"""An interpreter in which libraries are not installed, whatever the environment has."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

_HOOK = """
import sys

ABSENT = {absent!r}

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ABSENT:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)
        return None

sys.meta_path.insert(0, Absent())
"""


def without(libraries: Collection[str], folder: Path) -> str:
    """A `PYTHONPATH` under which every process, those it starts too, cannot import these modules."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "sitecustomize.py").write_text(_HOOK.format(absent=sorted(libraries)))
    return str(folder)


def stand_ins(libraries: Collection[str], folder: Path) -> str:
    """A `PYTHONPATH` under which these modules can be imported, and hold nothing."""
    for name in libraries:
        (folder / name).mkdir(parents=True, exist_ok=True)
        (folder / name / "__init__.py").write_text('"""Nothing."""\n')
    return str(folder)
