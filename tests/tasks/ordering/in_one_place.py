"""What ranges of an order count, counted of all samples at once: what the engine by ranges is held against."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from assay.tasks.ordering.order_test import Counting, OrderCounts
from assay.tasks.ordering.ranges import DrawnPatterns, LabelledSamples, Pools, ends_in_order, surroundings
from assay.tasks.ordering.sorting import Range
from assay.tasks.ordering.validity import RIGHT, UNKNOWN, Ordered
from assay.tasks.statistics.calibration import PARTS
from assay.tasks.statistics.clusters import share_by
from assay.tasks.statistics.findings import Finding


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


def order_counts_at_once(known: LabelledSamples, pools: Pools) -> OrderCounts:
    """What is counted along an order, and where all samples are tested its calibration."""
    ordered, counting = known.in_order(), Counting(pools, whole=1, confidence=0 if known.tested.all() else None)
    ends = ends_in_order(ordered, pools)
    here = surroundings([ends], PARTS)[0]
    counted, patterns = counting.along(ordered, here, Range(0, 0))["0"], DrawnPatterns()
    patterns.add(counted["patterns"].pop(Range(0, 0).name))
    return counting.counts(counted, patterns, [ends], here)


def tenth_findings(
    stage: str,
    scores: npt.NDArray[np.float64],
    ties: npt.NDArray[np.int64],
    right: npt.NDArray[np.int64],
    clusters: npt.NDArray[np.int64],
) -> list[Finding]:
    """The share that is right in the first and in the last tenth of an order."""
    order, tenth = adversarial_order(scores, ties), max(1, round(len(scores) / 10))
    ends = {"first_tenth": order[:tenth], "last_tenth": order[-tenth:]}
    return [share_by(f"{stage}.{name}", right[end], clusters[end]) for name, end in ends.items()]
