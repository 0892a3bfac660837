"""One partition of images under shifted windows: a row per sample and generator."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa

from assay.data.images import pixels_of
from assay.data.overfitting_schemas import ShiftedWindows
from assay.infra.errors import InputError
from assay.tasks.overfitting.lattice import Lattice, Shifted, shift
from assay.tasks.overfitting.settings import Generator
from assay.tasks.subjects.folds import drawn
from assay.tasks.subjects.images.lessons import LABELS, Lessons, require_one_shape, stored_images, targets_of
from assay.tasks.subjects.resolved import ResolvedSubject


def shift_partition(
    samples: pa.Table,
    *,
    files: Mapping[str, bytes],
    subject: ResolvedSubject,
    classes: Sequence[str],
    eps: int,
    generators: Sequence[Generator],
) -> pa.Table:
    """The `ShiftedWindows` of a partition; samples of unknown class are left out."""
    from assay.tasks.overfitting.windows import looking, require_margin
    from assay.tasks.subjects.images.model import load_image_model, require_pixels

    name = subject.settings.name
    if LABELS in samples.column_names:
        raise InputError(
            f"The overfitting test is about one class per image, and the images that {name} sees bear several labels: "
            "leave `overfitting.translations` out."
        )
    truth = targets_of(samples, classes)
    known = np.flatnonzero(truth >= 0)
    if len(known) == 0:
        return ShiftedWindows.schema.empty_table()
    samples, truth = samples.take(pa.array(known)), truth[known]
    _, height, width = require_one_shape(samples)
    crop = require_margin(height, width, subject.settings.crop, eps, name)
    pixels = pixels_of(samples)
    require_pixels(pixels, samples["id"].to_pylist())
    model = load_image_model(subject, files)
    lattice, shifted = shift(len(truth), eps, generators, looking(model, pixels, truth, crop))
    return _table(samples["id"], truth.tolist(), lattice, shifted)


def learned_rows(samples: pa.Table, *, share: float) -> pa.Table:
    """The rows of a partition that train where a share is set aside by content, as the training sets it aside."""
    if share == 0 or samples.num_rows == 0:
        return samples
    lessons = Lessons(tuple(samples["id"].to_pylist()), stored_images(samples), np.zeros(samples.num_rows, np.int64))
    return samples.take(pa.array(np.flatnonzero(~drawn(lessons.contents(), share, "validation"))))


def _table(ids: pa.ChunkedArray, gold: list[int], lattice: Lattice, shifted: Mapping[Generator, Shifted]) -> pa.Table:
    """The rows of all generators, those of a sample together: so no cut of the samples shows."""
    n, wrong_at = len(gold), lattice.near_wrong.reshape(len(gold), -1).tolist()
    tables = [
        pa.Table.from_arrays(
            [
                pa.array(column, field.type)
                for column, field in zip(
                    [
                        ids.to_pylist(),
                        gold,
                        [generator] * n,
                        one.wrong,
                        one.attackable,
                        one.adversarial,
                        one.weighted,
                        wrong_at,
                        lattice.looks,
                    ],
                    ShiftedWindows.schema,
                    strict=True,
                )
            ],
            schema=ShiftedWindows.schema,
        )
        for generator, one in shifted.items()
    ]
    order = np.arange(n * len(tables)).reshape(len(tables), n).T.ravel()
    return pa.concat_tables(tables).combine_chunks().take(pa.array(order))
