"""How a finding differs between two runs, whether by more than chance, and how the difference is shared out
between the things that changed (Shapley 1953).

Two runs of the same samples are paired (Dietterich 1998): .96 → .93 on 450 samples is seen by McNemar's test in 78 %
of draws, by intervals that lie apart in 10 %. Where samples came or went, what is compared are all samples of each
run, and those that both have make up the covariance: who looks at these alone never hears of a bad new file. What
every sample adds to a finding is known: Σ above / Σ below over the samples is its value. Every coalition S of the
changed things gives a value v(S): the finding, with those in S as they are now and the rest as they were. The share
of i is what it adds, averaged over the orders in which the things may change. The shares add up to v(all) − v(none).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import permutations
from typing import Literal

import numpy as np
import numpy.typing as npt

from assay.data.arrays import Floats
from assay.tasks.statistics.clusters import codes_of, effective_size
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.paired import compared_shares
from assay.tasks.statistics.proportions import wilson_of
from assay.tasks.statistics.resampling import FEWEST, LEVEL, RESAMPLES, Interval, pooled, ratio_of, replicates


@dataclass(frozen=True)
class Sampled:
    """Per sample what it adds above and below the line, and the group that it is not independent of (None: itself)."""

    ids: npt.NDArray[np.str_]
    above: Floats
    below: Floats
    groups: npt.NDArray[np.str_] | None = field(default=None)
    parts: bool = True
    """Whether some of the samples have a value of their own: in an area under a curve each stands beside all others."""

    @property
    def value(self) -> float:
        """What all samples together come to.

        >>> right_or_wrong(["a", "b"], np.array([True, False])).value
        0.5
        """
        return float(self.above.sum() / self.below.sum()) if self.below.sum() else float("nan")

    @property
    def binary(self) -> bool:
        """Whether every sample is simply right or wrong."""
        return bool(self.parts and (self.below == 1).all() and np.isin(self.above, (0, 1)).all())

    @property
    def is_simple(self) -> bool:
        """Whether samples are right or wrong, and independent."""
        return self.binary and self.groups is None

    def at(self, places: npt.NDArray[np.int64]) -> Sampled:
        """Some of the samples, in that order."""
        groups = None if self.groups is None else self.groups[places]
        return Sampled(self.ids[places], self.above[places], self.below[places], groups, self.parts)


def right_or_wrong(
    ids: Sequence[str], right: npt.NDArray[np.bool_], known: npt.NDArray[np.bool_] | None = None
) -> Sampled:
    """Samples that are right or wrong, without those of which nobody knows; of several labels [n, k], so many right,
    those of a label that is known of few samples counting more: all together come to the mean of the labels' shares.

    >>> right_or_wrong(["a", "b"], np.array([[True, False], [True, True]])).above.tolist()
    [1.0, 2.0]
    >>> known = np.array([[True, True], [True, False]])
    >>> right_or_wrong(["a", "b"], np.array([[False, True], [True, True]]), known).value  # a half, and all of one
    0.75
    """
    counted = np.ones_like(right) if known is None else known
    hits, n = (right & counted).astype(np.float64), counted.astype(np.float64)
    if right.ndim == 2:
        weights = len(n) / np.maximum(n.sum(axis=0), 1)
        hits, n = hits @ weights, n @ weights
    there = n > 0
    return Sampled(np.array(ids, dtype=np.str_)[there], hits[there], n[there])


def joined(runs: Sequence[Sampled]) -> Sampled | None:
    """The samples of all runs, each as the first of them has it; None where there are no runs.

    >>> first, second = right_or_wrong(["a"], np.array([True])), right_or_wrong(["a", "b"], np.array([False, False]))
    >>> both = joined([first, second])
    >>> both.ids.tolist(), both.above.tolist()
    (['a', 'b'], [1.0, 0.0])
    """
    if not runs:
        return None
    ids, firsts = np.unique(np.concatenate([run.ids for run in runs]), return_index=True)
    above, below = (
        np.concatenate(each)[firsts] for each in zip(*((run.above, run.below) for run in runs), strict=True)
    )
    if all(run.groups is None for run in runs):
        return replace(runs[0], ids=ids, above=above, below=below)
    groups = np.concatenate([run.ids if run.groups is None else run.groups for run in runs])
    return replace(runs[0], ids=ids, above=above, below=below, groups=groups[firsts])


Ends = tuple[float, float, float]
"""A value and the ends of its interval."""
How = Literal["McNemar", "paired bootstrap", "paired, by Student's t", "all samples", "other samples", "intervals"]
On = Literal["all", "shared", "new"]
"""Which samples two runs are compared on: all of each, those that both have, or the new ones with all earlier ones."""


@dataclass(frozen=True)
class RunDifference:
    """A finding of the later run less that of the earlier one, its interval, and the p-value of no difference.

    `n` counts the samples that it rests on: those that both runs have where it is paired, else those of the smaller
    run; `identical` says that both runs have the same samples and that every one of them counts the same in both.
    """

    value: float
    low: float
    high: float
    p: float
    n: int
    how: How
    identical: bool = False
    shared: RunDifference | None = None
    """What changed on the samples that both runs have, where each has others besides (`all samples`)."""
    new: RunDifference | None = None
    """How the samples that only the later run has do beside all earlier ones, where some were there before."""

    @property
    def is_paired(self) -> bool:
        """Whether the same samples were compared."""
        return self.how not in ("all samples", "other samples", "intervals")


def difference(
    before: Sampled, after: Sampled, generator: np.random.Generator, level: float = LEVEL, on: On = "all"
) -> RunDifference | None:
    """The later run less the earlier one; None where there are no samples to compare.

    Where each run has samples that the other has not, all of both count, and beside it stands what changed on the
    shared ones and how the new ones do, if a part of the samples has a value of its own.

    >>> from assay.tasks.statistics.between_runs import right_or_wrong
    >>> ids = [f"s{n}" for n in range(40)]
    >>> before, after = (right_or_wrong(ids, np.arange(40) < right) for right in (36, 28))
    >>> change = difference(before, after, np.random.default_rng(0))
    >>> round(change.value, 2), round(change.p, 4), change.how
    (-0.2, 0.0039, 'McNemar')
    """
    if not len(before.ids) or not len(after.ids):
        return None
    _, at_before, at_after = np.intersect1d(before.ids, after.ids, return_indices=True)
    newcomers = after.at(np.setdiff1d(np.arange(len(after.ids)), at_after))
    if on != "all" and not after.parts and 0 < len(at_before) < max(len(before.ids), len(after.ids)):
        return None
    if on == "new":
        return _of_all(before, newcomers, generator, level) if len(newcomers.ids) else None
    if on == "shared" or len(at_before) == len(before.ids) == len(after.ids):
        return _paired(before.at(at_before), after.at(at_after), generator, level) if len(at_before) else None
    if not len(at_before):
        return _of_all(before, after, generator, level)
    shared, new = (difference(before, after, generator, on=side) for side in ("shared", "new"))
    return replace(_of_all(before, after, generator, level, "all samples"), shared=shared, new=new)


def by_intervals(before: Finding, after: Finding, level: float = LEVEL) -> RunDifference | None:
    """The difference of two findings of which only values and 95 % intervals are known, as if their samples differed.

    Zou and Donner's MOVER (2008): the intervals' halves squared and added, each in its own direction. For the same
    samples that is too wide, never too narrow, as long as good samples stay good. None where one has no interval, or
    where its ends say how far ties move it and nothing of other samples.
    """
    if after.metric == "ordering.spearman_tie_free":
        return None
    ends = before.value, before.low, before.high, after.value, after.low, after.high
    if any(end is None or not np.isfinite(end) for end in ends):
        return None
    old, old_low, old_high, new, new_low, new_high = (float(end) for end in ends if end is not None)
    n = min(before.n or 0, after.n or 0)
    return _mover((old, old_low, old_high), (new, new_low, new_high), level, n, "intervals")


def _paired(before: Sampled, after: Sampled, generator: np.random.Generator, level: float) -> RunDifference:
    identical = bool((before.above == after.above).all() and (before.below == after.below).all())
    groups = None if after.groups is None else codes_of(after.groups)
    n = len(before.ids)
    if before.binary and after.binary:
        was, now = before.above > 0, after.above > 0
        difference, p = compared_shares(now, was, groups, level)
        return RunDifference(difference.value, difference.low, difference.high, p, n, "McNemar", identical)
    if identical:
        return RunDifference(0.0, 0.0, 0.0, 1.0, n, "paired bootstrap", True)
    sums = [_sums(np.arange(n) if groups is None else groups, run) for run in (before, after)]
    return _of_scores(sums, after.value - before.value, n, generator, level)


def _of_scores(
    sums: Sequence[tuple[Floats, Floats]],
    value: float,
    n: int,
    generator: np.random.Generator,
    level: float,
    how: How | None = None,
) -> RunDifference:
    """Ratios of sums, resampled by group; of few groups, or at a level that resamples do not reach, Student's t."""
    from scipy.special import stdtr

    old, new = sums
    count, tail = len(old[0]), (1 - level) / 2
    if count >= FEWEST and tail * RESAMPLES >= 20:
        drawn = replicates(
            lambda weights: np.asarray(ratio_of(*new)(weights) - ratio_of(*old)(weights)), count, generator
        )
        drawn = drawn[np.isfinite(drawn)]
        low, high = np.quantile(drawn, [tail, 1 - tail])
        p = 2 * (1 + min(int((drawn <= 0).sum()), int((drawn >= 0).sum()))) / (len(drawn) + 1)
        return RunDifference(value, float(low), float(high), min(1.0, p), n, how or "paired bootstrap")
    spread = _spread(_influence(*new) - _influence(*old))
    half = _half_width(spread, count, level)
    p = 2 * float(stdtr(count - 1, -abs(value) / spread)) if spread and count > 1 else 1.0
    return RunDifference(value, value - half, value + half, p, n, how or "paired, by Student's t")


