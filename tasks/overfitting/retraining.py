"""Models that the overfitting test trains: the subject with another seed, and a copy fitted to the test set."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa

from assay.infra.devices import deterministically, torch_device_here
from assay.infra.seeds import Seeds
from assay.tasks.overfitting.settings import Dishonest
from assay.tasks.subjects.images.building import load_state
from assay.tasks.subjects.images.learning import new_model, trained
from assay.tasks.subjects.images.lessons import lessons_of
from assay.tasks.subjects.images.model import CARD, WEIGHTS
from assay.tasks.subjects.resolved import ResolvedSubject
from assay.tasks.subjects.settings import Training

if TYPE_CHECKING:
    from assay.tasks.subjects.learning_state import Checkpoints


def fit_to_test_set(
    evaluation: pa.Table,
    *,
    checkpoints: Checkpoints,
    files: Mapping[str, bytes],
    subject: ResolvedSubject,
    classes: Sequence[str],
    options: Dishonest,
    seeds: Seeds,
) -> tuple[dict[str, bytes], pa.Table]:
    """The files and the curve of the subject after it has learned the test set, each image by its centred window.

    Nothing is varied and nothing set aside: it is to know these pixels and no others.
    """
    lessons = lessons_of(evaluation, classes)
    card = json.loads(files[CARD])
    training = Training(
        epochs=options.epochs, batch_size=options.batch_size, learning_rate=options.learning_rate, validation=0
    )

    def learn() -> tuple[dict[str, bytes], pa.Table]:
        model = new_model(subject, lessons, classes, seeds)
        load_state(model.network, files[WEIGHTS], model.name)
        model = replace(model, mean=tuple(card["mean"]), std=tuple(card["std"]), softmaxed=bool(card["softmaxed"]))
        about = {"fitted_to_the_test_set": True}
        return trained(model, lessons, training, subject, classes, seeds=seeds, checkpoints=checkpoints, about=about)

    return deterministically(learn, torch_device_here())
