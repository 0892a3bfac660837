"""How strong each perturbation is at each severity: Hendrycks' published constants, and a rule for other sizes.

The noises, blurs, weather and brightness have their constants from CIFAR-C (32 px) and ImageNet-C (224 px). The five
geometric ones have no published levels: their largest amplitude is that of CIFAR-P and ImageNet-P, and severity s
takes {.2, .4, .6, .8, 1} of it. ImageNet-P scales from .40 to 1.15; centred on the identity that is ±.375.

Between 32 and 224 pixels (the shorter side of an image counts) constants are interpolated linearly. Beyond, those that
are lengths in pixels grow or shrink with the side, and the others stay as they are at the end.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

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


def _one(name: str, small: Row, large: Row, *, length: bool = False) -> Levels:
    return Levels((name,), _rows(small), _rows(large), (name,) if length else ())


def _rows(values: Row) -> Five:
    return cast(Five, tuple((value,) for value in values))


def _shares(name: str, small: float, large: float, *, length: bool = False) -> Levels:
    shares = (0.2, 0.4, 0.6, 0.8, 1.0)
    return _one(name, tuple(small * at for at in shares), tuple(large * at for at in shares), length=length)


LEVELS: dict[str, Levels] = {
    "gaussian-noise": _one("sd", (0.04, 0.06, 0.08, 0.09, 0.10), (0.08, 0.12, 0.18, 0.26, 0.38)),
    "shot-noise": _one("photons", (500, 250, 100, 75, 50), (60, 25, 12, 5, 3)),
    "speckle-noise": _one("sd", (0.06, 0.10, 0.12, 0.16, 0.20), (0.15, 0.20, 0.35, 0.45, 0.60)),
    "gaussian-blur": _one("sigma", (0.4, 0.6, 0.7, 0.8, 1.0), (1, 2, 3, 4, 6), length=True),
    "motion-blur": Levels(
        ("radius", "sigma"),
        ((6, 1), (6, 1.5), (6, 2), (8, 2), (9, 2.5)),
        ((10, 3), (15, 5), (15, 8), (15, 12), (20, 15)),
        ("radius", "sigma"),
    ),
    "zoom-blur": _one("zoom", (1.05, 1.10, 1.15, 1.20, 1.25), (1.10, 1.15, 1.20, 1.25, 1.30)),
    "snow": Levels(
        ("mean", "sd", "zoom", "threshold", "radius", "sigma", "keep"),
        (
            (0.1, 0.2, 1, 0.6, 8, 3, 0.95), (0.1, 0.2, 1, 0.5, 10, 4, 0.9), (0.15, 0.3, 1.75, 0.55, 10, 4, 0.9),
            (0.25, 0.3, 2.25, 0.6, 12, 6, 0.85), (0.3, 0.3, 1.25, 0.65, 14, 12, 0.8),
        ),
        (
            (0.1, 0.3, 3, 0.5, 10, 4, 0.8), (0.2, 0.3, 2, 0.5, 12, 4, 0.7), (0.55, 0.3, 4, 0.9, 12, 8, 0.7),
            (0.55, 0.3, 4.5, 0.85, 12, 8, 0.65), (0.55, 0.3, 2.5, 0.85, 12, 12, 0.55),
        ),
        ("zoom", "radius", "sigma"),
    ),
    "spatter": Levels(
        ("mean", "sd", "sigma", "threshold", "strength", "mud"),
        (
            (0.62, 0.1, 0.7, 0.7, 0.5, 0), (0.65, 0.1, 0.8, 0.7, 0.5, 0), (0.65, 0.3, 1, 0.69, 0.5, 0),
            (0.65, 0.1, 0.7, 0.69, 0.6, 1), (0.65, 0.1, 0.5, 0.68, 0.6, 1),
        ),
        (
            (0.65, 0.3, 4, 0.69, 0.6, 0), (0.65, 0.3, 3, 0.68, 0.6, 0), (0.65, 0.3, 2, 0.68, 0.5, 0),
            (0.65, 0.3, 1, 0.65, 1.5, 1), (0.67, 0.4, 1, 0.65, 1.5, 1),
        ),
        ("sigma",),
    ),
    "brightness": _one("amount", (0.05, 0.10, 0.15, 0.20, 0.30), (0.1, 0.2, 0.3, 0.4, 0.5)),
    "translate": _shares("pixels", 7, 20, length=True),
    "rotate": _shares("degrees", 15, 15),
    "tilt": _shares("degrees", 11.25, 15),
    "scale": _shares("amount", 0.30, 0.375),
    "shear": _shares("degrees", 15, 15),
}  # fmt: skip


def constants(perturbation: str, severity: int, height: int, width: int) -> dict[str, float]:
    """The named constants of a perturbation at a severity (1 to 5) for images of that size.

    >>> constants("gaussian-noise", 3, 32, 32), constants("gaussian-noise", 3, 224, 300)
    ({'sd': 0.08}, {'sd': 0.18})
    >>> constants("gaussian-blur", 5, 448, 448), constants("gaussian-noise", 5, 448, 448)
    ({'sigma': 12.0}, {'sd': 0.38})
    """
    levels = LEVELS[perturbation]
    side = min(height, width)
    share = min(max((side - SMALL) / (LARGE - SMALL), 0.0), 1.0)
    beyond = side / SMALL if side < SMALL else max(1.0, side / LARGE)
    return {
        name: ((1 - share) * small + share * large) * (beyond if name in levels.lengths else 1.0)
        for name, small, large in zip(levels.names, levels.small[severity - 1], levels.large[severity - 1], strict=True)
    }