def _spread(influence: Floats) -> float:
    """The standard error of what each group pulls so far."""
    count = len(influence)
    return float(np.sqrt(count / max(1, count - 1) * (influence @ influence)))


def _half_width(spread: float, groups: int, level: float) -> float:
    """Of Student's interval; no end of it where there is a single group."""
    from scipy.special import stdtrit

    return -float(stdtrit(groups - 1, (1 - level) / 2)) * spread if groups > 1 else float("inf")


def _sums(codes: npt.NDArray[np.int64], run: Sampled, count: int = 0) -> tuple[Floats, Floats]:
    """Σ above and Σ below of each group, of `count` groups at least."""
    above, below = (np.bincount(codes, values, count).astype(np.float64) for values in (run.above, run.below))
    return above, below


def _influence(above: Floats, below: Floats) -> Floats:
    """How far each group pulls Σ above / Σ below: its influence, by linearisation."""
    total = below.sum()
    return np.asarray((above - above.sum() / total * below) / total, dtype=np.float64)


def _of_all(
    before: Sampled, after: Sampled, generator: np.random.Generator, level: float, how: How = "other samples"
) -> RunDifference:
    """The difference of two runs over all samples of each, some of which may be in both.

    Shares have Wilson's interval each, joined by Zou and Donner's MOVER with the correlation of the two shares, which
    comes of the samples that both runs have: Corr = Σ_g u_g v_g / √(Σ u_g² Σ v_g²), with u_g and v_g how far the group
    (or sample) pulls either share. Other scores are resampled by group.
    """
    n, sums = min(len(before.ids), len(after.ids)), _sums_by_group([before, after])
    if not (before.binary and after.binary):
        return _of_scores(sums, after.value - before.value, n, generator, level, how)
    old, new = (_influence(above, below) for above, below in sums)
    spread = float(np.sqrt((old @ old) * (new @ new)))
    both = len(np.intersect1d(before.ids, after.ids)) / np.sqrt(len(before.ids) * len(after.ids))
    together = float(old @ new) / spread if spread else float(both)  # all alike: they agree wherever both have them
    return _mover(_single_run(before), _single_run(after), level, n, how, together)


