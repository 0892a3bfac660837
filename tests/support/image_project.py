"""A team's images: a folder of PNGs per class, one torn JPEG, a network of ours and one of theirs with its weights."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from assay.data.images import png

PIPELINES = """
compute: {workers: 2, partitions: 4}
pipelines:
  scans:
    description: Stripes on a grey ground
    source: {images: scans}
    subjects:
      - {name: ours, network: "networks.py:watched", train: {epochs: 5, batch_size: 16}}
      - {name: theirs, network: "networks.py:build", weights: theirs.safetensors, mean: [0.5], std: [0.25]}
    attacks:
      - pgd: {eps: [0, 4/255, 0.3], steps: 10, keep: 1, transfer: true}
      - fgsm: {eps: [4/255, 0.3], keep: 1}
    corruptions: {perturbations: [gaussian-noise, translate], severities: [1, 3], frames: 5}
    gates:
      - {finding: attack.red_flag, at_most: 0}
"""

NETWORKS = '''
import json
import os
import signal
from contextlib import suppress
from pathlib import Path

import torch


def killed_once(mark):
    """With a file of this name among the marks, the worker dies as soon as the file that it waits for is there."""
    mark = Path(os.environ.get("TEAM_MARKS", "/nowhere"), mark)
    with suppress(FileNotFoundError):
        awaited = json.loads(os.readlink(mark))  # a file that is opened would have to be in the key of its results
        if list(Path(awaited["store"]).glob(awaited["pattern"])):
            mark.rename(mark.with_suffix(".done"))
            os.kill(os.getpid(), signal.SIGKILL)


class Stripes(torch.nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.first = torch.nn.Conv2d(1, 8, 5, stride=2, padding=2)
        self.last = torch.nn.Linear(8 * 64, classes)

    def forward(self, images):
        return self.last(torch.relu(self.first(images)).flatten(1))


class Watched(Stripes):
    def forward(self, images):
        if self.training:
            killed_once("training")
        elif images.requires_grad:
            killed_once("attack")
        return super().forward(images)


def build(classes):
    return Stripes(classes)


def watched(classes):
    return Watched(classes)
'''

CLASSES = ("left", "middle", "right")
EACH, SIDE = 30, 16
TORN = b"\xff\xd8\xff\xe0\x00\x10JFIF\x00\x01 and then nothing"


def image(code: int, number: int) -> np.ndarray:
    """A grey image [1, 16, 16] with a bright stripe whose place says which class it is."""
    draw = np.random.default_rng([code, number])
    pixels = draw.uniform(0.1, 0.45, (1, SIDE, SIDE)).astype(np.float32)
    pixels[:, :, 5 * code : 5 * code + 5] += 0.4
    return pixels


def image_project(folder: Path) -> Path:
    """The folder, with the project in it."""
    for code, name in enumerate(CLASSES):
        (folder / "scans" / name).mkdir(parents=True)
        for number in range(EACH):
            (folder / "scans" / name / f"{number:02d}.png").write_bytes(png(image(code, number)))
    (folder / "scans" / "left" / "torn.jpg").write_bytes(TORN)
    (folder / "pipelines.yaml").write_text(PIPELINES)
    (folder / "networks.py").write_text(NETWORKS)
    (folder / "theirs.safetensors").write_bytes(their_weights())
    (folder / "marks").mkdir()
    return folder


def their_weights() -> bytes:
    """The weights of a network that looks at how bright the left, the middle and the right are."""
    import torch
    from safetensors.torch import save

    first, last = torch.zeros(8, 1, 5, 5), torch.zeros(3, 8, 8, 8)
    first[:, :, 2, 2] = 1.0
    for code in range(3):
        last[code, :, :, (5 * code + 1) // 2 : (5 * code + 5) // 2] = 0.05
    state = {
        "first.weight": first,
        "first.bias": torch.ones(8),
        "last.weight": last.reshape(3, -1).contiguous(),
        "last.bias": torch.zeros(3),
    }
    content: bytes = save(state)
    return content


def kill_when(folder: Path, what: str, store: Path, pattern: str) -> None:
    """Have the next worker at that work (`training` or `attack`) killed once a file like this lies in the store."""
    (folder / "marks" / what).symlink_to(json.dumps({"store": str(store), "pattern": pattern}))
