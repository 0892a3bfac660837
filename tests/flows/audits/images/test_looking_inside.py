"""A pipeline that asks for diagnostics and smoothing gets both, and is told what is impossible."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from assay.flows.audit import Audit, audit
from assay.flows.audits.images_inside_flow import watched
from assay.flows.configuration.loading import load_project
from assay.flows.pipeline import Pipeline
from assay.flows.report.run_page import parts_of
from assay.flows.running import engine_of
from assay.flows.yaml_document import ConfigurationError
from assay.infra.stages.partitions import collect
from assay.infra.stages.runs import Run
from assay.infra.storage.store import Store
from assay.infra.terminal import Progress
from assay.tasks.reporting.layout import block_markup
from assay.tasks.reporting.parts import Part
from assay.tasks.statistics.findings import FindingIndex, findings_from

SIDE = 12
INSIDE = """
compute: {engine: serial}
pipelines:
  inside:
    source: {parquet: images.parquet, id: id, image: image, label: label, split: split}
    subject: {name: plain, network: small-cnn, width: 0.25, train: {epochs: 2, batch_size: 16}}
    attacks:
      - fgsm: {eps: [0.05, 0.1], keep: 1}
      - pgd: {eps: 0.1, steps: 2, keep: 1}
      - gap: {eps: 0.1, epochs: 1, width: 4, keep: 1}
    diagnostics: {images: 2, tsne_samples: 20, perplexity: 5, neighbours: 3}
    smoothing: {draws: 50, selection: 10, limit: 5}
"""


def write_images(folder: Path) -> None:
    """39 training images and 21 audited ones with a bright stripe on the left, in the middle or on the right."""
    draw = np.random.default_rng(0)
    codes = np.arange(60) % 3
    images = draw.uniform(0.0, 0.3, (60, SIDE, SIDE))
    for image, code in zip(images, codes, strict=True):
        image[:, 4 * code : 4 * code + 4] += 0.6
    pixels = pa.array(images.round(4).tolist(), pa.list_(pa.list_(pa.float64())))
    columns = {
        "id": [f"s{at:02}" for at in range(60)],
        "image": pixels,
        "label": [f"c{code}" for code in codes],
        "split": ["train"] * 39 + ["test"] * 21,
    }
    pq.write_table(pa.table(columns), folder / "images.parquet")


def pipeline_of(folder: Path, *overrides: str) -> Pipeline:
    (folder / "pipelines.yaml").write_text(INSIDE)
    return load_project(folder / "pipelines.yaml", pipeline="inside", overrides=overrides).pipeline("inside")


@pytest.fixture(scope="module")
def made(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Audit, list[Part], dict[tuple[str, str, str], float | None]]:
    folder = tmp_path_factory.mktemp("inside")
    write_images(folder)
    (folder / "pipelines.yaml").write_text(INSIDE)
    read = load_project(folder / "pipelines.yaml", pipeline="inside", store=str(folder / "store"))
    pipeline, progress = read.pipeline("inside"), Progress()
    run = Run("inside", Store(read.store).open(), engine_of(read, progress), progress, seed=0, compute=read.compute)
    with run:
        found = audit(pipeline, read.folder)
        assert found.failures == ()
        assert found.findings is not None
        findings = findings_from(collect(found.findings, None))
        parts = list(parts_of(found, FindingIndex(findings), ()))
        run.record.status = "done"
    return found, parts, {(one.metric, one.of, one.group): one.value for one in findings}


def test_subjects_are_looked_into_clean_and_under_the_first_attack_and_the_generator(made) -> None:
    found, _, values = made
    inside = found.results["diagnostics"].subjects
    assert list(inside) == ["plain"]
    agreements = {(of, group) for metric, of, group in values if metric == "diagnostics.knn_agreement"}
    assert {group for _, group in agreements} == {"train", "clean", "fgsm, eps=0.1", "gap, eps=0.1"}
    assert len(agreements) == 3 * 4
    assert len(inside["plain"].counts) == 2


def test_subjects_are_certified_as_they_are_and_trained_under_noise(made) -> None:
    found, _, values = made
    assert set(found.results["smoothing"].models) == {("plain", "as-it-is"), ("plain", "under-noise")}
    for how in ("as-it-is", "under-noise"):
        shares = [values["defense.certified_accuracy", how, f"radius={radius}"] for radius in ("0", "0.25", "0.5")]
        assert shares == sorted(shares, reverse=True)


def test_the_report_has_a_part_for_each(made) -> None:
    _, parts, _ = made
    by_anchor = {part.anchor: part for part in parts}
    assert "In the last layer of plain" in by_anchor["inside"].sentence
    assert "Smoothed, plain" in by_anchor["certified"].sentence
    for anchor in ("inside", "certified"):
        assert all(block_markup(block, f"b{at}") for at, block in enumerate(by_anchor[anchor].blocks))


def test_what_is_named_is_watched_and_nothing_else(tmp_path: Path) -> None:
    pipeline = pipeline_of(tmp_path)
    named = {None: ["fgsm", "gap"], ("pgd",): ["pgd"], (): []}
    for attacks, expected in named.items():
        assert pipeline.diagnostics is not None
        settings = pipeline.diagnostics.model_copy(update={"attacks": attacks})
        assert [one.called for one in watched(pipeline, settings)] == expected


def test_attacks_written_short_are_known_by_their_names(tmp_path: Path) -> None:
    pipeline = pipeline_of(tmp_path, "attacks=[xu-pgd-4, {pgd: {eps: 0.1}}]", "diagnostics={attacks: [xu-pgd-4, pgd]}")
    assert pipeline.diagnostics is not None
    assert [one.called for one in watched(pipeline, pipeline.diagnostics)] == ["xu-pgd-4", "pgd"]


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("diagnostics.attacks=[pdg]", "there is no such attack; did you mean pgd"),
        ("diagnostics.subjects=[plane]", "there is no such subject; did you mean plain"),
        ("diagnostics.eps=0.05", "gap does not try it"),
        ("diagnostics.eps=4/255", "fgsm does not try it; choose one of 0.05, 0.1, or leave eps out"),
        ("subject={model: logistic}", "needs a subject for images"),
    ],
)
def test_what_cannot_be_looked_at_is_refused_before_anything_runs(tmp_path: Path, override: str, said: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        pipeline_of(tmp_path, override)
    assert said.lower() in str(refused.value).lower()
