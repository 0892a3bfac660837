"""A team's images in which changes can be planted: labels flipped in the table, weights of an earlier epoch."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from assay.data.images import png

PIPELINES = """
compute: {engine: serial, partitions: 3}
pipelines:
  night:
    source: {csv: scans.csv, image: file, id: scan, label: side, split: part}
    subjects:
      - {name: own, network: "network.py:build", weights: weights.safetensors}
    attacks:
      - pgd: {eps: [2/255], steps: 2, keep: 0}
    gates:
      - {finding: attack.accuracy, of: pgd, against: last-passed, drop_at_most: 0.0}
"""
NETWORK = """
import torch


def build(classes):
    return torch.nn.Sequential(torch.nn.AvgPool2d((8, 4)), torch.nn.Flatten(), torch.nn.Linear(2, classes))
"""
SIDES = ("left", "right")
EPS = 2 / 255
EARLY = 0.12
"""How much the network of an earlier epoch leans to the left."""
PARTS = {"labels": "samples", "epoch": "weights"}
"""What `blame` calls each planted change."""


def scan(number: int) -> tuple[npt.NDArray[np.float32], int]:
    """A grey image [1, 8, 8] of which one half is brighter, by more or by less; and which."""
    draw = np.random.default_rng([5, number])
    side = int(draw.integers(2))
    pixels = np.full((1, 8, 8), 0.4, dtype=np.float32)
    pixels[:, :, 4 * side : 4 * side + 4] += draw.uniform(0.0, 0.3)
    return np.round(pixels * 255) / np.float32(255), side


def plant_images(folder: Path, *changes: str, count: int = 600) -> Path:
    """The project with these changes in it: `labels` flipped in the table, weights of an earlier `epoch`."""
    (folder / "scans").mkdir(exist_ok=True)
    lines = ["file,scan,side,part"]
    for number in range(count):
        pixels, side = scan(number)
        (folder / "scans" / f"{number:04d}.png").write_bytes(png(pixels))
        told = 1 - side if "labels" in changes and is_flipped(number) else side
        lines.append(f"scans/{number:04d}.png,s{number:04d},{SIDES[told]},{'train' if number % 10 == 5 else 'test'}")
    (folder / "scans.csv").write_text("\n".join(lines) + "\n")
    (folder / "pipelines.yaml").write_text(PIPELINES)
    (folder / "network.py").write_text(NETWORK)
    (folder / "weights.safetensors").write_bytes(_weights(EARLY if "epoch" in changes else 0.0))
    return folder


def is_flipped(number: int) -> bool:
    """One in nine of the images that are audited has the other label."""
    return number % 10 != 5 and number % 9 == 0


def _weights(leaning: float) -> bytes:
    import torch
    from safetensors.torch import save

    content: bytes = save({"2.weight": torch.eye(2) * 20, "2.bias": torch.tensor([leaning * 20, 0.0])})
    return content


def among_all_images(attacked: float, count: int = 100_000) -> Mapping[str, float]:
    """What each change is to blame for among all images there could be, under an attack of that ε: Shapley's value by
    its definition, for a network whose answer is which half is brighter, and by how much that has to be."""
    draw = np.random.default_rng(3)
    right_side, more = draw.random(count) < 0.5, draw.uniform(0.0, 0.3, count)
    flipped = draw.random(count) < 1 / 9

    def value(*changed: str) -> float:
        label = right_side ^ flipped if "labels" in changed else right_side
        margin = np.where(right_side, more, -more) - (EARLY if "epoch" in changed else 0.0)
        towards = np.where(label, margin, -margin)  # how far on the label's side of the border it is
        return float((towards > 2 * attacked).mean())

    none, labels, epoch, both = value(), value("labels"), value("epoch"), value("labels", "epoch")
    return {"labels": (labels - none + both - epoch) / 2, "epoch": (epoch - none + both - labels) / 2}
