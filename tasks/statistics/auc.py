"""The area under the ROC curve from probabilities, with DeLong's interval; binary, one class against the rest, labels.

The mean over classes has the interval that the areas' own come to (MOVER), for the area of a rare class is uncertain
though its few samples vary little, or not at all. How the areas vary together is known of the influence that each
sample, or group of them, has on each (`order_test.AreaSums`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from assay.data.arrays import Floats
from assay.tasks.statistics.between_runs import Sampled
from assay.tasks.statistics.class_scores import correlation, mover
from assay.tasks.statistics.clusters import codes_of
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.order_test import AreaSums, area_interval, area_sums

Groups = npt.NDArray[np.int64] | None


@dataclass(frozen=True)
class AUC:
    """An area with its interval and the samples behind it; no value where no class had both kinds of sample.

    `left_out` are the classes (or labels) that only had samples of one kind, and so have no area.
    """

    value: float | None
    low: float | None
    high: float | None
    n: int
    left_out: tuple[int, ...] = ()


def binary_auc(scores: npt.ArrayLike, positive: npt.ArrayLike, level: float = 0.95, groups: Groups = None) -> AUC:
    """The probability that a positive sample scores above a negative one (ties count half), with DeLong's interval.

    >>> area = binary_auc([0.9, 0.8, 0.3, 0.2], [True, False, True, False])
    >>> area.value, area.n
    (0.75, 4)
    """
    return label_auc(np.asarray(scores)[:, None], np.asarray(positive, np.int64)[:, None], level, groups)


def macro_auc(probabilities: npt.ArrayLike, gold: npt.ArrayLike, level: float = 0.95, groups: Groups = None) -> AUC:
    """The mean over the classes of the area of one class against the rest; with two classes, the binary area.

    `probabilities` are [n, k], `gold` class codes, −1 where unknown (left aside).

    >>> macro_auc([[0.1, 0.9], [0.2, 0.8], [0.7, 0.3], [0.8, 0.2]], [1, 0, 1, 0]).value
    0.75
    """
    area = label_auc(*one_against_rest(probabilities, gold), level, groups)
    return replace(area, left_out=(0, 1)) if area.left_out and np.shape(probabilities)[1] == 2 else area


def one_against_rest(probabilities: npt.ArrayLike, gold: npt.ArrayLike) -> tuple[Floats, npt.NDArray[np.int64]]:
    """The columns whose areas are averaged, and for each which samples are of its class; of two classes the second."""
    scores, codes = np.asarray(probabilities, dtype=np.float64), np.asarray(gold)[:, None]
    classes = np.arange(scores.shape[1])[1 if scores.shape[1] == 2 else 0 :]
    return scores[:, classes], np.where(codes >= 0, codes == classes, -1)


def label_auc(probabilities: npt.ArrayLike, labels: npt.ArrayLike, level: float = 0.95, groups: Groups = None) -> AUC:
    """The mean over the labels of each label's own area, [n, k] against [n, k] of 1, 0 and −1 (unknown: left aside).

    >>> area = label_auc([[0.9, 0.5], [0.1, 0.5]], [[1, 0], [0, 0]])
    >>> area.value, area.left_out
    (1.0, (1,))
    """
    truth = np.asarray(labels)
    areas = _areas(np.asarray(probabilities, dtype=np.float64), truth, groups)
    n, left_out = int((truth >= 0).any(axis=1).sum()), tuple(at for at, area in enumerate(areas) if area is None)
    measured = [area for area in areas if area is not None]
    if not measured:
        return AUC(None, None, None, n, left_out)
    moved = np.column_stack([area.influence for area in measured])
    ends = [area_interval(area, level) for area in measured]
    _, low, high = mover(np.full(len(ends), 1 / len(ends)), ends, correlation(moved))
    return AUC(float(np.mean([end.value for end in ends])), max(0.0, low), min(1.0, high), n, left_out)


def _areas(scores: Floats, truth: npt.NDArray[np.integer], groups: Groups) -> list[AreaSums | None]:
    """What the area of each column is made of; None where it has samples of one kind only."""
    if scores.shape != truth.shape or scores.ndim != 2:
        raise ValueError(f"probabilities {list(scores.shape)} and labels {list(truth.shape)} must be one [n, k]")
    if np.isnan(scores).any():
        raise ValueError("a score that is not a number cannot be ranked")
    codes = np.arange(len(scores)) if groups is None else codes_of(groups)
    known, count = truth >= 0, int(codes.max(initial=-1)) + 1
    areas = [
        area_sums(column[there], given[there], codes[there], count)
        for column, given, there in zip(scores.T, truth.T, known.T, strict=True)
    ]
    return [area if area.right.any() and area.wrong.any() else None for area in areas]


def area_by_sample(ids: Sequence[str], probabilities: npt.ArrayLike, truth: npt.NDArray[np.integer]) -> Sampled | None:
    """What single samples add to an area, or to the mean of several (`truth` holds codes [n], or labels [n, k]); None
    where there is none. Each has the area and n times its influence, so that their mean is the area and varies as it
    does.

    >>> scores, gold = [[0.1, 0.9], [0.2, 0.8], [0.7, 0.3], [0.8, 0.2]], np.array([1, 0, 1, 0])
    >>> area_by_sample(["a", "b", "c", "d"], scores, gold).value
    0.75
    """
    scores, labels = np.asarray(probabilities, dtype=np.float64), truth
    if truth.ndim == 1:
        scores, labels = one_against_rest(scores, truth)
    areas = [area for area in _areas(scores, labels, None) if area is not None]
    if not areas:
        return None
    known = (truth >= 0).reshape(len(truth), -1).any(axis=1)
    pulls = np.mean([area.influence for area in areas], axis=0)[known]
    value = float(np.mean([area.value for area in areas]))
    return Sampled(np.array(ids, dtype=np.str_)[known], value + len(pulls) * pulls, np.ones(len(pulls)), parts=False)


def auc_finding(
    metric: str, area: AUC, classes: Sequence[str], *, of: str = "", group: str = "", subject: str = ""
) -> Finding:
    """The area as a finding; its verdict names the classes that have none."""
    missing = "" if area.value is None else ", ".join(classes[code] for code in area.left_out)
    verdict = f"without {missing}: only one kind of sample" if missing else ""
    return Finding(metric, of, group, subject, n=area.n).estimated(area, verdict=verdict)
