"""Samples whose label is known to be right or wrong, sorted by ranges of one score; ties that reach over ranges; and
what is independent of each other: the groups that `source.group` names, else single samples.

Samples are dealt out by ranges as keys are, and each range is sorted by itself. A range does not hold all of its
first and its last tie: every range says what it holds (`ends_of`), and from what all said `surroundings` tells each one
where it stands in the whole. Samples fall into parts, so that what would be without one of them is known as well.

What is summed up and resampled for intervals are groups, or samples, where they are few, and pools of them where they
are many. Patterns of votes are what scores are permuted over.
"""

from __future__ import annotations

from collections.abc import Sequence, Sized
from dataclasses import dataclass
from itertools import chain
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from assay.data.arrays import Bools, Floats, Integers
from assay.data.schemas import Clusters, Intervals, Samples
from assay.infra.stages.exact import Smallest
from assay.infra.stages.partitions import Columns, map_partitions, reduce_partitions, reduce_pieces, side_by_side
from assay.infra.stages.shuffle import Parcels, Received, parcels
from assay.infra.storage.artifacts import Artifact
from assay.tasks.ordering import datasets, sorting
from assay.tasks.ordering.validity import RIGHT, UNKNOWN
from assay.tasks.statistics.calibration import PARTS
from assay.tasks.statistics.groups import group_hashes, hashed
from assay.tasks.statistics.order_test import MOST_PATTERNS, PatternTotals, drawn_patterns, in_order_of_score
from assay.tasks.statistics.resampling import BLOCKS
from assay.tasks.statistics.vote_counts import vote_matrix


def cluster_table(votes: pa.Table, samples: pa.Table, *, functions: Sequence[str] | None = None) -> pa.Table:
    """The Clusters of a partition: by `source.group`; without it each sample for itself, with the pattern of the votes
    of `functions` (left out, all).

    >>> votes = pa.table({"id": ["a", "b", "c"], "f": pa.array([1, 0, 1], pa.int8())})
    >>> table = cluster_table(votes, votes.select(["id"]), functions=["f"])
    >>> len(set(table["cluster"].to_pylist())), len(set(table["pattern"].to_pylist()))
    (3, 2)
    """
    groups = group_hashes(samples)
    if groups is not None:
        return pa.table([votes["id"], groups, pa.nulls(len(groups), pa.int64())], schema=Clusters.schema)
    # Quicker than to find out first which rows differ.
    patterns = hashed([row.tobytes() for row in vote_matrix(votes, functions)])
    return pa.table([votes["id"], datasets.tie_breaks(votes["id"]), patterns], schema=Clusters.schema)


@dataclass(frozen=True)
class Pools:
    """Where each cluster belongs, which only its hash decides, and which clusters there are."""

    few: tuple[int, ...] = ()
    """All clusters, ascending; none where there are more than `BLOCKS`, which are then put together by their hash."""
    grouped: bool = False
    """Whether clusters are the groups that `source.group` names, and not single samples."""

    @property
    def count(self) -> int:
        """How many pools there are at most."""
        return len(self.few) or BLOCKS

    def of(self, clusters: Integers) -> Integers:
        """The pool of each cluster.

        >>> Pools((-5, 7, 8)).of(np.array([8, -5])).tolist(), Pools().of(np.array([-1, BLOCKS])).tolist()
        ([2, 0], [3999, 0])
        """
        pools = np.searchsorted(np.array(self.few, dtype=np.int64), clusters) if self.few else clusters % BLOCKS
        return np.asarray(pools, dtype=np.int64)

    def parts(self, clusters: Integers) -> Integers:
        """The part of each cluster, of those that are left out one after the other."""
        return self.of(clusters) % PARTS

    @property
    def words(self) -> str:
        """How many groups there are; without groups, that samples count by themselves."""
        if not self.grouped:
            return "each sample counts by itself"
        return f"{len(self.few)} groups count" if self.few else f"more than {BLOCKS} groups count"


def pools_of(clusters: Artifact[Clusters]) -> Pools:
    """The pools of these clusters."""
    counted = reduce_partitions(first_clusters, Columns(clusters, ("cluster", "pattern")), most=BLOCKS + 1)
    if counted is None:
        return Pools()
    few = counted["first"].values
    return Pools(few if len(few) <= BLOCKS else (), not counted["patterns"])


def first_clusters(clusters: pa.Table, most: int) -> dict[str, Smallest | int]:
    """The first clusters of a partition, so many of them at most; and how many samples have a pattern."""
    first = Smallest.of(np.unique(clusters["cluster"].to_numpy())[:most].tolist(), most, differing=True)
    return {"first": first, "patterns": clusters.num_rows - clusters["pattern"].null_count}


