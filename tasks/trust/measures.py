"""How good a trust oracle is against known truth (the six measures of Table 3), and how much better than another
on the same predictions, with intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from assay.tasks.statistics.classification import Groups
from assay.tasks.statistics.clusters import codes_of, kish, share_by
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.paired import compared_shares
from assay.tasks.statistics.resampling import RESAMPLES, Interval, bca_interval, divided, expanded, pooled

Counts = npt.NDArray[np.float64]  # [..., 4]: tp, fp, fn, tn


def sensitivity(counts: Counts) -> Counts:
    """TP / (TP + FN)."""
    return divided(counts[..., 0], counts[..., 0] + counts[..., 2])


def specificity(counts: Counts) -> Counts:
    """TN / (TN + FP)."""
    return divided(counts[..., 3], counts[..., 3] + counts[..., 1])


def f1(counts: Counts) -> Counts:
    """2 TP / (2 TP + FP + FN)."""
    return divided(2 * counts[..., 0], 2 * counts[..., 0] + counts[..., 1] + counts[..., 2])


def g_mean(counts: Counts) -> Counts:
    """√(sensitivity · specificity)."""
    return np.asarray(np.sqrt(sensitivity(counts) * specificity(counts)))


def measure_findings(
    labels: Sequence[str],
    truths: Sequence[str | None],
    about: Finding,
    generator: np.random.Generator,
    groups: Groups = None,
) -> list[Finding]:
    """The six measures of what is judged and known: Wilson's interval where one is a share of samples, else one from
    drawn counts (95 %); by group, where samples stand in some. `about` names the oracle, the explainer, the subject."""
    cells = cells_of(labels, truths)
    judged = cells.any(axis=1)
    cells, groups = cells[judged], None if groups is None else groups[judged]
    tp, fp, fn, tn = (cells[:, at] for at in range(4))
    everything = np.ones(len(cells), dtype=np.bool_)
    shares: dict[str, tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]] = {
        "accuracy": (tp | tn, everything),
        "precision": (tp, tp | fp),
        "sensitivity": (tp, tp | fn),
        "specificity": (tn, tn | fp),
    }
    named = {"of": about.of, "group": about.group, "subject": about.subject}
    findings = [
        share_by(f"trust.{metric}", hits[of], None if groups is None else groups[of], **named)
        for metric, (hits, of) in shares.items()
    ]
    for metric, measure in (("f1", f1), ("g_mean", g_mean)):
        unmeasured = replace(about, metric=f"trust.{metric}", n=len(cells))
        findings.append(_estimated(unmeasured, measure, cells.astype(np.float64), groups, generator))
    return findings


def cells_of(labels: Sequence[str], truths: Sequence[str | None]) -> npt.NDArray[np.bool_]:
    """Whether each prediction is a tp, fp, fn or tn [n, 4], "positive" being trustworthy; none of them where it is
    undecided or not known."""
    positive, trusted = (
        np.array([label == "trustworthy" for label in row], dtype=np.bool_) for row in (labels, truths)
    )
    there = [label != "undecided" and truth is not None for label, truth in zip(labels, truths, strict=True)]
    kinds = (positive & trusted, positive & ~trusted, ~positive & trusted, ~positive & ~trusted)
    return np.stack(kinds, axis=1) & np.array(there, dtype=np.bool_)[:, None]


def _estimated(
    about: Finding, measure: Callable[[Counts], Counts], cells: Counts, groups: Groups, generator: np.random.Generator
) -> Finding:
    counts = cells.sum(axis=0)
    value = float(measure(counts)) if len(cells) else float("nan")
    if np.isnan(value):
        return about.estimated(None)
    # Drawn from the posterior under Jeffreys' prior: resampled counts would call a perfect score certain.
    drawn = measure(generator.dirichlet(counts + 0.5, size=RESAMPLES))
    low, high = np.quantile(drawn, [0.025, 0.975])
    low, high = min(low, value), max(high, value)
    if groups is not None:  # no narrower than of as many samples alone, which know that a perfect score is not certain
        low, high = _widened((float(low), float(high)), measure, cells, groups, generator)
    return replace(about, unit="share").estimated(Interval(value, float(low), float(high)))


def _widened(
    alone: tuple[float, float],
    measure: Callable[[Counts], Counts],
    cells: Counts,
    groups: npt.NDArray[np.int64],
    generator: np.random.Generator,
) -> tuple[float, float]:
    """The interval of single samples, as far as that of resampled groups goes beyond it; [0, 1] of one group."""
    codes = pooled(codes_of(groups))
    sums = np.stack([np.bincount(codes, kind) for kind in cells.T], axis=1)
    if len(sums) < 2:
        return 0.0, 1.0
    within = expanded(kish(sums.sum(axis=1)))
    grouped = bca_interval(lambda weights: measure(weights @ sums), len(sums), generator, within)
    return float(np.fmin(alone[0], grouped.low)), float(np.fmax(alone[1], grouped.high))


DECIDED = ("trustworthy", "untrustworthy")


def difference_findings(
    ours: Sequence[str],
    theirs: Sequence[str],
    truths: Sequence[str | None],
    about: Finding,
    generator: np.random.Generator,
    groups: Groups = None,
) -> list[Finding]:
    """First − second in accuracy (with McNemar's mid-p) and in G-mean, over the predictions that both decide.

    The interval of accuracy is Tango's score interval, that of G-mean of resampled predictions, the two labels of one
    kept together (95 %); where those are all alike, they know nothing of how far off it may be, and there is none.
    """
    places = [
        at
        for at, (a, b, truth) in enumerate(zip(ours, theirs, truths, strict=True))
        if truth is not None and a in DECIDED and b in DECIDED
    ]
    known = [(ours[at] == truths[at], theirs[at] == truths[at], truths[at] == "trustworthy") for at in places]
    together = None if groups is None else groups[places]
    names = "trust.accuracy_difference", "trust.g_mean_difference"
    if not known:
        return [replace(about, metric=name, n=0).estimated(None) for name in names]
    first, second, positive = np.array(known, dtype=np.bool_).T
    accuracy, p = compared_shares(first, second, together)
    of_accuracy, of_g_mean = (replace(about, metric=name, n=len(known)) for name in names)
    g_mean = g_mean_difference(first, second, positive, generator, together)
    if not g_mean.low < g_mean.high:
        g_mean = Interval(g_mean.value, np.nan, np.nan)
    return [replace(of_accuracy.estimated(accuracy), p_value=p), of_g_mean.estimated(g_mean)]


def g_mean_difference(
    first: npt.NDArray[np.bool_],
    second: npt.NDArray[np.bool_],
    positive: npt.NDArray[np.bool_],
    generator: np.random.Generator,
    groups: Groups = None,
) -> Interval:
    """G-mean of the first less that of the second, from who is right about what, with its interval (by group).

    NaN where all predictions, or none, are trustworthy.

    >>> right, wrong = np.array([True, True]), np.array([False, True])
    >>> g_mean_difference(right, wrong, np.array([True, False]), np.random.default_rng(0))[0]
    1.0
    """
    n = len(first)
    kinds = first * 4 + second * 2 + positive
    cells = np.bincount(kinds, minlength=8)
    if groups is None:
        drawn, level = generator.multinomial(n, cells / n, size=RESAMPLES), 0.95
    else:
        codes = codes_of(groups)
        sums = np.bincount(codes * 8 + kinds, minlength=8 * (int(codes.max()) + 1)).reshape(-1, 8)
        drawn = generator.multinomial(len(sums), np.full(len(sums), 1 / len(sums)), size=RESAMPLES) @ sums
        level = expanded(kish(sums.sum(axis=1)))
    with_value = np.concatenate([cells[None], drawn])
    spread = g_mean(_counts(with_value, first=True)) - g_mean(_counts(with_value, first=False))
    ends = (1 - level) / 2, (1 + level) / 2
    low, high = (np.nan, np.nan) if np.isnan(spread).all() else np.nanquantile(spread[1:], ends)
    return Interval(float(spread[0]), float(low), float(high))


def _counts(cells: npt.NDArray[np.int64], first: bool) -> npt.NDArray[np.float64]:
    """tp, fp, fn, tn [..., 4] of one of the two, from the counts of who is right about what [..., 8]."""
    right = np.array([bool(code & (4 if first else 2)) for code in range(8)])
    positive = np.array([bool(code & 1) for code in range(8)])
    kinds = right & positive, ~right & ~positive, ~right & positive, right & ~positive
    return np.stack([cells[..., kind].sum(axis=-1) for kind in kinds], axis=-1).astype(np.float64)
