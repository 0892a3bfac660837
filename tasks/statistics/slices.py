"""The slice that a finding is about: its group, read into fields once."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cache

TRAINING = "training"
"""The split that a group names where something was measured on what was learned from."""

_MADE_FOR = "made for "


@dataclass(frozen=True)
class Slice:
    """A group in fields: what it names by `key=value` or by a fixed word, and under `name` the rest of it.

    `name` is a class, a labeler, an encoder, a kind of noise, an attack, a data set; whatever the metric is sliced by.
    """

    name: str = ""
    eps: float | None = None
    eps_text: str = ""
    severity: int | None = None
    share: float | None = None
    changes: int | None = None
    offset: int | None = None
    radius: float | None = None
    models: int | None = None
    split: str = ""
    made_for: str = ""

    @property
    def dataset(self) -> int | None:
        """The i of the curated data set D_i."""
        return _number_after("D", self.name)

    @property
    def stratum(self) -> int | None:
        """The i of what D_i adds to the data set before it."""
        return _number_after("stratum ", self.name)


@cache
def slice_of(group: str) -> Slice:
    """A group in fields.

    >>> slice_of("eps=4/255, training, melanoma")
    Slice(name='melanoma', eps=0.01568..., eps_text='4/255', ..., split='training', made_for='')
    >>> slice_of("typos, severity=3").severity, slice_of("share=0.5, changes=2").changes, slice_of("D10").dataset
    (3, 2, 10)
    """
    fields: dict[str, float | str] = {}
    names = []
    for piece in group.split(", "):
        key, _, value = piece.partition("=")
        number = _FIELDS[key][1](value) if key in _FIELDS else None
        if number is not None and _FIELDS[key][0] not in fields:
            fields |= {_FIELDS[key][0]: number} | ({"eps_text": value} if key == "eps" else {})
        elif piece == TRAINING:
            fields["split"] = piece
        elif piece.startswith(_MADE_FOR):
            fields["made_for"] = piece.removeprefix(_MADE_FOR)
        else:
            names.append(piece)
    return Slice(", ".join(names), **fields)  # type: ignore[arg-type]  # each field by the reader of its key


def _fraction(text: str) -> float | None:
    try:
        number = float(Fraction(text))
    except (ValueError, ZeroDivisionError):
        return None
    return number if math.isfinite(number) else None


def _whole(text: str) -> int | None:
    return int(text) if text.isdecimal() else None


_FIELDS: Mapping[str, tuple[str, Callable[[str], float | None]]] = {
    "eps": ("eps", _fraction),
    "severity": ("severity", _whole),
    "share": ("share", _fraction),
    "changes": ("changes", _whole),
    "offset": ("offset", _whole),
    "radius": ("radius", _fraction),
    "N": ("models", _whole),
}
"""The keys that groups are written with: the field of each, and what reads its value (None: a name that looks so)."""


def _number_after(prefix: str, name: str) -> int | None:
    return _whole(name.removeprefix(prefix)) if name.startswith(prefix) else None