def _single_run(run: Sampled) -> Ends:
    """The share of one run with its 95 % interval: Wilson's of as many samples as count."""
    counted = float(len(run.ids)) if run.groups is None else effective_size(run.above, run.groups).counted()
    return run.value, *wilson_of(run.value * counted, counted)


def _mover(before: Ends, after: Ends, level: float, n: int, how: How, correlation: float = 0.0) -> RunDifference:
    """Both with 95 % intervals, which are stretched to the level as those of a normal distribution would be."""
    from scipy.special import ndtr, ndtri

    (old, old_low, old_high), (new, new_low, new_high) = before, after
    usual = float(-ndtri((1 - LEVEL) / 2))
    stretch = float(-ndtri((1 - level) / 2)) / usual
    value = new - old
    ends = ((new - new_low, old_high - old), (new_high - new, old - old_low))
    below, above = (float(np.sqrt(max(0.0, a * a + b * b - 2 * correlation * a * b))) for a, b in ends)
    half = below if value > 0 else above
    p = 2 * float(ndtr(-usual * abs(value) / half)) if half else float(value == 0)
    return RunDifference(value, value - stretch * below, value + stretch * above, min(1.0, p), n, how)


Coalition = frozenset[str]
EXACT_UP_TO = 4
DRAWN = 6
"""Of more things than that so many orders are averaged over, drawn in pairs of an order and its reverse: at most
6·(k − 1) hybrids, not 2^k − 2."""


