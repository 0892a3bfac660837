"""The three kinds of sequence: where their clean frame is, how strong each frame is, what a frame is compared with."""

from __future__ import annotations

from typing import Literal

Kind = Literal["noise", "ramp", "sweep"]
_NOISES = ("gaussian-noise", "shot-noise", "speckle-noise")
_RAMPS = ("gaussian-blur", "motion-blur", "zoom-blur", "snow", "spatter")

CATEGORIES: dict[str, tuple[str, ...]] = {
    "noise": _NOISES,
    "blur": ("gaussian-blur", "motion-blur", "zoom-blur"),
    "weather": ("snow", "spatter"),
    "digital": ("brightness", "translate", "rotate", "tilt", "scale", "shear"),
}
"""The paper's four categories."""


def kind_of(perturbation: str) -> Kind:
    """Independent draws (`noise`), from nothing up to all (`ramp`), or from minus to plus all (`sweep`).

    >>> kind_of("shot-noise"), kind_of("snow"), kind_of("tilt")
    ('noise', 'ramp', 'sweep')
    """
    if perturbation in _NOISES:
        return "noise"
    return "ramp" if perturbation in _RAMPS else "sweep"


def clean_frame(perturbation: str, frames: int) -> int:
    """Which frame is the clean image: the middle one of a sweep, else the first."""
    return frames // 2 if kind_of(perturbation) == "sweep" else 0


def strengths(perturbation: str, frames: int) -> list[float]:
    """How strong each frame is, as a share of the severity's constant; 0 exactly where it is clean.

    >>> strengths("snow", 3), strengths("rotate", 5), strengths("shot-noise", 3)
    ([0.0, 0.5, 1.0], [-1.0, -0.5, 0.0, 0.5, 1.0], [0.0, 1.0, 1.0])
    """
    match kind_of(perturbation):
        case "noise":
            return [0.0] + [1.0] * (frames - 1)
        case "ramp":
            return [frame / (frames - 1) for frame in range(frames)]
        case "sweep":
            middle = frames // 2
            return [(frame - middle) / middle for frame in range(frames)]


def strongest_frames(perturbation: str, frames: int) -> list[int]:
    """The frames at the severity's full constant: every draw of a noise, the end of a ramp, both ends of a sweep.

    >>> strongest_frames("snow", 31), strongest_frames("rotate", 31), len(strongest_frames("shot-noise", 31))
    ([30], [0, 30], 30)
    """
    return [frame for frame, strength in enumerate(strengths(perturbation, frames)) if abs(strength) == 1.0]
