"""Which samples are looked into, and what a subject sees in them: rows of numbers, not yet colours.

Samples are drawn evenly over the classes, and those that fell to an attack come before those that did not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from assay.data.images import pixels_of
from assay.data.schemas import DiagnosticImages, LayerFeatures
from assay.tasks.diagnostics.settings import Diagnostics
from assay.tasks.subjects.holding_out import draw_evenly, rows_with_ids
from assay.tasks.subjects.images.dataset import LABELS
from assay.tasks.subjects.images.model import ImageModel, load_image_model
from assay.tasks.subjects.resolved import ResolvedSubject

if TYPE_CHECKING:
    from torch import Tensor

    from assay.tasks.diagnostics.maps import Layers

CLEAN, TRAIN = "clean", "train"


@dataclass(frozen=True)
class InspectedSubject:
    """Everything a worker needs to look into a subject; picklable."""

    subject: ResolvedSubject
    files: dict[str, bytes]
    settings: Diagnostics

    def model(self) -> ImageModel:
        """The subject, loaded."""
        return load_image_model(self.subject, self.files)

    def layers(self, model: ImageModel) -> Layers:
        """The layers that are looked at."""
        from assay.tasks.diagnostics.maps import layers_of

        return layers_of(model.network, str(self.subject.settings.network), self.settings)


@dataclass(frozen=True)
class Truth:
    """What is true of a sample: its class, or its labels; −1 and none where nobody knows."""

    gold: int = -1
    labels: tuple[int, ...] | None = None

    @property
    def code(self) -> int:
        """The class that a picture is coloured by: of several labels the first that holds."""
        return (
            self.gold if self.labels is None else next((at for at, label in enumerate(self.labels) if label == 1), -1)
        )


def asked_about(images: pa.Table, shown: str, eps: float, ids: frozenset[str]) -> pa.Table:
    """The images of a partition that are among the ids, of attacked ones those at one ε."""
    rows = images if shown in (CLEAN, TRAIN) else images.filter(pc.equal(images["eps"], eps))
    return rows_with_ids(rows, ids=ids)


@dataclass(frozen=True)
class Seen:
    """What is looked into: one image, in one circumstance. It takes a second or a minute, until attributions add up."""

    shown: str
    sample: str


def pictures_of(
    piece: Seen,
    *,
    few: Mapping[str, pa.Table],
    eps: Mapping[str, float],
    inspected: InspectedSubject,
    truths: Mapping[str, Truth],
) -> pa.Table:
    """A row per picture: the image, and what is seen in it. `few` are the images looked at, by circumstance."""
    import torch

    model, truth = inspected.model(), truths[piece.sample]
    [pixels] = pixels_of(rows_with_ids(few[piece.shown], ids=frozenset({piece.sample})))
    probabilities = model.predict(pixels[None], [piece.sample])[0]
    about: dict[str, Any] = {
        "id": piece.sample,
        "subject": inspected.subject.settings.name,
        "shown": piece.shown,
        "eps": eps.get(piece.shown, 0.0),
        "said": int(probabilities.argmax()),
        "probabilities": probabilities.tolist(),
        "gold": truth.gold if truth.gold >= 0 else None,
        "labels": None if truth.labels is None else list(truth.labels),
    }
    pictures = _pictures(inspected, model, torch.from_numpy(pixels).to(model.device), truth, about["said"])
    return pa.Table.from_pylist([about | picture for picture in pictures], schema=DiagnosticImages.schema)


def features_partition(
    images: pa.Table, *, inspected: InspectedSubject, shown: str, eps: float, ids: frozenset[str]
) -> pa.Table:
    """What comes out of the layers, a row per layer and image of a partition that is among the ids."""
    from assay.tasks.diagnostics.maps import features_of

    rows = asked_about(images, shown, eps, ids)
    if rows.num_rows == 0:
        return LayerFeatures.schema.empty_table()
    model = inspected.model()
    layers = inspected.layers(model).embedded
    by_layer = features_of(model, pixels_of(rows), layers)
    table = [
        {"id": name, "shown": shown, "layer": layer, "features": features}
        for at, name in enumerate(rows["id"].to_pylist())
        for layer, features in ((layer, by_layer[layer][at]) for layer in layers)
    ]
    return pa.Table.from_pylist(table, schema=LayerFeatures.schema)


def _pictures(
    inspected: InspectedSubject, model: ImageModel, image: Tensor, truth: Truth, predicted: int
) -> list[dict[str, Any]]:
    """The image and its maps, each as the columns that differ; of a cropped subject only the window that it sees."""
    import torch

    from assay.tasks.diagnostics.maps import attention_maps, blurred, feature_maps, integrated_gradients, saliency_maps

    batch, layers, settings = image[None], inspected.layers(model), inspected.settings
    pictures = [_picture("image", model.window(image).cpu().numpy())]
    if layers.mapped is not None:
        pictures.append(_picture("feature map", feature_maps(model, batch, layers.mapped), layer=layers.mapped))
    pictures.append(_picture("saliency", model.window(saliency_maps(model, batch, _target(truth, predicted, model)))))
    baseline = torch.zeros_like(image) if settings.baseline == "black" else blurred(image)
    attribution = integrated_gradients(
        lambda images: model.logits(images)[:, predicted], image, baseline, settings.steps
    )
    summed = model.window(attribution.values).sum(axis=0, keepdims=True).astype(np.float32)
    ends = {"total": attribution.total, "expected": attribution.expected}
    pictures.append(_picture("integrated gradients", summed, **ends))
    for gate, attention in attention_maps(model, batch).items():
        pictures.append(_picture(f"attention {gate}", attention, layer=gate))
    return pictures


def _picture(picture: str, values: Any, **more: Any) -> dict[str, Any]:
    channels, height, width = values.shape
    blob = np.ascontiguousarray(values, dtype=np.float32).tobytes()
    return {"picture": picture, "values": blob, "height": height, "width": width, "channels": channels, **more}


def _target(truth: Truth, predicted: int, model: ImageModel) -> Tensor:
    """What saliency takes for the truth: where nobody knows it, what the subject says."""
    import torch

    if truth.labels is not None:
        return torch.tensor([truth.labels], device=model.device)
    return torch.tensor([truth.gold if truth.gold >= 0 else predicted], device=model.device)


def truths_of(samples: pa.Table) -> dict[str, Truth]:
    """What is true of every sample, by its id."""
    ids = samples["id"].to_pylist()
    if LABELS in samples.column_names:
        rows = samples[LABELS].to_pylist()
        unknown = [-1] * max((len(row) for row in rows if row is not None), default=0)
        return {
            sample: Truth(labels=tuple(-1 if label is None else int(label) for label in row or unknown))
            for sample, row in zip(ids, rows, strict=True)
        }
    gold = samples["gold"].to_pylist()
    return {sample: Truth(-1 if code is None else int(code)) for sample, code in zip(ids, gold, strict=True)}


def draw_samples(truths: dict[str, Truth], limit: int) -> frozenset[str]:
    """At most so many ids, as evenly over the classes as there are samples."""
    return draw_evenly(truths, (truth.code for truth in truths.values()), limit)


def draw_images(truths: dict[str, Truth], attacked: pa.Table | None, eps: float, limit: int) -> frozenset[str]:
    """At most so many ids to look into; where enough of them fell, only of those that were right and then fell."""
    if attacked is None:
        return draw_samples(truths, limit)
    rows = attacked.filter(pc.equal(attacked["eps"], eps))
    wrong = rows.filter((pc.field("clean") >= 0) & (pc.field("gold") != pc.field("clean")))["id"].to_pylist()
    fell = set(rows.filter(rows["success"])["id"].to_pylist()) - set(wrong)
    chosen = draw_samples({sample: truth for sample, truth in truths.items() if sample in fell}, limit)
    others = {sample: truth for sample, truth in truths.items() if sample not in chosen}
    return chosen | draw_samples(others, limit - len(chosen))