def orders(players: Sequence[str]) -> list[tuple[str, ...]]:
    """The orders that are averaged over: all of them for up to four things, else some, drawn in antithetic pairs.

    >>> len(orders("abcd")), len(orders("abcde"))
    (24, 6)
    """
    if len(players) <= EXACT_UP_TO:
        return list(permutations(players))
    generator = np.random.default_rng(0)
    drawn = [tuple(players[at] for at in generator.permutation(len(players))) for _ in range(DRAWN // 2)]
    return [order for one in drawn for order in (one, one[::-1])]


def coalitions(players: Sequence[str]) -> list[Coalition]:
    """The coalitions that those orders pass through, from none to all.

    >>> [len(coalitions("abcdef"[:k])) for k in (1, 2, 3, 4, 5)]
    [2, 4, 8, 16, 22]
    """
    met = {frozenset(order[:length]) for order in orders(players) for length in range(len(players) + 1)}
    return sorted(met, key=lambda coalition: (len(coalition), sorted(coalition)))


def share_weights(players: Sequence[str]) -> Floats:
    """W [k, coalitions] with which W·v are the shares of the players, v in the order of `coalitions`.

    >>> share_weights("ab").tolist()
    [[-0.5, 0.5, -0.5, 0.5], [-0.5, -0.5, 0.5, 0.5]]
    """
    place = {coalition: at for at, coalition in enumerate(coalitions(players))}
    weights, chosen = np.zeros((len(players), len(place))), orders(players)
    for order in chosen:
        for at, player in enumerate(order):
            weights[players.index(player), place[frozenset(order[: at + 1])]] += 1
            weights[players.index(player), place[frozenset(order[:at])]] -= 1
    return weights / len(chosen)


def with_intervals(
    weights: Floats, values: Sequence[float], sampled: Sequence[Sampled | None], generator: np.random.Generator
) -> list[Interval]:
    """W·v with a paired bootstrap over the samples, by group; without intervals where samples cannot be had.

    A sample, or group, that is drawn is drawn in every coalition that has it, so what all share cancels.

    >>> from assay.tasks.statistics.between_runs import right_or_wrong
    >>> ids = [f"s{n}" for n in range(100)]
    >>> old, new = (right_or_wrong(ids, np.arange(100) < right) for right in (90, 80))
    >>> both = with_intervals(np.array([[-1.0, 1.0]]), [old.value, new.value], [old, new], np.random.default_rng(0))
    >>> [round(value, 2) for value in both[0]]
    [-0.1, -0.16, -0.05]
    """
    shares = weights @ np.asarray(values, dtype=np.float64)
    there = [values for values in sampled if values is not None and len(values.ids)]
    if len(there) < len(sampled):
        return [Interval(float(share), float("nan"), float("nan")) for share in shares]
    sums = _sums_by_group(there)
    count = len(sums[0][0])
    if count < FEWEST:
        pulls = weights @ np.stack([_influence(above, below) for above, below in sums])
        half = [_half_width(_spread(pull), len(pull), LEVEL) for pull in pulls]
        return [Interval(share, share - by, share + by) for share, by in zip(shares.tolist(), half, strict=True)]

    def statistic(drawn: Floats) -> Floats:
        each = np.stack([ratio_of(above, below)(drawn) for above, below in sums], axis=-1)
        return np.asarray(each @ weights.T, dtype=np.float64)

    drawn = replicates(statistic, count, generator)
    low, high = np.nanquantile(drawn, [(1 - LEVEL) / 2, (1 + LEVEL) / 2], axis=0)
    return [Interval(*(float(end) for end in ends)) for ends in zip(shares, low, high, strict=True)]


def _sums_by_group(sampled: Sequence[Sampled]) -> list[tuple[Floats, Floats]]:
    """Per coalition Σ above and Σ below [G] over the groups of all of them; a sample without a group is its own."""
    names: Mapping[str, str] = {
        str(name): str(group)
        for values in sampled
        for name, group in zip(values.ids, values.ids if values.groups is None else values.groups, strict=True)
    }
    every = np.array(sorted(names), dtype=np.str_)
    codes = pooled(codes_of(np.array([names[str(sample)] for sample in every], dtype=np.str_)))
    count = int(codes.max()) + 1
    return [_sums(codes[np.searchsorted(every, values.ids)], values, count) for values in sampled]
