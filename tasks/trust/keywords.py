"""Word pools (Eq. 1-2), their clusters by average linkage on cosine distance (Eq. 3), and keywords: the clusters
that are related to the class name, by the vote of the word embeddings (Eq. 4).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from assay.infra.errors import InputError
from assay.tasks.language.embeddings.provider import Vectors
from assay.tasks.language.relatedness import Space, cosines, unit
from assay.tasks.language.words import spelling


@dataclass(frozen=True)
class Pool:
    """The words of one class in alphabetical order, their mean importance, and in how many explanations each is."""

    words: tuple[str, ...]
    importance: npt.NDArray[np.float64]  # [n]
    explanations: npt.NDArray[np.int32]  # [n]


def spoken_for(explanation: dict[str, list[object]], lemmatise: bool = False) -> dict[str, float]:
    """The words of one explanation that speak for the prediction, as the pools spell them, with their importance.

    Figure 4 of the paper keeps "only words contributing to predicting": those above zero. Where two words of a text
    become one (`Good`, `good`; or one lemma), their importance adds up.

    >>> spoken_for({"words": ["Good", "film", "good"], "importance": [0.5, -0.2, 0.25]})
    {'good': 0.75}
    """
    parts: dict[str, list[float]] = defaultdict(list)
    for word, score in zip(explanation["words"], explanation["importance"], strict=True):
        if isinstance(score, float) and score > 0:
            parts[spelling(str(word), lemmatise)].append(score)
    return {word: math.fsum(scores) for word, scores in parts.items()}


def word_pools(explanations: pa.Table, *, classes: int, lemmatise: bool = False) -> list[Pool]:
    """W_c of every class (Eq. 2): the words of its explanations, each with its mean over the explanations it is in.

    Only correct predictions enter, whatever the table holds; the order of its rows does not matter.
    """
    scores: list[dict[str, list[float]]] = [defaultdict(list) for _ in range(classes)]
    for row in explanations.select(["gold", "predicted", "words", "importance"]).to_pylist():
        if row["gold"] == row["predicted"]:
            for word, score in spoken_for(row, lemmatise).items():
                scores[row["predicted"]][word].append(score)
    return [_pool(of_class) for of_class in scores]


def _pool(scores: dict[str, list[float]]) -> Pool:
    words = tuple(sorted(scores))
    means = [math.fsum(scores[word]) / len(scores[word]) for word in words]
    counts = [len(scores[word]) for word in words]
    return Pool(words, np.array(means, dtype=np.float64), np.array(counts, dtype=np.int32))


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
    order = np.array(sorted(range(len(words)), key=lambda place: words[place]), dtype=np.int64)
    units = unit(np.asarray(vectors)[order]) if len(order) else np.zeros((0, 1))
    known = np.flatnonzero(~np.isnan(units).any(axis=1))
    labels = -1 - np.arange(len(order))
    for group in _groups_within(units[known], theta_dist):
        members = known[group]
        labels[members] = members[_cut(units[members], theta_dist)]
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


@dataclass(frozen=True)
class Opinions:
    """What every provider makes of a pool's words: their clusters, and how related each cluster is to the class."""

    clusters: npt.NDArray[np.int32]  # [providers, n]
    relatedness: npt.NDArray[np.float64]  # [providers, n]: of the word's cluster to the class name; NaN if unknown


@dataclass(frozen=True)
class Election:
    """What every provider says of a pool's words, and what they decide together."""

    opinions: Opinions
    elected: npt.NDArray[np.bool_]  # [providers, n]
    keyword: npt.NDArray[np.bool_]  # [n]


def elect_keywords(pool: Pool, name: Sequence[str], spaces: Sequence[Space], theta_dist: float) -> Election:
    """K_c of one class: Eq. 3-4 per provider, then more than half of the providers that know the word.

    `name` is the class name in words; several of them stand for the class by their mean vector.
    """
    return election(opinions_of(pool, name, spaces, theta_dist), [space.theta for space in spaces])


def opinions_of(pool: Pool, name: Sequence[str], spaces: Sequence[Space], theta_dist: float) -> Opinions:
    """The clusters of Eq. 3 and the similarities of Eq. 4, by every provider."""
    by_space = [_opinion(pool, name, space, theta_dist) for space in spaces]
    shape = len(spaces), len(pool.words)
    clusters = np.array([clusters for clusters, _ in by_space], dtype=np.int32).reshape(shape)
    return Opinions(clusters, np.array([related for _, related in by_space], dtype=np.float64).reshape(shape))


def election(opinions: Opinions, thetas: Sequence[float], agree: float = 0.5) -> Election:
    """Which words are keywords, with one θ_relate per provider."""
    known = ~np.isnan(opinions.relatedness)
    elected = np.where(known, opinions.relatedness, -np.inf) >= np.array(thetas)[:, None]
    return Election(opinions, elected, agreed(elected, known, agree))


def agreed(says_yes: npt.NDArray[np.bool_], votes: npt.NDArray[np.bool_], share: float = 0.5) -> npt.NDArray[np.bool_]:
    """Where more than a share of those who vote say yes, [voters, n] → [n]; nobody's vote is no majority.

    >>> agreed(np.array([[True, True], [False, False]]), np.array([[True, True], [False, True]])).tolist()
    [True, False]
    """
    return np.asarray((says_yes & votes).sum(axis=0) > share * votes.sum(axis=0))


def _opinion(
    pool: Pool, name: Sequence[str], space: Space, theta_dist: float
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.float64]]:
    """Each word's cluster, and how related that cluster's mean vector is to the class name."""
    vectors = space.of(pool.words)
    clusters = cluster_words(pool.words, vectors, theta_dist)
    known = ~np.isnan(vectors).any(axis=1)
    relatedness = np.full(len(pool.words), np.nan)
    numbers = np.unique(clusters[known])
    if len(numbers):
        means = np.stack([vectors[known & (clusters == number)].mean(axis=0) for number in numbers])
        towards = cosines(means, space.mean(name)[None, :])[:, 0]
        relatedness[known] = towards[np.searchsorted(numbers, clusters[known])]
    return clusters, relatedness
