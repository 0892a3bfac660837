"""Networks that look at corrupted frames: as they were trained, and made fast for looking (`for_inference`).

One severity of all fourteen perturbations, 31 frames each, of sixteen images, frames made anew on both sides; CPU
seconds of one thread. The peer is the network as it is loaded for attacks. What they say must be the same. Beside it:
how many billion sums and products a second the fast network does alone, and how many a convolution does that is nothing
else, which is what no layout gets beyond. The last claim is of nine small networks that see the same frames, as those
of `digits-defended` do.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import torch
from claims import claim, tell
from torch.utils.flop_counter import FlopCounterMode

from assay.infra.engines.calls import keep_freed_memory
from assay.infra.stages.exact import Seeds
from assay.tasks.corruptions.table import Corruptions
from assay.tasks.corruptions.task import answers_to_frames
from assay.tasks.subjects.images.inference import for_inference
from assay.tasks.subjects.images.model import ImageModel
from assay.tasks.subjects.networks.building import build_network

NETWORKS = {  # channels, pixels and width, as in pipelines.yaml
    "attnmel": (3, 64, 0.125),
    "inception-v3": (3, 80, 0.25),
    "resnet50": (3, 64, 0.125),
    "vgg19-bn": (3, 64, 0.125),
    "chexnet": (1, 64, 0.25),
    "small-cnn": (1, 32, 1.0),
}
IMAGES = 16
BLOCKS = 5


def main() -> None:
    """Both sides in turn, network by network."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="one network, once: whether it works")
    options = parser.parse_args()
    torch.set_num_threads(1)
    keep_freed_memory()  # as on a worker
    if options.quick:
        compare("small-cnn", 1)
        return
    for name in NETWORKS:
        compare(name, options.repeats)
    compare("small-cnn", options.repeats, together=9)


def compare(name: str, repeats: int, together: int = 1) -> None:
    """One network, or some of its kind together, both ways."""
    channels, pixels, _ = NETWORKS[name]
    models = [model_of(name, seed) for seed in range(1, together + 1)]
    images = np.random.default_rng(0).random((IMAGES, channels, pixels, pixels), dtype=np.float32)
    quick, seconds, answers = [for_inference(model) for model in models], ([], []), []
    for _ in range(repeats + 1):  # the first warms up
        for side, at_work in enumerate((quick, models)):
            spent, answer = looked(at_work, images)
            seconds[side].append(spent)
            answers.append(answer)
    same = all(np.array_equal(answer, answers[0]) for answer in answers)
    dense, shown = torch.nn.Conv2d(64, 64, 3, padding=1), torch.rand(16, 64, 32, 32)
    tell(
        claim(
            f"corruptions seen by {name}" + (f", {together} of them" if together > 1 else ""),
            seconds[0][1:],
            seconds[1][1:],
            unit="s",
            same_answers=same,
            microseconds_an_answer=round(min(seconds[0][1:]) / len(answers[0]) * 1e6, 1),
            gigaflops=round(gigaflops(quick[0].network, torch.rand(quick[0].block, channels, pixels, pixels))),
            gigaflops_of_a_convolution=round(gigaflops(dense, shown)),
        )
    )


def gigaflops(network: torch.nn.Module, images: torch.Tensor) -> float:
    """What a network does on a block of images, in floating-point operations a nanosecond; the best of a few times."""
    with FlopCounterMode(display=False) as counted, torch.no_grad():
        network(images)
    times = []
    with torch.inference_mode():
        for _ in range(BLOCKS):
            began = time.process_time()
            for _ in range(BLOCKS):
                network(images)
            times.append((time.process_time() - began) / BLOCKS)
    return float(counted.get_total_flops() / min(times) / 1e9)


def model_of(name: str, seed: int) -> ImageModel:
    """An untrained network as it is loaded for attacks."""
    channels, pixels, width = NETWORKS[name]
    network = build_network(name, classes=2, channels=channels, size=pixels, width=width, seed=seed)
    mean, std = (0.5,) * channels, (0.25,) * channels
    return ImageModel(network.eval().requires_grad_(False), 2, False, mean, std, name=f"{name}-{seed}", ours=True)


def looked(models: list[ImageModel], images: np.ndarray) -> tuple[float, np.ndarray]:
    """CPU seconds, and what the models said of every frame."""
    ids, shown = [f"image-{at}" for at in range(len(images))], np.zeros(len(images), bool)
    by_name = {model.name: model for model in models}
    began = time.process_time()
    seen = [
        answers.ravel()
        for each in answers_to_frames(by_name, images, ids, shown, Corruptions(severities=[3]), Seeds(0, "looking"))
        for answers in each.answers.values()
    ]
    return time.process_time() - began, np.concatenate(seen)


if __name__ == "__main__":
    main()
