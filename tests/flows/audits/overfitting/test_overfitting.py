"""The overfitting audit from a pipeline to its report: look-ups are counted over nights, whatever happens to them."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

import numpy as np
import pytest
from direct_nights import Heard, found, latest, perform_night, project_in

from assay.flows.configuration.loading import load_project
from assay.flows.forecast.plan import walk_plan
from assay.flows.reproduce.tables import reproduce
from assay.flows.yaml_document import ConfigurationError
from assay.infra.errors import RunError
from assay.infra.stages.branches import CACHED
from assay.infra.storage.store import Store
from assay.infra.storage.sweep import clean
from assay.tasks.statistics.findings import Finding

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


def night(team: Path, *, fresh: bool = False, heard: Heard | None = None) -> dict[tuple[str, str, str], Finding]:
    """What one night found."""
    assert perform_night(team, "questions", fresh=fresh, heard=heard).status == "done"
    return found(team, "questions")


@pytest.fixture(scope="module")
def first(team: Path) -> dict[tuple[str, str, str], Finding]:
    return night(team)


@pytest.fixture(scope="module")
def page(team: Path, first: object) -> str:
    store, record = latest(team, "questions")
    return store.folder.read(f"reports/{record.id}/index.html").decode()


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
    for said in ("answers: overfit", "Look-up 1", "The gap of each test", "p-values over ε (Figure 5, first row)"):
        assert said in page


def test_where_only_overfitting_was_tested_the_page_does_not_say_that_no_test_was_made(tmp_path):
    (tmp_path / "pipelines.yaml").write_text(PIPELINES.replace("      synthetic:", "      #"))
    write_answers(tmp_path, 0.5, seed=0)
    heard = Heard()
    told = night(tmp_path, heard=heard)
    assert [one for one in heard.stages if one.startswith("statistics")] == [
        "statistics: 12 findings, 1 primary claim shown, Holm over 1 test"
    ]  # how many of the answers are right, and whether that is more than one constant answer gets
    assert len([one for one in told if one[0] == "overfitting.look_up"]) == 2  # by name and by content
    store, record = latest(tmp_path, "questions")
    shown = store.folder.read(f"reports/{record.id}/index.html").decode()
    assert "made no statistical test" not in shown
    assert "Tests with a level of their own" in shown


@pytest.fixture(scope="module")
def again(team: Path, first: object) -> dict[tuple[str, str, str], Finding]:
    """The same, everything computed anew: another result under the same key would be an error."""
    return night(team, fresh=True)


def test_the_same_model_again_is_no_new_look_up(first, again):
    assert {key: one.value for key, one in again.items()} == {key: one.value for key, one in first.items()}
    assert again["overfitting.level", "orbit", ""].n == 1


@pytest.fixture
def later(team: Path, again: object, tmp_path: Path) -> Path:
    """The team after its first two nights, for one test alone: what it spends there, no other test has spent."""
    return Path(shutil.copytree(team, tmp_path / "later"))


@pytest.mark.slow
def test_another_model_spends_the_next_share_and_a_plan_counts_nothing(later):
    write_answers(later, 0.0, seed=1)
    heard = Heard()
    other = night(later, heard=heard)
    assert (other["overfitting.level", "orbit", ""].value, other["overfitting.level", "orbit", ""].n) == (0.05 / 6, 2)
    assert other["overfitting.p_value", "orbit", ""].verdict == "no evidence"
    assert "orbits: answers · 400 orbits, tested" in heard.stages  # p and gap are said where they are counted
    walked = project_in(later, "questions")
    assert {stage.outlook for stage in walk_plan(walked, walked.pipeline("questions"))[0]} == {CACHED}


@pytest.mark.slow
def test_what_was_spent_stays_spent_where_runs_are_forgotten_or_damaged(later):
    """The second model's night hands on that two looks were taken; the third looks for the third time."""
    write_answers(later, 0.0, seed=2)
    night(later)
    store, _ = latest(later, "questions")
    clean(store, keep=1)
    write_answers(later, 0.5, seed=0)  # the first model again, whose look has been forgotten
    assert night(later)["overfitting.level", "orbit", ""].n == 3
    _, record = latest(later, "questions")
    with store.folder.writing(f"runs/{record.id}/findings.parquet") as sink:
        sink.write(b"no table")
    heard = Heard()
    night(later, heard=heard)
    assert any(f"run {record.id} are damaged" in one and "not counted any more" in one for one in heard.notices)


def test_a_night_that_cannot_draw_its_conclusions_has_looked_all_the_same(later, monkeypatch):
    def broken(*_: object) -> None:
        raise RunError("no conclusions today")

    monkeypatch.setattr("assay.flows.audit.conclude", broken)
    with pytest.raises(RunError, match="no conclusions today"):
        perform_night(later, "questions")
    counted = found(later, "questions")
    assert counted["overfitting.level", "orbit", ""].n
    assert counted["overfitting.look_ups", "csv questions.csv, split test", ""].value
    assert latest(later, "questions")[1].report is not None


def test_verdicts_that_cannot_be_given_leave_the_report(later, monkeypatch):
    monkeypatch.setattr("assay.tasks.overfitting.verdicts.judge", lambda *_: 1 / 0)
    with pytest.raises(RunError, match="conclusions of overfitting broke: ZeroDivisionError"):
        perform_night(later, "questions")
    assert latest(later, "questions")[1].report is not None


def test_the_experiment_is_reproduced_beside_the_papers_numbers_or_says_what_to_run(team, first):
    said = reproduce("werpachowski-5", Store(project_in(team, "questions").store))
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


@pytest.mark.parametrize(
    ("subject", "asked", "said"),
    [
        ("train: {epochs: 1}", "{fresh: test}", 'fresh: "test" — is what evaluation.split names'),
        ("train: {epochs: 1}", "{fresh: learn}", 'fresh: "learn" — is what evaluation.train names'),
        ("weights: w.safetensors", "{retrain: 3}", "leaves net no training"),
    ],
)
def test_controls_that_cannot_be_are_refused_before_anything_is_trained(tmp_path, subject, asked, said):
    file = tmp_path / "pipelines.yaml"
    file.write_text(
        "pipelines:\n  p:\n    source: {parquet: a.parquet, image: image, label: gold, split: part}\n"
        f"    evaluation: {{train: learn}}\n    subject: {{name: net, network: small-cnn, crop: 8, {subject}}}\n"
        f"    overfitting: {{translations: {asked}}}\n"
    )
    with pytest.raises(ConfigurationError, match=said):
        load_project(file)
