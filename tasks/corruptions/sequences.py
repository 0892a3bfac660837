"""Sequences of frames, one of which is the clean image bit for bit (Xu et al., section 4.4).

Noises: the clean image, then independent draws at the severity's constant. Blurs and weather: the clean image, then a
ramp up to the constant. Brightness and the geometric five: a sweep from minus to plus the amplitude, with the clean
image in the middle. (The authors cut Hendrycks' 31 offsets at 10, and 9 of their 14 sequences never show it.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from assay.tasks.corruptions.constants import constants
from assay.tasks.corruptions.kinds import clean_frame, strengths

if TYPE_CHECKING:
    from torch import Tensor

    from assay.tasks.corruptions.choice import Constants, Corruption
    from assay.tasks.corruptions.draws import Draws


def sequence(corruption: Corruption, severity: int, images: Tensor, draws: Draws, frames: int) -> Tensor:
    """All frames of a perturbation of the images [n, c, h, w], [frames, n, c, h, w], within [0, 1].

    No frame of an image depends on the other images. The clean frame is a copy of the image, not an interpolation.
    """
    at = constants(corruption.levels, severity, *images.shape[-2:])
    perturbed = corruption.make(at, images, draws, strengths(corruption.kind, frames))
    perturbed[clean_frame(corruption.kind, frames)] = images
    return perturbed


def gaussian_noisy(at: Constants, images: Tensor, draws: Draws, shares: Sequence[float]) -> Tensor:
    """Frames of normal noise."""
    from assay.tasks.corruptions.noise import gaussian_noise

    return _noisy(images, draws, shares, lambda normals, out: gaussian_noise(images, normals, at["sd"], out=out))


def speckle_noisy(at: Constants, images: Tensor, draws: Draws, shares: Sequence[float]) -> Tensor:
    """Frames of noise in proportion to the light."""
    from assay.tasks.corruptions.noise import speckle_noise

    return _noisy(images, draws, shares, lambda normals, out: speckle_noise(images, normals, at["sd"], out=out))


def shot_noisy(at: Constants, images: Tensor, draws: Draws, shares: Sequence[float]) -> Tensor:
    """Frames of counted photons."""
    from assay.tasks.corruptions.noise import shot_noise

    return _noisy(images, draws, shares, lambda normals, out: shot_noise(images, normals, at["photons"], out=out))


def _noisy(images: Tensor, draws: Draws, shares: Sequence[float], noise: Callable[[Tensor, Tensor], None]) -> Tensor:
    frames = images.new_empty(len(shares), *images.shape)
    noise(draws.noise(len(shares) - 1, tuple(images.shape[1:])), frames[1:])
    return frames


def gaussian_blurred(at: Constants, images: Tensor, _: Draws, shares: Sequence[float]) -> Tensor:
    """Frames of ever more Gaussian blur."""
    from assay.tasks.corruptions.blur import gaussian_blur

    return each(images, shares, lambda share: gaussian_blur(images, share * at["sigma"]).clamp_(0, 1))


def motion_blurred(at: Constants, images: Tensor, draws: Draws, shares: Sequence[float]) -> Tensor:
    """Frames of ever more motion, in a direction of each image's own."""
    from assay.tasks.corruptions.blur import motion_blur

    angles = draws.angles("motion-blur", -45, 45)
    return motion_blur(images, angles, at["radius"], [share * at["sigma"] for share in shares]).clamp_(0, 1)


def zoom_blurred(at: Constants, images: Tensor, _: Draws, shares: Sequence[float]) -> Tensor:
    """Frames of ever more zoom."""
    from assay.tasks.corruptions.blur import zoom_blurs

    return zoom_blurs(images, at["zoom"], len(shares)).clamp_(0, 1)


def snowy(at: Constants, images: Tensor, draws: Draws, shares: Sequence[float]) -> Tensor:
    """Frames of ever more snow."""
    from assay.tasks.corruptions import weather

    layer = weather.snow_layer(
        draws.normals("snow", tuple(images.shape[-2:])), draws.angles("snow-angle", -135, -45), at
    )
    return each(images, shares, weather.snowing(images, layer, at["keep"]))


def spattered(at: Constants, images: Tensor, draws: Draws, shares: Sequence[float]) -> Tensor:
    """Frames of ever more water or mud."""
    from assay.tasks.corruptions import weather

    layer = weather.spatter_layer(draws.normals("spatter", tuple(images.shape[-2:])), at)
    mud = weather.is_mud(at)
    return each(images, shares, lambda share: weather.spattered(images, layer, mud, share))


def made_brighter(at: Constants, images: Tensor, _: Draws, shares: Sequence[float]) -> Tensor:
    """Frames from darker to brighter."""
    from assay.tasks.corruptions.brightness import brightened

    return each(images, shares, lambda share: brightened(images, share * at["amount"]))


def moved(at: Constants, images: Tensor, _: Draws, shares: Sequence[float]) -> Tensor:
    """Frames from one side to the other."""
    from assay.tasks.corruptions.geometry import translated

    farthest = max(1.0, at["pixels"])  # less than half a pixel would move nothing
    return each(images, shares, lambda share: translated(images, round(share * farthest)))


def warped_by(perturbation: str, at: Constants, images: Tensor, _: Draws, shares: Sequence[float]) -> Tensor:
    """Frames from one end of a rotation, tilt, scaling or shearing to the other."""
    from assay.tasks.corruptions.geometry import warped, warping

    (amount,) = at.values()
    matrix = warping(perturbation, *images.shape[-2:])
    return each(images, shares, lambda share: warped(images, matrix(share * amount)).clamp_(0, 1))


def each(images: Tensor, shares: Sequence[float], frame: Callable[[float], Tensor]) -> Tensor:
    """A frame per strength; where nothing is done to the image nothing is computed."""
    frames = images.new_empty(len(shares), *images.shape)
    for place, share in enumerate(shares):
        frames[place] = images if share == 0 else frame(share)
    return frames
