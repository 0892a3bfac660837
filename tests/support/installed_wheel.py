"""Assay as somebody installs it: the wheel out of the sdist, in an environment that has its libraries alone."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Sequence
from pathlib import Path

from repository import ROOT

COPIED = ("assay", "infra", "data", "tasks", "flows", "pyproject.toml", "README.md", "LICENSE", "pipelines.yaml")
BUILD = "import sys; from setuptools import build_meta; print(getattr(build_meta, sys.argv[1])(sys.argv[2]))"


def _done(command: Sequence[str | Path], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 0, f"{done.stdout}\n{done.stderr}"
    return done.stdout.splitlines()[-1] if done.stdout else ""


def build_sdist(folder: Path) -> Path:
    """The sdist, made in a copy of what it is made of: a build leaves things behind."""
    source = folder / "source"
    source.mkdir()
    for name in COPIED:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, source / name, symlinks=True, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, source)
    (source / "docs").mkdir()
    shutil.copytree(ROOT / "docs" / "results", source / "docs" / "results")
    return folder / _done([sys.executable, "-c", BUILD, "build_sdist", folder], source)


def build_wheel(sdist: Path) -> Path:
    """The wheel, made of the sdist alone."""
    folder = sdist.parent / "unpacked"
    shutil.unpack_archive(sdist, folder, filter="data")
    [source] = folder.iterdir()
    return sdist.parent / _done([sys.executable, "-c", BUILD, "build_wheel", sdist.parent], source)


def install(wheel: Path, environment: Path) -> Path:
    """The `bin` of a new environment with the wheel; the libraries are those of this one."""
    _done([sys.executable, "-m", "venv", "--without-pip", environment], wheel.parent)
    python = environment / "bin" / "python"
    site = _done([python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"], wheel.parent)
    Path(site, "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n")
    pip = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps", "--no-index"]
    _done([*pip, "--ignore-installed", wheel], wheel.parent)
    return python.parent
