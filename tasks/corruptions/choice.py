"""What a perturbation is: its constants at each severity, its sequence of frames, and what keeps it from being one.

A sequence has frames of which one is the clean image bit for bit (Xu et al., section 4.4). Noises: the clean image,
then independent draws at the severity's constant. Blurs and weather: the clean image, then a ramp up to the constant.
Brightness and the geometric five: a sweep from minus to plus the amplitude, with the clean image in the middle. (The
authors cut Hendrycks' 31 offsets at 10, and 9 of their 14 sequences never show it.)

The constants are those of CIFAR-C (32 px) and ImageNet-C (224 px), in `data/corruptions.tsv`; between 32 and 224
pixels (the shorter side of an image counts) they are interpolated linearly, beyond, those that are lengths in pixels
grow or shrink with the side, and the others stay as they are at the end.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import resources
from itertools import product
from typing import TYPE_CHECKING, Literal, cast

from assay.infra.errors import InputError
from assay.infra.stages.exact import Seeds
from assay.infra.user_code.choices import Named, tried

if TYPE_CHECKING:
    from torch import Tensor

    from assay.tasks.corruptions.camera import Draws


Kind = Literal["noise", "ramp", "sweep"]
"""Independent draws (`noise`), from nothing up to all (`ramp`), or from minus to plus all (`sweep`)."""


def clean_frame(kind: Kind, frames: int) -> int:
    """Which frame is the clean image: the middle one of a sweep, else the first."""
    return frames // 2 if kind == "sweep" else 0


def strengths(kind: Kind, frames: int) -> list[float]:
    """How strong each frame is, as a share of the severity's constant; 0 exactly where it is clean.

    >>> strengths("ramp", 3), strengths("sweep", 5), strengths("noise", 3)
    ([0.0, 0.5, 1.0], [-1.0, -0.5, 0.0, 0.5, 1.0], [0.0, 1.0, 1.0])
    """
    match kind:
        case "noise":
            return [0.0] + [1.0] * (frames - 1)
        case "ramp":
            return [frame / (frames - 1) for frame in range(frames)]
        case "sweep":
            middle = frames // 2
            return [(frame - middle) / middle for frame in range(frames)]


def strongest_frames(kind: Kind, frames: int) -> list[int]:
    """The frames at the severity's full constant: every draw of a noise, the end of a ramp, both ends of a sweep.

    >>> strongest_frames("ramp", 31), strongest_frames("sweep", 31), len(strongest_frames("noise", 31))
    ([30], [0, 30], 30)
    """
    return [frame for frame, strength in enumerate(strengths(kind, frames)) if abs(strength) == 1.0]


SMALL, LARGE = 32, 224  # the sides, in pixels, that the two published tables were made for

Row = tuple[float, ...]
Five = tuple[Row, Row, Row, Row, Row]


@dataclass(frozen=True)
class Levels:
    """Five rows of named constants for 32 px and five for 224 px; `lengths` are those measured in pixels."""

    names: tuple[str, ...]
    small: Five
    large: Five
    lengths: tuple[str, ...] = ()


def single(name: str, small: Row, large: Row, *, length: bool = False) -> Levels:
    """One constant, its five values for 32 px and for 224 px; `length` is whether it is measured in pixels."""
    rows = [cast(Five, tuple((value,) for value in values)) for values in (small, large)]
    return Levels((name,), rows[0], rows[1], (name,) if length else ())


def together(*constants: Levels) -> Levels:
    """Several constants: at each severity, one value of each.

    >>> together(single("radius", (1,) * 5, (2,) * 5, length=True), single("share", (0.5,) * 5, (0.6,) * 5)).large[4]
    (2, 0.6)
    """
    names, lengths = (sum(column, ()) for column in zip(*((at.names, at.lengths) for at in constants), strict=True))
    small, large = (
        cast(Five, tuple(sum(row, ()) for row in zip(*table, strict=True)))
        for table in zip(*((at.small, at.large) for at in constants), strict=True)
    )
    return Levels(names, small, large, lengths)


def shares(name: str, small: float, large: float, *, length: bool = False) -> Levels:
    """One constant by its largest value, of which severity s takes a share of s/5."""
    shares = (0.2, 0.4, 0.6, 0.8, 1.0)
    return single(name, tuple(small * at for at in shares), tuple(large * at for at in shares), length=length)


def rows_of(file: str) -> Iterator[list[str]]:
    """The cells of every row of one of our tables of constants, comments left out."""
    lines = resources.files("assay.data").joinpath(file).read_text(encoding="utf-8").splitlines()
    return (line.split("\t") for line in lines if not line.startswith("#"))


def _published_levels() -> dict[str, Levels]:
    by_word: dict[str, list[Levels]] = {}
    for word, name, unit, *cells in rows_of("corruptions.tsv"):
        small, large = (tuple(json.loads(f"[{cell}]")) for cell in cells)
        by_word.setdefault(word, []).append(single(name, small, large, length=unit == "pixels"))
    return {word: together(*constants) for word, constants in by_word.items()}


LEVELS = _published_levels()
"""The constants of every perturbation of the table, by its name."""


def constants(levels: Levels, severity: int, height: int, width: int) -> dict[str, float]:
    """The named constants at a severity (1 to 5) for images of that size.

    >>> noise = single("sd", (0.04, 0.06, 0.08, 0.09, 0.10), (0.08, 0.12, 0.18, 0.26, 0.38))
    >>> constants(noise, 3, 32, 32), constants(noise, 3, 224, 300), constants(noise, 5, 448, 448)
    ({'sd': 0.08}, {'sd': 0.18}, {'sd': 0.38})
    >>> constants(single("sigma", (0.4, 0.6, 0.7, 0.8, 1.0), (1, 2, 3, 4, 6), length=True), 5, 448, 448)
    {'sigma': 12.0}
    """
    side = min(height, width)
    share = min(max((side - SMALL) / (LARGE - SMALL), 0.0), 1.0)
    beyond = side / SMALL if side < SMALL else max(1.0, side / LARGE)
    return {
        name: ((1 - share) * small + share * large) * (beyond if name in levels.lengths else 1.0)
        for name, small, large in zip(levels.names, levels.small[severity - 1], levels.large[severity - 1], strict=True)
    }


Constants = dict[str, float]
Maker = Callable[["Constants", "Tensor", "Draws", Sequence[float]], "Tensor"]
"""The frames of images [n, c, h, w] at the constants of a severity: one per strength, [frames, n, c, h, w]."""


@dataclass(frozen=True)
class Corruption(Named):
    """A perturbation that `corruptions.perturbations` can name; `make` imports Torch when it is called.

    `kind` says where the clean frame is and how strong the others are, as shares of the constants.
    """

    kind: Kind
    make: Maker
    levels: Levels

    def conformance(self) -> list[str]:
        """What keeps the perturbation from being one, a sentence each; nothing where all is well.

        Its constants are complete, frames keep the shape and the bounds, at a strength of 0 nothing happens and beyond
        it something does, the same draws give the same frames, and no image's frames depend on the other images.
        """
        levels, names = self.levels, len(self.levels.names)
        if any([len(row) for row in rows] != [names] * 5 for rows in (levels.small, levels.large)):
            return [f"Its constants are five rows of {', '.join(levels.names)} for each of the two sizes."]
        for severity, shape in product((1, 5), _SHAPES):
            if faults := tried(partial(_faults, self, severity, *shape)):
                where = f"At severity {severity}, on images of {shape[0]}×{shape[1]} with {shape[2]} channels,"
                return [f"{where} {sentence}" for sentence in faults]
        return []


def sequence(corruption: Corruption, severity: int, images: Tensor, draws: Draws, frames: int) -> Tensor:
    """All frames of a perturbation of the images [n, c, h, w], [frames, n, c, h, w], within [0, 1].

    No frame of an image depends on the other images. The clean frame is a copy of the image, not an interpolation.
    """
    at = constants(corruption.levels, severity, *images.shape[-2:])
    perturbed = corruption.make(at, images.clone(), draws, strengths(corruption.kind, frames))
    _require_frames(perturbed, images, frames, corruption.word)
    perturbed[clean_frame(corruption.kind, frames)] = images
    return perturbed


def each(images: Tensor, shares: Sequence[float], frame: Callable[[float], Tensor]) -> Tensor:
    """A frame per strength; where nothing is done to the image nothing is computed."""
    frames = images.new_empty(len(shares), *images.shape)
    for place, share in enumerate(shares):
        frames[place] = images if share == 0 else frame(share)
    return frames


_FRAMES, _SAMPLES = 5, 4
_SHAPES = ((32, 32, 3), (19, 33, 1))
"""Height, width and channels of the images that a perturbation is tried on."""
_CLEAN = 0.02
"""How far a pixel may move at a strength of 0, where the sequence has the image itself in its place."""


def require_bounds(frames: Tensor, word: str) -> None:
    """Raises unless all pixels lie in [0, 1], which what is no number does not."""
    if frames.numel() and not bool((frames.min() >= 0) & (frames.max() <= 1)):
        raise InputError(f"The perturbation {word} makes pixels that leave [0, 1]: clamp the frames.")


def _require_frames(made: object, images: Tensor, frames: int, word: str) -> None:
    """Raises unless this is a tensor with as many frames of the images."""
    import torch

    expected = [frames, *images.shape]
    if not isinstance(made, torch.Tensor) or list(made.shape) != expected or made.dtype != images.dtype:
        what = f"{made.dtype} {list(made.shape)}" if isinstance(made, torch.Tensor) else type(made).__name__
        raise InputError(f"The perturbation {word} makes {what}: a frame per strength, {images.dtype} {expected}.")


def _faults(corruption: Corruption, severity: int, height: int, width: int, channels: int) -> list[str]:
    import torch

    from assay.tasks.subjects.images.inference import practice_images

    images = practice_images(_SAMPLES, height, width, channels)
    given, shares = images.clone(), strengths(corruption.kind, _FRAMES)
    at = constants(corruption.levels, severity, height, width)
    raw = corruption.make(at, images, _draws(range(_SAMPLES)), shares)
    _require_frames(raw, images, _FRAMES, corruption.word)
    if not torch.equal(images, given):
        return ["it changes the images that it is handed: work on a copy."]
    clean = clean_frame(corruption.kind, _FRAMES)
    perturbed = sequence(corruption, severity, images, _draws(range(_SAMPLES)), _FRAMES)
    require_bounds(perturbed, corruption.word)
    moved = float((raw[clean] - images).abs().max()) if corruption.kind != "noise" else 0.0
    faults = []
    if not moved <= _CLEAN:
        faults.append(f"at a strength of 0 a pixel moves by {moved:.3g}: nothing may happen there.")
    if torch.equal(perturbed, images.expand_as(perturbed)):
        faults.append("no frame differs from the image.")
    if not torch.equal(perturbed, sequence(corruption, severity, images, _draws(range(_SAMPLES)), _FRAMES)):
        return [*faults, "the same draws give other frames: take random numbers from `draws` alone."]
    alone = sequence(corruption, severity, images[2:3], _draws([2]), _FRAMES)
    if not torch.equal(perturbed[:, 2], alone[:, 0]):
        faults.append("the frames of an image depend on the other images: draw per sample, and take no sums over them.")
    return faults


def _draws(rows: range | list[int]) -> Draws:
    from assay.tasks.corruptions.camera import Draws

    return Draws(Seeds(0, "corrupt_subjects"), [f"sample {row}" for row in rows])
