"""Clusters of words: average linkage on cosine distance, cut at θ_dist (TOKI, Eq. 3)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from assay.infra.errors import InputError
from assay.tasks.language.embeddings.provider import Vectors
from assay.tasks.language.relatedness import cosines, unit

LARGEST = 8000
"""More words than this that hang together within θ_dist are refused: their distances would take over half a GB."""

_BLOCK = 256
_SLACK = 1e-9


def cluster_words(words: Sequence[str], vectors: Vectors, theta_dist: float) -> npt.NDArray[np.int32]:
    """The cluster of each word, numbered from 0 in the order of their first words; unknown words are on their own.

    Whatever order words come in, the same words are together. Two clusters can only merge at θ_dist or below if two of
    their words are that close; so the words fall apart into groups that no such pair joins, and each group is clustered
    by itself, with the result that all at once would give and without all distances in memory.

    >>> vectors = np.array([[1.0, 0.0], [0.0, 1.0], [0.9, 0.1]], dtype=np.float32)
    >>> cluster_words(["good", "film", "great"], vectors, theta_dist=0.3).tolist()
    [1, 0, 1]
    """
    if len(set(words)) < len(words):
        twice = min(word for word in set(words) if list(words).count(word) > 1)
        raise ValueError(f"the word {twice!r} is given more than once")
    order = np.array(sorted(range(len(words)), key=lambda place: words[place]), dtype=np.int64)
    units = unit(np.asarray(vectors)[order]) if len(order) else np.zeros((0, 1))
    known = np.flatnonzero(~np.isnan(units).any(axis=1))
    labels = -1 - np.arange(len(order))
    for group in _groups_within(units[known], theta_dist):
        members = known[group]
        firsts = _cut(units[members], theta_dist)
        labels[members] = members[firsts]
    places = {label: number for number, label in enumerate(dict.fromkeys(labels.tolist()))}
    clusters = np.zeros(len(order), dtype=np.int32)
    clusters[order] = [places[label] for label in labels.tolist()]
    return clusters


def _groups_within(units: npt.NDArray[np.float64], theta_dist: float) -> list[npt.NDArray[np.int64]]:
    """The groups of words that a chain of pairs within θ_dist joins; a block of rows at a time."""
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import connected_components

    n = len(units)
    joined = np.arange(n)  # of each word, the first word of its group so far
    for start in range(0, n, _BLOCK):
        rows, columns = np.nonzero(cosines(units[start : start + _BLOCK], units) >= 1 - theta_dist - _SLACK)
        ends = np.concatenate([rows + start, np.arange(n)]), np.concatenate([columns, joined])
        graph = csr_array((np.ones(len(ends[0]), dtype=np.int8), ends), shape=(n, n))
        _, group = connected_components(graph, directed=False)
        joined = np.unique(group, return_index=True)[1][group]
    return [np.flatnonzero(joined == first) for first in np.unique(joined)]


def _cut(units: npt.NDArray[np.float64], theta_dist: float) -> npt.NDArray[np.int64]:
    """Of each word the position of the first word in its cluster."""
    from scipy.cluster.hierarchy import fcluster, linkage
    from scipy.spatial.distance import squareform

    n = len(units)
    if n == 1:
        return np.zeros(1, dtype=np.int64)
    if n > LARGEST:
        raise InputError(
            f"{n:,} words of a pool hang together within a cosine distance of {theta_dist:g}, and at most {LARGEST:,} "
            "can be clustered; lower trust.theta_dist, trust.top_words or trust.training_texts."
        )
    apart = np.clip(1 - cosines(units, units), 0.0, 2.0)
    np.fill_diagonal(apart, 0.0)
    numbers = fcluster(linkage(squareform(apart, checks=False), "average"), theta_dist, "distance")
    _, first, where = np.unique(numbers, return_index=True, return_inverse=True)
    members: npt.NDArray[np.int64] = first[where]
    return members
