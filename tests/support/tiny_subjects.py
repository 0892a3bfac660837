"""Small seeded image subjects for tests: a convolutional network as a model, and one as the files of a subject."""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import torch

from assay.data.images import image_columns, pixels_of
from assay.data.schemas import Classes, Predictions, Samples, SubjectFiles
from assay.infra.stages.exact import Seeds
from assay.infra.stages.partitions import map_partitions, map_pieces, read_files
from assay.infra.stages.stage import stage, write_files, write_table
from assay.infra.storage.artifacts import Artifact
from assay.tasks.attacks.batch import Draws
from assay.tasks.statistics.groups import GROUP
from assay.tasks.subjects.images.model import ImageModel
from assay.tasks.subjects.resolved import ResolvedSubject
from assay.tasks.subjects.settings import Subject, Training

SIZE = 16
SUBJECT = ResolvedSubject(Subject(name="tiny", network="small-cnn", width=0.25, train=Training()))


def tiny_model(
    classes: int = 4,
    *,
    multilabel: bool = False,
    channels: int = 1,
    seed: int = 0,
    mean: float = 0.5,
    std: float = 0.25,
    block: int = 16,
) -> ImageModel:
    """A random convolutional network whose answers vary from image to image."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = torch.nn.Sequential(
            torch.nn.Conv2d(channels, 8, 3, stride=2, padding=1),
            torch.nn.ReLU(),
            torch.nn.Conv2d(8, 16, 3, stride=2, padding=1),
            torch.nn.ReLU(),
            torch.nn.Flatten(),
            torch.nn.Linear(16 * (SIZE // 4) ** 2, classes),
        )
    network.eval().requires_grad_(False)
    return ImageModel(network, classes, multilabel, (mean,) * channels, (std,) * channels, block=block)


def tiny_images(n: int, channels: int = 1, seed: int = 1) -> torch.Tensor:
    """Images of smooth blobs with every value in [0, 1], both bounds among them."""
    noise = torch.rand(n, channels, SIZE // 4, SIZE // 4, generator=torch.Generator().manual_seed(seed))
    smooth = torch.nn.functional.interpolate(noise, SIZE, mode="bilinear")
    return ((smooth - 0.5) * 1.6 + 0.5).clamp(0, 1)


def answers(model: ImageModel, images: torch.Tensor) -> torch.Tensor:
    """What the model says of images: class codes, or labels of 0 and 1."""
    logits = model.logits(images)
    return (logits >= 0).long() if model.multilabel else logits.argmax(dim=1)


def draws_for(n: int, seed: int = 0) -> Draws:
    """The draws of n samples called s0, s1, …"""
    return Draws(Seeds(seed, "attack"), tuple(f"s{i}" for i in range(n)))


@dataclass(frozen=True)
class _Piece:
    start: int
    size: int
    multilabel: bool
    unlabelled: int


@stage(version=1)
def tiny_samples(cuts: list[int], multilabel: bool = False, unlabelled: int = 0) -> Artifact[Samples]:
    """Images in partitions of these sizes, with the class that the tiny subject gives them, or one they are not."""
    starts = np.cumsum([0, *cuts])
    pieces = [_Piece(int(start), int(size), multilabel, unlabelled) for start, size in zip(starts, cuts, strict=False)]
    return map_pieces(_rows, pieces, into=Samples)


@stage(version=1)
def tiny_groups(samples: Artifact[Samples], groups: int) -> Artifact[Samples]:
    """The samples in so many groups of their own, one after another."""
    grouped: Artifact[Samples] = map_partitions(_grouped, samples, into=Samples, groups=groups)
    return grouped


@stage(version=1)
def tiny_answers(samples: Artifact[Samples], files: Artifact[SubjectFiles]) -> Artifact[Predictions]:
    """What the files' network says of the samples."""
    answers: Artifact[Predictions] = map_partitions(_answered, samples, into=Predictions, files=read_files(files))
    return answers


@stage(version=1)
def tiny_classes(count: int = 3) -> Artifact[Classes]:
    """Classes a, b, c, …"""
    names = [chr(ord("a") + code) for code in range(count)]
    return write_table(pa.table({"code": range(count), "name": names}, schema=Classes.schema), into=Classes)


@stage(version=1)
def tiny_files(
    seed: int = 0, classes: int = 3, multilabel: bool = False, broken: bool = False
) -> Artifact[SubjectFiles]:
    """The files of a small-cnn with random weights; a broken one answers with NaN."""
    return write_files(files_of(seed, classes, multilabel, broken), into=SubjectFiles)


def files_of(seed: int, classes: int, multilabel: bool, broken: bool = False) -> dict[str, bytes]:
    """The card and the weights of a small-cnn."""
    from safetensors.torch import save

    from assay.tasks.subjects.images.model import network_of

    network = network_of(SUBJECT, classes=classes, channels=1, size=SIZE, seed=seed)
    state = {name: value.contiguous() for name, value in network.state_dict().items()}
    last = [name for name in state if name.endswith("weight")][-1]
    state[last] = state[last] * (float("nan") if broken else 20.0)  # surer of itself than at random
    card = {
        "classes": classes,
        "channels": 1,
        "size": SIZE,
        "multilabel": multilabel,
        "mean": [0.5],
        "std": [0.25],
        "softmaxed": False,
    }
    return {"card.json": json.dumps(card).encode(), "model.safetensors": save(state)}


def _grouped(rows: pa.Table, *, groups: int) -> pa.Table:
    return rows.append_column(
        GROUP, pa.array([str(int(one[1:]) % groups) for one in rows["id"].to_pylist()], pa.string())
    )


def _answered(rows: pa.Table, *, files: dict[str, bytes]) -> pa.Table:
    from assay.tasks.subjects.images.dataset import image_predictions
    from assay.tasks.subjects.images.model import load_image_model

    model = load_image_model(SUBJECT, files)
    pixels = pixels_of(rows) if rows.num_rows else np.zeros((0, 1, SIZE, SIZE), np.float32)
    return image_predictions(rows["id"], model.predict(pixels), model.multilabel)


def _rows(piece: _Piece) -> pa.Table:
    from assay.tasks.subjects.images.model import load_image_model

    start, size = piece.start, piece.size
    pixels = tiny_images(64)[start : start + size].numpy()
    model = load_image_model(SUBJECT, files_of(0, 3, piece.multilabel))
    columns = {"id": [f"s{i:03}" for i in range(start, start + size)]}
    if size == 0:
        return pa.table(
            {
                "id": pa.array([], pa.string()),
                "gold": pa.array([], pa.int16()),
                **image_columns(np.zeros((0, 1, SIZE, SIZE), np.float32)),
            }
        )
    probabilities = model.predict(pixels)
    if piece.multilabel:
        labels = pa.array((probabilities >= 0.5).astype(np.int8).tolist(), pa.list_(pa.int8()))
        return pa.table({**columns, "gold": pa.nulls(size, pa.int16()), **image_columns(pixels), "labels": labels})
    gold = [int(code) if (start + i) % 7 else (int(code) + 1) % 3 for i, code in enumerate(probabilities.argmax(1))]
    known = [None if start + i < piece.unlabelled else code for i, code in enumerate(gold)]
    return pa.table({**columns, "gold": pa.array(known, pa.int16()), **image_columns(pixels)})
