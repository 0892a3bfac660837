"""Saliency and integrated gradients beside captum, on networks as they are initialised (their paths bend most).

The claim is the CPU time until completeness holds within 1e-3: ours cuts the path where the network bends, captum is
given twice as many steps until it gets there. `gap` is what each misses in the end, `default_gap` what captum misses
with the 50 steps it takes when not asked; `correlation` is that of the two maps, `saliency_difference` the largest.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable

import numpy as np
import torch
from claims import claim, tell
from peers import provide

from assay.tasks.diagnostics.maps import COMPLETE, integrated_gradients, saliency_maps
from assay.tasks.subjects.images.model import ImageModel
from assay.tasks.subjects.networks.building import build_network

PEERS = ("captum==0.9.0",)
NETWORKS = {"small-cnn": (1.0, 1, 32, 10), "attnmel": (0.0625, 3, 64, 2), "chexnet": (0.125, 3, 64, 14)}
_BLOCK, _MOST = 32, 8192


def model_of(name: str) -> ImageModel:
    width, channels, size, classes = NETWORKS[name]
    network = build_network(name, classes=classes, channels=channels, size=size, width=width)
    network.eval().requires_grad_(False)
    return ImageModel(network, classes, False, (0.5,) * channels, (0.25,) * channels)


def picture(name: str, seed: int) -> torch.Tensor:
    _, channels, size, _ = NETWORKS[name]
    noise = torch.rand(1, channels, size, size, generator=torch.Generator().manual_seed(seed))
    return torch.nn.functional.avg_pool2d(noise, 5, 1, 2)


def timed(work: Callable[[], tuple[np.ndarray, float]]) -> tuple[float, np.ndarray, float]:
    began = time.process_time()
    values, gap = work()
    return 1e3 * (time.process_time() - began), values, gap


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="once: whether it works, not how fast it is")
    options = parser.parse_args()
    torch.set_num_threads(1)
    provide(PEERS)
    warnings.simplefilter("ignore")
    for name in ("small-cnn",) if options.quick else NETWORKS:
        compare(name, 1 if options.quick else options.repeats)


def compare(name: str, repeats: int) -> None:
    from captum.attr import IntegratedGradients, Saliency

    model = model_of(name)

    def logits(images: torch.Tensor) -> torch.Tensor:
        return 20 * model.logits(images)  # untrained networks say little; as large as a trained one's

    def captum(image: torch.Tensor, steps: int) -> tuple[np.ndarray, float]:
        values, gap = IntegratedGradients(logits).attribute(
            image,
            torch.zeros_like(image),
            target=1,
            n_steps=steps,
            method="riemann_middle",
            return_convergence_delta=True,
            internal_batch_size=_BLOCK,
        )
        return values[0].detach().numpy(), abs(float(gap))

    def theirs(image: torch.Tensor) -> tuple[np.ndarray, float]:
        change = float((logits(image) - logits(torch.zeros_like(image)))[0, 1])
        steps = 32
        while True:
            values, gap = captum(image, steps)
            if gap <= COMPLETE * max(1.0, abs(change)) or steps >= _MOST:
                return values, gap
            steps *= 2

    def ours(image: torch.Tensor) -> tuple[np.ndarray, float]:
        found = integrated_gradients(lambda some: logits(some)[:, 1], image[0], torch.zeros_like(image[0]), 32)
        return found.values, abs(found.total - found.expected)

    def loss(images: torch.Tensor) -> torch.Tensor:
        return torch.nn.functional.cross_entropy(model.logits(images), truth, reduction="none")

    truth = torch.tensor([1])
    times: tuple[list[float], list[float]] = ([], [])
    gaps, same, apart = ([], []), [], []
    for repeat in range(repeats):
        image = picture(name, repeat)
        maps = []
        for side, work in enumerate((ours, theirs)):
            spent, values, gap = timed(lambda work=work, image=image: work(image))
            times[side].append(spent)
            gaps[side].append(gap)
            maps.append(values.ravel())
        same.append(float(np.corrcoef(*maps)[0, 1]))
        other = Saliency(loss).attribute(image.clone())[0].abs().amax(dim=0).numpy()
        apart.append(float(np.abs(other - saliency_maps(model, image, truth)[0]).max()))
    tell(
        claim(
            f"integrated gradients complete to 1e-3, {name}",
            times[0],
            times[1],
            unit="CPU ms an image",
            gap=[round(max(one), 5) for one in gaps],
            default_gap=round(captum(picture(name, 0), 50)[1], 5),
            correlation=round(min(same), 4),
            saliency_difference=max(apart),
        )
    )


if __name__ == "__main__":
    main()
