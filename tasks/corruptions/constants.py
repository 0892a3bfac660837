"""How strong a perturbation is at each severity: constants published for two sizes, and a rule for others.

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


def single(name: str, small: Row, large: Row, *, length: bool = False) -> Levels:
    """One constant, its five values for 32 px and for 224 px; `length` is whether it is measured in pixels."""
    return Levels((name,), _rows(small), _rows(large), (name,) if length else ())


def _rows(values: Row) -> Five:
    return cast(Five, tuple((value,) for value in values))


def shares(name: str, small: float, large: float, *, length: bool = False) -> Levels:
    """One constant by its largest value, of which severity s takes a share of s/5."""
    shares = (0.2, 0.4, 0.6, 0.8, 1.0)
    return single(name, tuple(small * at for at in shares), tuple(large * at for at in shares), length=length)


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
