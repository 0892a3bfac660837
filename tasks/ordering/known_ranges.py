"""Known samples on their way to ranges of an order, and where each range stands; or all of them as one range."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise

import numpy as np
import pyarrow as pa

from assay.data.schemas import Clusters, Intervals, Samples
from assay.infra.artifacts import Artifact
from assay.infra.parcels import Parcels, Received, parcels
from assay.infra.partitions import Columns, map_partitions, reduce_partitions, reduce_pieces, side_by_side
from assay.tasks.ordering import sorting
from assay.tasks.ordering.known import Known
from assay.tasks.ordering.pools import Pools
from assay.tasks.ordering.sort_keys import Integers, Keys, drawn_keys, keys_of, range_bounds
from assay.tasks.ordering.validity import RIGHT, UNKNOWN
from assay.tasks.ordering.whole_ties import Around, around, ends_of, places_of
from assay.tasks.statistics.selective import PARTS

SHARE = 4
"""Of the rows of a range as `sorting` cuts them, one in so many: a sample takes several times the memory here."""


@dataclass(frozen=True)
class Range:
    """A range of one of the orders that are looked at together, by both their numbers from 0."""

    order: int
    number: int


@dataclass(frozen=True)
class Ranges:
    """Known samples on their way to the ranges of one order or two, and where each range stands."""

    pieces: list[Range]
    sent: Artifact[Parcels]
    arounds: list[Around]


def known_in(intervals: pa.Table, samples: pa.Table, clusters: pa.Table, score: str, apart: bool) -> Known:
    """The samples of a partition whose label is known to be right or wrong; undecided ones stand `apart` or do not."""
    outcomes = sorting.known_of(intervals, samples)
    rows = np.flatnonzero(outcomes != UNKNOWN)
    keys = keys_of(intervals[score].to_numpy()[rows], intervals["tie_break"].to_numpy()[rows])
    undecided = intervals["undecided"].to_numpy()[rows]
    return Known(keys, clusters["cluster"].to_numpy()[rows], outcomes[rows] == RIGHT, ~(undecided & apart))


def ends_in_order(known: Known, pools: Pools | None) -> Integers:
    """What a sorted range says of itself, with the parts of its clusters or without."""
    tested = known.take(known.tested)
    parts = np.zeros(len(tested), dtype=np.int64) if pools is None else pools.parts(tested.clusters)
    return ends_of(tested.keys.scores, ~tested.right, parts, 1 if pools is None else PARTS)


KnownIn = Callable[..., list[Known]]
"""What says of a partition's tables which samples are known to be right or wrong, in each of several orders."""


@dataclass(frozen=True)
class KnownLabels:
    """The samples whose label is known to be right or wrong: per order a table of intervals, then samples, clusters."""

    scores: tuple[str, ...]
    apart: bool

    def __call__(self, *tables: pa.Table) -> list[Known]:
        """Those of a partition."""
        *intervals, samples, clusters = tables
        pairs = zip(intervals, self.scores, strict=True)
        return [known_in(table, samples, clusters, score, self.apart) for table, score in pairs]


def known_drawn(*tables: pa.Table, known: KnownIn, rows: int) -> dict[str, object]:
    """How many samples of a partition are known, and some of their keys in each order."""
    orders = known(*tables)
    return {
        "rows": len(orders[0]),
        "keys": {str(at): drawn_keys(each.keys, rows) for at, each in enumerate(orders)},
    }


def known_dealt(*tables: pa.Table, known: KnownIn, bounds: Sequence[Keys]) -> pa.Table:
    """What a partition sends to the ranges of the orders."""
    orders = zip(known(*tables), bounds, strict=True)
    return parcels(dict(enumerate(chain.from_iterable(order.dealt(each) for order, each in orders))))


def ends_in_range(piece: Range, received: Received, pools: Pools | None) -> dict[str, object]:
    """What a range says of itself, by its name."""
    return {_name(piece): ends_in_order(Known.received(received), pools)}


def labelled(
    orders: Sequence[tuple[Artifact[Intervals], str]], samples: Artifact[Samples], clusters: Artifact[Clusters]
) -> list[Columns]:
    """The columns that `KnownLabels` looks at, in its order."""
    scored = [
        Columns(table, tuple(dict.fromkeys((score, "tie_break", "label", "undecided")))) for table, score in orders
    ]
    return [*scored, Columns(samples, ("gold",)), Columns(clusters, ("cluster",))]


def known_ranges(
    inputs: Sequence[Columns], known: KnownIn, pools: Pools | None, name: str
) -> tuple[list[Integers], Ranges]:
    """Every partition's known samples, sent to the ranges of each order; and what each range says of itself."""
    drawn = reduce_partitions(known_drawn, *inputs, known=known, rows=range_rows())
    count = -(-drawn["rows"] // range_rows())
    bounds = [range_bounds(drawn["keys"][str(at)], count) for at in range(len(drawn["keys"]))]
    pieces = [Range(at, number) for at, each in enumerate(bounds) for number in range(len(each.scores) + 1)]
    sent: Artifact[Parcels] = map_partitions(known_dealt, *inputs, into=Parcels, name=name, known=known, bounds=bounds)
    sorting.require_all(sent, side_by_side(*inputs))
    said: Mapping[str, Integers] = reduce_pieces(ends_in_range, pieces, sent=sent, pools=pools)
    ends = [said[_name(piece)] for piece in pieces]
    firsts = [*firsts_of(pieces), len(pieces)]
    parts = 1 if pools is None else PARTS
    arounds = list(chain.from_iterable(around(ends[a:b], parts) for a, b in pairwise(firsts)))
    return ends, Ranges(pieces, sent, arounds)


def range_rows() -> int:
    """How many samples a range holds, about."""
    return max(1, sorting.RANGE_ROWS // SHARE)


def firsts_of(pieces: Sequence[Range]) -> list[int]:
    """Which piece is the first of each order."""
    return [at for at, piece in enumerate(pieces) if piece.number == 0]


def _name(piece: Range) -> str:
    return f"{piece.order} {piece.number:09d}"


def counted_ties(tested: Known) -> tuple[Integers, Integers, Integers]:
    """Of a sorted range: the tie of each sample, and how many samples, and wrong ones, of each tie are here."""
    tie = places_of(tested.keys.scores)
    of_tie = np.bincount(tie)
    return tie, of_tie, np.bincount(tie[~tested.right], minlength=len(of_tie))
