#!/usr/bin/env python3
"""Makes a version ready to be published: sdist, wheel, the wheel without the libraries for networks and texts
(`assay-audit-core`), their hashes and the notes of the release, in dist/.

    make release                          # what is committed, checked by twine
    make release HOME_URL=https://…       # with the address of the project in the metadata

Nothing is uploaded and nothing tagged: the last lines say how whoever publishes does that.
"""

from __future__ import annotations

import hashlib
import io
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def notes_of(changelog: str, version: str) -> str:
    """The section of a version in the changelog; before its heading is written, that of what is unreleased.

    >>> notes_of("# Changelog\\n## [Unreleased]\\nnew\\n## [0.1.0] - 2026-12-01\\nfirst\\n", "0.1.0")
    'first'
    """
    sections = dict(re.findall(r"(?ms)^## \[([^\]]+)\][^\n]*\n(.*?)(?=^## \[|\Z)", changelog))
    return (sections.get(version) or sections["Unreleased"]).strip()


def source_at_commit(folder: Path) -> str:
    """The tree of the newest commit, put into a folder; the commit."""
    if subprocess.check_output(["git", "-C", ROOT, "status", "--porcelain"]):
        sys.exit("The working tree has changes that are not committed: a release is made of a commit.")
    tree = subprocess.check_output(["git", "-C", ROOT, "archive", "HEAD"])
    with tarfile.open(fileobj=io.BytesIO(tree)) as packed:
        packed.extractall(folder, filter="tar")
    return subprocess.check_output(["git", "-C", ROOT, "rev-parse", "HEAD"], text=True).strip()


def without_heavy_libraries(project: str) -> str:
    """pyproject.toml of `assay-audit-core`: what the extra `all` brings is left out of what it depends on.

    >>> print(without_heavy_libraries('name = "assay-audit"\\n    "click",\\n    "torch>=2",\\nall = ["torch>=2"]'))
    name = "assay-audit-core"
        "click",
    all = ["torch>=2"]
    """
    [brought] = re.findall(r"(?m)^all = \[(.*)\]$", project)
    for requirement in re.findall(r'"[^"]+"', brought):
        project = project.replace(f"    {requirement},\n", "", 1)
    return project.replace('name = "assay-audit"', 'name = "assay-audit-core"', 1)


def build(source: Path, dist: Path, *kinds: str) -> None:
    """Puts distributions of a tree into a folder."""
    command = [sys.executable, "-m", "build", "--no-isolation", *kinds, "--outdir", dist, source]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def main(home: str) -> None:
    """Builds, checks, and says what is left to do."""
    dist = ROOT / "dist"
    shutil.rmtree(dist, ignore_errors=True)
    dist.mkdir()
    with tempfile.TemporaryDirectory() as place:
        source = Path(place)
        commit = source_at_commit(source)
        project = source / "pyproject.toml"
        if home:
            pages = {"Homepage": "", "Changelog": "/blob/main/CHANGELOG.md", "Documentation": "/tree/main/docs"}
            urls = "".join(f'{name} = "{home.rstrip("/")}{path}"\n' for name, path in pages.items())
            project.write_text(project.read_text() + f"\n[project.urls]\n{urls}")
        version = re.findall(r'__version__ = "(.+)"', (source / "assay" / "__init__.py").read_text())[0]
        cited = re.findall(r"(?m)^version: (.+)$", (source / "CITATION.cff").read_text())
        if cited != [version]:
            sys.exit(f"CITATION.cff says version {', '.join(cited)}, and assay/__init__.py says {version}.")
        build(source, dist)
        shutil.rmtree(source / "build", ignore_errors=True)
        project.write_text(without_heavy_libraries(project.read_text()))
        build(source, dist, "--wheel")
    files = sorted(dist.iterdir())
    subprocess.run([sys.executable, "-m", "twine", "check", "--strict", *files], check=True)
    sums = [f"{hashlib.sha256(file.read_bytes()).hexdigest()}  {file.name}\n" for file in files]
    (dist / "SHA256SUMS").write_text("".join(sums))
    notes = notes_of((ROOT / "CHANGELOG.md").read_text(), version)
    (dist / "NOTES.md").write_text(f"{notes}\n\nMade of commit {commit}. sha256:\n\n```\n{''.join(sums)}```\n")
    print("".join(sums) + f"notes: {dist / 'NOTES.md'}")
    print(f"To publish: git tag -s v{version} {commit} && git push origin v{version}; twine upload dist/assay_audit*")


if __name__ == "__main__":
    main(*(sys.argv[1:] or [""]))
