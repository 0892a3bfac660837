"""What a classifier gets right: accuracy, recall, how often it changes its mind, whether it only says one thing,
and the best or the worst of several such shares.

One class per sample: `answers` and `truth` are class codes [n], and the truth is −1 where unknown. Several labels per
sample: `answers` is bool [n, k], `truth` 1, 0 or −1 (unknown) [n, k]; a rate is then taken per label, and the mean
over the labels is reported, as the paper does.

Whoever names the worst of 42 cells has looked at 42 intervals. The named one is therefore taken at a higher level, at
which all of them hold together 95 times in 100: that of the largest deviation among values as correlated as these.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from assay.data.arrays import Bools
from assay.tasks.statistics.clusters import codes_of, effective_of, effective_size, sums_by_cluster
from assay.tasks.statistics.proportions import wilson_of
from assay.tasks.statistics.resampling import LEVEL, Array, critical_value

Truth = npt.NDArray[np.int8] | npt.NDArray[np.int16] | npt.NDArray[np.int64]
Said = Truth | npt.NDArray[np.bool_]
Groups = npt.NDArray[np.int64] | None
"""The group of each sample [n], or None where samples are independent."""

MOSTLY = 0.95
"""A predictor is degenerate if it gives at least this share of samples one and the same answer …"""
BARELY = 0.05
"""… and finds at most this share of the samples that need another one.

