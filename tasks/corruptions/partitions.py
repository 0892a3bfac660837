"""One partition of images under corruption: the flips of every subject, and the images kept for the report."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from assay.data.image_schemas import CorruptedImages, FrameFlips
from assay.data.images import Pixels, image_columns, pixels_of
from assay.infra.seeds import Seeds
from assay.tasks.corruptions.choice import Corruption
from assay.tasks.corruptions.flips import FrameAnswers, comparisons, count_correct, count_flips
from assay.tasks.corruptions.settings import Corruptions
from assay.tasks.subjects.images.lessons import Targets, require_one_shape, targets_of
from assay.tasks.subjects.resolved import ResolvedSubject

CLEAN = "clean"


@dataclass(frozen=True)
class Onlooker:
    """A subject and its files, under the name that findings call it."""

    name: str
    subject: ResolvedSubject
    files: Mapping[str, bytes]


def corrupt_partition(
    samples: pa.Table,
    shown: npt.NDArray[np.bool_],
    *,
    onlookers: tuple[Onlooker, ...],
    classes: tuple[str, ...],
    settings: Corruptions,
    seeds: Seeds,
) -> tuple[pa.Table, pa.Table]:
    """The `FrameFlips` and the `CorruptedImages` of a partition; `shown` says which of its samples are kept, [n]."""
    flips, images = [FrameFlips.schema.empty_table()], [CorruptedImages.schema.empty_table()]
    if samples.num_rows == 0:
        return flips[0], images[0]
    from assay.tasks.corruptions.frames import look
    from assay.tasks.subjects.images.for_inference import for_inference
    from assay.tasks.subjects.images.model import load_image_model

    require_one_shape(samples)
    models = {one.name: for_inference(load_image_model(one.subject, one.files)) for one in onlookers}
    pixels, ids, truth = pixels_of(samples), samples["id"].to_pylist(), targets_of(samples, classes)
    images.append(_images(pixels[shown], [sample for sample, keep in zip(ids, shown, strict=True) if keep], CLEAN, 0))
    for seen in look(models, pixels, ids, shown, settings, seeds):
        for name, answers in seen.answers.items():
            flips.append(_flips(ids[seen.rows], name, seen.corruption, seen.severity, answers, truth[seen.rows]))
        kept = [ids[row] for row in range(*seen.rows.indices(len(ids))) if shown[row]]
        images.append(_images(seen.shown, kept, seen.corruption.word, seen.severity))
    return _by_sample(flips, ids), _by_sample(images, ids)


def _by_sample(tables: list[pa.Table], ids: list[str]) -> pa.Table:
    """All rows, those of a sample together and in the order of the samples: so no cut of them shows."""
    table = pa.concat_tables(tables).combine_chunks()
    places = pc.index_in(table["id"], pa.array(ids, pa.string())).to_numpy()
    return table.take(pa.array(np.argsort(places, kind="stable")))


def _flips(
    ids: list[str], subject: str, corruption: Corruption, severity: int, answers: FrameAnswers, truth: Targets
) -> pa.Table:
    n = len(ids)
    correct, judged = count_correct(answers, truth, corruption.kind)
    columns = [
        ids,
        [subject] * n,
        [corruption.word] * n,
        np.full(n, severity),
        count_flips(answers, corruption.kind),
        np.full(n, comparisons(answers)),
        correct,
        judged,
    ]
    arrays = [pa.array(column, field.type) for column, field in zip(columns, FrameFlips.schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=FrameFlips.schema)


def _images(pixels: Pixels, ids: list[str], perturbation: str, severity: int) -> pa.Table:
    """The rows of the kept images, in 8 bits."""
    if not ids:
        return CorruptedImages.schema.empty_table()
    n = len(ids)
    named = {
        "id": pa.array(ids, pa.string()),
        "perturbation": pa.array([perturbation] * n, pa.string()),
        "severity": pa.array(np.full(n, severity, np.int16)),
    }
    columns = named | image_columns(np.rint(pixels * 255).astype(np.uint8))
    return pa.table([columns[name] for name in CorruptedImages.schema.names], schema=CorruptedImages.schema)
