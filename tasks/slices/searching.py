"""Where does a subject fail? Slices of the samples that are worse than the rest, found on one half, confirmed on the
other: what a search finds is worse partly by chance, and only samples that it has not seen can tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from assay.tasks.statistics.clusters import Integers, clustered_wilson, codes_of

FEWEST = 20
"""A slice of fewer samples in the half that is searched is not looked at."""

Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True)
class WorseSlice:
    """Samples that share values: how they fare in the half that was not searched, beside the rest of it."""

    where: tuple[tuple[str, str], ...]  # (column, value)
    n: int
    right: float
    low: float
    high: float
    rest: float
    others: int
    """The samples of the rest."""
    p_value: float

    @property
    def name(self) -> str:
        """The slice in words.

        >>> WorseSlice((("site", "B"), ("sex", "f")), 30, 0.5, 0.3, 0.7, 0.9, 200, 0.001).name
        'site = B, sex = f'
        """
        return ", ".join(f"{column} = {value}" for column, value in self.where)


def worst_slices(
    right: npt.ArrayLike,
    columns: Mapping[str, Sequence[str | None]],
    clusters: npt.ArrayLike,
    generator: np.random.Generator,
    *,
    deepest: int = 2,
    most: int = 5,
) -> list[WorseSlice]:
    """The `most` worst slices of up to `deepest` columns, the smallest p first.

    Clusters are dealt to two halves. On the first, every slice of at least 20 samples is compared with the rest, and
    those that lie lowest (by their z-value) are kept; on the second they are tested, one-sided and by cluster. Their p
    is not yet corrected for how many were kept. Null values make no slice.

    >>> site, hits = ["A"] * 200 + ["B"] * 200, [1] * 200 + [1, 0] * 100
    >>> slices = worst_slices(hits, {"site": site}, range(400), np.random.default_rng(0))
    >>> slices[0].name, slices[0].p_value < 0.001
    ('site = B', True)
    """
    hits, codes = np.asarray(right, dtype=np.int64), codes_of(clusters)
    sides = generator.permutation(int(codes.max(initial=-1)) + 1) % 2 == 0
    searched = sides[codes]
    ranked = []
    for where, inside in _candidates(columns, deepest):
        seen = inside & searched
        if seen.sum() < FEWEST or (searched & ~inside).sum() < FEWEST:
            continue
        ranked.append((_shortfall(hits, inside, searched, codes), where, inside))
    ranked.sort(key=lambda one: (-one[0], one[1]))
    kept = [(where, inside) for z, where, inside in ranked[:most] if z > 0 and (inside & ~searched).sum() > 1]
    return _confirmed(hits, kept, ~searched, codes)


def _candidates(
    columns: Mapping[str, Sequence[str | None]], deepest: int
) -> list[tuple[tuple[tuple[str, str], ...], Bools]]:
    """Every value of every column, and every pair (…) of values of different columns, with its samples."""
    single = {
        name: [
            (value, np.array([one == value for one in column], dtype=np.bool_))
            for value in sorted({one for one in column if one is not None})
        ]
        for name, column in columns.items()
    }
    candidates = []
    for depth in range(1, deepest + 1):
        for names in combinations(sorted(single), depth):
            partial: list[tuple[tuple[tuple[str, str], ...], Bools]] = [
                ((), np.bool_(True) * np.ones(1, dtype=np.bool_))
            ]
            for name in names:
                partial = [
                    ((*where, (name, value)), inside & own) for where, inside in partial for value, own in single[name]
                ]
            candidates += partial
    return candidates


def _confirmed(
    hits: Integers, kept: Sequence[tuple[tuple[tuple[str, str], ...], Bools]], half: Bools, codes: Integers
) -> list[WorseSlice]:
    from scipy.stats import t

    tested = []
    for where, inside in kept:
        mine, others = inside & half, ~inside & half
        freedom = max(1, len(np.unique(codes[half])) - 1)
        p = float(t.sf(_shortfall(hits, inside, half, codes), freedom)) if others.any() else 1.0
        low, high = clustered_wilson(hits[mine], codes[mine])
        rest = float(hits[others].mean()) if others.any() else float("nan")
        share = float(hits[mine].mean())
        tested.append(WorseSlice(where, int(mine.sum()), share, low, high, rest, int(others.sum()), p))
    return sorted(tested, key=lambda one: (one.p_value, one.where))


def _shortfall(hits: Integers, inside: Bools, half: Bools, codes: Integers) -> float:
    """How far the slice lies below the rest of the half, in standard errors that know the clusters."""
    mine, others = inside & half, ~inside & half
    if not mine.any() or not others.any():
        return 0.0
    apart = float(hits[others].mean() - hits[mine].mean())
    mean = float(hits[half].mean())
    weight = np.where(others, 1 / others.sum(), 0.0) - np.where(mine, 1 / mine.sum(), 0.0)
    sums = np.bincount(codes, weights=weight * (hits - mean) * half)
    groups = len(np.unique(codes[half]))
    spread = float(np.sqrt(groups / max(1, groups - 1) * (sums @ sums)))
    return apart / spread if spread else 0.0
