"""One partition of samples under attack: what is written down of every sample and ε, and which images are kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import torch

from assay.data.image_schemas import AdversarialImages, Attacked
from assay.data.images import image_columns, pixels_of
from assay.infra.devices import deterministically
from assay.infra.errors import InputError
from assay.infra.seeds import Seeds
from assay.tasks.attacks.running import AttackResult, Draws, Perturb, run_attack
from assay.tasks.attacks.settings import ImageAttack, eps_name
from assay.tasks.attacks.table import IMAGE_ATTACKS
from assay.tasks.subjects.images.model import ImageModel, Pixels, Probabilities, load_image_model, said
from assay.tasks.subjects.resolved import ResolvedSubject

Generators = Mapping[str, dict[str, bytes]]
"""The files of the trained generator for every ε, by `eps_name`."""


@dataclass(frozen=True)
class Assault:
    """Everything a worker needs to attack a partition; picklable."""

    subject: ResolvedSubject
    name: str  # of the subject
    files: dict[str, bytes]
    classes: int
    attack: ImageAttack
    seeds: Seeds
    generators: Generators | None = None

    def model(self) -> ImageModel:
        """The subject, loaded; raises where it knows other classes than the samples have."""
        model = load_image_model(self.subject, self.files)
        if model.classes != self.classes:
            raise InputError(
                f"The subject {self.name} gives {model.classes} values per image, and there are {self.classes} "
                "classes: use a subject that was trained on these."
            )
        return model

    def result(self, model: ImageModel, posed: Posed, eps: float) -> AttackResult:
        """The attack at one ε; at 0 the clean images, bit for bit."""
        images, targets = torch.from_numpy(posed.pixels), torch.from_numpy(posed.targets)
        perturb = self._perturb(model, eps)

        def carry_out() -> AttackResult:
            return run_attack(self.attack, model, images, targets, eps, Draws(self.seeds, posed.ids), perturb=perturb)

        return deterministically(carry_out, model.device)

    def grid(self) -> list[float]:
        """Every ε of the attack in rising order, the clean point first."""
        return sorted({0.0, *self.attack.eps})

    def _perturb(self, model: ImageModel, eps: float) -> Perturb | None:
        learned = IMAGE_ATTACKS.of(self.attack).generator
        if self.generators is None or learned is None or eps == 0:
            return None
        return learned.load(self.generators[eps_name(eps)], model.device, model.block)


@dataclass(frozen=True)
class Posed:
    """A partition of samples as arrays: `targets` is what an attack takes for the truth."""

    ids: tuple[str, ...]
    pixels: Pixels
    clean: Probabilities
    targets: npt.NDArray[np.int64]  # [n], or [n, k]

    @staticmethod
    def of(samples: pa.Table, model: ImageModel) -> Posed:
        """The samples; one whose class is unknown is attacked away from what the subject says of it."""
        ids = tuple(samples["id"].to_pylist())
        pixels = pixels_of(samples)
        clean = model.predict(pixels, ids)
        if model.multilabel:
            return Posed(ids, pixels, clean, _labels(samples, model, ids))
        gold = samples["gold"].to_numpy(zero_copy_only=False).astype(np.float64)
        unknown = np.isnan(gold)
        targets = np.where(unknown, said(clean, multilabel=False), np.where(unknown, 0, gold)).astype(np.int64)
        return Posed(ids, pixels, clean, targets)


def attack_partition(samples: pa.Table, *, assault: Assault, kept: frozenset[str]) -> tuple[pa.Table, pa.Table]:
    """The records of one partition, a row per sample and ε, and the images of the samples in `kept`."""
    if samples.num_rows == 0:
        return Attacked.schema.empty_table(), AdversarialImages.schema.empty_table()
    model = assault.model()
    posed = Posed.of(samples, model)
    records, pictures = [], []
    for eps in assault.grid():
        result = assault.result(model, posed, eps)
        attacked = posed.clean if eps == 0 else model.predict(result.images.numpy(), posed.ids)
        records.append(_record(samples, assault, model, posed, result, attacked, eps))
        pictures.append(_pictures(assault, posed, result.images.numpy(), eps, kept))
    return _by_sample(records, posed.ids), _by_sample(pictures, posed.ids)


def _record(
    samples: pa.Table,
    assault: Assault,
    model: ImageModel,
    posed: Posed,
    result: AttackResult,
    attacked: Probabilities,
    eps: float,
) -> pa.Table:
    n = len(posed.ids)
    moved = (result.images.numpy() - posed.pixels).reshape(n, -1)
    columns = {
        "id": samples["id"],
        "subject": [assault.name] * n,
        "attack": [assault.attack.called] * n,
        "eps": np.full(n, eps),
        "gold": samples["gold"],
        "labels": samples["labels"].cast(pa.list_(pa.int8())) if model.multilabel else pa.nulls(n),
        "clean": _codes(posed.clean, model),
        "attacked": _codes(attacked, model),
        "clean_probabilities": posed.clean.tolist(),
        "attacked_probabilities": attacked.tolist(),
        "success": result.success.numpy(),
        "distance": np.abs(moved).max(axis=1).astype(np.float64),
        "distance_l2": np.sqrt(np.square(moved, dtype=np.float64).sum(axis=1)),
        "steps": result.steps.numpy(),
        "queries": result.queries.numpy(),
        "winner": pa.nulls(n),
    }
    return pa.table([_array_of(columns[field.name], field.type) for field in Attacked.schema], schema=Attacked.schema)


def _pictures(assault: Assault, posed: Posed, images: Pixels, eps: float, kept: frozenset[str]) -> pa.Table:
    everything = assault.attack.keep_all and eps > 0
    rows = [row for row, sample in enumerate(posed.ids) if everything or sample in kept]
    columns: dict[str, Any] = {
        "id": [posed.ids[row] for row in rows],
        "subject": [assault.name] * len(rows),
        "attack": [assault.attack.called] * len(rows),
        "eps": [eps] * len(rows),
        **image_columns(images[rows]),
    }
    return pa.table(
        [_array_of(columns[field.name], field.type) for field in AdversarialImages.schema],
        schema=AdversarialImages.schema,
    )


def _by_sample(tables: Sequence[pa.Table], ids: Sequence[str]) -> pa.Table:
    """The rows of all ε, those of one sample together, in the order of the samples."""
    whole, place = pa.concat_tables(tables), {sample: at for at, sample in enumerate(ids)}
    places = np.array([place[sample] for sample in whole["id"].to_pylist()], np.int64)
    return whole.take(pa.array(places.argsort(kind="stable")))


def _codes(probabilities: Probabilities, model: ImageModel) -> npt.NDArray[np.int16]:
    if model.multilabel:
        return np.full(len(probabilities), -1, np.int16)
    codes: npt.NDArray[np.int16] = said(probabilities, multilabel=False)
    return codes


def _labels(samples: pa.Table, model: ImageModel, ids: Sequence[str]) -> npt.NDArray[np.int64]:
    if "labels" not in samples.column_names:
        raise InputError(
            "The subject knows several labels per image, and the samples have no column `labels`: name the columns of "
            "the labels in source.label."
        )
    labels = samples["labels"].to_pylist()
    for sample, row in zip(ids, labels, strict=True):
        if row is None or len(row) != model.classes:
            raise InputError(
                f"The sample {sample!r} bears {0 if row is None else len(row)} labels, and the subject knows "
                f"{model.classes}."
            )
    return np.asarray(labels, np.int64).reshape(len(ids), model.classes)


def _array_of(column: Any, dtype: pa.DataType) -> pa.Array:
    if isinstance(column, pa.ChunkedArray):
        return column.combine_chunks().cast(dtype)
    return column.cast(dtype) if isinstance(column, pa.Array) else pa.array(column, dtype)
