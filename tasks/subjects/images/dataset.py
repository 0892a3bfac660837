"""Images out of samples with the classes or labels they bear, and predictions of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import compress

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from assay.data.images import Pixels, pixels_of, require_images
from assay.data.schemas import Predictions, Samples
from assay.infra.errors import InputError
from assay.infra.stages.partitions import collect, columns_in
from assay.infra.storage.artifacts import Artifact
from assay.tasks.subjects.images.model import Probabilities, load_image_model, require_pixels
from assay.tasks.subjects.predictions import codes_known, predictions_table
from assay.tasks.subjects.resolved import ResolvedSubject
from assay.tasks.subjects.trained import CARD

LABELS = "labels"

Stored = npt.NDArray[np.uint8] | Pixels  # [n, c, h, w]: whole levels, or floats within [0, 1]
Targets = npt.NDArray[np.int64]  # [n] class codes, or [n, k] labels of 1, 0 and −1 (unknown)


@dataclass(frozen=True)
class LabelledImages:
    """Images with what they show, in sample order; where `targets` is [n, k], images bear several labels."""

    ids: tuple[str, ...]
    images: Stored
    targets: Targets

    @property
    def multilabel(self) -> bool:
        """Whether images bear several labels."""
        return self.targets.ndim == 2

    def contents(self) -> list[str]:
        """A hash of every image, by which copies under several names are known for the same."""
        return [blake2b(np.ascontiguousarray(image).data, digest_size=16).hexdigest() for image in self.images]

    def pixels(self, rows: npt.NDArray[np.int64]) -> Pixels:
        """The pixels of some images as float32 in [0, 1], the same bits that `pixels_of` gives."""
        chosen = self.images[rows]
        return np.asarray(chosen / np.float32(255) if chosen.dtype == np.uint8 else chosen, dtype=np.float32)


def labelled_images(samples: pa.Table, classes: Sequence[str]) -> LabelledImages:
    """The samples whose class, or of whose labels one at least, is known; raises in words where a value is wrong."""
    targets = targets_of(samples, classes)
    known = np.asarray(targets >= 0 if targets.ndim == 1 else (targets >= 0).any(axis=1))
    _require_teachable(targets[known], classes)
    ids = samples["id"].filter(pa.array(known))
    return LabelledImages(tuple(ids.to_pylist()), stored_images(samples, known), targets[known])


def images_of(samples: pa.Table, classes: Sequence[str]) -> LabelledImages:
    """All samples, for what needs images and no teacher: targets of −1 are unknown."""
    return LabelledImages(tuple(samples["id"].to_pylist()), stored_images(samples), targets_of(samples, classes))


def targets_of(samples: pa.Table, classes: Sequence[str]) -> Targets:
    """The class code of every sample [n], −1 where unknown; or its labels [n, k], where there is such a column."""
    if LABELS not in samples.column_names:
        return codes_known(samples, classes)
    labels = samples[LABELS].combine_chunks()
    lengths = pc.fill_null(pc.list_value_length(labels), 0).to_numpy(zero_copy_only=False)
    wrong = np.flatnonzero(lengths != len(classes))
    if len(wrong):
        raise InputError(
            f"Sample {samples['id'][int(wrong[0])].as_py()!r} has {lengths[wrong[0]]} labels, expected one for each of "
            f"{', '.join(classes)}: 1, 0, or -1 where unknown."
        )
    flat = pc.fill_null(labels.flatten(), -1).to_numpy(zero_copy_only=False)
    matrix: Targets = flat.astype(np.int64).reshape(len(labels), len(classes))
    wrong = np.flatnonzero(((matrix < -1) | (matrix > 1)).any(axis=1))
    if len(wrong):
        raise InputError(
            f"Sample {samples['id'][int(wrong[0])].as_py()!r} has the labels {matrix[wrong[0]].tolist()}, expected 1, "
            "0, or -1 where unknown."
        )
    return matrix


def truth_columns(samples: Artifact[Samples]) -> pa.Table:
    """What `targets_of` reads of all samples: ids and classes, and the labels where images bear several."""
    return collect(samples, [name for name in ("id", "gold", LABELS) if name in columns_in(samples)])


def stored_images(samples: pa.Table, kept: npt.NDArray[np.bool_] | None = None) -> Stored:
    """The images of all rows, or of those kept [n, c, h, w]: bytes where all have 8 bits, else float32.

    Each is copied once, into its place: images are what fills the memory of a training.
    """
    require_images(samples)
    kept = np.ones(samples.num_rows, dtype=np.bool_) if kept is None else kept
    mask = pa.array(kept)
    about = samples.drop_columns(["image"]).filter(mask)
    if about.num_rows == 0:
        return pixels_of(about)
    shape = require_one_shape(about)
    if pc.unique(pc.binary_length(samples["image"]).filter(mask)).to_pylist() == [int(np.prod(shape))]:
        images = np.empty((about.num_rows, *shape), np.uint8)
        for row, blob in enumerate(compress(samples["image"], kept)):
            images[row] = np.frombuffer(blob.as_buffer(), np.uint8).reshape(shape)
        return images
    pixels = pixels_of(samples if kept.all() else samples.filter(mask))
    require_pixels(pixels, about["id"].to_pylist())
    return pixels


def require_one_shape(samples: pa.Table) -> tuple[int, int, int]:
    """Channels, height and width of the images; raises naming a sample of another shape."""
    shapes = np.stack([samples[name].to_numpy() for name in ("channels", "height", "width")], axis=1)
    other = np.flatnonzero((shapes != shapes[0]).any(axis=1))
    if len(other):
        first, second = ("×".join(map(str, shapes[row])) for row in (0, int(other[0])))
        raise InputError(
            f"Sample {samples['id'][int(other[0])].as_py()!r} is an image of {second} (channels, height, width) and "
            f"sample {samples['id'][0].as_py()!r} one of {first}: let the source bring all to one shape (`pixels`)."
        )
    channels, height, width = (int(extent) for extent in shapes[0])
    return channels, height, width


def channel_statistics(images: Stored) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Mean and standard deviation of every channel over all pixels, rounded to six digits; 1 where nothing varies.

    >>> channel_statistics(np.array([[[[0, 255]]], [[[0, 255]]]], np.uint8))
    ((0.5,), (0.5,))
    """
    unit = 255.0 if images.dtype == np.uint8 else 1.0
    totals = [images[:, channel].sum(dtype=np.float64) for channel in range(images.shape[1])]
    means = [float(total) / images[:, 0].size for total in totals]
    spreads = []
    for channel, mean in enumerate(means):
        squares = sum(float(((image.astype(np.float64) - mean) ** 2).sum()) for image in images[:, channel])
        spreads.append((squares / images[:, 0].size) ** 0.5)
    mean_of = tuple(round(mean / unit, 6) for mean in means)
    return mean_of, tuple(round(spread / unit, 6) or 1.0 for spread in spreads)


