"""Predictions of images as a table, and the findings on the clean ones."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from assay.data.images import pixels_of
from assay.data.schemas import Predictions
from assay.infra.errors import InputError
from assay.tasks.statistics.chances import chance_findings
from assay.tasks.statistics.class_areas import class_areas
from assay.tasks.statistics.classification import Groups
from assay.tasks.statistics.classification_findings import About, prediction_findings
from assay.tasks.statistics.findings import Finding
from assay.tasks.subjects.images.lessons import require_one_shape, targets_of
from assay.tasks.subjects.images.model import CARD, Probabilities, load_image_model, said
from assay.tasks.subjects.predictions import predictions_table, require_same_samples
from assay.tasks.subjects.resolved import ResolvedSubject

SEVERAL = -1  # what stands for the predicted class where images bear several labels


def predict_table(samples: pa.Table, *, subject: ResolvedSubject, files: dict[str, bytes]) -> pa.Table:
    """Predictions for a partition of the samples; where images bear several labels the class is −1."""
    model = load_image_model(subject, files)
    if samples.num_rows:
        _require_shape(samples, files, model.name)
    probabilities = model.predict(pixels_of(samples), samples["id"].to_pylist())
    return image_predictions(samples["id"], probabilities, model.multilabel)


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


def image_predictions(ids: pa.ChunkedArray, probabilities: Probabilities, multilabel: bool) -> pa.Table:
    """Predictions from probabilities [n, k]: the most probable class, or −1 and the probability of every label."""
    table = predictions_table(ids, probabilities)
    if not multilabel:
        return table
    several = pa.array(np.full(table.num_rows, SEVERAL, np.int16))
    return table.set_column(1, Predictions.schema.field("predicted"), several)


def clean_findings(
    predictions: pa.Table, samples: pa.Table, classes: Sequence[str], name: str, groups: Groups = None
) -> list[Finding]:
    """How good the subject is on images that nobody has touched, and whether it says more than one thing."""
    require_same_samples(predictions, samples, name)
    truth = targets_of(samples, classes)
    probabilities = probabilities_of(predictions, len(classes))
    about = About("subject", "clean", subject=name)
    *findings, answers = prediction_findings(
        about, said(probabilities, truth.ndim == 2), probabilities, truth, classes, groups=groups
    )
    areas = class_areas(about, probabilities, truth, classes, groups)
    return [*findings, *areas, *chance_findings(about, probabilities, truth, groups), answers]


def probabilities_of(predictions: pa.Table, classes: int) -> Probabilities:
    """The probabilities of a table of predictions [n, k]."""
    flat: npt.NDArray[Any] = predictions["probabilities"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
    return np.asarray(flat, dtype=np.float64).reshape(predictions.num_rows, classes)
