"""How a difference is shared out between the things that changed: Shapley's value, with an interval for each share.

Every coalition S of the changed things gives a value v(S): the finding, with those in S as they are now and the rest as
they were. The share of i is what it adds, averaged over the orders in which the things may change (Shapley 1953). The
shares add up to v(all) − v(none).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import permutations

import numpy as np
import numpy.typing as npt

from assay.tasks.statistics.clusters import codes_of
from assay.tasks.statistics.resampling import FEWEST, Interval, pooled, ratio_of, replicates
from assay.tasks.statistics.sampled import Floats, Sampled

Coalition = frozenset[str]
EXACT_UP_TO = 4
"""Of more things than that, only the order given and its reverse are averaged over: 2·(k − 1) hybrids, not 2^k − 2."""


def orders(players: Sequence[str]) -> list[tuple[str, ...]]:
    """The orders that are averaged over: all of them for up to four things, else forward and backward.

    >>> len(orders("abcd")), len(orders("abcde"))
    (24, 2)
    """
    if len(players) <= EXACT_UP_TO:
        return list(permutations(players))
    return [tuple(players), tuple(reversed(players))]


def coalitions(players: Sequence[str]) -> list[Coalition]:
    """The coalitions that those orders pass through, from none to all.

    >>> [len(coalitions("abcdef"[:k])) for k in (1, 2, 3, 4, 5)]
    [2, 4, 8, 16, 10]
    """
    met = {frozenset(order[:length]) for order in orders(players) for length in range(len(players) + 1)}
    return sorted(met, key=lambda one: (len(one), sorted(one)))


def share_weights(players: Sequence[str]) -> Floats:
    """W [k, coalitions] with which W·v are the shares of the players, v in the order of `coalitions`.

    >>> share_weights("ab").tolist()
    [[-0.5, 0.5, -0.5, 0.5], [-0.5, -0.5, 0.5, 0.5]]
    """
    place = {one: at for at, one in enumerate(coalitions(players))}
    weights, chosen = np.zeros((len(players), len(place))), orders(players)
    for order in chosen:
        for at, player in enumerate(order):
            weights[players.index(player), place[frozenset(order[: at + 1])]] += 1
            weights[players.index(player), place[frozenset(order[:at])]] -= 1
    return weights / len(chosen)


def with_intervals(
    weights: Floats,
    values: Sequence[float],
    sampled: Sequence[Sampled | None],
    generator: np.random.Generator,
    level: float = 0.95,
) -> list[Interval]:
    """W·v with a paired bootstrap over the samples, by group; without intervals where samples cannot be had.

    A sample, or group, that is drawn is drawn in every coalition that has it, so what all share cancels.

    >>> from assay.tasks.statistics.sampled import right_or_wrong
    >>> ids = [f"s{n}" for n in range(100)]
    >>> old, new = (right_or_wrong(ids, np.arange(100) < right) for right in (90, 80))
    >>> both = with_intervals(np.array([[-1.0, 1.0]]), [old.value, new.value], [old, new], np.random.default_rng(0))
    >>> [round(one, 2) for one in both[0]]
    [-0.1, -0.16, -0.05]
    """
    shares = weights @ np.asarray(values, dtype=np.float64)
    there = [one for one in sampled if one is not None and len(one.ids)]
    if len(there) < len(sampled):
        return [Interval(float(one), float("nan"), float("nan")) for one in shares]
    sums = _sums_by_group(there)
    count = len(sums[0][0])
    if count < FEWEST:
        return _by_students_t(weights, shares, sums, level)

    def statistic(drawn: Floats) -> Floats:
        each = np.stack([ratio_of(above, below)(drawn) for above, below in sums], axis=-1)
        return np.asarray(each @ weights.T, dtype=np.float64)

    drawn = replicates(statistic, count, generator)
    low, high = np.nanquantile(drawn, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return [Interval(*(float(one) for one in ends)) for ends in zip(shares, low, high, strict=True)]


def _sums_by_group(sampled: Sequence[Sampled]) -> list[tuple[Floats, Floats]]:
    """Per coalition Σ above and Σ below [G] over the groups of all of them; a sample without a group is its own."""
    names: Mapping[str, str] = {
        str(name): str(group)
        for one in sampled
        for name, group in zip(one.ids, one.ids if one.groups is None else one.groups, strict=True)
    }
    every = np.array(sorted(names), dtype=np.str_)
    codes = pooled(codes_of(np.array([names[str(one)] for one in every], dtype=np.str_)))
    count = int(codes.max()) + 1
    places = [codes[np.searchsorted(every, one.ids)] for one in sampled]
    return [
        (np.bincount(at, one.above, count).astype(np.float64), np.bincount(at, one.below, count).astype(np.float64))
        for at, one in zip(places, sampled, strict=True)
    ]


def _by_students_t(
    weights: Floats, shares: npt.NDArray[np.float64], sums: Sequence[tuple[Floats, Floats]], level: float
) -> list[Interval]:
    """Of few groups: by linearisation, with Student's t."""
    from scipy.stats import t

    count = len(sums[0][0])
    if count < 2:
        return [Interval(float(one), float("-inf"), float("inf")) for one in shares]
    pulls = [(above - above.sum() / below.sum() * below) / below.sum() for above, below in sums]
    spread = np.sqrt(count / (count - 1) * ((weights @ np.stack(pulls)) ** 2).sum(axis=1))
    half = float(t.isf((1 - level) / 2, count - 1)) * spread
    return [Interval(float(one), float(one - by), float(one + by)) for one, by in zip(shares, half, strict=True)]
