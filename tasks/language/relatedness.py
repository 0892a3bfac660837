"""How related words are: cosines of their vectors, θ_relate (the least cosine that counts as related), and whether
vectors tell synonyms from random pairs.

Nguyen Tung et al. (TOKI, §3.1) search θ_relate until synonyms and random pairs are told apart with balanced precision
and recall. With as many random pairs as synonyms that search has a closed form: the median of all similarities.

A space is one provider's vectors with its θ_relate; several of them vote on whether words are related (Eq. 5), and a
vocabulary of one is asked for the nearest words.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from assay.infra.errors import InputError
from assay.infra.stages.exact import Seeds
from assay.tasks.language.embeddings.provider import Provider, Vectors
from assay.tasks.language.synonyms import Pair
from assay.tasks.statistics.auc import binary_auc

FEWEST_PAIRS = 10
"""With fewer synonym pairs than this, a threshold would be a guess."""

Cosines = npt.NDArray[np.float64]
AnyVectors = npt.NDArray[np.floating[Any]]  # [n, d]

_BLOCK = 256


@dataclass(frozen=True)
class Theta:
    """θ_relate of one provider and what it rests on."""

    value: float
    """Two words are related if the cosine of their vectors is at least this."""
    pairs: int
    """How many synonym pairs it was found from, and as many random ones."""
    unknown: int
    """How many synonym pairs were left out because the provider does not know a word."""
    balance: float
    """The share of synonyms at or above it, and of random pairs below it: precision and recall of both kinds."""


def unit(vectors: AnyVectors) -> Cosines:
    """The vectors with length 1; a row of NaN where a vector is unknown or zero.

    >>> unit(np.array([[3.0, 4.0], [0.0, 0.0]], dtype=np.float32)).round(6).tolist()
    [[0.6, 0.8], [nan, nan]]
    """
    wide = np.asarray(vectors, dtype=np.float64)
    lengths = np.sqrt((wide * wide).sum(axis=1, keepdims=True))
    return np.asarray(wide / np.where(lengths > 0, lengths, np.nan))


def cosines(these: AnyVectors, those: AnyVectors) -> Cosines:
    """The cosine of each of these with each of those vectors, [n, m]; NaN where either is unknown.

    Rows are computed in blocks of one shape, so a row is the same bits whatever other rows there are.
    """
    a, b = unit(these), unit(those).T
    blocks = [np.zeros((0, b.shape[1]))]
    for start in range(0, len(a), _BLOCK):
        rows = a[start : start + _BLOCK]
        padded = np.zeros((_BLOCK, a.shape[1]))
        padded[: len(rows)] = rows
        blocks.append((padded @ b)[: len(rows)])
    return np.clip(np.concatenate(blocks), -1.0, 1.0)


def pair_cosines(these: AnyVectors, those: AnyVectors) -> Cosines:
    """The cosine of each of these vectors with its partner, [n].

    >>> pair_cosines(np.eye(2, dtype=np.float32), np.ones((2, 2), dtype=np.float32)).round(4).tolist()
    [0.7071, 0.7071]
    """
    return np.asarray(np.clip((unit(these) * unit(those)).sum(axis=1), -1.0, 1.0))


def mean_vector(vectors: Vectors) -> Vectors:
    """The mean of the known vectors, [d]; NaN where none is known: a cluster's vector (Eq. 4) or a class name's.

    >>> mean_vector(np.array([[1.0, 0.0], [0.0, 1.0], [np.nan, np.nan]], dtype=np.float32)).tolist()
    [0.5, 0.5]
    """
    known = np.asarray(vectors, dtype=np.float64)
    known = known[~np.isnan(known).any(axis=1)]
    mean = known.mean(axis=0) if len(known) else np.full(np.shape(vectors)[1], np.nan)
    return mean.astype(np.float32)


def theta_relate(provider: Provider, pairs: Sequence[tuple[str, str]], seed: int = 0) -> Theta:
    """θ_relate of a provider, from synonym pairs and as many random pairs of the same words.

    A pair with a word that the provider does not know is left out; random pairs are drawn from the words that remain.
    """
    vectors, synonyms = _known_pairs(provider.vectors, pairs)
    if len(synonyms) < FEWEST_PAIRS:
        raise InputError(
            f"The word vectors {provider.name} know only {len(synonyms)} of {len(pairs)} synonym pairs, too few to "
            f"find how similar related words are ({FEWEST_PAIRS} are needed); name a TSV file with pairs of your "
            "domain in trust.synonyms, or set trust.theta_relate."
        )
    drawn = random_pairs(synonyms, seed)
    related, unrelated = (
        pair_cosines(vectors[[a for a, _ in some]], vectors[[b for _, b in some]]) for some in (synonyms, drawn)
    )
    value = balanced_threshold(related, unrelated)
    return Theta(value, len(synonyms), len(pairs) - len(synonyms), float((related >= value).mean()))


def _known_pairs(
    vectors: Callable[[list[str]], Vectors], pairs: Sequence[tuple[str, str]]
) -> tuple[Vectors, list[tuple[int, int]]]:
    """The vectors of the words of all pairs, and the pairs of which both words have one, as rows of them."""
    words = sorted({word for pair in pairs for word in pair})
    looked_up = vectors(words)
    row = {words[place]: int(place) for place in np.flatnonzero(~np.isnan(unit(looked_up)).any(axis=1))}
    return looked_up, [(row[a], row[b]) for a, b in pairs if a in row and b in row]


def balanced_threshold(related: Cosines, unrelated: Cosines) -> float:
    """The threshold at which precision equals recall for both kinds of pair: the median of all similarities.

    With n of each kind, precision = recall ⇔ as many are called related as are related ⇔ n of 2n lie at or above it.

    >>> balanced_threshold(np.array([0.9, 0.7, 0.2]), np.array([0.0, 0.1, 0.4]))
    0.30000000000000004
    """
    return float(np.median(np.concatenate([related, unrelated])))


def random_pairs(synonyms: Sequence[tuple[int, int]], seed: int) -> list[tuple[int, int]]:
    """As many random pairs of the same words, none of them drawn twice, none a synonym pair."""
    words = sorted({word for pair in synonyms for word in pair})
    taken = {pair for a, b in synonyms for pair in ((a, b), (b, a))}
    if len(words) * (len(words) - 1) < 2 * len(taken):
        raise InputError("There are too few words in the synonym pairs to draw as many random pairs; add pairs.")
    generator = Seeds(seed, "theta_relate").generator()
    drawn: list[tuple[int, int]] = []
    while len(drawn) < len(synonyms):
        a, b = (words[place] for place in generator.integers(len(words), size=2))
        if a != b and (a, b) not in taken:
            taken |= {(a, b), (b, a)}
            drawn.append((a, b))
    return drawn


CHANCE = 0.5


def synonym_area(vectors: Callable[[list[str]], Vectors], pairs: Sequence[Pair], seed: int) -> dict[str, float | None]:
    """How likely a synonym pair has a higher cosine than a random pair of the same words: `auc`, its 95 % interval
    (DeLong's) `low` and `high`, and `pairs`, the synonyms that the vectors know; nothing where these are too few.

    >>> circle = {f"{place}{side}": (np.cos(place), np.sin(place)) for place in range(12) for side in "ab"}
    >>> pairs = [(f"{place}a", f"{place}b") for place in range(12)]
    >>> synonym_area(lambda words: np.array([circle[word] for word in words], dtype=np.float32), pairs, 0)["auc"]
    1.0
    """
    looked_up, synonyms = _known_pairs(vectors, pairs)
    if len(synonyms) < FEWEST_PAIRS:
        return {}
    try:
        drawn = random_pairs(synonyms, seed)
    except InputError:
        return {}
    every = [*synonyms, *drawn]
    cosines = pair_cosines(looked_up[[a for a, _ in every]], looked_up[[b for _, b in every]])
    area = binary_auc(cosines, np.arange(len(every)) < len(synonyms))
    return {"auc": area.value, "low": area.low, "high": area.high, "pairs": len(synonyms)}


@dataclass(frozen=True)
class Space:
    """One provider's vectors, and the cosine from which on it calls two words related (θ_relate)."""

    provider: str
    vectors: Vectors  # [n, d]; NaN where the provider does not know the word
    rows: Mapping[str, int]
    theta: float

    def of(self, words: Sequence[str]) -> Vectors:
        """The vectors of these words, [m, d]; a word that was never looked up is unknown."""
        places = np.array([self.rows.get(word, -1) for word in words], dtype=np.int64)
        vectors = np.full((len(words), self.vectors.shape[1]), np.nan, dtype=np.float32)
        vectors[places >= 0] = self.vectors[places[places >= 0]]
        return vectors

    def mean(self, words: Sequence[str]) -> Vectors:
        """The mean vector of words, such as those of a class name, [d]."""
        return mean_vector(self.of(words))

    def cosines(self, these: Sequence[str], those: Sequence[str]) -> Cosines:
        """The cosine of each of these with each of those words, [n, m]; NaN where either is unknown."""
        return cosines(self.of(these), self.of(those))


def spaces_from(vectors: pa.Table, thetas: Mapping[str, float]) -> list[Space]:
    """The spaces in a table of `WordVectors`, one per provider that has a θ_relate, in their order."""
    return [_space(vectors.filter(pc.equal(vectors["provider"], name)), name, theta) for name, theta in thetas.items()]


def _space(table: pa.Table, provider: str, theta: float) -> Space:
    column = table["vector"].combine_chunks()
    known = column.is_valid().to_numpy(zero_copy_only=False)
    flat = column.drop_null().flatten().to_numpy()
    matrix = np.full((len(known), len(flat) // max(1, int(known.sum())) or 1), np.nan, dtype=np.float32)
    matrix[known] = flat.reshape(-1, matrix.shape[1]) if known.any() else 0
    return Space(provider, matrix, {word: row for row, word in enumerate(table["word"].to_pylist())}, theta)


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


@dataclass(frozen=True)
class Neighbour:
    """A word of the vocabulary and its cosine with the word that was asked about."""

    word: str
    cosine: float


class Vocabulary:
    """Words with their vectors that can be asked for the nearest to a word; unknown words are left out."""

    def __init__(self, words: Sequence[str], vectors: Vectors) -> None:
        """The words in alphabetical order, so that the order they come in has no say among equals."""
        table = dict(zip(words, np.asarray(vectors), strict=True))
        self.words = sorted(word for word, vector in table.items() if not np.isnan(vector).any() and vector.any())
        self.vectors: Vectors = np.array([table[word] for word in self.words], dtype=np.float32)

    @classmethod
    def of(cls, provider: Provider, words: Sequence[str]) -> Vocabulary:
        """A vocabulary with a provider's vectors."""
        distinct = sorted(set(words))
        return cls(distinct, provider.vectors(distinct))

    def nearest(self, words: Sequence[str], vectors: Vectors, count: int, least: float = -1.0) -> list[list[Neighbour]]:
        """For each word with its vector the `count` nearest others with a cosine of at least `least`, nearest first.

        Equal cosines are in alphabetical order; a word is no neighbour of itself; an unknown word has none.

        >>> vocabulary = Vocabulary(["good", "great", "bad"], np.array([[1, 0], [1, 0.5], [-1, 0]], dtype=np.float32))
        >>> [near.word for near in vocabulary.nearest(["good"], np.array([[1, 0]], dtype=np.float32), 2)[0]]
        ['great', 'bad']
        """
        if not self.words:
            return [[] for _ in words]
        neighbours = []
        for word, row in zip(words, cosines(vectors, self.vectors), strict=True):
            order = self._best(row, count + 1) if not np.isnan(row).any() else []
            near = [place for place in order if self.words[place] != word and row[place] >= least]
            neighbours.append([Neighbour(self.words[place], float(row[place])) for place in near[:count]])
        return neighbours

    def _best(self, row: np.ndarray[tuple[int, ...], np.dtype[np.float64]], count: int) -> list[int]:
        """The positions of the highest values, the highest first, equal ones in order; nothing else is sorted."""
        if count < len(row):
            worst = np.partition(row, len(row) - count)[len(row) - count]
            places = np.flatnonzero(row >= worst)
        else:
            places = np.arange(len(row))
        chosen: list[int] = places[np.lexsort((places, -row[places]))][:count].tolist()
        return chosen
