"""The chain on the embedded data, in this process: its numbers, its caching, its digests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from repository import ROOT

from assay.flows.audit import audit
from assay.flows.configuration.loading import Project, load_project
from assay.flows.running import engine_of
from assay.infra.stages.runs import Run
from assay.infra.storage.store import Store
from assay.infra.terminal import Progress
from assay.tasks.statistics.findings import Finding, findings_from

PANEL = [
    "mean texture",
    "mean concave points",
    "mean symmetry",
    "texture error",
    "smoothness error",
    "symmetry error",
    "worst fractal dimension",
]
SMALL = ("compute.engine=serial", "weak_labels.labelers=[majority]", "ordering.compare=false")


def perform(store: Path, *overrides: str, seed: int = 0, fresh: bool = False) -> Run:
    project: Project = load_project(
        ROOT / "pipelines.yaml", pipeline="breast-cancer", overrides=[*SMALL, *overrides], store=str(store)
    )
    progress = Progress()
    run = Run(
        "breast-cancer",
        Store(project.store).open(),
        engine_of(project, progress),
        progress,
        seed=seed,
        compute=project.compute,
        fresh=fresh,
    )
    with run:
        made = audit(project.pipeline("breast-cancer"), project.folder)
        assert made.failures == ()
        run.record.status = "done"
    return run


def outputs(run: Run) -> dict[str, str]:
    """Digest of every artifact of a run, by stage title, position and name."""
    return {
        f"{position} {stage.stage} {name}": handle["digest"]
        for position, stage in enumerate(run.record.stages)
        for name, handle in stage.outputs.items()
    }


def cached(run: Run) -> dict[str, bool]:
    return {stage.stage: stage.cached for stage in run.record.stages}


def table(run: Run, stage: str, output: str) -> object:
    from assay.flows.report.records import read_table
    from assay.infra.storage.artifacts import Artifact

    record = next(one for one in run.record.stages if one.stage == stage)
    return read_table(run.store, Artifact.from_json(record.outputs[output]))


def findings(run: Run) -> list[Finding]:
    return findings_from(table(run, "conclude", "result"))


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return perform(tmp_path_factory.mktemp("audit") / "store")


def again(first: Run, *overrides: str, seed: int = 0) -> Run:
    return perform(Path(first.store.url), *overrides, seed=seed)


def test_the_panel_is_the_seven_functions_of_the_golden_numbers(first: Run):
    rows = table(first, "prune_labeling_functions", "panel").to_pylist()
    assert sorted(row["function"] for row in rows if row["kept"]) == sorted(PANEL)


def test_the_order_is_adverse(first: Run):
    by_name = {(one.metric, one.of, one.group): one for one in findings(first)}
    tie_free = by_name["ordering.spearman_tie_free", "ours", "majority"].value
    trend = by_name["ordering.trend_p", "ours", "majority"]
    assert tie_free is not None
    assert tie_free <= -0.9
    assert trend.verdict == "adverse"
    assert (trend.unit, trend.p_adjusted) == ("p, primary", None)  # a primary claim is not paid for by side tests
    assert trend.p_value <= 0.01


def test_the_same_again_computes_nothing(first: Run):
    assert set(cached(again(first)).values()) == {True}


def test_another_delta_reuses_the_votes_and_redoes_the_panel(first: Run):
    what = cached(again(first, "pruning.correlation=0.9"))
    assert what["ingest"]
    assert what["apply_labeling_functions"]
    assert not what["prune_labeling_functions"]
    assert not what["order_adversarially"]


def test_another_seed_never_returns_what_the_first_one_drew(first: Run):
    second = again(first, seed=2)
    assert cached(second)["prune_labeling_functions"]
    drawn = {stage.key for stage in first.record.stages if not cached(second)[stage.stage]}
    assert drawn
    assert drawn.isdisjoint(stage.key for stage in second.record.stages)


@pytest.mark.parametrize("partitions", [7, pytest.param(40, marks=pytest.mark.slow)])
def test_partitions_change_no_digest(first: Run, partitions: int, tmp_path: Path):
    cut = perform(tmp_path / "store", f"compute.partitions={partitions}")
    ingested = next(stage for stage in cut.record.stages if stage.stage == "ingest")
    assert ingested.outputs["samples"]["partitions"] == partitions
    assert outputs(cut) == outputs(first)


def test_fresh_agrees_with_itself(first: Run, tmp_path: Path):
    perform(tmp_path / "store")
    assert outputs(perform(tmp_path / "store", fresh=True)) == outputs(first)


def test_curated_sets_are_nested_and_cover_every_sample_once(first: Run):
    rows = table(first, "order_adversarially", "result")
    assert sorted(rows["rank"].to_pylist()) == list(range(569))
    sizes = [sum(1 for one in rows["dataset"].to_pylist() if one <= i) for i in range(1, 11)]
    assert sizes == [round(569 * i / 10) for i in range(1, 11)]
    ordered = rows.sort_by("rank")["lower"].to_pylist()
    assert ordered == sorted(ordered, reverse=True)


def test_a_broken_subject_does_not_take_the_rest_with_it(tmp_path: Path):
    config = tmp_path / "pipelines.yaml"
    config.write_text(
        """
