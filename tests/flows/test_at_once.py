"""A whole night is the same one after the other, at once and in a shuffled order: stages, findings, page, exit code."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from shuffled_stages import Shuffled
from team_project import team_project

from assay.flows.configuration.loading import load_project
from assay.flows.running import engine_of, perform
from assay.infra.errors import AssayError
from assay.infra.stages.runs import Conductor, Run
from assay.infra.storage.store import Store
from assay.infra.terminal import Progress
from assay.tasks.statistics.findings import findings_of

BROKEN = """

def predict_nothing(table):
    raise ValueError("no patient is known")
"""


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The team's project, with two labelers and a third model that is broken."""
    folder = team_project(tmp_path_factory.mktemp("team"))
    pipelines, model = folder / "pipelines.yaml", folder / "model.py"
    model.write_text(model.read_text() + BROKEN)
    pipelines.write_text(
        pipelines.read_text().replace("labelers: [majority]", "labelers: [majority, snorkel]")
        + '      - {name: broken, model: "model.py:predict_nothing"}\n'
    )
    return folder


def night(folder: Path, store: str, at_once: int, conductor: Conductor) -> dict[str, Any]:
    """What one night over an empty store says."""
    settings = ["compute.engine=serial", f"compute.at_once={at_once}", "compute.retries=0"]
    project = load_project(
        folder / "pipelines.yaml", pipeline="pair", overrides=settings, store=str(folder / "stores" / store)
    )
    progress = Progress()
    run = Run(
        "pair",
        Store(project.store).open(),
        engine_of(project, progress),
        progress,
        compute=project.compute,
        conductor=conductor,
    )
    run.record.settings = project.pipeline("pair").model_dump(mode="json")
    code = 0
    with run:
        try:
            code = perform(run, project, project.pipeline("pair")).exit_code
        except AssayError as error:
            code = error.exit_code
    record = run.record
    page = Path(str(record.report)).read_text()
    return {
        "code": code,
        "failures": (record.failures, record.missing, record.notices, record.verdicts),
        "worst": record.worst,
        "stages": [(one.stage, one.key, one.summary) for one in record.stages],
        "digests": [output["digest"] for one in record.stages for output in one.outputs.values()],
        "findings": [one.__dict__ | {"run": ""} for one in findings_of(run.store, record)],
        "headings": re.findall(r"<h[1-4][^>]*>.*?</h[1-4]>", page.replace(record.id, "RUN")),
    }


@pytest.mark.parametrize(
    ("at_once", "seed"),
    [(4, None), pytest.param(4, 1, marks=pytest.mark.slow), pytest.param(4, 2, marks=pytest.mark.slow), (2, 3)],
)
def test_a_night_at_once_is_the_night_one_after_the_other(
    team: Path, one_after_the_other: dict[str, Any], at_once: int, seed: int | None
) -> None:
    conductor = Conductor() if seed is None else Shuffled(seed)
    assert night(team, f"{at_once}-{seed}", at_once, conductor) == one_after_the_other


@pytest.fixture(scope="module")
def one_after_the_other(team: Path) -> dict[str, Any]:
    return night(team, "one", 1, Conductor())


def test_the_broken_model_is_named_and_refused_and_the_others_are_measured(one_after_the_other: dict[str, Any]) -> None:
    assert one_after_the_other["code"] == 2
    [failure] = one_after_the_other["failures"][0]
    assert failure.startswith("subject broken: ")
    assert one_after_the_other["worst"] == failure  # what the list of runs and a message say of that night
    assert {one["subject"] for one in one_after_the_other["findings"]} >= {"mild", "strict"}
