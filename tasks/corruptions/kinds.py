"""The three kinds of sequence: where their clean frame is, how strong each frame is, what a frame is compared with."""

from __future__ import annotations

from typing import Literal

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
