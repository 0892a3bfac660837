"""The perturbations that a pipeline can name: the 14 of the Robust-Benchmark (Xu et al., section 4.4), and those of
ImageNet-C beside them; and the options of the audit. A new one is a line in `CORRUPTIONS`.

The five geometric ones have no published levels: their largest amplitude is that of CIFAR-P and ImageNet-P, and
severity s takes {.2, .4, .6, .8, 1} of it. ImageNet-P scales from .40 to 1.15; centred on the identity that is ±.375.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from assay.infra.settings import EachOnce, Settings
from assay.infra.user_code.choices import NamedChoices
from assay.tasks.corruptions.choice import LEVELS, Constants
from assay.tasks.corruptions.choice import Corruption as Corruption
from assay.tasks.corruptions.choice import each as each
from assay.tasks.corruptions.choice import shares as shares
from assay.tasks.corruptions.imagenet_c import IMAGENET_C, OF_IMAGENET_C
from assay.tasks.corruptions.medmnist_c import ON_SKIN, UNLISTED, of_medmnist
from assay.tasks.subjects.settings import as_tuple

if TYPE_CHECKING:
    from torch import Tensor

    from assay.tasks.corruptions.camera import Draws


def noisy(noise: str, at: Constants, images: Tensor, draws: Draws, shares: Sequence[float]) -> Tensor:
    """Frames of normal noise, of noise in proportion to the light, or of counted photons."""
    from assay.tasks.corruptions import camera

    makers = {"gaussian": camera.gaussian_noise, "speckle": camera.speckle_noise, "shot": camera.shot_noise}
    frames, (amount,) = images.new_empty(len(shares), *images.shape), at.values()
    makers[noise](images, draws.noise(len(shares) - 1, tuple(images.shape[1:])), amount, out=frames[1:])
    return frames


def gaussian_blurred(at: Constants, images: Tensor, _: Draws, shares: Sequence[float]) -> Tensor:
    """Frames of ever more Gaussian blur."""
    from assay.tasks.corruptions.camera import gaussian_blur

    return each(images, shares, lambda share: gaussian_blur(images, share * at["sigma"]).clamp_(0, 1))


def motion_blurred(at: Constants, images: Tensor, draws: Draws, shares: Sequence[float]) -> Tensor:
    """Frames of ever more motion, in a direction of each image's own."""
    from assay.tasks.corruptions.camera import motion_blur

    angles = draws.angles("motion-blur", -45, 45)
    return motion_blur(images, angles, at["radius"], [share * at["sigma"] for share in shares]).clamp_(0, 1)


def zoom_blurred(at: Constants, images: Tensor, _: Draws, shares: Sequence[float]) -> Tensor:
    """Frames of ever more zoom."""
    from assay.tasks.corruptions.camera import zoom_blurs

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
    """Frames from darker, or from the image itself, to brighter."""
    from assay.tasks.corruptions.camera import brightened

    return each(images, shares, lambda share: brightened(images, share * at["amount"]))


def moved(at: Constants, images: Tensor, _: Draws, shares: Sequence[float]) -> Tensor:
    """Frames from one side to the other."""
    from assay.tasks.corruptions.camera import translated

    farthest = max(1.0, at["pixels"])  # less than half a pixel would move nothing
    return each(images, shares, lambda share: translated(images, round(share * farthest)))


def warped_by(perturbation: str, at: Constants, images: Tensor, _: Draws, shares: Sequence[float]) -> Tensor:
    """Frames from one end of a rotation, tilt, scaling or shearing to the other."""
    from assay.tasks.corruptions.camera import warped, warping

    (amount,) = at.values()
    matrix = warping(perturbation, *images.shape[-2:])
    return each(images, shares, lambda share: warped(images, matrix(share * amount)).clamp_(0, 1))


