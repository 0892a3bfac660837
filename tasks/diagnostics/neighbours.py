"""Whether a layer still tells classes apart: do a sample's nearest training samples bear its class?"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from assay.tasks.diagnostics.features import Features

Targets = npt.NDArray[np.int64]  # [n] class codes, or [n, k] labels; −1 where unknown
Scores = npt.NDArray[np.float64]  # [n]; NaN where a sample's truth is unknown


def agreement(
    known: Features, truths: Targets, asked: Features, targets: Targets, neighbours: int, *, themselves: bool = False
) -> Scores:
    """Per sample, whether the vote of its nearest `known` samples is its class; of several labels, the share of them.

    With `themselves`, `asked` are the known samples, and none of them votes on itself. A vote that is a draw goes to
    the class of the nearest; a label that half of the votes name holds.

    >>> line = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]], np.float32)
    >>> classes = np.array([0, 0, 0, 1, 1, 1])
    >>> agreement(line, classes, np.array([[1.5], [9.0]], np.float32), np.array([0, 0]), 3).tolist()
    [1.0, 0.0]
    """
    nearest = _nearest(known, asked, neighbours, themselves)
    if targets.ndim == 2:
        votes = truths[nearest]  # [n, neighbours, k]
        counted = (votes >= 0).sum(axis=1)
        voted = 2 * (votes == 1).sum(axis=1) >= np.maximum(counted, 1)
        judged = (targets >= 0) & (counted > 0)
        hits = ((voted == (targets == 1)) & judged).sum(axis=1)
        return np.where(judged.any(axis=1), hits / np.maximum(judged.sum(axis=1), 1), np.nan)
    voted = np.array([_vote(truths[row]) for row in nearest], dtype=np.int64).reshape(len(asked))
    return np.where((targets >= 0) & (voted >= 0), voted == targets, np.nan)


def _nearest(known: Features, asked: Features, neighbours: int, themselves: bool) -> npt.NDArray[np.int64]:
    """The rows of the nearest known samples [n, neighbours], the nearest first, ties in their order."""
    a, b = asked.astype(np.float64), known.astype(np.float64)
    middle = b.mean(axis=0)
    a, b = a - middle, b - middle  # far from the origin the differences would drown in rounding
    distances = (a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1) - 2 * a @ b.T
    if themselves:
        np.fill_diagonal(distances, np.inf)
    most = min(neighbours, len(known) - themselves)
    return np.asarray(distances.argsort(axis=1, kind="stable")[:, :most], dtype=np.int64)


def _vote(classes: Targets) -> int:
    """The class that most name, of several the one named first (the nearest); −1 where nobody knows."""
    counts: dict[int, int] = {}
    for code in classes.tolist():
        if code >= 0:
            counts[code] = counts.get(code, 0) + 1
    return max(counts, key=lambda code: counts[code]) if counts else -1
