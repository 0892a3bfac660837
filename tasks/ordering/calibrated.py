"""What is counted along the confidence in labels: by ranges on the workers, or all of it as one range."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from assay.infra.parcels import Received
from assay.infra.partitions import Columns, reduce_pieces
from assay.tasks.ordering.known import Known
from assay.tasks.ordering.known_ranges import KnownIn, Range, counted_ties, ends_in_order, known_ranges
from assay.tasks.ordering.pools import Pools
from assay.tasks.ordering.sort_keys import Integers, scores_of
from assay.tasks.ordering.whole_ties import Around, around
from assay.tasks.statistics.calibration import BINS
from assay.tasks.statistics.clusters import sums_by_cluster

_HALF = 26  # bits: a number up to 1 is so many bits, and 27 more


@dataclass(frozen=True)
class Calibrated:
    """What was counted along the confidence, by pool and bin: [G, b] samples, right ones, and the sum of confidences;
    and [G] the sum of (confidence − right)²."""

    samples: Integers
    right: Integers
    confidence: npt.NDArray[np.float64]
    squares: npt.NDArray[np.float64]


def calibrated_at_once(known: Known, pools: Pools) -> Calibrated:
    """What is counted along the confidence of these samples."""
    ordered = known.in_order()
    ends = ends_in_order(ordered, None)
    return _calibrated(calibration_sums(ordered, around([ends], 1)[0], pools))


def calibrated_by_ranges(inputs: Sequence[Columns], known: KnownIn, pools: Pools) -> Calibrated:
    """As `calibrated_at_once`, of the one order of these columns."""
    _, found = known_ranges(inputs, known, None, name="confidences")
    counted = reduce_pieces(calibration_in_range, found.pieces, sent=found.sent, arounds=found.arounds, pools=pools)
    return _calibrated(counted)


def calibration_sums(known: Known, here: Around, pools: Pools) -> Integers:
    """Of a range sorted by confidence, [pools, bins, 6]: samples, right ones, the sums of the confidences and of
    (confidence − right)², both in two halves of whole numbers. Bins hold equally many samples, ties kept together."""
    tie, of_tie, wrong = counted_ties(known)
    ties = here.ties(of_tie, wrong)
    middle = 2 * (ties.n - ties.before) - ties.size  # twice the rank of the middle of the tie, from the least confident
    cells = pools.of(known.clusters) * BINS + (middle * BINS // (2 * max(ties.n, 1)))[tie]
    confidence, right = np.clip(scores_of(known.keys.scores), 0, 1), known.right.astype(np.int64)
    columns = (np.ones_like(right), right, *halves(confidence), *halves((confidence - right) ** 2))
    sums = [sums_by_cluster(cells, column, pools.count * BINS) for column in columns]
    return np.stack(sums, axis=1).reshape(pools.count, BINS, len(columns))


def calibration_in_range(piece: Range, received: Received, arounds: Sequence[Around], pools: Pools) -> Integers:
    """As `calibration_sums`, of what a range was sent."""
    return calibration_sums(Known.received(received), arounds[piece.number], pools)


def _calibrated(sums: Integers) -> Calibrated:
    there, filled = sums[:, :, 0].any(axis=1), sums[:, :, 0].any(axis=0)
    samples, right, *rest = np.moveaxis(sums[there][:, filled], 2, 0)
    squares = joined(*(half.sum(axis=1) for half in rest[2:]))
    return Calibrated(samples, right, joined(*rest[:2]), squares)


def halves(values: npt.NDArray[np.float64]) -> tuple[Integers, Integers]:
    """Numbers from 0 to 1 in units of 2^-53, as whole numbers of an upper and a lower half: these add up exactly."""
    units = np.rint(np.ldexp(values, _HALF + 27)).astype(np.int64)
    return units >> _HALF, units & ((1 << _HALF) - 1)


def joined(upper: Integers, lower: Integers) -> npt.NDArray[np.float64]:
    """The sums of numbers, from those of their halves."""
    return np.asarray(np.ldexp(upper.astype(np.float64), -27) + np.ldexp(lower.astype(np.float64), -_HALF - 27))
