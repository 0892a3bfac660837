"""Sequences of frames, one of which is the clean image bit for bit (Xu et al., section 4.4).

Noises: the clean image, then independent draws at the severity's constant. Blurs and weather: the clean image, then a
ramp up to the constant. Brightness and the geometric five: a sweep from minus to plus the amplitude, with the clean
image in the middle. (The authors cut Hendrycks' 31 offsets at 10, and 9 of their 14 sequences never show it.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch import Tensor

from assay.tasks.corruptions import noise, weather
from assay.tasks.corruptions.blur import gaussian_blur, motion_blur, zoom_blurs
from assay.tasks.corruptions.brightness import brightened
from assay.tasks.corruptions.constants import constants
from assay.tasks.corruptions.draws import Draws
from assay.tasks.corruptions.geometry import translated, warped, warping
from assay.tasks.corruptions.kinds import clean_frame, strengths

Constants = dict[str, float]


def sequence(perturbation: str, severity: int, images: Tensor, draws: Draws, frames: int) -> Tensor:
    """All frames of a perturbation of the images [n, c, h, w], [frames, n, c, h, w], within [0, 1].

    No frame of an image depends on the other images. The clean frame is a copy of the image, not an interpolation.
    """
    at = constants(perturbation, severity, *images.shape[-2:])
    made = _MAKERS[perturbation](perturbation, at, images, draws, strengths(perturbation, frames))
    made[clean_frame(perturbation, frames)] = images
    return made


def _noisy(perturbation: str, at: Constants, images: Tensor, draws: Draws, shares: Sequence[float]) -> Tensor:
    normals = draws.noise(len(shares) - 1, tuple(images.shape[1:]))
    frames = images.new_empty(len(shares), *images.shape)
    match perturbation:
        case "gaussian-noise":
            noise.gaussian_noise(images, normals, at["sd"], out=frames[1:])
        case "speckle-noise":
            noise.speckle_noise(images, normals, at["sd"], out=frames[1:])
        case _:
            noise.shot_noise(images, normals, at["photons"], out=frames[1:])
    return frames


def _gaussian_blurred(_: str, at: Constants, images: Tensor, __: Draws, shares: Sequence[float]) -> Tensor:
    return _each(images, shares, lambda share: gaussian_blur(images, share * at["sigma"]).clamp_(0, 1))


def _motion_blurred(_: str, at: Constants, images: Tensor, draws: Draws, shares: Sequence[float]) -> Tensor:
    angles = draws.angles("motion-blur", -45, 45)
    return motion_blur(images, angles, at["radius"], [share * at["sigma"] for share in shares]).clamp_(0, 1)


def _zoom_blurred(_: str, at: Constants, images: Tensor, __: Draws, shares: Sequence[float]) -> Tensor:
    return zoom_blurs(images, at["zoom"], len(shares)).clamp_(0, 1)


def _snowy(_: str, at: Constants, images: Tensor, draws: Draws, shares: Sequence[float]) -> Tensor:
    layer = weather.snow_layer(
        draws.normals("snow", tuple(images.shape[-2:])), draws.angles("snow-angle", -135, -45), at
    )
    return _each(images, shares, weather.snowing(images, layer, at["keep"]))


def _spattered(_: str, at: Constants, images: Tensor, draws: Draws, shares: Sequence[float]) -> Tensor:
    layer = weather.spatter_layer(draws.normals("spatter", tuple(images.shape[-2:])), at)
    mud = weather.is_mud(at)
    return _each(images, shares, lambda share: weather.spattered(images, layer, mud, share))


def _brightened(_: str, at: Constants, images: Tensor, __: Draws, shares: Sequence[float]) -> Tensor:
    return _each(images, shares, lambda share: brightened(images, share * at["amount"]))


def _translated(_: str, at: Constants, images: Tensor, __: Draws, shares: Sequence[float]) -> Tensor:
    farthest = max(1.0, at["pixels"])  # less than half a pixel would move nothing
    return _each(images, shares, lambda share: translated(images, round(share * farthest)))


def _warped(perturbation: str, at: Constants, images: Tensor, _: Draws, shares: Sequence[float]) -> Tensor:
    (amount,) = at.values()
    matrix = warping(perturbation, *images.shape[-2:])
    return _each(images, shares, lambda share: warped(images, matrix(share * amount)).clamp_(0, 1))


def _each(images: Tensor, shares: Sequence[float], frame: Callable[[float], Tensor]) -> Tensor:
    """A frame per strength; where nothing is done to the image nothing is computed."""
    frames = images.new_empty(len(shares), *images.shape)
    for place, share in enumerate(shares):
        frames[place] = images if share == 0 else frame(share)
    return frames


_Maker = Callable[[str, Constants, Tensor, Draws, Sequence[float]], Tensor]

_MAKERS: dict[str, _Maker] = {
    "gaussian-noise": _noisy, "shot-noise": _noisy, "speckle-noise": _noisy,
    "gaussian-blur": _gaussian_blurred, "motion-blur": _motion_blurred, "zoom-blur": _zoom_blurred,
    "snow": _snowy, "spatter": _spattered, "brightness": _brightened, "translate": _translated,
    "rotate": _warped, "tilt": _warped, "scale": _warped, "shear": _warped,
}  # fmt: skip