Both are needed: where 99 % of the samples are benign an honest model says so 99 % of the time, but it finds most of the
others. And both are not zero and one: a defended model of the paper with an accuracy of exactly the benign share may
have called a few samples malignant, one of them rightly, and still know nothing.
"""
HALF = 0.5
"""A predictor that is below that share of frequent answers is degenerate as well if it finds at least this share of the
most frequent class, at most `BARELY` of every other one, and is right as often as a constant answer would be: its other
answers are noise. Of several labels, a share of `MOSTLY` must be constant."""


@dataclass(frozen=True)
class Proportion:
    """A share of samples with its interval and the samples behind it; no value where there were none."""

    value: float | None
    low: float | None
    high: float | None
    n: int


NOTHING = Proportion(None, None, None, 0)


@dataclass(frozen=True)
class OneAnswer:
    """How often a classifier gives its most frequent answer, and whether that is all it knows.

    Several labels have a most frequent answer each; `constant` of the `judged` ones are (almost) always given it.
    """

    answer: tuple[int, ...]  # the class, or the labels that are mostly said
    share: Proportion
    verdict: str  # degenerate, varied, or not measured
    constant: int = 0
    judged: int = 0


def proportion(
    hits: npt.ArrayLike, known: npt.ArrayLike | None = None, level: float = 0.95, groups: Groups = None
) -> Proportion:
    """The share of hits with Wilson's interval; of [n, k], the mean over the columns.

    The labels of one sample are hit or missed together, so n·k of them say less than n·k samples would. The interval is
    Wilson's for as many independent samples as have the variance that the samples show, or that their groups [n] show
    (patients, documents), with Student's t of as many groups as count.

    >>> proportion([True, True, False, True]).value
    0.75
    """
    cells, mask = _cells(hits, known)
    n = int(mask.any(axis=1).sum()) if mask.size else 0
    if n == 0:
        return NOTHING
    counts = mask.sum(axis=0)
    rates = ((cells & mask).sum(axis=0)[counts > 0]) / counts[counts > 0]
    value = float(rates.mean())
    influence = influence_of(cells, mask)
    if groups is None:
        variance = float((influence**2).sum())
        effective = (
            n if len(rates) == 1 or variance <= 1e-18 else min(value * (1 - value) / variance, float(counts.sum()))
        )
    else:
        codes = codes_of(groups)
        apart, sizes = (
            n * np.bincount(codes, influence),
            np.bincount(codes[mask.any(axis=1)], minlength=codes.max() + 1),
        )
        effective = effective_of(apart, sizes, n * value * (1 - value)).counted(level)
    return Proportion(value, *wilson_of(value * effective, effective, level), n)


def proportion_of(hits: npt.ArrayLike, n: npt.ArrayLike, level: float = 0.95, groups: Groups = None) -> Proportion:
    """As `proportion`, of samples with one label each of which only the numbers are known, in one or more rows [n].

    >>> proportion_of(3, 4) == proportion_of([1, 2], [1, 3]) == proportion([True, True, False, True])
    True
    """
    won, tried = np.atleast_1d(np.asarray(hits, np.int64)), np.atleast_1d(np.asarray(n, np.int64))
    total = int(tried.sum())
    if total == 0:
        return NOTHING
    value, effective = int(won.sum()) / total, float(total)
    if groups is not None:
        codes = codes_of(groups)
        size = int(codes.max()) + 1
        here, right = sums_by_cluster(codes, tried, size), sums_by_cluster(codes, won, size)
        effective = effective_of(right - value * here, here, total * value * (1 - value)).counted(level)
    return Proportion(value, *wilson_of(value * effective, effective, level), total)


def influence_of(hits: npt.ArrayLike, known: npt.ArrayLike | None = None) -> npt.NDArray[np.float64]:
    """By how much each sample moves the share [n]: their squares add up to its variance, their products to covariances.

    >>> influence_of([True, True, False, True]).tolist()
    [0.0625, 0.0625, -0.1875, 0.0625]
    """
    cells, mask = _cells(hits, known)
    counts = mask.sum(axis=0)
    cells, mask, counts = cells[:, counts > 0], mask[:, counts > 0], counts[counts > 0]
    rates = (cells & mask).sum(axis=0) / counts
    each = np.where(mask, cells - rates, 0.0) / counts / max(1, len(rates))
    return np.asarray(each.sum(axis=1))


def _cells(hits: npt.ArrayLike, known: npt.ArrayLike | None) -> tuple[Bools, Bools]:
    """Hits, and what is known of them, both [n, labels]."""
    cells = np.asarray(hits, dtype=np.bool_)
    mask = np.ones_like(cells) if known is None else np.asarray(known, dtype=np.bool_)
    return (cells[:, None], mask[:, None]) if cells.ndim == 1 else (cells, mask)


def accuracy(answers: Said, truth: Truth, groups: Groups = None) -> Proportion:
    """The share of samples with a known class that got it, or the mean over the labels of each label's share.

    >>> accuracy(np.array([1, 0, 1]), np.array([1, 1, -1])).value
    0.5
    """
    _require_same(answers, truth)
    return proportion(answers == truth, truth >= 0, groups=groups)


def majority_rate(truth: Truth, classes: int, groups: Groups = None) -> Proportion:
    """The accuracy of always giving the most frequent answer: the class, or each label's more frequent value.

    >>> round(majority_rate(np.repeat([0, 1], [304, 75]), 2).value, 3)
    0.802
    """
    return proportion(truth == most_frequent(truth, classes), truth >= 0, groups=groups)


def most_frequent(truth: Truth, classes: int) -> npt.NDArray[np.int64]:
    """The most frequent class [], or each label's more frequent value [k]; some of the truth is known."""
    if truth.ndim == 2:
        return np.asarray((truth == 1).sum(axis=0) * 2 >= (truth >= 0).sum(axis=0), np.int64)
    return np.asarray(np.bincount(truth[truth >= 0], minlength=classes).argmax(), np.int64)


def fooling_rate(before: Said, after: Said, groups: Groups = None) -> Proportion:
    """The share of samples whose prediction changes, whether it was right before or not; per label, then the mean.

    >>> fooling_rate(np.array([0, 1, 1, 2]), np.array([0, 2, 1, 2])).value
    0.25
    """
    _require_same(before, after)
    return proportion(before != after, groups=groups)


