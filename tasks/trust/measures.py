"""How good a trust oracle is against known truth: the six measures of Table 3, each with its interval."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.proportions import share

RESAMPLES = 2000
Counts = npt.NDArray[np.float64]  # [..., 4]: tp, fp, fn, tn


@dataclass(frozen=True)
class Confusion:
    """Predictions with a label and a known truth; "positive" is trustworthy. `undecided` ones are beside the four."""

    tp: int
    fp: int
    fn: int
    tn: int
    undecided: int = 0

    @property
    def n(self) -> int:
        """How many are judged and known."""
        return self.tp + self.fp + self.fn + self.tn


def confusion(labels: Iterable[str], truths: Iterable[str | None]) -> Confusion:
    """The counts over all predictions whose truth is known.

    >>> confusion(["trustworthy", "undecided", "untrustworthy"], ["trustworthy", "trustworthy", None])
    Confusion(tp=1, fp=0, fn=0, tn=0, undecided=1)
    """
    cells = {"tp": 0, "fp": 0, "fn": 0, "tn": 0, "undecided": 0}
    for label, truth in zip(labels, truths, strict=True):
        if truth is None:
            continue
        if label == "undecided":
            cells["undecided"] += 1
        else:
            hit = label == truth
            positive = label == "trustworthy"
            cells[
                {(True, True): "tp", (False, True): "fp", (False, False): "fn", (True, False): "tn"}[hit, positive]
            ] += 1
    return Confusion(**cells)


def accuracy(counts: Counts) -> Counts:
    """(TP + TN) / all."""
    return _ratio(counts[..., 0] + counts[..., 3], counts.sum(axis=-1))


def precision(counts: Counts) -> Counts:
    """TP / (TP + FP)."""
    return _ratio(counts[..., 0], counts[..., 0] + counts[..., 1])


def sensitivity(counts: Counts) -> Counts:
    """TP / (TP + FN)."""
    return _ratio(counts[..., 0], counts[..., 0] + counts[..., 2])


def specificity(counts: Counts) -> Counts:
    """TN / (TN + FP)."""
    return _ratio(counts[..., 3], counts[..., 3] + counts[..., 1])


def f1(counts: Counts) -> Counts:
    """2 TP / (2 TP + FP + FN)."""
    return _ratio(2 * counts[..., 0], 2 * counts[..., 0] + counts[..., 1] + counts[..., 2])


def g_mean(counts: Counts) -> Counts:
    """√(sensitivity · specificity)."""
    return np.asarray(np.sqrt(sensitivity(counts) * specificity(counts)))


def measure_findings(
    found: Confusion, *, oracle: str, explainer: str, subject: str, generator: np.random.Generator
) -> list[Finding]:
    """The six measures: Wilson's interval where one is a share of samples, else one from drawn counts (95 %)."""
    tp, fp, fn, tn = found.tp, found.fp, found.fn, found.tn
    shares = {
        "trust.accuracy": (tp + tn, found.n),
        "trust.precision": (tp, tp + fp),
        "trust.sensitivity": (tp, tp + fn),
        "trust.specificity": (tn, tn + fp),
    }
    findings = [share(metric, *hits, of=oracle, group=explainer, subject=subject) for metric, hits in shares.items()]
    for metric, measure in (("trust.f1", f1), ("trust.g_mean", g_mean)):
        findings.append(_drawn(metric, measure, found, oracle, explainer, subject, generator))
    return findings


def _drawn(
    metric: str, measure: Callable[[Counts], Counts], found: Confusion, oracle: str, explainer: str, subject: str,
    generator: np.random.Generator,
) -> Finding:  # fmt: skip
    counts = np.array([found.tp, found.fp, found.fn, found.tn], dtype=np.float64)
    value = float(measure(counts)) if found.n else float("nan")
    if np.isnan(value):
        return Finding(metric, of=oracle, group=explainer, subject=subject, n=found.n, verdict="not measured")
    # Drawn from the posterior under Jeffreys' prior: resampled counts would call a perfect score certain.
    drawn = measure(generator.dirichlet(counts + 0.5, size=RESAMPLES))
    low, high = np.quantile(drawn, [0.025, 0.975])
    low, high = min(low, value), max(high, value)
    return Finding(
        metric, of=oracle, group=explainer, subject=subject, value=value, low=float(low), high=float(high), n=found.n,
        unit="share",
    )  # fmt: skip


def _ratio(part: Counts, whole: Counts) -> Counts:
    """part / whole, NaN where the whole is nothing."""
    return np.asarray(np.divide(part, whole, out=np.full(np.shape(whole), np.nan), where=np.asarray(whole) > 0))
