"""Samples for the tests of subjects, made where worker processes can import what makes them."""

from collections.abc import Callable
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
    return pa.table(
        {
            "id": pa.array([f"sample-{number}" for number in numbers], pa.string()),
            "gold": pa.array([number % 3 for number in numbers], pa.int16()),
            "text": pa.array([f"text {number}" for number in numbers], pa.string()),
        }
    )


def rows_with_split(piece: Rows) -> pa.Table:
    """The same samples, two in five of them in `train`, one each in `test`, in `val` and nowhere."""
    splits = [SPLITS[number % 5] for number in range(piece.start, piece.stop)]
    return rows_without_split(piece).append_column("split", pa.array(splits, pa.string()))


def copied_texts(piece: Rows, split: bool) -> pa.Table:
    """Samples of which the second half repeats the texts of the first, as `7 (1)` does those of `7`."""
    return _copied(piece, split, lambda content: {"text": pa.array([f"text {one}" for one in content], pa.string())})


def copied_images(piece: Rows, split: bool) -> pa.Table:
    """Samples of which the second half repeats the images of the first, byte by byte."""
    import numpy as np

    from assay.data.images import image_columns

    return _copied(
        piece,
        split,
        lambda content: image_columns(
            np.stack([np.random.default_rng(one).integers(0, 256, (1, 4, 4), np.uint8) for one in content])
        ),
    )


def _copied(piece: Rows, split: bool, columns: Callable[[list[int]], dict[str, pa.Array]]) -> pa.Table:
    numbers = list(range(piece.start, piece.stop))
    content = [number % 200 for number in numbers]
    table = pa.table(
        {
            "id": pa.array([f"{one}{' (1)' * (number >= 200)}" for one, number in zip(content, numbers, strict=True)]),
            "gold": pa.array([one % 2 for one in content], pa.int16()),
        }
        | columns(content)
    )
    # With a split, a hundred originals are audited, and the copies of twenty of them train.
    sides = ["train" if 200 <= number < 220 else "test" if number < 100 else "none" for number in numbers]
    return table.append_column("split", pa.array(sides)) if split else table


def digits_rows(piece: Rows) -> pa.Table:
    """Some of the embedded digits."""
    from assay.data.samples.digits import digits

    return digits().slice(piece.start, piece.stop - piece.start).replace_schema_metadata(None)


def digits_all_called(piece: Rows, gold: int | None) -> pa.Table:
    """The same digits, all of one class, or of none that is known."""
    table = digits_rows(piece)
    place = table.column_names.index("gold")
    return table.set_column(place, "gold", pa.array([gold] * table.num_rows, pa.int16()))


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
    return pa.table(
        {
            "id": pa.array([f"image-{number}" for number in numbers], pa.string()),
            "gold": pa.nulls(len(numbers), pa.int16()),
            "labels": pa.array(told.tolist(), pa.list_(pa.int8())),
        }
        | image_columns(pixels.astype(np.uint8))
    )
