"""Corrupted frames of 224 pixels beside imagecorruptions, which makes them one image at a time from the same constants.

A row is one frame, RGB. Ours makes sequences of 31 frames at all five severities, draws included; the peer corrupts the
same image as often, warmed up. It has none of the geometric five and of the artefacts: those lines are without a peer;
its elastic transform has no affine part, and its zoom is cut off at another corner. Before the clock starts, what draws
nothing (light, blurs at a given angle, pixels, JPEG) and fog, from the same draws, are held beside the peer's pixels:
`difference` is the mean one, of 255 levels.
"""

from __future__ import annotations

import argparse
import time
import types
from collections.abc import Callable
from unittest import mock

import numpy as np
import torch
from claims import claim, tell
from peers import provide
from PIL import Image

from assay.infra.stages.exact import Seeds
from assay.tasks.corruptions.camera import Draws, motion_blur
from assay.tasks.corruptions.choice import constants, sequence
from assay.tasks.corruptions.table import CORRUPTIONS

PEERS = ("imagecorruptions-imaug==1.1.5", "opencv-python-headless==5.0.0.93", "numba==0.68.1", "llvmlite==0.50.0")
FRAMES, SIDE = 31, 224
DETERMINISTIC = ("brightness", "gaussian-blur", "zoom-blur")
DETERMINISTIC += ("contrast", "pixelate", "jpeg", "defocus-blur", "brightness-up", "zoom-blur-steps", "fog")
NAMED = {
    "brightness-up": "brightness",
    "jpeg": "jpeg_compression",
    "elastic": "elastic_transform",
    "zoom-blur-steps": "zoom_blur",
}
"""What the peer calls them, where it is not by our name."""
WITHOUT_PEER = ("translate", "rotate", "tilt", "scale", "shear", "black-corner", "ruler", "hair", "bubbles")
ZOOMS = ("zoom-blur", "zoom-blur-steps")  # the peer's are so slow that they would be most of a sum


def photo(side: int = SIDE) -> np.ndarray:
    """A picture with edges, texture and colour, uint8 [h, w, 3]: one that scikit-image carries, cut to size."""
    from skimage.data import chelsea
    from skimage.transform import resize

    return np.rint(resize(chelsea()[:300, 60:360], (side, side), anti_aliasing=True) * 255).astype(np.uint8)


def as_tensor(picture: np.ndarray) -> torch.Tensor:
    return torch.from_numpy(picture.astype(np.float32) / 255).permute(2, 0, 1)[None].contiguous()


def peer() -> types.ModuleType:
    """The module with the peer's functions."""
    provide(PEERS)
    import cv2

    cv2.setNumThreads(1)
    from imagecorruptions import corruptions

    return corruptions


def peer_function(module: types.ModuleType, name: str) -> Callable[..., object]:
    function: Callable[..., object] = getattr(module, NAMED.get(name, name.replace("-", "_")))
    return function


def seconds(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def ours(perturbation: str, image: torch.Tensor, seed: int) -> Callable[[], None]:
    def work() -> None:
        draws = Draws(Seeds(seed, "benchmark"), ["photo"])
        for severity in range(1, 6):
            sequence(CORRUPTIONS.named(perturbation), severity, image, draws, FRAMES)

    return work


def theirs(function: Callable[..., object], picture: np.ndarray, calls: int) -> Callable[[], None]:
    image = Image.fromarray(picture)

    def work() -> None:
        for severity in range(1, 6):
            for _ in range(calls):
                function(image, severity)

    return work


def difference(name: str, module: types.ModuleType, picture: np.ndarray) -> float | None:
    """How far a frame at full strength is from the peer's, of 255 levels, on average; None where both draw."""
    image = as_tensor(picture)
    if name == "motion-blur":
        at = constants(CORRUPTIONS.named(name).levels, 3, SIDE, SIDE)
        own = motion_blur(image, [30.0], at["radius"], [at["sigma"]])[0]
        other = module._motion_blur(picture, radius=int(at["radius"]), sigma=at["sigma"], angle=30.0)
    elif name in DETERMINISTIC:
        draws = Draws(Seeds(0, "benchmark"), ["photo"])
        own = sequence(CORRUPTIONS.named(name), 3, image, draws, FRAMES)[-1]
        with mock.patch("numpy.random.uniform", draws.generators(name)[0].uniform):
            other = np.asarray(peer_function(module, name)(Image.fromarray(picture), 3))
    else:
        return None
    return round(float(np.abs(own[0].permute(1, 2, 0).numpy() * 255 - other).mean()), 2)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--quick", action="store_true", help="once: whether it works, not how fast it is")
    options = parser.parse_args()
    repeats, calls = (1, 1) if options.quick else (options.repeats, 4)
    torch.set_num_threads(1)
    module, picture = peer(), photo()
    image = as_tensor(picture)
    whole: tuple[list[float], list[float]] = ([0.0] * repeats, [0.0] * repeats)
    for name in (word for word in CORRUPTIONS.words if "/" not in word):  # with it: MedMNIST-C's sets
        own, other = ours(name, image, 0), None
        if name not in WITHOUT_PEER:
            other = theirs(peer_function(module, name), picture, calls)
        times: tuple[list[float], list[float]] = ([], [])
        own()
        if other is not None:
            other()
        for _ in range(repeats):
            times[0].append(seconds(own) / (5 * FRAMES) * 1e3)
            if other is not None:
                times[1].append(seconds(other) / (5 * calls) * 1e3)
        tell(
            claim(
                f"corrupted frames, {name}",
                times[0],
                times[1] or None,
                unit="CPU ms a frame",
                side=SIDE,
                difference=None if other is None else difference(name, module, picture),
            )
        )
        if other is not None and name not in ZOOMS:
            whole = tuple([a + b for a, b in zip(*pair, strict=True)] for pair in zip(whole, times, strict=True))
    tell(claim("corrupted frames, all with a peer but zooms", *whole, unit="CPU ms a frame of each", side=SIDE))


if __name__ == "__main__":
    main()
