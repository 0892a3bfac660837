"""LIME's perturbed texts as a matrix: which words of a text stay in each of them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

Masks = npt.NDArray[np.bool_]  # [n, d]: True where a word stays

_CELLS = 1 << 20  # of a block of masks, so that a million samples of a long text need no more memory than this


def draw_masks(words: int, samples: int, generator: np.random.Generator) -> Iterator[Masks]:
    """The masks of `samples` texts in blocks, the whole text first, drawn as LIME draws them.

    Every other text loses a number of words that is uniform over 1…d, and which ones is uniform over the subsets of
    that size: the words with the smallest of d random numbers.

    >>> blocks = list(draw_masks(4, 9, np.random.default_rng(0)))
    >>> [block.shape for block in blocks], blocks[0][0].tolist(), int(blocks[0].sum(axis=1)[1:].max())
    ([(9, 4)], [True, True, True, True], 3)
    """
    rows, left = max(1, _CELLS // words), samples
    while left:
        drawn = min(rows, left)
        keys = generator.random((drawn, words))
        removed = generator.integers(1, words + 1, drawn)
        largest = np.sort(keys, axis=1)[np.arange(drawn), removed - 1]
        masks = keys > largest[:, None]
        if left == samples:
            masks[0] = True
        yield masks
        left -= drawn


def distinct_masks(masks: Masks) -> tuple[Masks, npt.NDArray[np.int64]]:
    """The different ones among the masks, and how often each stands there: a short text has few.

    >>> kept, counts = distinct_masks(np.array([[True, True], [False, True], [True, True]]))
    >>> kept.tolist(), counts.tolist()
    ([[False, True], [True, True]], [1, 2])
    """
    packed = np.packbits(masks, axis=1)
    rows = np.ascontiguousarray(packed).view(np.dtype((np.void, packed.shape[1])))[:, 0]
    _, first, counts = np.unique(rows, return_index=True, return_counts=True)
    return masks[first], counts.astype(np.int64)
