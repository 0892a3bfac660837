"""What ranges of an order count, counted of all samples at once: what the engine by ranges is held against."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from assay.tasks.ordering.clusters import Pools
from assay.tasks.ordering.order_test import (
    CalibrationCounts,
    OrderCounts,
    _calibration_counts,
    _order_counts,
    calibration_sums,
    counted_along,
)
from assay.tasks.ordering.ranges import LabelledSamples, Range, ends_in_order, surroundings
from assay.tasks.ordering.validity import RIGHT, UNKNOWN, Ordered
from assay.tasks.statistics.calibration import PARTS


def adversarial_order(scores: npt.NDArray[np.float64], ties: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The positions of the samples, easiest first: by score descending, equal scores by `ties` ascending."""
    return np.lexsort((ties, -scores))


def tie_starts(ordered_scores: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Where each group of equal scores begins in the order, and at the end its length."""
    n = len(ordered_scores)
    new = np.flatnonzero(ordered_scores[1:] != ordered_scores[:-1]) + 1
    return np.concatenate([[0], new, [n]]).astype(np.int64) if n else np.zeros(1, dtype=np.int64)


def largest_tie(ordered_scores: npt.NDArray[np.float64]) -> int:
    """The size of the largest group of samples that no score tells apart."""
    return int(np.diff(tie_starts(ordered_scores)).max(initial=0))


def counted_at_once(
    scores: npt.NDArray[np.float64], outcomes: npt.NDArray[np.int8], cuts: npt.NDArray[np.int64]
) -> Ordered:
    """What is counted along an order: `scores` descend, and `outcomes` are RIGHT, WRONG or UNKNOWN."""
    starts = tie_starts(scores)
    group = np.searchsorted(starts, cuts, side="left")
    places = np.stack([starts[group - 1], cuts, starts[group]])
    right, gold = (
        np.concatenate([[0], np.cumsum(chosen)])[places].astype(np.int64)
        for chosen in (outcomes == RIGHT, outcomes != UNKNOWN)
    )
    return Ordered(cuts, places[0], places[2], right, gold, largest_tie(scores), len(starts) - 1)


def order_counts_at_once(orders: Sequence[LabelledSamples], pools: Pools) -> OrderCounts:
    """What is counted along the first order, with that of ours beside it where there is a second."""
    sorted_ = [known.in_order() for known in orders]
    ends = [ends_in_order(known, pools) for known in sorted_]
    here = [surroundings([each], PARTS)[0] for each in ends]
    counted = [
        counted_along(known, each, Range(at, 0), pools)
        for at, (known, each) in enumerate(zip(sorted_, here, strict=True))
    ]
    sums = {name: part for each in counted for name, part in each["sums"].items()}
    return _order_counts({**counted[0], "sums": sums}, [[each] for each in ends], here[0], pools)


def calibration_counts_at_once(known: LabelledSamples, pools: Pools) -> CalibrationCounts:
    """What is counted along the confidence of these samples."""
    ordered = known.in_order()
    return _calibration_counts(calibration_sums(ordered, surroundings([ends_in_order(ordered, None)], 1)[0], pools))
