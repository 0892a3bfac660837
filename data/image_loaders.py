"""From a catalogue data set's files to one table of images: `id`, `gold`, `split` where there is one, `image`.

Images stay as they lie there, PNG or JPEG bytes (`images: encoded` in the schema's metadata) or raw pixels (`raw`), and
ingest unpacks them on the workers, where `pixels` says how. The classes are named in the metadata.
"""

from __future__ import annotations

import zipfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from assay.data.catalogue_files import present, require_columns, with_classes
from assay.data.images import image_columns
from assay.data.samples.image_table import stratified_split
from assay.infra.errors import InputError

CIFAR10 = ("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck")


def chest_xray(folder: Path) -> pa.Table:
    """1200 training and 624 test radiographs of children, normal or pneumonia, with subtype and patient.

    Copies of an image lie on the same side of the split in this data set; patients are not known to.
    """
    parts = []
    for file, split in (("train_sample.parquet", "train"), ("test.parquet", "test")):
        table = _read(folder / file, ["file", "label", "subtype", "patient_key", "jpeg"])
        parts.append(table.append_column("split", pa.array([split] * table.num_rows, pa.string())))
    images = pa.concat_tables(parts).combine_chunks()
    ids = pc.binary_join_element_wise(images["split"], pc.replace_substring(images["file"], ".jpeg", ""), "-")
    return _encoded(
        {
            "id": ids,
            "gold": _codes(images["label"], ("NORMAL", "PNEUMONIA"), folder),
            "split": images["split"],
            "subtype": images["subtype"],
            "patient": images["patient_key"],
            "image": images["jpeg"],
        },
        ("normal", "pneumonia"),
    )


def pneumonia_mnist(folder: Path) -> pa.Table:
    """5030 grey radiographs of 28 × 28 pixels in their published parts: train 3882, valid 524, test 624."""
    path = present(folder / "pneumoniamnist.npz")
    pixels, gold, split = [], [], []
    try:
        with np.load(path, allow_pickle=False) as arrays:
            for ours, theirs in (("train", "train"), ("valid", "val"), ("test", "test")):
                pixels.append(arrays[f"{theirs}_images"])
                gold.append(arrays[f"{theirs}_labels"].ravel())
                split += [ours] * len(pixels[-1])
    except (KeyError, ValueError, OSError, zipfile.BadZipFile) as error:
        raise InputError(f"{path} is no archive of train, val and test images and labels ({error}).") from error
    numbers = [f"{part}-{at:04d}" for part in ("train", "valid", "test") for at in range(split.count(part))]
    columns = {
        "id": pa.array(numbers),
        "gold": pa.array(np.concatenate(gold).astype(np.int16)),
        "split": pa.array(split),
        **image_columns(np.concatenate(pixels)[:, None]),
    }
    return with_classes(pa.table(columns), ("normal", "pneumonia"), images="raw")


def isic_uda1(folder: Path) -> pa.Table:
    """549 dermoscopic images, benign or malignant; there is no split.

    Of images that are copies byte for byte one stands for all, so that no hold-out can put one copy into training and
    another into the test; `copies` names the others. Where their labels differ, the gold class is unknown.
    """
    columns = ["isic_id", "benign_malignant", "diagnosis", "age_approx", "sex", "jpeg"]
    images = _read(folder / "isic_uda1_250px.parquet", columns)
    gold = _codes(images["benign_malignant"], ("benign", "malignant"), folder).to_pylist()
    first, others = _distinct(images["jpeg"].to_pylist())
    agreed = [gold[at] if all(gold[copy] == gold[at] for copy in others[at]) else None for at in first]
    names = images["isic_id"].to_pylist()
    kept = images.take(pa.array(first))
    return _encoded(
        {
            "id": kept["isic_id"],
            "gold": pa.array(agreed, pa.int16()),
            "diagnosis": kept["diagnosis"],
            "age": kept["age_approx"],
            "sex": kept["sex"],
            "copies": pa.array([" ".join(names[copy] for copy in others[at]) for at in first], pa.string()),
            "image": kept["jpeg"],
        },
        ("benign", "malignant"),
    )


def cifar10_test(folder: Path) -> pa.Table:
    """The 10000 test images of CIFAR-10 in their published order, split here: train 3500, test 5000, fresh 1500.

    All three are parts of the published test set, each class in proportion; `fresh` is for controls that nobody trains
    or measures on.
    """
    images = _read(folder / "cifar10_test_jpeg.parquet", ["test_index", "label", "jpeg"])
    images = images.take(pc.sort_indices(images["test_index"]))
    ids = [f"cifar10-test-{index:05d}" for index in images["test_index"].to_pylist()]
    gold = images["label"].cast(pa.int16())
    columns = {"id": pa.array(ids), "gold": gold, "split": _three_parts(gold.to_numpy()), "image": images["jpeg"]}
    return _encoded(columns, CIFAR10)


def _three_parts(gold: npt.NDArray[np.int16]) -> pa.Array:
    """`train` (35 in a hundred), `test` (50) or `fresh` (15) for every sample, the same in every run."""
    generator, codes = np.random.default_rng([0, len(gold)]), gold.astype(np.int64)
    split = np.array(stratified_split(codes, round(0.65 * len(gold)), generator))
    rest = np.flatnonzero(split == "test")
    fresh = np.array(stratified_split(codes[rest], round(0.15 * len(gold)), generator)) == "test"
    split[rest[fresh]] = "fresh"
    return pa.array(split.tolist(), pa.string())


def _distinct(contents: Sequence[bytes]) -> tuple[list[int], dict[int, list[int]]]:
    """The first position of each content, and for each of them the positions of its copies."""
    seen: dict[bytes, int] = {}
    others: dict[int, list[int]] = {}
    for at, content in enumerate(contents):
        first = seen.setdefault(content, at)
        others.setdefault(first, [])
        if first != at:
            others[first].append(at)
    return list(others), others


def _codes(names: pa.ChunkedArray, classes: tuple[str, ...], folder: Path) -> pa.ChunkedArray:
    codes = pc.index_in(names, value_set=pa.array(classes))
    if codes.null_count:
        strange: npt.NDArray[np.bool_] = codes.is_null().to_numpy()
        raise InputError(
            f"{folder} has the label {names[int(np.argmax(strange))].as_py()!r} where {' or '.join(classes)} is "
            "expected; fetch the data set anew."
        )
    return codes.cast(pa.int16())


def _read(path: Path, columns: list[str]) -> pa.Table:
    import pyarrow.parquet as pq

    try:
        with pq.ParquetFile(present(path)) as file:
            require_columns(path, columns, file.schema_arrow.names)
            return file.read(columns)
    except (pa.ArrowInvalid, OSError) as error:
        raise InputError(f"{path} is not a whole Parquet file ({error}); fetch the data set anew.") from error


def _encoded(columns: dict[str, pa.Array | pa.ChunkedArray], classes: Sequence[str]) -> pa.Table:
    table = pa.table(columns | {"image": columns["image"].cast(pa.large_binary())})
    return with_classes(table, classes, images="encoded")
