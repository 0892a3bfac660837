"""The area under the ROC curve from probabilities, with DeLong's interval; binary, one class against the rest, labels.

The macro mean takes its interval from the same structural components: every sample has one influence on each class's
area, the influences are added up per sample, and the variance is the sum of their squares. For one class that is
DeLong's variance, digit for digit; for several it includes the covariances between them, because they come from the
same samples. Where samples stand in groups (of one patient), the influences are added up per group (Obuchowski 1997).
The ends are found on the logit scale and so never leave [0, 1].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from assay.tasks.statistics.clusters import doubled_midranks
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.proportions import wilson

Floats = npt.NDArray[np.float64]
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


@dataclass(frozen=True)
class Components:
    """DeLong's structural components of one area: per sample, the share of the other kind it is ranked rightly to."""

    value: float
    of_sample: Floats  # [n]: V10 of the positives, V01 of the negatives
    positive: npt.NDArray[np.bool_]  # [n]


def binary_auc(scores: npt.ArrayLike, positive: npt.ArrayLike, level: float = 0.95, groups: Groups = None) -> AUC:
    """The probability that a positive sample scores above a negative one (ties count half), with DeLong's interval.

    >>> area = binary_auc([0.9, 0.8, 0.3, 0.2], [True, False, True, False])
    >>> area.value, area.n
    (0.75, 4)
    """
    values, truth = _scores(scores), np.asarray(positive, dtype=np.bool_)
    return _macro([_components(values, truth)], [np.arange(len(truth))], len(truth), level, groups)


def macro_auc(probabilities: npt.ArrayLike, gold: npt.ArrayLike, level: float = 0.95, groups: Groups = None) -> AUC:
    """The mean over the classes of the area of one class against the rest; with two classes, the binary area.

    `probabilities` are [n, k], `gold` class codes, −1 where unknown (left aside).

    >>> macro_auc([[0.1, 0.9], [0.2, 0.8], [0.7, 0.3], [0.8, 0.2]], [1, 0, 1, 0]).value
    0.75
    """
    scores, codes = _scores(probabilities), np.asarray(gold)
    known = codes >= 0
    if scores.shape[1] == 2:
        truth, scores = np.where(known, codes == 1, -1)[:, None], scores[:, 1:]
        area = label_auc(scores, truth, level, groups)
        return AUC(area.value, area.low, area.high, area.n, (0, 1) if area.left_out else ())
    truth = np.where(known[:, None], codes[:, None] == np.arange(scores.shape[1]), -1)
    return label_auc(scores, truth, level, groups)


def label_auc(probabilities: npt.ArrayLike, labels: npt.ArrayLike, level: float = 0.95, groups: Groups = None) -> AUC:
    """The mean over the labels of each label's own area, [n, k] against [n, k] of 1, 0 and −1 (unknown: left aside).

    >>> area = label_auc([[0.9, 0.5], [0.1, 0.5]], [[1, 0], [0, 0]])
    >>> area.value, area.left_out
    (1.0, (1,))
    """
    scores, truth = _scores(probabilities), np.asarray(labels)
    if scores.shape != truth.shape or scores.ndim != 2:
        raise ValueError(f"probabilities {list(scores.shape)} and labels {list(truth.shape)} must be one [n, k]")
    parts, rows, left_out = [], [], []
    for label in range(scores.shape[1]):
        known = np.flatnonzero(truth[:, label] >= 0)
        positive = truth[known, label] == 1
        if positive.all() or not positive.any():
            left_out.append(label)
            continue
        parts.append(_components(scores[known, label], positive))
        rows.append(known)
    area = _macro(parts, rows, len(scores), level, groups)
    return AUC(area.value, area.low, area.high, int((truth >= 0).any(axis=1).sum()), tuple(left_out))


