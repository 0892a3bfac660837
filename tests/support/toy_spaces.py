"""Word vectors small enough to check by hand, and pools of words."""

from __future__ import annotations

import numpy as np

from assay.tasks.language.relatedness import Space
from assay.tasks.trust.keywords import Pool


def space(name: str, vectors: dict[str, tuple[float, ...] | None], theta: float = 0.5) -> Space:
    """A provider with these vectors; None is a word it does not know."""
    width = max(len(vector) for vector in vectors.values() if vector is not None)
    matrix = np.array([vector or (np.nan,) * width for vector in vectors.values()], dtype=np.float32)
    return Space(name, matrix, {word: row for row, word in enumerate(vectors)}, theta)


def at(degrees: float) -> tuple[float, float]:
    """The unit vector at so many degrees: the cosine of two is that of the angle between them."""
    return float(np.cos(np.radians(degrees))), float(np.sin(np.radians(degrees)))


def pool(*words: str) -> Pool:
    """A pool of words, each once, with importance 1."""
    return Pool(tuple(sorted(words)), np.ones(len(words)), np.ones(len(words), dtype=np.int32))
