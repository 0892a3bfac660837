"""Samples for the tests of subjects, made where worker processes can import what makes them."""

from dataclasses import dataclass

import pyarrow as pa

SPLITS = ("train", "test", "train", "val", None)


@dataclass(frozen=True)
class Rows:
    """A range of sample numbers."""

    start: int
    stop: int


def rows_without_split(piece: Rows) -> pa.Table:
    """Samples of three classes with a text."""
    numbers = range(piece.start, piece.stop)
    return pa.table({
        "id": pa.array([f"sample-{number}" for number in numbers], pa.string()),
        "gold": pa.array([number % 3 for number in numbers], pa.int16()),
        "text": pa.array([f"text {number}" for number in numbers], pa.string()),
    })  # fmt: skip


def rows_with_split(piece: Rows) -> pa.Table:
    """The same samples, two in five of them in `train`, one each in `test`, in `val` and nowhere."""
    splits = [SPLITS[number % 5] for number in range(piece.start, piece.stop)]
    return rows_without_split(piece).append_column("split", pa.array(splits, pa.string()))


def digits_rows(piece: Rows) -> pa.Table:
    """Some of the embedded digits."""
    from assay.data.samples.digits import digits

    return digits().slice(piece.start, piece.stop - piece.start).replace_schema_metadata(None)


def findings_rows(piece: Rows) -> pa.Table:
    """Images that bear up to three labels: a bright stripe for each; of every seventh the second is unknown."""
    import numpy as np

    from assay.data.images import image_columns

    numbers = np.arange(piece.start, piece.stop)
    labels = np.stack([numbers % 2, numbers // 2 % 2, numbers // 4 % 2], axis=1)
    pixels = np.stack([np.random.default_rng(int(one)).integers(0, 90, (1, 16, 16)) for one in numbers])
    for row, bears in enumerate(labels):
        for label in np.flatnonzero(bears):
            pixels[row, 0, 5 * label + 1 : 5 * label + 5] += 130
    told = np.where((numbers % 7 == 0)[:, None] & (np.arange(3) == 1), -1, labels)
    return pa.table({
        "id": pa.array([f"image-{number}" for number in numbers], pa.string()),
        "gold": pa.nulls(len(numbers), pa.int16()),
        "labels": pa.array(told.tolist(), pa.list_(pa.int8())),
    } | image_columns(pixels.astype(np.uint8)))  # fmt: skip
