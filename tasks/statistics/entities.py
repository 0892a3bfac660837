"""Entities in tagged sentences: precision, recall and F1 over them, and whether two taggers differ (approximate
randomisation).

Strict, as in CoNLL-2003 and seqeval: an entity is found where both its ends and its kind are right. Everything is
counted in integers per sentence; a bootstrap resamples sentences, since the entities of one sentence are not
independent of each other, and whole documents where it is known which these are.

So McNemar's test, which counts entities one by one, finds differences where there are none. Under the null hypothesis
that both systems are alike, their answers to a whole sentence can change places; the difference of F1 is compared
with those of such swaps (Noreen 1989; Yeh, *More accurate tests for the statistical significance of result
differences*, COLING 2000).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from assay.data.arrays import Counts
from assay.tasks.statistics.resampling import FEWEST as FEWEST_RESAMPLED
from assay.tasks.statistics.resampling import LEVEL, expanded, multinomial_draws

"""Per sentence [n, 3] (or per group of sentences): entities found, entities named, entities there are."""

FEWEST = 10
"""Below so many sentences (or pairs) a bootstrap knows too little: the resamples of one sentence are that sentence."""


@dataclass(frozen=True, slots=True)
class Entity:
    """An entity of a sentence: its kind and its words, `first` … `last` − 1."""

    kind: str
    first: int
    last: int


class Scores(NamedTuple):
    """Precision, recall and F1; 0 where nothing was named, or nothing is there."""

    precision: npt.NDArray[np.float64]
    recall: npt.NDArray[np.float64]
    f1: npt.NDArray[np.float64]


def entities_of(tags: Sequence[str]) -> list[Entity]:
    """The entities that tags mark, as seqeval reads them: `I-` after another kind, or after `O`, begins one as well.

    >>> entities_of(["B-Chemical", "I-Chemical", "O", "I-Disease"])
    [Entity(kind='Chemical', first=0, last=2), Entity(kind='Disease', first=3, last=4)]
    """
    entities: list[Entity] = []
    kind: str | None = None
    first = 0
    for at, tag in enumerate([*tags, "O"]):
        prefix, _, name = tag.partition("-")
        goes_on = prefix == "I" and kind == name
        if kind is not None and not goes_on:
            entities.append(Entity(kind, first, at))
            kind = None
        if prefix in ("B", "I") and not goes_on:
            kind, first = name, at
    return entities


def scores(sums: npt.ArrayLike) -> Scores:
    """Precision, recall and F1 of sums of counts [..., 3].

    >>> [round(float(value), 2) for value in scores([3, 4, 5])]
    [0.75, 0.6, 0.67]
    """
    counts = np.asarray(sums, dtype=np.float64)
    hits, named, there = counts[..., 0], counts[..., 1], counts[..., 2]
    return Scores(_ratio(hits, named), _ratio(hits, there), _ratio(2 * hits, named + there))


def by_group(counts: Counts, groups: npt.NDArray[np.int64] | None) -> Counts:
    """The counts of whole groups of sentences [G, 3], of documents above all: what is resampled and swapped as one.

    >>> by_group(np.array([[1, 1, 1], [0, 2, 1], [0, 0, 3]]), np.array([4, 9, 4])).tolist()
    [[1, 1, 4], [0, 2, 1]]
    """
    if groups is None:
        return counts
    names, codes = np.unique(groups, return_inverse=True)
    sums = np.zeros((len(names), 3), dtype=np.int64)
    np.add.at(sums, codes, counts)
    return sums


def resampled(counts: Sequence[Counts], generator: np.random.Generator, resamples: int = 10_000) -> list[Counts]:
    """Sums of counts over resampled sentences, per system [resamples, 3]: every system on the same sentences.

    Sentences are drawn as multinomial counts of the distinct rows, so nothing depends on their order. No sentences have
    no resamples.
    """
    together = np.concatenate(counts, axis=1)
    if not len(together):
        return [np.zeros((0, 3), dtype=np.int64) for _ in counts]
    rows, times = np.unique(together, axis=0, return_counts=True)
    n = len(together)
    whole = rows.astype(np.float64)  # integers below 2⁵³: their sums are exact
    sums = np.concatenate([drawn @ whole for drawn in multinomial_draws(n, times / n, resamples, generator)])
    return [sums[:, 3 * at : 3 * at + 3].astype(np.int64) for at in range(len(counts))]


def informative_sentences(counts: Counts) -> int:
    """How many sentences have something to count.

    >>> informative_sentences(np.array([[0, 0, 0], [0, 1, 0], [1, 1, 2]]))
    2
    """
    return int(counts.any(axis=1).sum())


def percentiles(values: npt.NDArray[np.float64], samples: int | None = None) -> tuple[float, float]:
    """The percentile interval of bootstrap values, of few samples at the level that holds as often (`expanded`); values
    that are undefined in a resample are left out."""
    level = LEVEL if samples is None or samples >= FEWEST_RESAMPLED else expanded(samples)
    known = values[np.isfinite(values)]
    if not len(known):
        return float("nan"), float("nan")
    low, high = np.quantile(known, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _ratio(part: npt.NDArray[np.float64], whole: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return np.divide(part, whole, out=np.zeros_like(part), where=whole > 0)


DRAWS = 99_999
_EXACT = 16  # sentences that differ, up to which every way to swap them is counted
_CELLS = 4_000_000  # drawn numbers in memory at a time
_ROUNDING = 1e-12  # differences that are nearer to each other are the same number


def randomisation_p(first: Counts, second: Counts, generator: np.random.Generator, draws: int = DRAWS) -> float:
    """The two-sided p-value of the difference in F1 between two systems on the same sentences [n, 3].

    Exact where at most 16 sentences differ; else (b + 1) / (draws + 1), b being how many draws differ as much, so that
    no p is smaller than the draws allow and the level is kept (Phipson and Smyth 2010). 1 where no sentence differs.

    >>> first, second = np.array([[1, 1, 1]] * 6), np.array([[0, 0, 1]] * 6)
    >>> randomisation_p(first, second, np.random.default_rng(0))  # 2 of 2⁶ ways are as far apart
    0.03125
    """
    if first.shape != second.shape:
        raise ValueError("only systems on the same sentences can be compared")
    steps = (second - first).astype(np.float64)  # what the first system's sums change by where a sentence is swapped
    steps = steps[steps.any(axis=1)]
    if not len(steps):
        return 1.0
    sums = np.stack([first.sum(axis=0), second.sum(axis=0)]).astype(np.float64)
    observed = _f1_distance(sums, np.zeros((1, 3)))[0]
    if len(steps) <= _EXACT:
        ways = (np.arange(2 ** len(steps))[:, None] >> np.arange(len(steps))) & 1
        return float((_f1_distance(sums, ways @ steps) >= observed - _ROUNDING).mean())
    distinct, times = np.unique(steps, axis=0, return_counts=True)
    block, as_far = max(1, _CELLS // len(distinct)), 0
    for start in range(0, draws, block):
        swapped = generator.binomial(times, 0.5, size=(min(block, draws - start), len(times)))
        as_far += int((_f1_distance(sums, swapped @ distinct) >= observed - _ROUNDING).sum())
    return (as_far + 1) / (draws + 1)


def _f1_distance(sums: npt.NDArray[np.float64], moved: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """How far F1 is apart [b], after what was `moved` [b, 3] from the second system's sums to the first's."""
    return np.asarray(np.abs(scores(sums[0] + moved).f1 - scores(sums[1] - moved).f1))
