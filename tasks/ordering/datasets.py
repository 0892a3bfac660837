"""The adversarial order and the curated sets D1 ⊂ D2 ⊂ … ⊂ DN that are cut from it.

The key of a sample is its score, highest first, and its `tie_break` where scores are equal. What no process can hold is
sorted by ranges: keys are dealt out by ranges, each range is sorted by itself, and the rank of a sample is the number
of keys in earlier ranges and its place in its own: exactly that of one sort of all samples, wherever the bounds lie.
They come from a draw, by the hash of the id, so that ranges are about even.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from assay.data.arrays import Bools, Integers
from assay.infra.errors import InputError
from assay.infra.stages.shuffle import Received


def tie_breaks(ids: pa.Array | pa.ChunkedArray) -> npt.NDArray[np.int64]:
    """A stable 64-bit hash (BLAKE2b) of each sample id: who comes first among equals, on any machine and any day.

    >>> tie_breaks(pa.array(["a", "b"])).tolist()
    [4681665781835383343, -8902839231844102283]
    """
    digests = b"".join(blake2b(sample.encode(), digest_size=8).digest() for sample in ids.to_pylist())
    return np.frombuffer(digests, dtype=">i8").astype(np.int64)


def cut_points(samples: int, datasets: int) -> npt.NDArray[np.int64]:
    """How many of the ordered samples D_1, …, D_N hold: round(i/N · n), halves to even; an error if n < N.

    >>> cut_points(569, 10).tolist()
    [57, 114, 171, 228, 284, 341, 398, 455, 512, 569]
    """
    if samples < datasets:
        raise InputError(
            f"{samples} samples cannot be cut into {datasets} data sets; lower ordering.datasets to {samples} "
            "or fewer, or bring more samples."
            if samples >= 3
            else f"{samples} samples are too few to order; bring at least {datasets}."
        )
    return np.array([round(i * samples / datasets) for i in range(1, datasets + 1)], dtype=np.int64)


def dataset_of_rank(ranks: npt.NDArray[np.int64], cuts: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
    """The number d of the first curated set D_d that holds each rank (0 is the easiest sample).

    >>> dataset_of_rank(np.array([0, 56, 57, 568]), cut_points(569, 10)).tolist()
    [1, 1, 2, 10]
    """
    return (np.searchsorted(cuts, ranks, side="right") + 1).astype(np.int32)


_ROW = 17  # bytes of a sample on its way: two whole numbers, and what is known of its label
_PER_RANGE = 256  # keys drawn for each range: bounds are then some 6 % of a range off the even ones


class Keys(NamedTuple):
    """What samples are sorted by: whole numbers in the order of the scores, the easiest lowest, then the tie breaks."""

    scores: Integers
    ties: Integers


def keys_of(scores: npt.NDArray[np.float64], ties: Integers) -> Keys:
    """The keys of samples; equal scores have equal keys, −0 is 0, and what is no number comes last.

    >>> keys = keys_of(np.array([0.5, 0.9, -0.0, 0.0]), np.arange(4))
    >>> np.argsort(keys.scores).tolist(), bool(keys.scores[2] == keys.scores[3])
    ([1, 0, 2, 3], True)
    """
    bits = (0.0 - scores).view(np.int64)
    return Keys(bits ^ ((bits >> 63) & np.iinfo(np.int64).max), ties)


def scores_of(keys: Integers) -> npt.NDArray[np.float64]:
    """The scores that these are the keys of.

    >>> scores_of(keys_of(np.array([0.5, 0.0, -2.0]), np.zeros(3, np.int64)).scores).tolist()
    [0.5, 0.0, -2.0]
    """
    bits = keys ^ ((keys >> 63) & np.iinfo(np.int64).max)
    return np.asarray(0.0 - bits.view(np.float64))


def sorted_places(keys: Keys) -> Integers:
    """The places of the keys in ascending order; of equal ones the first comes first.

    >>> sorted_places(Keys(np.array([3, 1, 3]), np.array([0, 9, -5]))).tolist()
    [1, 2, 0]
    """
    order = np.argsort(keys.scores, kind="stable")  # runs that are sorted already are merged, which costs little
    new = differing(keys.scores[order])
    tied = ~(new & np.append(new[1:], True)[: len(new)])
    if 2 * np.count_nonzero(tied) > len(order):
        return np.lexsort((keys.ties, keys.scores))
    among = order[tied]
    order[tied] = among[np.lexsort((keys.ties[among], keys.scores[among]))]
    return order


def differing(ordered: Integers) -> Bools:
    """Whether each number differs from the one before it; the first does.

    >>> differing(np.array([3, 3, 7])).tolist()
    [True, False, True]
    """
    return np.append(True, ordered[1:] != ordered[:-1])[: len(ordered)]


def drawn_keys(keys: Keys, rows: int) -> frozenset[tuple[int, int]]:
    """The keys that stand for all, to cut them into ranges of so many rows: those whose tie break says so."""
    chosen = keys.ties % max(1, rows // _PER_RANGE) == 0
    return frozenset(zip(keys.scores[chosen].tolist(), keys.ties[chosen].tolist(), strict=True))


def range_bounds(drawn: Collection[tuple[int, int]], ranges: int) -> Keys:
    """The first key of every range but the first, for so many ranges that are about even.

    >>> range_bounds({(5, 0), (1, 0), (3, 0), (1, 7)}, 2)
    Keys(scores=array([3]), ties=array([0]))
    """
    ordered = sorted(drawn)
    chosen = [ordered[len(ordered) * at // ranges] for at in range(1, ranges)] if ordered else []
    return Keys(np.array([score for score, _ in chosen], np.int64), np.array([two for _, two in chosen], np.int64))


def packed(columns: Sequence[npt.NDArray[Any]], ends: Sequence[int]) -> list[bytes]:
    """Columns of whole numbers, the last one of bytes, cut where the rows of each receiver end."""
    return [b"".join(column[start:end].tobytes() for column in columns) for start, end in pairwise(ends)]


def taken_out(received: Received) -> Iterator[memoryview]:
    """What a call was sent, in the order of the senders."""
    yield from (received.pop(sender) for sender in sorted(received))


def unpacked(parts: Iterable[memoryview], numbers: int) -> list[npt.NDArray[Any]]:
    """The columns of what several senders `packed`: so many of whole numbers, and one of bytes.

    >>> sent = packed([np.array([5, 6]), np.array([1, 0], np.int8)], [0, 1, 2])
    >>> [column.tolist() for column in unpacked(map(memoryview, reversed(sent)), 1)]
    [[6, 5], [0, 1]]
    """
    columns = []
    for part in parts:
        rows = len(part) // (8 * numbers + 1)
        whole, flags = part[: 8 * numbers * rows], part[8 * numbers * rows :]
        columns.append((*np.frombuffer(whole, np.int64).reshape(numbers, rows), np.frombuffer(flags, np.int8)))
    return [np.concatenate(column) for column in zip(*columns, strict=True)]


def dealt(keys: Keys, outcomes: npt.NDArray[np.int8], bounds: Keys) -> list[bytes]:
    """What a partition sends to each range: its keys there in their order, and what is known of their labels."""
    order = sorted_places(keys)
    scores, ties = keys.scores[order], keys.ties[order]
    return packed((scores, ties, outcomes[order]), range_ends(Keys(scores, ties), bounds))


def range_ends(ordered: Keys, bounds: Keys) -> list[int]:
    """Where in sorted keys each range ends, after a 0.

    >>> range_ends(Keys(np.array([1, 5, 9]), np.zeros(3, np.int64)), Keys(np.array([5]), np.array([0])))
    [0, 1, 3]
    """
    return [0, *(_below(*ordered, *bound) for bound in zip(*bounds, strict=True)), len(ordered.scores)]


def _below(scores: Integers, ties: Integers, score: int, tie: int) -> int:
    """How many sorted keys come before this one."""
    first, last = (int(np.searchsorted(scores, score, side)) for side in ("left", "right"))
    return first + int(np.searchsorted(ties[first:last], tie))


def rows_sent(part: bytes | memoryview) -> int:
    """How many samples a range is sent.

    >>> keys = Keys(np.array([1, 5, 9]), np.zeros(3, np.int64))
    >>> [rows_sent(part) for part in dealt(keys, np.zeros(3, np.int8), Keys(np.array([5]), np.array([0])))]
    [1, 2]
    """
    return len(part) // _ROW


@dataclass(frozen=True)
class KeyRange:
    """The samples of one range, sorted: their keys' scores, what is known of their labels, and the first one's rank."""

    scores: Integers
    outcomes: npt.NDArray[np.int8]
    start: int
    order: Integers
    """Which of the samples, in the order in which they were sent, stands at each place."""
    sent: Sequence[int]
    """How many samples every sender sent."""

    @classmethod
    def of(cls, received: Received, start: int) -> KeyRange:
        """The range that all partitions sent, which is taken out; the rank of its easiest sample is `start`."""
        sent = [rows_sent(received[sender]) for sender in sorted(received)]
        scores, ties, outcomes = unpacked(taken_out(received), 2)
        order = sorted_places(Keys(scores, ties))
        return cls(scores[order], outcomes[order], start, order, sent)

    @property
    def stop(self) -> int:
        """The rank of the sample after the last one."""
        return self.start + len(self.scores)

    def ranks(self) -> list[Integers]:
        """The ranks of what every sender sent, in the order in which it was sent."""
        ranks = np.empty(len(self.order), dtype=np.int64)
        ranks[self.order] = np.arange(self.start, self.stop)
        return np.split(ranks, np.cumsum(self.sent)[:-1])


def ties_in(scores: Integers) -> Integers:
    """Of sorted scores: the first and how many equal it, the last and how many equal it, how many differ, and the
    largest number of equal ones; nothing where there are none.

    >>> ties_in(np.array([2, 2, 5, 7, 7, 7])).tolist()
    [2, 2, 7, 3, 3, 3]
    """
    if not len(scores):
        return np.zeros(0, dtype=np.int64)
    sizes = np.diff(np.flatnonzero(differing(scores)), append=len(scores))
    return np.array([scores[0], sizes[0], scores[-1], sizes[-1], len(sizes), sizes.max()], dtype=np.int64)


def ties_over(ranges: Sequence[Integers]) -> tuple[int, int]:
    """The largest tie, and how many scores differ, over ranges that follow each other: a tie may reach over several.

    >>> ties_over([ties_in(np.array(scores)) for scores in ([1, 4, 4], [4, 4], [], [4, 9])])
    (5, 3)
    """
    largest = differing = reaching = 0
    before: int | None = None
    for found in ranges:
        if not len(found):
            continue
        first, of_first, last, of_last, here, most = found.tolist()
        goes_on = first == before
        differing += here - goes_on
        joined = of_first + (reaching if goes_on else 0)
        largest = max(largest, most, joined)
        reaching, before = joined if here == 1 else of_last, last
    return largest, differing