def pattern_counts(scores: Integers, patterns: Integers, right: npt.NDArray[np.bool_]) -> Integers:
    """Of samples the keys of score and pattern, how many have both, and how many of these are right, [4, G].

    >>> pattern_counts(np.array([5, 5, 7]), np.array([1, 1, 1]), np.array([True, False, True])).T.tolist()
    [[5, 1, 2, 1], [7, 1, 1, 1]]
    """
    return _merged(scores, patterns, np.ones_like(right), right)


class DrawnPatterns:
    """The patterns of ranges that follow each other: those that are drawn, and all of the last tie, which may go on in
    the next range. No more is kept of however many ranges."""

    def __init__(self) -> None:
        self._settled = self._open = np.zeros((4, 0), dtype=np.int64)

    def add(self, counted: Integers) -> None:
        """What `pattern_counts` found in the next range."""
        both = _merged(*np.concatenate([self._open, counted], axis=1))
        goes_on = both[0] == both[0].max(initial=np.iinfo(np.int64).min)
        settled = np.concatenate([self._settled, both[:, ~goes_on]], axis=1)
        self._settled, self._open = drawn(settled, MOST_PATTERNS), both[:, goes_on]

    def totals(self) -> PatternTotals:
        """What the patterns of all these ranges come to."""
        scores, patterns, samples, right = np.concatenate([self._settled, self._open], axis=1)
        return in_order_of_score(datasets.scores_of(scores), samples, right, patterns)


def _merged(scores: Integers, patterns: Integers, *amounts: npt.NDArray[Any]) -> Integers:
    """Each score and pattern once, and the sums of these amounts."""
    if not len(scores):
        return np.zeros((2 + len(amounts), 0), dtype=np.int64)
    order = np.lexsort((patterns, scores))
    keys = scores[order], patterns[order]
    starts = np.flatnonzero(np.logical_or(*map(datasets.differing, keys)))
    sums = (np.add.reduceat(amount[order], starts, dtype=np.int64) for amount in amounts)
    return np.stack([*(key[starts] for key in keys), *sums])


def drawn(counts: Integers, most: int) -> Integers:
    """Of what `pattern_counts` found, so many patterns at most."""
    scores, patterns, samples, _ = counts
    return counts[:, drawn_patterns(samples, patterns, ~scores, most)]


_RIGHT, _TESTED = 1, 2


@dataclass(frozen=True)
class LabelledSamples:
    """Samples with their keys, their clusters, whether their label is right, and whether the test is about them."""

    keys: datasets.Keys
    clusters: Integers  # hashes of what is independent
    right: Bools
    tested: Bools  # not the undecided ones, where these stand apart
    patterns: Integers  # hashes of their votes; 0 where samples stand in groups

    def __len__(self) -> int:
        return len(self.clusters)

    def take(self, rows: Integers | Bools) -> LabelledSamples:
        """These samples, in this order."""
        keys = datasets.Keys(self.keys.scores[rows], self.keys.ties[rows])
        return LabelledSamples(keys, self.clusters[rows], self.right[rows], self.tested[rows], self.patterns[rows])

    def in_order(self) -> LabelledSamples:
        """The same samples, the easiest first."""
        return self.take(datasets.sorted_places(self.keys))

    def dealt(self, bounds: datasets.Keys) -> list[bytes]:
        """What a partition sends to each range."""
        ordered = self.in_order()
        flags = (_RIGHT * ordered.right + _TESTED * ordered.tested).astype(np.int8)
        return datasets.packed(
            (*ordered.keys, ordered.clusters, ordered.patterns, flags), datasets.range_ends(ordered.keys, bounds)
        )

    @classmethod
    def received(cls, parts: Received) -> LabelledSamples:
        """What all partitions sent to a range, in its order; it is taken out."""
        scores, ties, clusters, patterns, flags = datasets.unpacked(datasets.taken_out(parts), 4)
        right, tested = ((flags & flag).astype(np.bool_) for flag in (_RIGHT, _TESTED))
        return cls(datasets.Keys(scores, ties), clusters, right, tested, patterns).in_order()


_FIRST, _LAST, _ALL = 0, 1, 2  # of a range's samples: those of its first tie, those of its last tie, all of them
_UNITS = 40  # bits: risks are added up in whole units of 2^-40
_ROWS = 1 << 22  # so many risks of at most 2^40 units add up within 63 bits