compute: {engine: serial}
pipelines:
  two:
    source: {dataset: sample/breast-cancer}
    labeling: {functions: breast-cancer}
    weak_labels: {labelers: [majority]}
    ordering: {datasets: 5}
    subjects:
      - {name: broken, model: logistic, features: [no such column]}
      - {name: fine, model: logistic}
"""
    )
    project = load_project(config, pipeline="two", store=str(tmp_path / "store"))
    progress = Progress()
    with Run(
        "two", Store(project.store).open(), engine_of(project, progress), progress, compute=project.compute
    ) as run:
        made = audit(project.pipeline("two"), project.folder)
        assert [type(failure).__name__ for failure in made.failures] == ["InputError"]
        assert "no such column" in run.record.failures[0]
    assert {one.subject for one in findings(run) if one.subject} == {"fine"}


def test_stages_that_are_not_configured_are_skipped(tmp_path: Path, make_run: Callable[..., Run]):
    config = tmp_path / "pipelines.yaml"
    config.write_text("pipelines: {bare: {source: {dataset: sample/breast-cancer}}}")
    project = load_project(config, pipeline="bare", store=str(tmp_path / "store"))
    with make_run() as run:
        audit(project.pipeline("bare"), project.folder)
        assert [stage.stage for stage in run.record.stages] == [
            "ingest"
        ]  # nothing was tested, so there is nothing to correct


def test_a_resorted_source_is_another_source(tmp_path: Path):
    """Votes and labels of the old order must not be laid beside the samples of the new one."""
    rows = [f"s{i},{i},{'yes' if i > 150 else 'no'}" for i in range(300)]
    config, data = tmp_path / "pipelines.yaml", tmp_path / "rows.csv"
    (tmp_path / "rules.py").write_text(
        "def high(x): return 1 if x.x > 140 else 0\n"
        "def higher(x): return 1 if x.x > 170 else -1\n"
        "RULES = [high, higher]\nCLASSES = ['no', 'yes']\n"
    )
    config.write_text(
        "compute: {engine: serial}\n"
        "pipelines:\n"
        "  sorted:\n"
        "    source: {csv: rows.csv, id: id, label: gold}\n"
        "    labeling: {functions: rules.py}\n"
        "    weak_labels: {labelers: [majority]}\n"
        "    ordering: {datasets: 5}\n"
    )

    def accuracy(store: str, order: list[str], datasets: int) -> float | None:
        data.write_text("id,x,gold\n" + "\n".join(order) + "\n")
        overrides = [f"ordering.datasets={datasets}"]
        project = load_project(config, pipeline="sorted", overrides=overrides, store=str(tmp_path / store))
        progress = Progress()
        with Run(
            "sorted", Store(project.store).open(), engine_of(project, progress), progress, compute=project.compute
        ) as run:
            audit(project.pipeline("sorted"), project.folder)
        return next(one.value for one in findings(run) if one.metric == "ordering.accuracy")

    first = accuracy("kept", rows, 5)
    resorted = accuracy("kept", rows[::-1], 6)
    assert resorted == first == accuracy("fresh", rows[::-1], 6)
    assert first is not None
    assert first > 0.9


def test_one_labeler_that_fails_leaves_the_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    from assay.flows.audits import curation_flow as curation

    train = curation.train_labeler

    def fail_for_snorkel(*args: object) -> object:
        if "snorkel" in args:
            raise ZeroDivisionError("a bug in one labeler")
        return train(*args)

    monkeypatch.setattr(curation, "train_labeler", fail_for_snorkel)
    project = load_project(
        ROOT / "pipelines.yaml",
        pipeline="breast-cancer",
        overrides=[SMALL[0], "weak_labels.labelers=[snorkel, majority]", SMALL[2]],
        store=str(tmp_path / "store"),
    )
    progress = Progress()
    with Run("b", Store(project.store).open(), engine_of(project, progress), progress, compute=project.compute) as run:
        made = audit(project.pipeline("breast-cancer"), project.folder)
        assert list(made.results["curation"].orders) == ["majority"]
        assert [str(failure)[:44] for failure in made.failures] == ["labeler snorkel broke: ZeroDivisionError: a "]
    assert any(one.metric == "ordering.permutation_p" for one in findings(run))