def prediction_entropy(answers: Said, classes: int, groups: Groups = None) -> Proportion:
    """The entropy of the distribution of answers in bits, 0 for one answer; several labels: per label, then the mean.

    The interval is by the delta method; where only one answer occurs, its upper end is the entropy with as much of the
    other answers as Wilson's interval allows. Answers that are spread evenly are moved by nothing to first order: twice
    what their entropy lacks, in nats by answer, is χ²-distributed (Wilks 1938), and added in squares. What it lacks on
    average (Miller 1955) is added to the upper end.

    >>> prediction_entropy(np.array([0, 1, 0, 1]), 2).value
    1.0
    """
    from scipy.special import chdtri, ndtri

    n = len(answers)
    if n == 0:
        return NOTHING
    columns = answers.astype(np.int64) if answers.ndim == 2 else answers[:, None].astype(np.int64)
    possible = 2 if answers.ndim == 2 else max(classes, int(answers.max()) + 1)  # an answer may name no class
    surprise = np.empty(columns.shape)  # [n, labels]: −log2 of the share of this sample's answer
    for label, column in enumerate(columns.T):
        surprise[:, label] = -np.log2(np.bincount(column, minlength=possible)[column] / n)
    per_sample = surprise.mean(axis=1)
    counted = n if groups is None else effective_size(per_sample, groups).counted()
    value, spread = float(per_sample.mean()), float(-ndtri((1 - LEVEL) / 2) * per_sample.std())
    nats = 2 * counted * float(np.log(2))
    # One group says nothing of others.
    half = float(np.hypot(spread / np.sqrt(counted), chdtri(possible - 1, 1 - LEVEL) / nats)) if counted else np.inf
    if value == 0.0:
        rest = min(1 - wilson_of(counted, counted)[0], 1 - 1 / possible)
        other = np.array([1 - rest, *[rest / max(1, possible - 1)] * (possible - 1)])
        return Proportion(0.0, 0.0, float(-(other * np.log2(other)).sum()), n)
    high = value + half + (possible - 1) / nats if counted else np.inf
    return Proportion(value, max(0.0, value - half), min(float(np.log2(possible)), high), n)


def one_answer(answers: Said, truth: Truth, classes: int, groups: Groups = None) -> OneAnswer:
    """Whether (almost) every sample gets the same answer, and (almost) none that needs another one gets it.

    Several labels are judged one by one. The paper's "Standard" defence of 80.2 % is exactly the benign share of its
    test set, 304 of 379:

    >>> one_answer(np.zeros(379, np.int64), np.repeat([0, 1], [304, 75]), 2).verdict
    'degenerate'
    """
    _require_same(answers, truth)
    if len(answers) == 0:
        return OneAnswer((), NOTHING, "not measured")
    if answers.ndim == 2:
        return _per_label(answers, truth, groups)
    most = int(np.bincount(answers.astype(np.int64), minlength=classes).argmax())
    other = (truth >= 0) & (truth != most)
    share, others_right = proportion(answers == most, groups=groups), proportion((answers == truth)[other])
    verdict = _verdict(share, others_right, bool((truth >= 0).any()))
    if verdict == "varied" and _noise_around_one(answers, truth, classes):
        verdict = "degenerate"
    return OneAnswer((most,), share, verdict)


def _per_label(answers: Said, truth: Truth, groups: Groups) -> OneAnswer:
    """As for one class, for every label; degenerate where (almost) all labels are that can be judged."""
    pattern = answers.sum(axis=0) * 2 > len(answers)
    same, other = answers == pattern, (truth >= 0) & (truth != pattern)
    right, known = answers == truth, truth >= 0
    verdicts = [
        _verdict(proportion(same[:, at]), proportion(right[other[:, at], at]), bool(known[:, at].any()))
        for at in range(answers.shape[1])
    ]
    constant, judged = verdicts.count("degenerate"), len(verdicts) - verdicts.count("not measured")
    verdict = "not measured" if judged == 0 else "degenerate" if constant >= MOSTLY * judged else "varied"
    answer = tuple(np.flatnonzero(pattern).tolist())
    return OneAnswer(answer, proportion(same, groups=groups), verdict, constant, judged)


