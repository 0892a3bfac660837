"""The samples a person should look at: hard by every measure that speaks of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from assay.tasks.hardness.side_by_side import Floats

FEWEST_MEASURES = 2


@dataclass(frozen=True)
class Hard:
    """Where the sample is, the mean share of samples that it is harder than, and that share by measure."""

    at: int
    mean: float
    harder_than: Mapping[str, float]


def hardest_samples(measures: Mapping[str, Floats], ids: Sequence[str], share: float = 0.25) -> list[Hard]:
    """The samples among the hardest `share` by every measure that they have, the hardest on average first.

    At least two measures, and half of all, must speak of a sample. Ties at the border belong to it, unless they are the
    easiest of all: a measure that finds most samples equally easy makes none of these hard.

    >>> hardest = hardest_samples({"a": np.arange(8.0), "b": np.array([0, 0, 0, 0, 0, 0, 0, 1.0])}, list("abcdefgh"))
    >>> [(one.at, one.harder_than) for one in hardest]
    [(7, {'a': 0.875, 'b': 0.875})]
    """
    varied = {name: values for name, values in measures.items() if len(np.unique(values[~np.isnan(values)])) > 1}
    if len(varied) < FEWEST_MEASURES:
        return []
    known = np.stack([~np.isnan(values) for values in varied.values()])  # [measures, n]
    hard = np.stack([_hard(values, share) for values in varied.values()])
    harder = np.stack([_harder_than(values) for values in varied.values()])
    enough = known.sum(axis=0) >= max(FEWEST_MEASURES, -(-len(varied) // 2))
    chosen = np.flatnonzero(enough & (hard | ~known).all(axis=0))
    hardest = []
    for at in chosen.tolist():
        shares = {name: float(harder[row, at]) for row, name in enumerate(varied) if known[row, at]}
        hardest.append(Hard(at, float(np.mean(list(shares.values()))), shares))
    return sorted(hardest, key=lambda one: (-one.mean, ids[one.at]))


def _hard(values: Floats, share: float) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Which samples are among the hardest share; unknown ones are not."""
    ranked = np.sort(values[~np.isnan(values)])[::-1]
    border = ranked[max(1, int(np.floor(share * len(ranked)))) - 1]
    return np.asarray((values >= border) & (values > ranked[-1]))


def _harder_than(values: Floats) -> Floats:
    """What share of the samples each one is harder than, ties not counted; NaN where unknown."""
    known = ~np.isnan(values)
    shares = np.full(len(values), np.nan)
    ranked = np.sort(values[known])
    shares[known] = np.searchsorted(ranked, values[known], side="left") / len(ranked)
    return shares
