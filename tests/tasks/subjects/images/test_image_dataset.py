"""What a network learns from is checked row by row, and kept as it is stored."""

import tracemalloc

import numpy as np
import pyarrow as pa
import pytest

from assay.data.images import image_columns, pixels_of
from assay.infra.errors import InputError
from assay.tasks.subjects.images.dataset import (
    channel_statistics,
    images_of,
    labelled_images,
    stored_images,
    targets_of,
)

NAMES = ["benign", "malignant", "unclear"]


def samples(
    pixels: np.ndarray, gold: list[int | None] | None = None, labels: list[list[int]] | None = None
) -> pa.Table:
    n = len(pixels)
    columns = {
        "id": pa.array([f"s{row}" for row in range(n)], pa.string()),
        "gold": pa.array(gold if gold is not None else [None] * n, pa.int16()),
    }
    if labels is not None:
        columns["labels"] = pa.array(labels, pa.list_(pa.int8()))
    return pa.table(columns | image_columns(pixels))


def levels(n: int, size: int = 6) -> np.ndarray:
    return np.random.default_rng(0).integers(0, 256, (n, 3, size, size), np.uint8)


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
def test_the_pixels_are_those_of_the_table_bit_for_bit(dtype):
    stored = levels(7) if dtype == np.uint8 else (levels(7) / np.float32(300)).astype(np.float32)
    table = samples(stored, [0, 1, 0, 1, 0, 1, 2])
    lessons = labelled_images(table, NAMES)
    assert lessons.images.dtype == dtype
    rows = np.array([5, 0, 3])
    assert lessons.pixels(rows).tobytes() == pixels_of(table)[rows].tobytes()


def test_images_are_copied_once_and_those_that_teach_nothing_not_at_all():
    n, table = 400, samples(levels(400, size=64), [0, 1] * 200)
    size = n * 3 * 64 * 64
    for rows in (table, table.set_column(1, "gold", pa.array([None, 0, 1, 0] * 100, pa.int16()))):
        tracemalloc.start()
        lessons = labelled_images(rows, NAMES)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < 1.2 * size
        assert lessons.images.nbytes == (n if rows is table else 3 * n // 4) * 3 * 64 * 64


def test_copies_have_one_hash():
    stored = levels(3)
    stored[2] = stored[0]
    contents = images_of(samples(stored), NAMES).contents()
    assert contents[0] == contents[2] != contents[1]


def test_whoever_needs_no_teacher_gets_every_image():
    lessons = images_of(samples(levels(3), [None, 1, None]), NAMES)
    assert (lessons.ids, lessons.targets.tolist()) == (("s0", "s1", "s2"), [-1, 1, -1])


def test_images_whose_class_is_unknown_teach_nothing():
    lessons = labelled_images(samples(levels(4), [None, 2, 0, None]), NAMES)
    assert (lessons.ids, lessons.targets.tolist()) == (("s1", "s2"), [2, 0])


def test_labels_are_a_matrix_in_which_minus_one_is_unknown():
    lessons = labelled_images(samples(levels(3), labels=[[1, 0, -1], [-1, -1, -1], [0, 0, 1]]), NAMES)
    assert lessons.multilabel
    assert lessons.targets.tolist() == [[1, 0, -1], [0, 0, 1]]  # the second sample knows nothing


@pytest.mark.parametrize(
    ("table", "said"),
    [
        (samples(levels(2), [0, 3]), r"Sample 's1' has the class code 3, expected 0 to 2 \(benign, malignant, unclear"),
        (samples(levels(2), labels=[[1, 0, 0], [1, 0]]), "Sample 's1' has 2 labels, expected one for each of benign"),
        (samples(levels(2), labels=[[1, 0, 2], [1, 0, 0]]), r"Sample 's0' has the labels \[1, 0, 2\], expected 1, 0"),
        (samples(levels(2), [None, None]), "no training sample has a known class"),
        (samples(levels(2), [1, 1]), "All 2 training samples are malignant"),
    ],
)
def test_what_cannot_be_learned_from_is_said_by_name(table, said):
    with pytest.raises(InputError, match=said):
        labelled_images(table, NAMES)


def test_images_of_two_shapes_are_refused_by_name():
    table = pa.concat_tables([samples(levels(2), [0, 1]), samples(levels(1, size=5), [0])])
    with pytest.raises(InputError, match=r"Sample 's0' is an image of 3×5×5 .* one of 3×6×6"):
        stored_images(table)


def test_float_images_beyond_their_bounds_are_refused_by_name():
    with pytest.raises(InputError, match="sample 's1' holds the value 255"):
        stored_images(samples(np.array([[[[0.0]]], [[[255.0]]]], np.float32), [0, 1]))


def test_statistics_are_those_of_numpy_per_channel():
    stored = levels(50)
    mean, std = channel_statistics(stored)
    np.testing.assert_allclose(mean, stored.mean(axis=(0, 2, 3)) / 255, atol=1e-6)
    np.testing.assert_allclose(std, stored.std(axis=(0, 2, 3)) / 255, atol=1e-6)


def test_a_channel_that_never_varies_is_divided_by_one():
    assert channel_statistics(np.full((2, 1, 4, 4), 51, np.uint8)) == ((0.2,), (1.0,))


def test_no_samples_have_no_targets():
    assert targets_of(samples(levels(0), []), NAMES).shape == (0,)
