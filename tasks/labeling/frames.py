"""What subjects see, shown to labelling functions: pictures as pixels and texts as they are, so many at a time.

A frame is what a column rule is given of a partition. Pictures are decoded for a batch of samples, every rule votes on
it, and the next batch takes its place: however large a partition is, so many pictures are in memory and no more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
import pyarrow as pa

from assay.data.images import Pixels, pixels_of
from assay.infra.errors import InputError
from assay.tasks.labeling.rules import ColumnRule

F = TypeVar("F")
G = TypeVar("G")


@dataclass(frozen=True)
class InBatches(Generic[F]):
    """A frame that is made of at most so many samples at a time; a rule may ask for it as `frame=`."""

    make: Callable[[pa.Table], F]
    rows: int = 128

    def __call__(self, table: pa.Table) -> F:
        """What a rule is given of these samples."""
        return self.make(table)


def pixels(table: pa.Table) -> Pixels:
    """The pictures as a subject sees them: float32 [n, channels, height, width], each value in [0, 1]."""
    if "image" not in table.column_names:
        raise InputError(
            f"the samples hold no images to look at: their columns are {', '.join(table.column_names)}; say "
            "`source.image` or `source.images`, or take rules that look at something else"
        )
    shapes = np.stack([table[name].to_numpy() for name in ("channels", "height", "width")], axis=1)
    other = np.flatnonzero((shapes != shapes[:1]).any(axis=1))
    if len(other):
        here, there = ("×".join(map(str, shapes[row])) for row in (0, int(other[0])))
        raise InputError(
            f"sample {table['id'][int(other[0])].as_py()!r} is an image of {there} (channels, height, width) and "
            f"sample {table['id'][0].as_py()!r} one of {here}: let the source bring all to one size (`pixels`)"
        )
    return pixels_of(table)


pictures = InBatches(pixels)
"""The frame of rules that look at pictures."""


@dataclass(frozen=True)
class TextsIn:
    """The texts of a column, one per sample; None where a sample has none."""

    column: str = "text"

    def __call__(self, table: pa.Table) -> list[str | None]:
        """The texts of these samples."""
        if self.column not in table.column_names:
            raise InputError(
                f"the samples have no column {self.column!r} to read: their columns are {', '.join(table.column_names)}"
            )
        values: list[str | None] = table[self.column].cast(pa.large_string()).to_pylist()
        return values


def picture_rule(function: Callable[[Pixels], object]) -> ColumnRule[Pixels]:
    """The decorated function of a batch of pictures, float32 [n, c, h, w] in [0, 1], as a rule: a vote for each.

    >>> @picture_rule
    ... def is_dark(pictures):
    ...     return np.where(pictures.mean(axis=(1, 2, 3)) < 0.2, 1, -1)
    >>> is_dark.name
    'is_dark'
    """
    return ColumnRule(function.__name__, function, pictures)


def text_rule(
    function: Callable[[Sequence[str | None]], object], column: str = "text"
) -> ColumnRule[Sequence[str | None]]:
    """The decorated function of a batch of texts as a rule: a vote for each; None stands for a text that is missing.

    >>> @text_rule
    ... def shouts(texts):
    ...     return [1 if text and text.isupper() else -1 for text in texts]
    >>> shouts.name
    'shouts'
    """
    return ColumnRule(function.__name__, function, InBatches(TextsIn(column), rows=4096))