@dataclass(frozen=True)
class Ties:
    """The ties of a range, the easiest first, as they are in the whole order.

    `here` is how many samples of each are in the range, `size` how many there are, `wrong` how many of these are wrong,
    and `before` and `lost` how many samples, and wrong ones, come before the tie.
    """

    here: Integers
    size: Integers
    wrong: Integers
    before: Integers
    lost: Integers
    start: int  # the rank of the range's first sample
    n: int  # samples of the whole order
    all_wrong: int


class LeftOut(NamedTuple):
    """Samples of a range that are left out: the ties they are in, ascending, and of each how many, and wrong ones."""

    ties: Integers
    samples: Integers
    wrong: Integers

    @classmethod
    def of(cls, tie: Integers, wrong: Bools) -> LeftOut:
        """Of sorted samples.

        >>> [column.tolist() for column in LeftOut.of(np.array([2, 2, 5]), np.array([True, True, False]))]
        [[2, 5], [2, 1], [2, 0]]
        """
        ties, first, samples = np.unique(tie, return_index=True, return_counts=True)
        wrong_before = np.append(0, np.cumsum(wrong))
        return cls(ties, samples, wrong_before[first + samples] - wrong_before[first])


@dataclass(frozen=True)
class Surroundings:
    """Where a range stands, counted by part [5, 2, parts], samples and wrong ones: those in earlier ranges, before its
    first tie, in all of its first tie, in all of its last, and in the whole order."""

    counts: Integers

    def ties(self, here: Integers, wrong: Integers) -> Ties:
        """The ties of a range that has so many samples of each, and so many wrong ones."""
        (start, start_lost), first_before, first, last, (n, all_wrong) = self.counts.sum(axis=2)
        columns = size, lost_here, before, lost = (
            here.copy(),
            wrong.copy(),
            start + np.cumsum(here) - here,
            start_lost + np.cumsum(wrong) - wrong,
        )
        if len(here):
            before[0], lost[0] = first_before
            size[0], lost_here[0] = first
            size[-1], lost_here[-1] = last
        return Ties(here, *columns, int(start), int(n), int(all_wrong))


def places_of(scores: Integers) -> Integers:
    """The tie of each sample of a sorted range, from 0.

    >>> places_of(np.array([3, 3, 7])).tolist()
    [0, 0, 1]
    """
    return np.cumsum(datasets.differing(scores)) - 1


def ends_of(scores: Integers, wrong: Bools, parts: Integers, count: int) -> Integers:
    """What a sorted range says of itself: the scores of its first and last tie, and [3, 2, parts] samples and wrong
    ones in these and in all of it. Nothing where it is empty."""
    if not len(scores):
        return np.zeros(0, dtype=np.int64)
    there = (scores == scores[0], scores == scores[-1], np.ones(len(scores), dtype=np.bool_))
    counts = [np.bincount(parts[chosen], minlength=count) for each in there for chosen in (each, each & wrong)]
    return np.concatenate([[scores[0], scores[-1]], *counts]).astype(np.int64)


def surroundings(ends: Sequence[Integers], count: int) -> list[Surroundings]:
    """Where each of the ranges stands, which follow each other, from what `ends_of` says of each."""
    nothing = np.zeros((2, count), dtype=np.int64)
    counts = [each[2:].reshape(3, 2, count) if len(each) else np.stack([nothing] * 3) for each in ends]
    later, from_here = _later(ends, counts, nothing)
    whole = np.sum([each[_ALL] for each in counts], axis=0) if counts else nothing
    found: list[Surroundings] = []
    start, reaching, before, so_far = nothing, None, nothing, nothing  # of the tie that the last range ended in
    for each, here, more, first in zip(ends, counts, later, from_here, strict=True):
        if not len(each):
            found.append(Surroundings(np.stack([start, start, nothing, nothing, whole])))
            continue
        goes_on = reaching == each[0]
        first_before, earlier = (before, so_far) if goes_on else (start, nothing)
        single_tie = each[0] == each[1]
        last = earlier + first if single_tie else here[_LAST] + more
        found.append(Surroundings(np.stack([start, first_before, earlier + first, last, whole])))
        before, so_far = (
            (first_before, earlier + here[_FIRST]) if single_tie else (start + here[_ALL] - here[_LAST], here[_LAST])
        )
        start, reaching = start + here[_ALL], each[1]
    return found


