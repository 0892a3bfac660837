"""The whole chain on one data set, shrunken: from rules that look at pictures to a report."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from assay.flows.configuration.loading import load_project
from assay.flows.running import engine_of, perform
from assay.infra.errors import AssayError
from assay.infra.progress import SilentProgress
from assay.infra.runs import Run
from assay.infra.store import Store
from assay.tasks.statistics.findings import FindingIndex
from assay.tasks.statistics.run_findings import findings_of

PIPELINES = """
pipelines:
  shrunken:
    source: {dataset: sample/lesions-small}
    labeling: {functions: lesions}
    pruning: {correlation: 0.6}
    weak_labels: {labelers: [majority, snorkel], epochs: 60}
    ordering: {datasets: 3}
    evaluation: {limit: 60}
    subjects:
      - {name: net, network: small-cnn, width: 0.25, crop: 26, train_on: weak, train: {epochs: 3, batch_size: 32}}
    attacks:
      - pgd: {eps: [4/255], steps: 2, keep: 1}
      - gap: {eps: 4/255, epochs: 1, width: 4, keep: 0}
      - square: {eps: [4/255], queries: 3, keep: 0}
    corruptions: {perturbations: [brightness], severities: [3], frames: 3}
    defenses: [standard: {eps: 4/255, steps: 1, train: {epochs: 1}}]
    diagnostics: {eps: 4/255, images: 1, tsne_samples: 20, perplexity: 5, steps: 8}
    overfitting: {translations: {eps: 1, fresh: fresh, training: false}}
    gates: [{finding: labeling.coverage, of: "", at_least: 0.9}]
"""


def night(folder: Path, store: str, *, at_once: int = 1) -> dict[str, Any]:
    """What one night over an empty store says."""
    (folder / "pipelines.yaml").write_text(PIPELINES)
    settings = ["compute.engine=serial", f"compute.at_once={at_once}", "compute.retries=0"]
    project = load_project(
        folder / "pipelines.yaml", pipeline="shrunken", overrides=settings, store=str(folder / store)
    )
    progress, pipeline = SilentProgress(), project.pipeline("shrunken")
    run = Run("shrunken", Store(project.store).open(), engine_of(project, progress), progress, compute=project.compute)
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
        "findings": FindingIndex(findings_of(run.store, record)),
        "headings": re.findall(r"<h2[^>]*>(.*?)</h2>", page),
    }


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("whole")


@pytest.fixture(scope="module")
def whole(folder: Path) -> dict[str, Any]:
    return night(folder, "store")


def test_every_stage_of_the_chain_speaks_of_the_same_lesions(whole: dict[str, Any]) -> None:
    assert (whole["code"], whole["failures"]) == (0, ([], []))
    stages = {one.stage for one in whole["findings"]}
    assert stages >= {
        "labeling", "pruning", "weak_labels", "ordering", "subject", "attack", "corruption", "defense", "diagnostics",
        "overfitting", "along",
    }  # fmt: skip


def test_the_subject_learns_from_the_rules_and_is_judged_by_gold(whole: dict[str, Any]) -> None:
    findings = whole["findings"]
    taught = findings.get("subject.taught", "net", "weak")
    right = findings.get("subject.lessons_right", "net", "weak")
    assert (taught.n, 0.8 < taught.value < 1) == (340, True)
    assert (right.n, 0.8 < right.value < 1) == (round(taught.value * 340), True)
    assert findings.get("subject.accuracy", "net", "clean").n == 60


def test_models_are_followed_along_the_order_clean_challenged_and_defended(whole: dict[str, Any]) -> None:
    along = whole["findings"].select("along.accuracy")
    assert {one.subject for one in along} == {"net", "net+standard"}
    assert {one.of for one in along} == {"clean", "weak", "pgd", "gap", "square", "corruptions"}
    clean = [one for one in along if (one.subject, one.of) == ("net", "clean")]
    strata = [one for one in clean if one.slice.stratum]
    assert len(strata) == 3
    assert sum(one.n for one in strata) == 60
    assert next(one for one in clean if one.group == "D3").value == whole["findings"].get(
        "subject.accuracy", "net", "clean"
    ).value  # fmt: skip
    assert any("along the order" in heading for heading in whole["headings"])


def test_at_once_is_the_night_one_after_the_other(whole: dict[str, Any], tmp_path: Path) -> None:
    together = night(tmp_path, "store", at_once=4)
    for what in ("code", "failures", "stages", "digests", "headings"):
        assert together[what] == whole[what], what


@pytest.mark.parametrize(
    ("place", "gone", "missing"),
    [
        ("images.corrupting.corrupt_subjects", {"corruption"}, []),
        (
            "curation.flow.prune_labeling_functions",
            {"pruning", "weak_labels", "ordering", "along", "subject", "attack", "defense", "corruption", "overfitting",
             "diagnostics", "labeling"},
            ["along", "subjects", "attacks", "corruptions", "diagnostics", "overfitting"],
        ),
    ],
)  # fmt: skip
def test_a_stage_that_fails_leaves_the_rest_whole_and_says_what_is_missing(
    whole: dict[str, Any], folder: Path, monkeypatch: pytest.MonkeyPatch, place: str, gone: set[str],
    missing: list[str],
) -> None:  # fmt: skip
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
