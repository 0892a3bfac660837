"""One order over all samples, by partitions: what every sample's rank is, and what is counted along the order.

Workers deal the keys out by ranges (one range, where there are few samples) and sort these; ranks go back to the
partitions that the keys came from, and counts come here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from assay.data.arrays import Integers
from assay.data.schemas import Intervals, Samples
from assay.infra.errors import InputError, RunError
from assay.infra.stages.partitions import (
    Columns,
    Tallied,
    map_partitions,
    map_pieces,
    reduce_partitions,
    reduce_pieces,
    tally_of,
)
from assay.infra.stages.shuffle import Parcels, Received, parcels
from assay.infra.storage.artifacts import Artifact
from assay.tasks.ordering.datasets import (
    KeyRange,
    Keys,
    cut_points,
    dealt,
    drawn_keys,
    keys_of,
    range_bounds,
    rows_sent,
    sorted_places,
    ties_in,
    ties_over,
)
from assay.tasks.ordering.settings import Ordering
from assay.tasks.ordering.validity import RIGHT, UNKNOWN, Ordered, outcomes

RANGE_ROWS = 1 << 20
"""So many samples a worker sorts at a time: some 150 MB at their most."""

NO_GOLD = -1


@dataclass(frozen=True)
class By:
    """What samples are ordered by, and whether only those with a gold class are."""

    score: str
    labelled: bool

    def keys(self, intervals: pa.Table, samples: pa.Table) -> tuple[Keys, Integers]:
        """The keys of a partition's samples that are ordered, and where in it they stand."""
        keys = keys_of(intervals[self.score].to_numpy(), intervals["tie_break"].to_numpy())
        if not self.labelled:
            return keys, np.arange(intervals.num_rows)
        chosen = np.flatnonzero(samples["gold"].is_valid().to_numpy())
        return Keys(keys.scores[chosen], keys.ties[chosen]), chosen


@dataclass(frozen=True)
class Range:
    """A range of keys, or of hashes, by its number from 0, in one of the orders that are looked at together."""

    number: int
    order: int = 0

    @property
    def name(self) -> str:
        """Both numbers; names sort as ranges do."""
        return f"{self.order} {self.number:09d}"


@dataclass(frozen=True)
class Dealt:
    """Keys on their way to the ranges: what every partition sent, where each range starts, and the cuts of D1 … DN."""

    by: By
    sent: Artifact[Parcels]
    starts: list[int]
    cuts: list[int]

    @property
    def ranges(self) -> list[Range]:
        """The ranges, the easiest first."""
        return [Range(number) for number in range(len(self.starts))]


def cuts_of(samples: int, settings: Ordering) -> Integers:
    """Where D1 … DN end among so many ordered samples; InputError where that cannot be."""
    if settings.curate == "labelled" and not samples:
        raise InputError(
            "ordering.curate is labelled, but no sample has a gold label; name the column that holds it in "
            "source.label, or set ordering.curate: all."
        )
    return cut_points(samples, settings.datasets)


def deal_keys(intervals: Artifact[Intervals], samples: Artifact[Samples], settings: Ordering, score: str) -> Dealt:
    """Every partition's keys, sent to the ranges that they belong to."""
    by = By(score, settings.curate == "labelled")
    gold = Columns(samples, ("gold",))
    bounds = bounds_of(intervals.rows, RANGE_ROWS, keys_drawn, Columns(intervals, (score, "tie_break")), gold, by=by)[0]
    columns = Columns(intervals, (score, "tie_break", "label"))
    sent = map_partitions(keys_dealt, columns, gold, into=Parcels, name="keys", by=by, bounds=bounds)
    require_all(sent, intervals.partitions)
    ends = np.cumsum(tally_of(sent)["rows"]).tolist()
    return Dealt(by, sent, [0, *ends[:-1]], cuts_of(ends[-1], settings).tolist())


