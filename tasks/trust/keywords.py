"""Keywords: the clusters of a class's word pool that are related to its name, by the vote of providers (Eq. 3-4)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from assay.tasks.language.clustering import cluster_words
from assay.tasks.language.relatedness import cosines
from assay.tasks.language.spaces import Space
from assay.tasks.trust.pools import Pool


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


def elect_keywords(
    pool: Pool, name: Sequence[str], spaces: Sequence[Space], theta_dist: float, agree: float = 0.5
) -> Election:
    """K_c of one class: Eq. 3-4 per provider, then more than the share `agree` of the providers that know the word.

    `name` is the class name in words; several of them stand for the class by their mean vector.
    """
    return election(opinions_of(pool, name, spaces, theta_dist), [space.theta for space in spaces], agree)


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