def _require_teachable(targets: Targets, classes: Sequence[str]) -> None:
    if len(targets) == 0:
        raise InputError(
            "The network is to learn and no training sample has a known class: name the gold column of the source, or "
            "bring weights (`weights: file.safetensors`)."
        )
    if targets.ndim == 1 and len(present := np.unique(targets)) == 1:
        raise InputError(
            f"All {len(targets)} training samples are {classes[int(present[0])]}: a classifier needs two classes at "
            "least; look at the split, or at `evaluation.train`."
        )


SEVERAL = -1  # what stands for the predicted class where images bear several labels


def predict_table(
    samples: pa.Table, subject: ResolvedSubject, files: dict[str, bytes], _classes: Sequence[str] = ()
) -> pa.Table:
    """Predictions for a partition of the samples; where images bear several labels the class is −1."""
    model = load_image_model(subject, files)
    if samples.num_rows:
        _require_shape(samples, files, model.name)
    probabilities = model.predict(pixels_of(samples), samples["id"].to_pylist())
    return image_predictions(samples["id"], probabilities, model.multilabel, chances=subject.gives_chances)


def _require_shape(samples: pa.Table, files: Mapping[str, bytes], name: str) -> None:
    """Raises unless the images are of the shape that the network was made for."""
    card = json.loads(files[CARD])
    made_for = card["channels"], card["height"], card["image_width"]
    image_shape = require_one_shape(samples)
    if image_shape != made_for:
        shown = ["×".join(map(str, shape)) for shape in (image_shape, made_for)]
        raise InputError(
            f"Sample {samples['id'][0].as_py()!r} is an image of {shown[0]} (channels, height, width), and {name} was "
            f"made for {shown[1]}: let the source bring all images to one size and one mode."
        )


def image_predictions(
    ids: pa.ChunkedArray, probabilities: Probabilities, multilabel: bool, *, chances: bool = True
) -> pa.Table:
    """Predictions from probabilities [n, k]: the most probable class, or −1 and the probability of every label."""
    table = predictions_table(ids, probabilities, chances=chances)
    if not multilabel:
        return table
    several = pa.array(np.full(table.num_rows, SEVERAL, np.int16))
    return table.set_column(1, Predictions.schema.field("predicted"), several)