def _later(
    ends: Sequence[Integers], counts: Sequence[Integers], nothing: Integers
) -> tuple[list[Integers], list[Integers]]:
    """Of each range: what later ranges hold of its last tie, and what it and they hold of its first."""
    later, from_here = [nothing] * len(ends), [nothing] * len(ends)
    following, held = None, nothing
    for at in reversed(range(len(ends))):
        if not len(ends[at]):
            continue
        first, last = ends[at][:2]
        later[at] = held if following == last else nothing
        from_here[at] = counts[at][_FIRST] + (later[at] if first == last else nothing)
        following, held = first, from_here[at]
    return later, from_here


@dataclass(frozen=True)
class Risks:
    """The risks at the coverages that end in a range: inside a tie the k-th sample of all has a risk of
    (lost + (k − before)·wrong/size)/k. Whole numbers, as floats, by tie; `share` is wrong/size."""

    here: Integers
    share: Floats
    before: Floats
    lost: Floats
    start: int

    @classmethod
    def of(cls, ties: Ties) -> Risks:
        """The risks of all samples."""
        before, lost = ties.before.astype(np.float64), ties.lost.astype(np.float64)
        return cls(ties.here, ties.wrong / np.maximum(ties.size, 1), before, lost, ties.start)

    def without(self, ties: Ties, less: LeftOut, here: Surroundings, part: int) -> Risks:
        """The risks without a part, whose samples are `less`. Only its own ties change, the rest moves up."""
        gone = here.counts[:, :, part]
        left, share, before, lost = self.here.copy(), self.share.copy(), self.before.copy(), self.lost.copy()
        left[less.ties] -= less.samples
        steps = np.diff(less.ties, prepend=-1, append=len(left) - 1)
        before -= np.repeat(gone[0, 0] + np.cumsum(np.append(0, less.samples)), steps)
        lost -= np.repeat(gone[0, 1] + np.cumsum(np.append(0, less.wrong)), steps)
        size, wrong = ties.size[less.ties] - less.samples, ties.wrong[less.ties] - less.wrong
        share[less.ties] = wrong / np.maximum(size, 1)
        for at, whole in ((0, 2), (-1, 3)):  # the rest of these ties, and of the part in them, is in other ranges
            size, wrong = ties.size[at] - gone[whole, 0], ties.wrong[at] - gone[whole, 1]
            share[at] = wrong / max(size, 1)
        before[0], lost[0] = ties.before[0] - gone[1, 0], ties.lost[0] - gone[1, 1]
        return Risks(left, share, before, lost, ties.start - int(gone[0, 0]))

    def units(self) -> int:
        """Their sum in units of 2^-40: of whole numbers, so the same in whatever ranges it is made."""
        share, before, lost = self.share, self.before, self.lost
        apart = lost - share * before
        if self.here.max(initial=0) > 1:
            share, apart = np.repeat(share, self.here), np.repeat(apart, self.here)
        elif not self.here.all():
            share, apart = (column[self.here == 1] for column in (share, apart))
        apart /= np.arange(self.start + 1, self.start + 1 + len(apart))
        apart += share
        units = np.rint(np.ldexp(apart, _UNITS, out=apart), out=apart).astype(np.int64)
        return sum(int(units[at : at + _ROWS].sum()) for at in range(0, len(units), _ROWS))


def mean_risk(units: int, samples: int) -> float:
    """The mean of so many risks; NaN of none."""
    return units / (samples << _UNITS) if samples else float("nan")


SHARE = 6
"""Of the rows of a range as `sorting` cuts them, one in so many: a sample takes several times the memory here."""


@dataclass(frozen=True)
class Ranges:
    """Known samples on their way to the ranges of one order or more; per order its ranges, and what each says of
    itself; and where each range stands."""

    orders: list[list[sorting.Range]]
    sent: Artifact[Parcels]
    ends: list[list[Integers]]
    arounds: dict[sorting.Range, Surroundings]

    @property
    def pieces(self) -> list[sorting.Range]:
        """The ranges of all orders."""
        return list(chain.from_iterable(self.orders))


def labelled_samples(
    intervals: pa.Table, samples: pa.Table, clusters: pa.Table, score: str, apart: bool
) -> LabelledSamples:
    """The samples of a partition whose label is known to be right or wrong; undecided ones stand `apart` or do not."""
    outcomes = sorting.known_of(intervals, samples)
    rows = np.flatnonzero(outcomes != UNKNOWN)
    keys = datasets.keys_of(intervals[score].to_numpy()[rows], intervals["tie_break"].to_numpy()[rows])
    undecided = intervals["undecided"].to_numpy()[rows]
    alike, patterns = (pc.fill_null(clusters[name], 0).to_numpy()[rows] for name in ("cluster", "pattern"))
    return LabelledSamples(keys, alike, outcomes[rows] == RIGHT, ~(undecided & apart), patterns)


