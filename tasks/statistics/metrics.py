"""What a room can measure (names of findings, their units, and which way is better), and what a control is called."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

Better = Literal["higher", "lower"]
_NONE: Mapping[str, str] = MappingProxyType({})


@dataclass(frozen=True)
class Metric:
    """One kind of finding: `stage.metric`, its unit (empty where it has none), and which way is better, if any."""

    name: str
    unit: str = ""
    better: Better | None = None


def metrics(
    stage: str,
    *,
    higher: Mapping[str, str] = _NONE,
    lower: Mapping[str, str] = _NONE,
    neither: Mapping[str, str] = _NONE,
) -> tuple[Metric, ...]:
    """The metrics of a stage, written by which way is better and by unit: `{unit: "one name after another"}`.

    >>> metrics("corruption", higher={"share": "accuracy"}, lower={"share": "flip_probability"})[1]
    Metric(name='corruption.flip_probability', unit='share', better='lower')
    """
    ways: tuple[tuple[Better | None, Mapping[str, str]], ...] = (("higher", higher), ("lower", lower), (None, neither))
    return tuple(
        Metric(f"{stage}.{name}", unit, better)
        for better, by_unit in ways
        for unit, names in by_unit.items()
        for name in names.split()
    )


_ENDING = "-control"


def control_of(name: str) -> str:
    """The name of the control of a defence, or of the model that it makes.

    >>> control_of("on-swap")
    'on-swap-control'
    """
    return f"{name}{_ENDING}"


def controlled_by(name: str, names: Collection[str]) -> str | None:
    """The one of `names` that this is the control of; None where it is none.

    >>> controlled_by("on-swap-control", ["on-swap", "on-swap-control"]), controlled_by("mine-control", ["on-swap"])
    ('on-swap', None)
    """
    tested = name.removesuffix(_ENDING)
    return tested if tested != name and tested in names else None
