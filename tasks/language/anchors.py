"""What a class is recognised by: the words of its pool, which of them are keywords, and which words are near those."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from assay.tasks.language.spaces import Space

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Anchors:
    """What a class is recognised by: the words of its pool, and which of them are keywords."""

    words: tuple[str, ...]
    keyword: npt.NDArray[np.bool_]  # [n]


def anchors_in(keywords: pa.Table, classes: int) -> list[Anchors]:
    """The pool of every class in a table of `Keywords`, and which of its words are keywords."""
    rows = keywords.select(["code", "word", "keyword"]).to_pylist()
    pools: list[dict[str, bool]] = [{} for _ in range(classes)]
    for row in rows:  # every provider has a row for each word, and the decision is the same in all
        pools[row["code"]][row["word"]] = row["keyword"]
    return [
        Anchors(tuple(sorted(pool)), np.array([pool[word] for word in sorted(pool)], dtype=np.bool_)) for pool in pools
    ]


def related_words(words: Sequence[str], anchors: Anchors, spaces: Sequence[Space]) -> list[bool | None]:
    """r(w, c) of Eq. 5: the nearest word of the pool is a keyword (as near as any other: related), by plurality.

    A provider that knows the word, and at least one word of the pool, has a vote; a tied vote is "related", as a tied
    distance is.
    """
    yes, votes = np.zeros(len(words), dtype=np.int64), np.zeros(len(words), dtype=np.int64)
    for space in spaces:
        near = space.cosines(words, anchors.words)
        keywords, others = _nearest(near, anchors.keyword), _nearest(near, ~anchors.keyword)
        votes += np.isfinite(keywords) | np.isfinite(others)
        yes += np.isfinite(keywords) & (keywords >= others)
    return [bool(2 * y >= v) if v else None for y, v in zip(yes.tolist(), votes.tolist(), strict=True)]


def _nearest(near: npt.NDArray[np.float64], chosen: npt.NDArray[np.bool_]) -> npt.NDArray[np.float64]:
    """The largest cosine with any of the chosen words, [m]; −∞ where there is none."""
    if not chosen.any():
        return np.full(len(near), -np.inf)
    return np.asarray(np.nan_to_num(near[:, chosen], nan=-np.inf).max(axis=1))
