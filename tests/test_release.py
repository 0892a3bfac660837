"""What is published with a version: its notes, its citation, its metadata."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tomllib
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from types import ModuleType

import pytest
from packaging.specifiers import SpecifierSet
from repository import ROOT

from assay import __version__
from assay.flows.yaml_document import as_dict, as_list, read_yaml

SCRIPT = ROOT / ".ci" / "release.py"


@pytest.fixture(scope="module")
def release() -> ModuleType:
    spec = importlib.util.spec_from_file_location("release", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_core_depends_on_all_but_the_libraries_for_networks_and_texts(release: ModuleType) -> None:
    text = (ROOT / "pyproject.toml").read_text()
    whole = tomllib.loads(text)["project"]
    core = tomllib.loads(release.without_heavy_libraries(text))["project"]
    heavy = set(whole["optional-dependencies"]["all"])
    assert heavy == {each for name in ("images", "text", "snorkel") for each in whole["optional-dependencies"][name]}
    assert heavy < set(whole["dependencies"])
    assert set(core["dependencies"]) == set(whole["dependencies"]) - heavy
    assert core["name"] == "assay-audit-core"


def test_the_notes_are_those_of_the_version_and_before_it_of_what_is_unreleased(release: ModuleType) -> None:
    changelog = "# Changelog\n\n## [Unreleased]\n\nnew\n\n## [0.1.0] - 2026-12-01\n\n### Added\n\n- all\n"
    assert release.notes_of(changelog, "0.1.0") == "### Added\n\n- all"
    assert release.notes_of(changelog, "0.2.0") == "new"


def test_the_citation_is_of_this_version_and_names_the_five_papers() -> None:
    cited = as_dict(read_yaml((ROOT / "CITATION.cff").read_text(), "CITATION.cff").value)
    assert cited["version"] == __version__
    assert len(as_list(cited["references"])) == 5


def test_the_metadata_are_whole() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert {"description", "readme", "requires-python", "license", "authors", "keywords", "classifiers"} <= set(project)


def test_a_release_is_made_of_a_commit_alone(tmp_path: Path) -> None:
    (tmp_path / ".ci").mkdir()
    (tmp_path / ".ci" / "release.py").write_text(SCRIPT.read_text())
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)
    env = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    made = subprocess.run(
        [sys.executable, ".ci/release.py"], cwd=tmp_path, env=env, capture_output=True, text=True, check=False
    )
    assert made.returncode == 1
    assert made.stderr.strip().endswith("a release is made of a commit.")


def test_every_pinned_version_takes_the_oldest_python_that_people_have_of_the_one_it_is_for() -> None:
    """Debian 12, whose Python the image stands on too, has 3.11.2."""
    pinned = [line.partition("==") for line in (ROOT / "requirements.lock").read_text().splitlines() if "==" in line]
    refusing = []
    for name, _, version in pinned:
        with suppress(PackageNotFoundError):
            installed = distribution(name)
            wanted = SpecifierSet(installed.metadata.get("Requires-Python", ""))
            if installed.version.partition("+")[0] == version.split()[0] and "3.11.2" not in wanted:
                refusing.append(f"{name} {version} wants Python {wanted}")
    assert refusing == []
