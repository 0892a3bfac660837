"""Texts in blocks of fixed shapes: a text's length alone decides the shape it is computed in.

Lengths are rounded up to a ladder, and every rung has its fixed number of rows, so a block never holds more than a
budget of tokens and a text of ten tokens is never padded to the model's maximum. A block with fewer texts is filled up
with repeats: whoever its neighbours are, a text goes through the same arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

CPU_TOKENS, GPU_TOKENS = 512, 32_768  # tokens of a block: enough to keep a device busy, few enough for its memory

IntArray = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Block:
    """Token ids padded to one shape, which of them are there, and the texts that the first rows are."""

    ids: IntArray  # [rows, length]
    mask: IntArray  # [rows, length]
    texts: IntArray  # [at most rows]


def rung(length: int, limit: int) -> int:
    """The length that a text of so many tokens is padded to: at most a quarter more, and by no more than 7 below 32.

    >>> [rung(length, 512) for length in (1, 9, 33, 65, 400, 512)]
    [8, 16, 40, 80, 448, 512]
    """
    step = 8
    while length > 8 * step:
        step *= 2
    return min(-(-length // step) * step, limit)


def blocks(batch: Sequence[IntArray], *, pad: int, limit: int, tokens: int) -> Iterator[Block]:
    """The batch as blocks, texts of one rung together."""
    rungs = np.array([rung(len(ids), limit) for ids in batch], dtype=np.int64)
    for length in np.unique(rungs):
        members = np.flatnonzero(rungs == length)
        rows = max(1, tokens // int(length))
        for start in range(0, len(members), rows):
            texts = members[start : start + rows]
            yield _block([batch[text] for text in texts], texts, rows, int(length), pad)


def _block(chosen: list[IntArray], texts: IntArray, rows: int, length: int, pad: int) -> Block:
    ids = np.full((rows, length), pad, dtype=np.int64)
    mask = np.zeros((rows, length), dtype=np.int64)
    for row in range(rows):
        tokens = chosen[min(row, len(chosen) - 1)]
        ids[row, : len(tokens)] = tokens
        mask[row, : len(tokens)] = 1
    return Block(ids, mask, texts)
