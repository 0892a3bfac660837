"""ε, how far a pixel of [0, 1] may move: how people write it in settings, and how findings and gates do."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

from pydantic import BeforeValidator, Field


def as_number(value: object) -> object:
    """A fraction written as text, such as `4/255`, as a number; anything else as it is."""
    if isinstance(value, str) and "/" in value:
        try:
            return float(Fraction(value.replace(" ", "")))
        except (ValueError, ZeroDivisionError) as error:
            raise ValueError(f"{value!r} is no fraction such as 4/255") from error
    return value


def _as_many(value: object) -> object:
    return (value,) if isinstance(value, int | float | str) else value


def eps_name(eps: float) -> str:
    """How an ε is written in findings and gates: as a short decimal, or in levels of 255 where it has none.

    >>> [eps_name(eps) for eps in (0, 4 / 255, 0.1, 0.2, 1)]
    ['eps=0', 'eps=4/255', 'eps=0.1', 'eps=0.2', 'eps=1']
    """
    short, levels = f"{eps:g}", eps * 255
    if float(short) != eps and abs(levels - round(levels)) < 1e-9:
        return f"eps={round(levels)}/255"
    return f"eps={short}"


Eps = Annotated[float, BeforeValidator(as_number), Field(ge=0, le=1)]
EpsGrid = Annotated[tuple[Eps, ...], BeforeValidator(_as_many), Field(min_length=1)]
