"""What stands in docs/results is what the present code measures, and docs/results.md is made of nothing else."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest
from command_line import Command, environment
from published_results import PUBLISHED, disagreements, is_outside
from repository import ROOT

from assay.flows.configuration.loading import Project, load_project
from assay.flows.reproduce.paper_table import PaperTable, Results
from assay.flows.reproduce.published import published_result
from assay.flows.reproduce.tables import TABLES, fill, reproduce_all
from assay.infra.storage.store import Store
from assay.tasks.statistics.findings import Finding

NAMES = sorted(folder.name for folder in PUBLISHED.iterdir() if folder.is_dir())
CHEAP = ("digits-defended-quick", "overfitting-synthetic-quick", "reviews-weak")
"""What takes a minute, or of texts and the trust oracle five; breast-cancer is held against what is published in the
newcomer's audit."""


@cache
def ours() -> Project:
    """Every pipeline that comes with Assay."""
    return load_project(ROOT / "pipelines.yaml")


def test_the_page_holds_what_the_published_results_make(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "results.md").read_text(encoding="utf-8")
    assert page == reproduce_all(Store(str(tmp_path)).open(), PUBLISHED), "assay reproduce --all --to docs/results.md"


@pytest.mark.parametrize("name", NAMES)
def test_a_published_run_has_the_settings_of_the_file(name: str) -> None:
    about, findings = published_result(PUBLISHED / name)
    today = ours().pipeline(name).model_dump(mode="json")
    unknown = {key for key, value in today.items() if key not in about["settings"] and value is None}
    assert about["settings"] == {key: value for key, value in today.items() if key not in unknown}  # of a later version
    assert findings
    assert sum(file.stat().st_size for file in (PUBLISHED / name).glob("*.csv")) <= 250_000


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_a_published_run_has_a_line_in_every_table_that_names_it(table: PaperTable, tmp_path: Path) -> None:
    measured = fill(table, Results(Store(str(tmp_path)).open(), PUBLISHED)).measured
    named = {source.called for grid in table.grids for source in grid.sources if {*source.pipelines} & {*NAMES}}
    assert named <= {line.partition(": published run")[0] for line in measured}


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", CHEAP)
def test_it_is_measured_again(name: str, tmp_path: Path) -> None:
    store = tmp_path / "store"
    run = ["run", name, "--json", "--store", str(store), "--config", str(ROOT / "pipelines.yaml"), "--set"]
    command = Command.start([*run, "compute.gpu=never"], folder=tmp_path, env=environment(tmp_path / "home"))
    assert command.wait(1700) == 0, command.err
    opened = Store(str(store)).open()
    [record] = opened.runs()
    assert disagreements(opened, record) == []


def finding(value: float, low: float, high: float, metric: str = "subject.accuracy") -> Finding:
    return Finding(metric, value=value, low=low, high=high)


@pytest.mark.parametrize(
    ("before", "after", "outside"),
    [
        (finding(0.8, 0.7, 0.9), finding(0.6, 0.5, 0.71), False),
        (finding(0.8, 0.7, 0.9), finding(0.6, 0.5, 0.69), True),
        (finding(0.1, 0.1, 0.1), finding(0.1 + 1e-16, 0.1 + 1e-16, 0.1 + 1e-16), False),
        (finding(-0.997, -0.988, -0.985), finding(-0.998, -0.988, -0.985), False),  # an estimate beside its interval
        (finding(1e-6, 1e-6, 1e-6, "overfitting.p_value"), finding(1e-4, 1e-4, 1e-4, "overfitting.p_value"), False),
        (finding(1e-6, 1e-6, 0.01, "overfitting.p_value"), finding(0.2, 0.06, 1.0, "overfitting.p_value"), True),
        (finding(0.2, 0.06, 1.0, "overfitting.p_value"), finding(1e-6, 1e-6, 0.01, "overfitting.p_value"), True),
        (finding(1e-6, 1e-6, 0.01, "overfitting.p_value"), finding(0.2, 0.01, 1.0, "overfitting.p_value"), False),
    ],
)
def test_runs_on_other_processors_contradict_each_other_only_by_more_than_chance(
    before: Finding, after: Finding, outside: bool
) -> None:
    assert is_outside(before, after) is outside