def auc_finding(
    metric: str, area: AUC, classes: Sequence[str], *, of: str = "", group: str = "", subject: str = ""
) -> Finding:
    """The area as a finding; its verdict names the classes that have none."""
    missing = "" if area.value is None else ", ".join(classes[code] for code in area.left_out)
    verdict = f"without {missing}: only one kind of sample" if missing else ""
    return Finding(metric, of, group, subject, n=area.n).estimated(area, verdict=verdict)


def _components(scores: Floats, positive: npt.NDArray[np.bool_]) -> Components:
    """DeLong's V10 and V01 from midranks (Sun and Xu 2014): sorting instead of comparing every pair."""
    pos, neg = scores[positive], scores[~positive]
    m, n = len(pos), len(neg)
    if m == 0 or n == 0:
        raise ValueError("an area under the ROC curve needs positive and negative samples")
    together = doubled_midranks(scores)
    of_sample = np.empty(len(scores))
    above = together[positive] - doubled_midranks(pos)  # twice the negatives below each positive, ties counted half
    of_sample[positive] = above / (2 * n)
    of_sample[~positive] = 1 - (together[~positive] - doubled_midranks(neg)) / (2 * m)
    return Components(int(above.sum()) / (2 * m * n), of_sample, positive)


def _macro(
    parts: Sequence[Components], rows: Sequence[npt.NDArray[np.int64]], total: int, level: float, groups: Groups
) -> AUC:
    if not parts:
        return AUC(None, None, None, total)
    value = float(np.mean([part.value for part in parts]))
    influence = np.zeros(total)
    bound = 0.0
    for part, row in zip(parts, rows, strict=True):
        for kind in (part.positive, ~part.positive):
            count = int(kind.sum())
            if count > 1:
                spread = part.of_sample[kind] - part.value
                influence[row[kind]] += spread / np.sqrt(count * (count - 1)) / len(parts)
            else:  # one sample shows no spread: take the largest that values of [0, 1] with this mean can have
                bound += part.value * (1 - part.value) / len(parts) ** 2
    pairs = min(min(int(part.positive.sum()), int((~part.positive).sum())) for part in parts)
    if groups is None:
        low, high = _interval(value, float(influence @ influence) + bound, pairs, level)
        return AUC(value, low, high, total)
    apart = [
        min(len(np.unique(groups[row[kind]])) for kind in (part.positive, ~part.positive))
        for part, row in zip(parts, rows, strict=True)
    ]
    sums, there = np.bincount(groups, influence), len(np.unique(np.concatenate([groups[row] for row in rows])))
    if there < 2:
        return AUC(value, 0.0, 1.0, total)
    variance = float(sums @ sums) * there / (there - 1) + bound
    low, high = _interval(value, variance * _t_over_z(there, level) ** 2, min(pairs, *apart), level)
    return AUC(value, low, high, total)


def _interval(value: float, variance: float, pairs: int, level: float) -> tuple[float, float]:
    """The ends on the logit scale; Wilson's for disjoint pairs of samples where the components do not vary at all.

    Perfect separation has no spread, yet is not certain: so many disjoint pairs are independent trials, all won.
    """
    from scipy.stats import norm

    if variance <= 1e-18 or not 0 < value < 1:
        low, high = wilson([value * pairs], [pairs], level)
        return float(low[0]), float(high[0])
    middle = np.log(value / (1 - value))
    half = float(norm.isf((1 - level) / 2)) * np.sqrt(variance) / (value * (1 - value))
    return float(1 / (1 + np.exp(half - middle))), float(1 / (1 + np.exp(-half - middle)))


def _t_over_z(groups: int, level: float) -> float:
    """How much wider Student's interval is on one degree of freedom less than there are groups."""
    from scipy.stats import norm, t

    tail = (1 - level) / 2
    return float(t.isf(tail, groups - 1) / norm.isf(tail))


def _scores(values: npt.ArrayLike) -> Floats:
    scores = np.asarray(values, dtype=np.float64)
    if np.isnan(scores).any():
        raise ValueError("a score that is not a number cannot be ranked")
    return scores
