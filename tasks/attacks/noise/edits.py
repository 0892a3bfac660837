"""Small changes to a text: each has a place of its own, so that any choice of them can be made together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Edit:
    """`text[start:end]` becomes `new`, which always differs from it."""

    start: int
    end: int
    new: str


def applied(text: str, edits: Sequence[Edit]) -> str:
    """The text after these edits, whose places do not overlap, and everything else as it was.

    >>> applied("so bad!", [Edit(3, 4, "s"), Edit(0, 0, "oh ")])
    'oh so sad!'
    """
    parts, end = [], 0
    for edit in sorted(edits, key=lambda one: (one.start, one.end)):
        if edit.start < end or text[edit.start : edit.end] == edit.new:
            raise ValueError(f"{edit} overlaps another edit, or changes nothing")
        parts += [text[end : edit.start], edit.new]
        end = edit.end
    return "".join([*parts, text[end:]])
