"""The catalogue's image sets as tables: their sizes, their parts, and copies that cannot fall on both sides."""

import hashlib
import io
import os
from collections import Counter
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from PIL import Image

from assay.data.catalog import located
from assay.data.image_loaders import chest_xray, cifar10_test, isic_uda1, pneumonia_mnist
from assay.data.images import pixels_of
from assay.infra.errors import InputError
from assay.tasks.ingest.settings import Source
from assay.tasks.ingest.sources import resolve
from assay.tasks.ingest.task import ingest


def mirrored(folder: str) -> Path:
    return Path(os.environ["ASSAY_MIRROR"], folder)


def jpeg(seed: int) -> bytes:
    buffer = io.BytesIO()
    Image.fromarray(np.random.default_rng(seed).integers(0, 256, (8, 8, 3), np.uint8)).save(buffer, "JPEG")
    return buffer.getvalue()


def write_isic(folder: Path, labels: list[str], contents: list[bytes]) -> None:
    n = len(labels)
    columns = {
        "isic_id": [f"I{i}" for i in range(n)],
        "benign_malignant": labels,
        "diagnosis": ["nevus"] * n,
        "age_approx": [50.0] * n,
        "sex": [None] * n,
        "jpeg": contents,
    }
    pq.write_table(pa.table(columns), folder / "isic_uda1_250px.parquet")


def test_copies_of_an_image_are_one_sample_and_their_names_are_kept(tmp_path: Path) -> None:
    contents = [jpeg(0), jpeg(1), jpeg(0), jpeg(2), jpeg(1)]
    write_isic(tmp_path, ["benign", "malignant", "benign", "benign", "benign"], contents)
    table = isic_uda1(tmp_path)
    assert table.select(["id", "gold", "copies"]).to_pylist() == [
        {"id": "I0", "gold": 0, "copies": "I2"},
        {"id": "I1", "gold": None, "copies": "I4"},  # one says malignant, its copy benign
        {"id": "I3", "gold": 0, "copies": ""},
    ]


def test_a_label_nobody_knows_is_refused(tmp_path: Path) -> None:
    write_isic(tmp_path, ["benign", "unsure"], [jpeg(0), jpeg(1)])
    with pytest.raises(InputError, match="has the label 'unsure' where benign or malignant is expected"):
        isic_uda1(tmp_path)


def test_files_that_are_missing_or_damaged_are_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"train_sample\.parquet is missing"):
        chest_xray(tmp_path)
    (tmp_path / "cifar10_test_jpeg.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(InputError, match=r"cifar10_test_jpeg\.parquet is not a whole Parquet file"):
        cifar10_test(tmp_path)
    (tmp_path / "pneumoniamnist.npz").write_bytes(b"PK\x03\x04")
    with pytest.raises(InputError, match=r"pneumoniamnist\.npz is no archive"):
        pneumonia_mnist(tmp_path)
    pq.write_table(pa.table({"label": [1]}), tmp_path / "isic_uda1_250px.parquet")
    with pytest.raises(InputError, match="has no column 'isic_id'"):
        isic_uda1(tmp_path)


@pytest.mark.mirror
def test_chest_radiographs_have_parts_subtypes_and_no_image_on_both_sides() -> None:
    table = chest_xray(mirrored("chest_xray_224"))
    counts = Counter(zip(table["split"].to_pylist(), table["gold"].to_pylist(), strict=True))
    assert counts == {("train", 0): 600, ("train", 1): 600, ("test", 0): 234, ("test", 1): 390}
    assert Counter(table["subtype"].to_pylist()) == {"normal": 834, "bacteria": 602, "virus": 388}
    assert len(set(table["id"].to_pylist())) == 1824
    sides: dict[str, set[str]] = {"train": set(), "test": set()}
    for split, content in zip(table["split"].to_pylist(), table["image"].to_pylist(), strict=True):
        sides[split].add(hashlib.sha256(content).hexdigest())
    assert not sides["train"] & sides["test"]


@pytest.mark.mirror
def test_pneumonia_mnist_in_its_published_parts() -> None:
    table = pneumonia_mnist(mirrored("pneumoniamnist"))
    counts = Counter(zip(table["split"].to_pylist(), table["gold"].to_pylist(), strict=True))
    assert counts == {
        ("train", 0): 388,
        ("train", 1): 3494,
        ("valid", 0): 135,
        ("valid", 1): 389,
        ("test", 0): 234,
        ("test", 1): 390,
    }
    assert pixels_of(table).shape == (5030, 1, 28, 28)


@pytest.mark.mirror
def test_dermoscopy_has_no_split_and_no_copies() -> None:
    table = isic_uda1(mirrored("isic_uda1"))
    assert Counter(table["gold"].to_pylist()) == {0: 397, 1: 152}
    assert "split" not in table.column_names
    assert len({hashlib.sha256(content).digest() for content in table["image"].to_pylist()}) == 549
    assert [copies for copies in table["copies"].to_pylist() if copies] == ["ISIC_0000280"]


@pytest.mark.mirror
def test_cifar10_in_its_published_order() -> None:
    table = cifar10_test(mirrored("cifar10_test"))
    assert Counter(table["gold"].to_pylist()) == dict.fromkeys(range(10), 1000)
    parts = Counter(zip(table["split"].to_pylist(), table["gold"].to_pylist(), strict=True))
    assert set(parts.items()) == {
        ((part, code), count) for part, count in (("train", 350), ("test", 500), ("fresh", 150)) for code in range(10)
    }
    original = np.load(mirrored("cifar10_test") / "cifar10_test_original_labels.npy", allow_pickle=False)
    assert table["gold"].to_pylist() == original.tolist()


@pytest.mark.slow
@pytest.mark.mirror
@pytest.mark.usefixtures("run")
@pytest.mark.parametrize(
    ("name", "pixels", "rows", "shape"),
    [
        ("chest-xray", {"size": 64, "channels": 1}, 1824, (1, 64, 64)),
        ("pneumonia-mnist", None, 5030, (1, 28, 28)),
        ("isic-uda1", {"resize": 72, "crop": 64, "margin": 4}, 549, (3, 72, 72)),
        ("cifar10-test", None, 10_000, (3, 32, 32)),
    ],
)
def test_catalogue_images_come_in(
    name: str, pixels: dict[str, int] | None, rows: int, shape: tuple[int, int, int]
) -> None:
    source = resolve(Source.model_validate({"dataset": name, "pixels": pixels}), "/")
    assert located(name).fingerprint == source.fingerprint
    result = ingest(source, source.settings)
    assert (result.samples.rows, result.rejects.rows) == (rows, 0)
    assert result.samples.partitions >= rows // 256
    from assay.infra.stages.partitions import collect

    assert pixels_of(collect(result.samples, ["image", "height", "width", "channels"])).shape[1:] == shape
