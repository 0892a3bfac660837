"""The overfitting audit from a pipeline to its report: look-ups are counted over nights, however the nights are run."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from assay.flows.mistakes import ConfigurationError
from assay.flows.pipeline import Project, load_project
from assay.flows.planning import plan
from assay.flows.records import findings_of
from assay.flows.reproduction import reproduce
from assay.infra.plans import CACHED
from assay.infra.store import Store
from assay.tasks.statistics.findings import Finding

pytestmark = pytest.mark.xdist_group("prefect")

PIPELINES = """
pipelines:
  questions:
    source: {csv: questions.csv, id: id, label: gold}
    subject: {name: answers, predictions: said}
    overfitting:
      gap: 0.1
      orbit: {orbit: question, original: asked}
      synthetic: {eps: [10, 30], runs: 2, models: [1, 2], steps: 60}
"""
QUESTIONS, ORDERS = 400, 6


def write_answers(folder: Path, memorised: float, seed: int) -> None:
    """Questions in six orders of their options, the first of which was asked; a model that knows some by heart."""
    generator = np.random.default_rng(seed)
    right = generator.random((QUESTIONS, ORDERS)) < generator.beta(3, 1.5, QUESTIONS)[:, None]
    right[:, 0] |= generator.random(QUESTIONS) < memorised
    with (folder / "questions.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "gold", "question", "asked", "said"])
        for question in range(QUESTIONS):
            gold = "ab"[question % 2]
            for order in range(ORDERS):
                said = gold if right[question, order] else "ba"[question % 2]
                writer.writerow([f"{question}-{order}", gold, f"q{question}", order == 0, said])


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("questions")
    (folder / "pipelines.yaml").write_text(PIPELINES)
    write_answers(folder, 0.5, seed=0)
    return folder


def project(team: Path, **compute: object) -> Project:
    settings = [f"compute.{name}={value}" for name, value in ({"engine": "serial"} | compute).items()]
    return load_project(team / "pipelines.yaml", pipeline="questions", overrides=settings, store=str(team / "store"))


def night(team: Path, *, fresh: bool = False, **compute: object) -> dict[tuple[str, str, str], Finding]:
    """What one night found, by metric, what it is about, and slice."""
    from assay.flows.running import run_pipeline

    chosen = project(team, **compute)
    result = run_pipeline(chosen, chosen.pipeline("questions"), fresh=fresh)
    assert result.status == "done"
    store = Store(chosen.store)
    found = findings_of(store, store.run(result.run))
    return {(one.metric, one.of, one.group): one for one in found if one.stage == "overfitting"}


@pytest.fixture(scope="module")
def first(team: Path, on_prefect: str) -> dict[tuple[str, str, str], Finding]:
    return night(team)


@pytest.fixture(scope="module")
def page(team: Path, first: object) -> str:
    store = Store(project(team).store)
    return store.folder.read(f"reports/{store.runs()[0].id}/index.html").decode()


def test_a_model_that_knows_its_questions_by_heart_is_found_out(first):
    exact, paper = first["overfitting.p_value", "orbit", ""], first["overfitting.p_value", "orbit", "paper"]
    assert exact.verdict == "overfit"
    assert exact.value is not None
    assert exact.value < 1e-6
    assert paper.verdict == ""  # shown beside, decides nothing
    level, floor = first["overfitting.level", "orbit", ""], first["overfitting.minimum_gap", "orbit", ""]
    assert (level.value, level.n, exact.n) == (0.025, 1, QUESTIONS)
    assert floor.value is not None
    assert floor.value < 0.1


def test_the_report_says_the_verdict_the_level_and_the_gap_that_would_show(page):
    for said in ("answers: overfit", "Look-up 1", "Smallest gap", "p-values over ε (Figure 5, first row)"):
        assert said in page


@pytest.fixture(scope="module")
def again(team: Path, first: object) -> dict[tuple[str, str, str], Finding]:
    """The same on two workers, everything computed anew: another result under the same key would be an error."""
    return night(team, fresh=True, engine="local", workers=2)


def test_the_same_model_again_is_no_new_look_up_and_workers_change_nothing(first, again):
    assert {key: one.value for key, one in again.items()} == {key: one.value for key, one in first.items()}
    assert again["overfitting.level", "orbit", ""].n == 1


def test_another_model_spends_the_next_share_and_a_plan_counts_nothing(team, again):
    write_answers(team, 0.0, seed=1)
    other = night(team)
    assert (other["overfitting.level", "orbit", ""].value, other["overfitting.level", "orbit", ""].n) == (0.05 / 6, 2)
    assert other["overfitting.p_value", "orbit", ""].verdict == "no evidence"
    walked = project(team)
    assert {stage.outlook for stage in plan(walked, walked.pipeline("questions"))} == {CACHED}


def test_the_experiment_is_reproduced_beside_the_papers_numbers_or_says_what_to_run(team, first):
    said = reproduce("werpachowski-5", Store(project(team).store))
    assert "assay run overfitting-synthetic" in said


@pytest.mark.parametrize(
    ("overfitting", "said"),
    [
        ("{orbit: {orbit: question, original: asked}}", "overfitting.orbit.*subject that answers with a class"),
        ("{translations: {eps: 1}}", "overfitting.translations.*network"),
    ],
)
def test_a_test_without_a_subject_for_it_is_refused_with_its_line(tmp_path, overfitting, said):
    file = tmp_path / "pipelines.yaml"
    file.write_text(f"pipelines:\n  p:\n    source: {{csv: a.csv, label: gold}}\n    overfitting: {overfitting}\n")
    with pytest.raises(ConfigurationError, match=said):
        load_project(file)
