"""A night keeps the team's own small files by their content, and a clean-up keeps those of the nights it keeps."""

import hashlib
from pathlib import Path

import pytest

from assay.infra.storage.store import INGREDIENTS
from assay.infra.storage.sweep import clean
from assay.infra.user_code.references import Ingredient
from tests.support.direct_nights import latest, perform_night
from tests.support.team_project import team_project


def kept(folder: Path) -> dict[str, Ingredient]:
    return {one.name: one for one in (Ingredient(**kept) for kept in latest(folder, "night")[1].ingredients)}


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return team_project(tmp_path)


@pytest.mark.slow
def test_rules_and_models_are_kept_and_go_with_the_last_night_that_stood_on_them(project: Path) -> None:
    perform_night(project, "night")
    store, _ = latest(project, "night")
    files = kept(project)
    assert {name: (one.of, one.what) for name, one in files.items()} == {
        "model.py": ("model.py:predict", "code"),
        "rules.py": ("rules.py", "code"),
    }
    rules = (project / "rules.py").read_bytes()
    assert files["rules.py"].sha256 == hashlib.sha256(rules).hexdigest()
    assert store.folder.read(f"{INGREDIENTS}/{files['rules.py'].sha256}") == rules
    (project / "rules.py").write_bytes(rules + b"\n# another night\n")
    perform_night(project, "night")
    assert len(store.folder.sizes(INGREDIENTS)) == 3
    assert f"{INGREDIENTS}/{files['rules.py'].sha256}" in clean(store, keep=1, dry_run=True).results
    clean(store, keep=1)
    assert set(store.folder.sizes(INGREDIENTS)) == {f"{INGREDIENTS}/{one.sha256}" for one in kept(project).values()}


@pytest.mark.slow
def test_a_file_beyond_the_bound_is_named_and_not_kept(project: Path) -> None:
    file = project / "pipelines.yaml"
    file.write_text(f"keep_mib: 0\n{file.read_text()}")
    perform_night(project, "night")
    assert not any(one.kept for one in kept(project).values())
    assert kept(project)["model.py"].bytes == (project / "model.py").stat().st_size
    assert latest(project, "night")[0].folder.sizes(INGREDIENTS) == {}


def test_a_plan_keeps_nothing(project: Path) -> None:
    from assay.flows.forecast.plan import walk_plan
    from tests.support.direct_nights import project_in

    read = project_in(project, "night")
    walk_plan(read, read.pipeline("night"))
    assert not (project / "store").exists()