def bounds_of(
    samples: int, rows: int, draw: Callable[..., dict[str, Any]], *inputs: Columns, orders: int = 1, **constants: Any
) -> list[Keys]:
    """Per order the first key of every range but the first, for ranges of so many rows; `draw` draws some keys."""
    if samples <= rows:
        return [range_bounds((), 1)] * orders
    drawn = reduce_partitions(draw, *inputs, rows=rows, **constants)
    return [range_bounds(drawn["keys"][order], -(-drawn["rows"][order] // rows)) for order in map(str, range(orders))]


def ranks_sent(keys: Dealt) -> tuple[Artifact[Parcels], int]:
    """The ranks of all samples, on their way to the partitions that the keys came from; and the largest tie."""
    ranks = map_pieces(ranks_in_range, keys.ranges, into=Parcels, name="ranks", sent=keys.sent, starts=keys.starts)
    require_all(ranks, len(keys.starts))
    return ranks, ties_over([found for _, found in sorted(tally_of(ranks)["ties"].items())])[0]


def counted_along(keys: Dealt, intervals: Artifact[Intervals], samples: Artifact[Samples]) -> Ordered:
    """What is counted along the order, exactly as if all of it had been in one place."""
    found = reduce_pieces(counts_in_range, keys.ranges, sent=keys.sent, starts=keys.starts, cuts=keys.cuts)
    ordered, known = Columns(intervals, (keys.by.score, "tie_break", "label")), Columns(samples, ("gold",))
    ends = reduce_partitions(counts_at_scores, ordered, known, by=keys.by, scores=found["scores_at_cuts"])
    return joined(np.array(keys.cuts), found, ends)


def joined(cuts: Integers, found: Mapping[str, Any], ends: Mapping[str, Any]) -> Ordered:
    """What the ranges counted, and the partitions at both ends of the ties that cuts go through, as one."""
    largest, differing = ties_over([ties for _, ties in sorted(found["ties"].items())])
    right, gold = (np.stack([ends[name][0], np.cumsum(found[name]), ends[name][1]]) for name in ("right", "gold"))
    first, last = ends["rows"]
    return Ordered(cuts, first, last, right, gold, largest, differing)


def keys_drawn(intervals: pa.Table, samples: pa.Table, by: By, rows: int) -> dict[str, object]:
    """How many samples of a partition are ordered, and some of their keys."""
    keys, chosen = by.keys(intervals, samples)
    return {"rows": {"0": len(chosen)}, "keys": {"0": drawn_keys(keys, rows)}}


def keys_dealt(intervals: pa.Table, samples: pa.Table, by: By, bounds: Keys) -> Tallied:
    """What a partition sends to every range, and how many samples these are."""
    keys, chosen = by.keys(intervals, samples)
    sent = dealt(keys, known_of(intervals, samples)[chosen], bounds)
    return Tallied(parcels(dict(enumerate(sent))), {"rows": np.array([rows_sent(part) for part in sent])})


def ranks_in_range(piece: Range, received: Received, starts: list[int]) -> Tallied:
    """What a range sends back to every partition: the ranks of the keys it had from there; and the ties in it."""
    senders = sorted(received)
    found = KeyRange.of(received, starts[piece.number])
    sent = {sender: ranks.tobytes() for sender, ranks in zip(senders, found.ranks(), strict=True)}
    return Tallied(parcels(sent), {"ties": {f"{piece.number:09d}": ties_in(found.scores)}})


def ranks_received(intervals: pa.Table, samples: pa.Table, received: Received, by: By) -> Integers:
    """The rank of every sample of a partition, −1 where it is not ordered."""
    keys, chosen = by.keys(intervals, samples)
    ranks = np.full(intervals.num_rows, -1, dtype=np.int64)
    came = [np.frombuffer(received[number], np.int64) for number in sorted(received)]
    ranks[chosen[sorted_places(keys)]] = np.concatenate(came)
    return ranks


def counts_in_range(piece: Range, received: Received, starts: list[int], cuts: list[int]) -> dict[str, object]:
    """Of a range: how many labels are right and how many have gold in each stratum, the scores of the last samples of
    D1 … DN as far as they are in it, and its ties."""
    found = KeyRange.of(received, starts[piece.number])
    bounds = np.clip(np.array([0, *cuts]), found.start, found.stop) - found.start
    last = np.array(cuts) - 1
    here = (last >= found.start) & (last < found.stop)
    scores = np.zeros(len(cuts), dtype=np.int64)
    scores[here] = found.scores[last[here] - found.start]
    return {
        "right": np.diff(_before(found.outcomes == RIGHT, bounds)),
        "gold": np.diff(_before(found.outcomes != UNKNOWN, bounds)),
        "scores_at_cuts": scores,
        "ties": {f"{piece.number:09d}": ties_in(found.scores)},
    }


def counts_at_scores(intervals: pa.Table, samples: pa.Table, by: By, scores: Integers) -> Mapping[str, Any]:
    """How many samples of a partition stand before each of these scores, and how many up to it, [2, N]; how many of
    them are right, and how many have gold."""
    keys, chosen = by.keys(intervals, samples)
    order = np.argsort(keys.scores, kind="stable")
    known, ordered = known_of(intervals, samples)[chosen][order], keys.scores[order]
    places = np.stack([np.searchsorted(ordered, scores, side) for side in ("left", "right")])
    return {"rows": places, "right": _before(known == RIGHT, places), "gold": _before(known != UNKNOWN, places)}


def known_of(intervals: pa.Table, samples: pa.Table) -> npt.NDArray[np.int8]:
    """What is known of every label of a partition."""
    return outcomes(intervals["label"].to_numpy(), pc.fill_null(samples["gold"], NO_GOLD).to_numpy())


def _before(chosen: npt.NDArray[np.bool_], places: Integers) -> Integers:
    """How many of the chosen stand before each place."""
    return np.searchsorted(np.flatnonzero(chosen), places)


def require_all(sent: Artifact[Parcels], wanted: int) -> None:
    """Nothing, or the sentence for parcels that did not come: no rank could be believed."""
    if sent.partitions != wanted:
        raise RunError(
            f"{wanted - sent.partitions} of {wanted} partitions could not be sorted, so that no rank is known: "
            "see what was said of them, and run again; what is finished is kept."
        )