XU_ET_AL = (
    Corruption("gaussian-noise", "noise", partial(noisy, "gaussian"), LEVELS["gaussian-noise"]),
    Corruption("shot-noise", "noise", partial(noisy, "shot"), LEVELS["shot-noise"]),
    Corruption("speckle-noise", "noise", partial(noisy, "speckle"), LEVELS["speckle-noise"]),
    Corruption("gaussian-blur", "ramp", gaussian_blurred, LEVELS["gaussian-blur"]),
    Corruption("motion-blur", "ramp", motion_blurred, LEVELS["motion-blur"]),
    Corruption("zoom-blur", "ramp", zoom_blurred, LEVELS["zoom-blur"]),
    Corruption("snow", "ramp", snowy, LEVELS["snow"]),
    Corruption("spatter", "ramp", spattered, LEVELS["spatter"]),
    Corruption("brightness", "sweep", made_brighter, LEVELS["brightness"]),
    Corruption("translate", "sweep", moved, shares("pixels", 7, 20, length=True)),
    Corruption("rotate", "sweep", partial(warped_by, "rotate"), shares("degrees", 15, 15)),
    Corruption("tilt", "sweep", partial(warped_by, "tilt"), shares("degrees", 11.25, 15)),
    Corruption("scale", "sweep", partial(warped_by, "scale"), shares("amount", 0.30, 0.375)),
    Corruption("shear", "sweep", partial(warped_by, "shear"), shares("degrees", 15, 15)),
)
BRIGHTER = Corruption("brightness-up", "ramp", made_brighter, LEVELS["brightness"])
LISTED = (*XU_ET_AL, *OF_IMAGENET_C, BRIGHTER, *ON_SKIN)
MEDMNIST_C = of_medmnist({made.word: made for made in (*LISTED, *UNLISTED)})
CORRUPTIONS = NamedChoices(
    "perturbation", "assay.corruptions", Corruption, (*LISTED, *chain.from_iterable(MEDMNIST_C.values()))
)
PRESETS = {
    "imagenet-c": IMAGENET_C,
    **{f"medmnist-c/{name}": tuple(made.word for made in each) for name, each in MEDMNIST_C.items()},
}
"""Perturbations that go by one name."""


def in_order(tried: Collection[str]) -> list[str]:
    """Those that were tried in the order of the table, plug-ins behind them.

    >>> in_order({"snow", "rain", "shot-noise"})
    ['shot-noise', 'snow', 'rain']
    """
    return [*(word for word in CORRUPTIONS.words if word in tried), *sorted({*tried} - {*CORRUPTIONS.words})]


if TYPE_CHECKING:
    Perturbation = str
else:
    Perturbation = Literal[(*CORRUPTIONS.words, *PRESETS)]


Severity = Annotated[int, Field(ge=1, le=5)]


class Corruptions(Settings):
    """Sequences of perturbed images along which a prediction should not flip.

    A sequence has frames, one of which is the clean image, bit for bit.
    """

    perturbations: Annotated[tuple[Perturbation, ...], Field(min_length=1), EachOnce] = tuple(
        xu.word for xu in XU_ET_AL
    )
    """Which perturbations are tried; left out, the 14 of Xu et al. `imagenet-c` stands for those of its mCE,
    `medmnist-c/dermamnist` for those of a data set of MedMNIST-C."""

    severities: Annotated[tuple[Severity, ...], Field(min_length=1), EachOnce] = (1, 2, 3, 4, 5)
    """How strong they are, from 1 (slight) to 5."""

    frames: int = Field(default=31, ge=3, le=1001)
    """How many frames a sequence has, the clean one among them; an odd number."""

    reference: str | None = Field(default=None, min_length=1)
    """The subject that relative flip probabilities are divided by; left out, the first."""

    show: int = Field(default=1, ge=0, le=8)
    """How many images the report shows."""

    @model_validator(mode="before")
    @classmethod
    def _presets_written_out(cls, written: object) -> object:
        """`corruptions: imagenet-c`, or the name among `perturbations`, as the perturbations that it stands for."""
        options: Any = {"perturbations": written} if isinstance(written, str) else written
        listed = as_tuple(options.get("perturbations")) if isinstance(options, dict) else None
        if not isinstance(listed, list | tuple):
            return options
        each = (PRESETS.get(word, (word,)) if isinstance(word, str) else (word,) for word in listed)
        return {**options, "perturbations": tuple(chain.from_iterable(each))}

    @model_validator(mode="after")
    def _sequences_can_be_made(self) -> Self:
        if self.frames % 2 == 0:
            raise ValueError(
                f"frames is {self.frames}: a sequence has as many frames before its clean one as after it, so the "
                f"number must be odd; write {self.frames + 1}"
            )
        return self
