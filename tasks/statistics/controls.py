"""What a control is called: the model that had everything a trained one had, but for what is tested."""

from __future__ import annotations

from collections.abc import Collection

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