def _noise_around_one(answers: Said, truth: Truth, classes: int) -> bool:
    """Whether only the most frequent class is ever found, and the accuracy is that of always answering it."""
    known = truth >= 0
    if not known.any():
        return False
    most = int(most_frequent(truth, classes))
    by_class = [proportion(answers == code, truth == code).value for code in range(classes)]
    others = [value for at, value in enumerate(by_class) if at != most and value is not None]
    right, constant = accuracy(answers, truth), majority_rate(truth, classes)
    as_constant = (right.high or 0.0) >= (constant.value or 0.0)
    return bool(others) and max(others) <= BARELY and (by_class[most] or 0.0) >= HALF and as_constant


def _verdict(share: Proportion, others_right: Proportion, judged: bool) -> str:
    if (share.value or 0.0) < MOSTLY:
        return "varied"
    if others_right.value is None:  # nothing needs another answer, or nobody knows
        return "degenerate" if share.value == 1.0 and not judged else "not measured"
    return "degenerate" if others_right.value <= BARELY else "varied"


def answer_name(answer: Sequence[int], classes: Sequence[str]) -> str:
    """An answer in words.

    >>> answer_name((), ["mass", "nodule"]), answer_name((1,), ["mass", "nodule"])
    ('no label', 'nodule')
    """
    return " and ".join(classes[code] if code < len(classes) else "no class" for code in answer) or "no label"


def _require_same(first: Said, second: Said) -> None:
    if first.shape != second.shape or first.ndim not in (1, 2):
        raise ValueError(f"answers of shapes {list(first.shape)} and {list(second.shape)} cannot be compared")


_DRAWS = 20_000
_SEED = 0  # the same draws for the same correlations: what is measured twice is the same twice

Extreme = Literal["lowest", "highest"]


def joint_level(covariance: Array, level: float = 0.95) -> float:
    """The level of each of k intervals at which all k hold together: the max-statistic of k normal deviates with the
    values' own correlations [k, k]. One value, or several that go together wholly, keep the level.

    >>> [round(joint_level(np.eye(k)), 3) for k in (1, 42)], round(joint_level(np.ones((42, 42))), 3)
    ([0.95, 0.999], 0.95)
    """
    from scipy.special import ndtr

    varied = np.diag(covariance) > 0
    if varied.sum() < 2:
        return level
    spread = np.sqrt(np.diag(covariance)[varied])
    correlation = covariance[np.ix_(varied, varied)] / np.outer(spread, spread)
    weights, vectors = np.linalg.eigh(correlation)
    root = (vectors * np.sqrt(np.clip(weights, 0, None))) @ vectors.T  # the symmetric root: there is but one
    drawn = np.random.default_rng(_SEED).standard_normal((_DRAWS, len(root))) @ root.T
    return max(level, float(2 * ndtr(critical_value(drawn, np.zeros(len(root)), level)) - 1))


def extreme_share(
    cells: Sequence[tuple[npt.ArrayLike, Bools]], which: Extreme, groups: Groups = None
) -> tuple[int, Proportion] | None:
    """Which of several shares of the same samples lies `lowest` (or `highest`), and that share with an interval that
    holds for whichever had been named. A cell is hits and what is known, [n] or [n, labels]; None where none is known.

    >>> right, known = np.arange(100) < 90, np.ones(100, dtype=np.bool_)
    >>> at, worst = extreme_share([(right, known), (np.roll(right, 50), known)], "lowest")
    >>> plain = proportion(right, known)
    >>> at, worst.value, worst.low < plain.low, worst.high > plain.high
    (0, 0.9, True, True)
    """
    values = [proportion(hits, known).value for hits, known in cells]
    there = [at for at, value in enumerate(values) if value is not None]
    if not there:
        return None
    sign = 1 if which == "lowest" else -1
    named = min(there, key=lambda at: sign * (values[at] or 0.0))
    influence = np.column_stack([influence_of(*cells[at]) for at in there])
    if groups is not None:
        codes = codes_of(groups)
        influence = np.column_stack([np.bincount(codes, column) for column in influence.T])
    hits, known = cells[named]
    return named, proportion(hits, known, joint_level(influence.T @ influence), groups)
