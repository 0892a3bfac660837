"""Shifted windows through a whole night: the test set, all controls and several seeds, and what is said of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from direct_nights import Heard, found, latest, perform_night

from assay.data.schemas import IndependenceTests
from assay.flows.report.records import tables_of
from assay.infra.errors import InputError
from assay.tasks.statistics.findings import Finding

SIDE, ROWS = 14, {"train": 50, "test": 30, "fresh": 20}
PIPELINES = """
pipelines:
  night: &night
    source: {parquet: images.parquet, id: id, image: image, label: label, split: split}
    subject: {name: tiny, network: small-cnn, width: 0.25, crop: 8, train: {epochs: 2, batch_size: 16, validation: 0.2}}
    overfitting:
      gap: 0.5
      translations: {eps: 1, generators: [nearest], fresh: fresh, retrain: 2, dishonest: {epochs: 2}}
  unlabelled:
    <<: *night
    overfitting: {translations: {eps: 1, fresh: unknown}}
  misnamed:
    <<: *night
    overfitting: {translations: {eps: 1, fresh: fersh}}
  splitless:
    <<: *night
    source: {parquet: images.parquet, id: id, image: image, label: label, features: []}
    overfitting: {translations: {eps: 1, fresh: fresh}}
"""


def write_images(folder: Path) -> None:
    """Images of noise with drawn classes; one fresh image is a test image too, and some bear no class."""
    draw = np.random.default_rng(0)
    splits = [split for split, n in ROWS.items() for _ in range(n)]
    images = draw.integers(0, 256, (len(splits), SIDE, SIDE))
    images[-1] = images[ROWS["train"]]
    table = {
        "id": [f"{split}-{at}" for at, split in enumerate(splits)] + ["nameless"],
        "image": pa.array([*images.tolist(), images[0].tolist()], pa.list_(pa.list_(pa.int64()))),
        "label": [*("abc"[code] for code in draw.integers(0, 3, len(splits))), None],
        "split": [*splits, "unknown"],
    }
    pq.write_table(pa.table(table), folder / "images.parquet")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("images")
    (made / "pipelines.yaml").write_text(PIPELINES)
    write_images(made)
    return made


@pytest.fixture(scope="module")
def heard(folder: Path) -> Heard:
    said = Heard()
    assert perform_night(folder, "night", heard=said).status == "done"
    return said


@pytest.fixture(scope="module")
def findings(folder: Path, heard: object) -> dict[tuple[str, str, str], Finding]:
    return found(folder, "night")


def test_fresh_samples_are_asked_of_as_many_seeds_as_the_test_set(findings):
    asked = {group: one.n for (metric, _, group), one in findings.items() if metric == "overfitting.p_value"}
    learned = asked.pop("training")
    assert asked == {"N=2": 30, "fresh, N=2": 20, "dishonest": 30}
    assert 25 <= (learned or 0) < 50  # without the share that was set aside for validation
    counts = findings["overfitting.counts_from", "nearest", "N=2"].value
    assert counts is not None
    assert counts > findings["overfitting.gap", "nearest", "fresh, N=2"].value


def test_stages_say_nothing_of_p_and_gaps_and_copies_among_fresh_samples_are_told(heard):
    assert "tests by shifted windows: tiny · 30 samples, tested" in heard.stages
    assert any(one.startswith("1 of the fresh samples holds an image") for one in heard.notices)


def test_looks_are_counted_by_the_name_of_the_source_and_by_its_content(folder, findings):
    store, record = latest(folder, "night")
    (table,) = tables_of(store, record, IndependenceTests.__name__)
    fingerprint = next(row["test_set"] for row in table.to_pylist() if row["role"] == "test")
    names = {of for metric, of, _ in findings if metric == "overfitting.look_ups"}
    assert names == {fingerprint, "parquet images.parquet, split test"}


def test_the_page_says_what_the_controls_showed(folder, findings):
    store, record = latest(folder, "night")
    page = store.folder.read(f"reports/{record.id}/index.html").decode()
    for said in ("How wrong tiny is when its window moves", "Fresh samples are fresh once", "underpowered"):
        assert said in page


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("unlabelled", "Not one of the fresh samples has a known class.*leave `fresh` out"),
        ("misnamed", "`overfitting.translations.fresh: fersh` is no value of the column 'split'; did you mean fresh"),
        ("splitless", "is a value of the split column, and these samples have none: name the column in `source.split`"),
    ],
)
def test_fresh_samples_that_cannot_be_had_are_refused_before_anything_trains(folder, name, why):
    heard = Heard()
    with pytest.raises(InputError, match=why):
        perform_night(folder, name, heard=heard)
    assert not [stage for stage in heard.stages if stage.startswith(("train", "predict"))]


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.mirror
def test_on_real_images_the_copy_fitted_to_the_test_set_is_found_and_the_honest_subject_is_not(tmp_path):
    assert perform_night(tmp_path, "cifar").status == "done"
    findings = found(tmp_path, "cifar")
    honest, copy = (findings["overfitting.p_value", "strongest", group] for group in ("", "dishonest"))
    assert (honest.n or 0) >= 5000
    assert (honest.value or 0) > 0.5
    assert copy.value is not None
    assert copy.value < 0.05