def ends_in_order(known: LabelledSamples, pools: Pools) -> Integers:
    """What a sorted range says of itself, with the parts of its clusters."""
    tested = known.take(known.tested)
    return ends_of(tested.keys.scores, ~tested.right, pools.parts(tested.clusters), PARTS)


class FindLabelled(Protocol):
    """Says of a partition's tables which samples are known to be right or wrong, in each of its orders."""

    @property
    def orders(self) -> Sized:
        """What tells its orders apart."""

    def __call__(self, *tables: pa.Table) -> list[LabelledSamples]:
        """Those of a partition."""


@dataclass(frozen=True)
class LabelledByScores:
    """The samples whose label is known to be right or wrong: per order a table of intervals, then samples, clusters.
    Every order has a score, and says whether undecided samples stand apart."""

    orders: tuple[tuple[str, bool], ...]

    def __call__(self, *tables: pa.Table) -> list[LabelledSamples]:
        """Those of a partition."""
        *intervals, samples, clusters = tables
        pairs = zip(intervals, self.orders, strict=True)
        return [labelled_samples(table, samples, clusters, *order) for table, order in pairs]


def labelled_drawn(*tables: pa.Table, known: FindLabelled, rows: int) -> dict[str, object]:
    """How many samples of a partition are known in each order, and some of their keys."""
    orders = {str(at): each.keys for at, each in enumerate(known(*tables))}
    return {
        "rows": {order: len(keys.ties) for order, keys in orders.items()},
        "keys": {order: datasets.drawn_keys(keys, rows) for order, keys in orders.items()},
    }


def labelled_dealt(*tables: pa.Table, known: FindLabelled, bounds: Sequence[datasets.Keys]) -> pa.Table:
    """What a partition sends to the ranges of the orders."""
    orders = zip(known(*tables), bounds, strict=True)
    return parcels(dict(enumerate(chain.from_iterable(order.dealt(each) for order, each in orders))))


def ends_in_range(piece: sorting.Range, received: Received, pools: Pools) -> dict[str, object]:
    """What a range says of itself, by its name."""
    return {piece.name: ends_in_order(LabelledSamples.received(received), pools)}


class Order(NamedTuple):
    """Samples by a score; undecided ones stand apart or do not."""

    intervals: Artifact[Intervals]
    score: str
    apart: bool


def labelled_by_scores(
    orders: Sequence[Order], samples: Artifact[Samples], clusters: Artifact[Clusters]
) -> tuple[list[Columns], LabelledByScores]:
    """Columns of partitions, and what says of them which samples are known to be right or wrong in each order."""
    scored = [Columns(order.intervals, (order.score, "tie_break", "label", "undecided")) for order in orders]
    columns = [*scored, Columns(samples, ("gold",)), Columns(clusters, ("cluster", "pattern"))]
    return columns, LabelledByScores(tuple((order.score, order.apart) for order in orders))


def labelled_ranges(inputs: Sequence[Columns], known: FindLabelled, pools: Pools) -> Ranges:
    """Every partition's known samples, sent to the ranges of each order."""
    rows, of_range = inputs[0].artifact.rows, max(1, sorting.RANGE_ROWS // SHARE)
    bounds = sorting.bounds_of(rows, of_range, labelled_drawn, *inputs, orders=len(known.orders), known=known)
    orders = [[sorting.Range(number, at) for number in range(len(each.scores) + 1)] for at, each in enumerate(bounds)]
    sent = map_partitions(labelled_dealt, *inputs, into=Parcels, name="known", known=known, bounds=bounds)
    sorting.require_all(sent, side_by_side(*inputs))
    said = reduce_pieces(ends_in_range, list(chain.from_iterable(orders)), sent=sent, pools=pools)
    ends = [[said[piece.name] for piece in order] for order in orders]
    arounds = {
        piece: here
        for order, each in zip(orders, ends, strict=True)
        for piece, here in zip(order, surroundings(each, PARTS), strict=True)
    }
    return Ranges(orders, sent, ends, arounds)


def counted_ties(tested: LabelledSamples) -> tuple[Integers, Integers, Integers]:
    """Of a sorted range: the tie of each sample, and how many samples, and wrong ones, of each tie are here."""
    tie = places_of(tested.keys.scores)
    of_tie = np.bincount(tie)
    return tie, of_tie, np.bincount(tie[~tested.right], minlength=len(of_tie))
