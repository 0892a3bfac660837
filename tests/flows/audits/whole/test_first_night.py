"""The whole chain on one data set, shrunken: from rules that look at pictures to a report."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from assay.flows.configuration.loading import load_project
from assay.flows.running import engine_of, perform
from assay.infra.errors import AssayError
from assay.infra.stages.runs import Run
from assay.infra.storage.store import Store
from assay.infra.terminal import Progress
from assay.tasks.statistics.findings import FindingIndex, findings_of
from tests.support.shrunken_night import PIPELINES


def night(folder: Path, store: str, name: str = "shrunken", *, at_once: int = 1) -> dict[str, Any]:
    """What one night says."""
    (folder / "pipelines.yaml").write_text(PIPELINES)
    settings = ["compute.engine=serial", f"compute.at_once={at_once}", "compute.retries=0"]
    project = load_project(folder / "pipelines.yaml", pipeline=name, overrides=settings, store=str(folder / store))
    progress, pipeline = Progress(), project.pipeline(name)
    run = Run(name, Store(project.store).open(), engine_of(project, progress), progress, compute=project.compute)
    run.record.settings = pipeline.model_dump(mode="json")
    code = 0
    with run:
        try:
            code = perform(run, project, pipeline).exit_code
        except AssayError as error:
            code = error.exit_code
    record = run.record
    page = Path(str(record.report)).read_text()
    return {
        "code": code,
        "failures": (record.failures, record.missing),
        "stages": [(one.stage, one.key) for one in record.stages],
        "digests": [output["digest"] for one in record.stages for output in one.outputs.values()],
        "computed": [one.stage for one in record.stages if not one.cached],
        "findings": FindingIndex(findings_of(run.store, record)),
        "headings": re.findall(r"<h2[^>]*>(.*?)</h2>", page),
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("whole")


@pytest.fixture(scope="module")
def whole(folder: Path) -> dict[str, Any]:
    return night(folder, "store")


@pytest.mark.slow
def test_every_stage_of_the_chain_speaks_of_the_same_lesions(whole: dict[str, Any]) -> None:
    assert (whole["code"], whole["failures"]) == (0, ([], []))
    stages = {one.stage for one in whole["findings"]}
    assert stages >= {
        "labeling",
        "pruning",
        "weak_labels",
        "ordering",
        "subject",
        "attack",
        "corruption",
        "defense",
        "diagnostics",
        "overfitting",
        "along",
    }


@pytest.mark.slow
def test_the_subject_learns_from_the_rules_and_is_judged_by_gold(whole: dict[str, Any]) -> None:
    findings = whole["findings"]
    taught = findings.get("subject.taught", "net", "weak")
    right = findings.get("subject.lessons_right", "net", "weak")
    assert (taught.n, 0.8 < taught.value < 1) == (1200, True)
    assert (right.n, 0.8 < right.value < 1) == (round(taught.value * 1200), True)
    assert findings.get("subject.accuracy", "net", "clean").n == 60


def test_models_are_followed_along_the_order_clean_challenged_and_defended(whole: dict[str, Any]) -> None:
    along = whole["findings"].select("along.accuracy")
    assert {one.subject for one in along} == {"net", "net+standard"}
    assert {one.of for one in along} == {"clean", "weak", "pgd", "gap", "square", "corruptions"}
    clean = [one for one in along if (one.subject, one.of) == ("net", "clean")]
    strata = [one for one in clean if one.slice.stratum]
    assert len(strata) == 3
    assert sum(one.n for one in strata) == 60
    assert (
        next(one for one in clean if one.group == "D3").value
        == whole["findings"].get("subject.accuracy", "net", "clean").value
    )
    assert any("along the order" in heading for heading in whole["headings"])


def test_a_defence_is_held_against_its_original_on_every_stratum(whole: dict[str, Any]) -> None:
    gains = whole["findings"].select("along.gain", subject="net+standard", of="pgd")
    assert [one.slice.stratum for one in gains] == [None, 1, 2, 3]
    assert sum(one.n for one in gains[1:]) == gains[0].n == 60
    assert "along.gain_trend_p" in {one.metric for one in whole["findings"]}


def test_nothing_is_computed_twice_for_two_pipelines_that_share_data_rules_and_network(
    whole: dict[str, Any], folder: Path
) -> None:
    sharing = night(folder, "store", "sharing")
    assert sharing["code"] == 0
    # what says more because more was asked of the other: how the attacks compare, and what all findings conclude
    assert set(sharing["computed"]) <= {"measure_attacks", "follow_subject", "conclude"}
    assert len(sharing["stages"]) - len(sharing["computed"]) >= 20


@pytest.mark.slow
def test_at_once_is_the_night_one_after_the_other(whole: dict[str, Any], tmp_path: Path) -> None:
    together = night(tmp_path, "store", at_once=4)
    for what in ("code", "failures", "stages", "digests", "headings"):
        assert together[what] == whole[what], what


@pytest.mark.parametrize(
    ("place", "gone", "missing"),
    [
        ("images_flow.corrupt_subjects", {"corruption"}, []),
        (
            "curation_flow.prune_labeling_functions",
            {
                "pruning",
                "weak_labels",
                "ordering",
                "along",
                "subject",
                "attack",
                "defense",
                "corruption",
                "overfitting",
                "diagnostics",
                "labeling",
            },
            ["along", "subjects", "attacks", "corruptions", "diagnostics", "overfitting"],
        ),
    ],
)
def test_a_stage_that_fails_leaves_the_rest_whole_and_says_what_is_missing(
    whole: dict[str, Any], folder: Path, monkeypatch: pytest.MonkeyPatch, place: str, gone: set[str], missing: list[str]
) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("a bug in one stage")

    monkeypatch.setattr(f"assay.flows.audits.{place}", broken)
    left = night(folder, "store")  # what does not stand on that stage is taken from the whole night
    assert left["code"] == 3
    assert ["ZeroDivisionError: a bug in one stage" in one for one in left["failures"][0]] == [True]
    assert sorted(one.partition(":")[0] for one in left["failures"][1]) == sorted(missing)
    there, before = ({one.stage for one in one_night["findings"]} for one_night in (left, whole))
    assert there == before - gone
    kept = {(one.stage, one.metric, one.subject, one.of, one.group): one.value for one in whole["findings"]}
    same = [one for one in left["findings"] if one.of != "corruptions"]
    assert all(kept[one.stage, one.metric, one.subject, one.of, one.group] == one.value for one in same)
