"""ε, how far a pixel of [0, 1] may move: how people write it in settings, and how findings and gates do."""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated

from pydantic import BeforeValidator, Field


def as_number(value: object) -> object:
    """A fraction written as text, such as `4/255`, as a number; anything else as it is. Levels of 255 are refused."""
    if isinstance(value, str) and "/" in value:
        try:
            number = float(Fraction(value.replace(" ", "")))
        except (ValueError, ZeroDivisionError) as error:
            raise ValueError(f"{value!r} is no fraction such as 4/255") from error
        _require_share(number, value)
        return number
    if isinstance(value, int | float) and not isinstance(value, bool):
        _require_share(value, f"{value:g}")
    return value


def _require_share(number: float, written: str) -> None:
    """Nothing, or that ε is more than the whole range of a pixel: whoever writes 8 means 8 of 255 levels."""
    if not number > 1:
        return
    levels = float(number).is_integer() and number <= 255
    way_out = f"for {number:g} of 255 levels write {number:g}/255" if levels else "write a number such as 0.1 or 8/255"
    raise ValueError(f"pixel values lie in [0, 1], and {written} is more than all of it; {way_out}")


def _as_tuple(value: object) -> object:
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
EpsGrid = Annotated[tuple[Eps, ...], BeforeValidator(_as_tuple), Field(min_length=1)]
