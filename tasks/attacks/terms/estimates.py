"""What is said of a subject on one set of samples, and of the difference between two: values with their resamples."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import numpy.typing as npt

from assay.tasks.statistics.entities import percentiles
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.proportions import unvaried

CLEAN = "clean"
LOWER, HIGHER, NO_DROP = "lower", "higher", "no drop shown"
HELPS, HURTS, NO_GAIN = "helps", "hurts", "no gain shown"
NOTHING_LOST = "no drop to recover"
TOO_FEW = "too few samples"
NOT_ESTIMABLE = "not estimable"
"""The verdict on a value that is the same in every resample, where nothing says how far off it may be; and on the
precision of a tagger that names nothing."""
DEGENERATE = "degenerate"
RANGE = "on another range"
"""How the verdict on a mean absolute error begins that would compare two ranges."""
COSTS, PAYS, NO_COST = "costs", "gains", "no cost shown"

Stage = Literal["ner", "sts"]
Key = tuple[str, str]
"""What a subject was tested on: the attack (`clean` where there is none), and its severity."""


@dataclass(frozen=True)
class Estimate:
    """A value, and what it is in every resample of the samples [b]: estimates from the same resamples are paired.

    `samples` is how many samples tell something of a share, or of a difference of shares (F1 among them); None of what
    is no share.
    """

    value: float
    resamples: npt.NDArray[np.float64]
    samples: int | None = None

    def __sub__(self, other: Estimate) -> Estimate:
        both = None if self.samples is None or other.samples is None else min(self.samples, other.samples)
        if not (len(self.resamples) and len(other.resamples)):  # too few samples on one side are too few for both
            return Estimate(self.value - other.value, np.array([]), both)
        return Estimate(self.value - other.value, self.resamples - other.resamples, both)

    @property
    def interval(self) -> tuple[float, float]:
        """Its 95 % percentile interval; where all resamples are alike, by the rule of three, or none.

        Resamples of samples that all say the same say it too, and their percentiles would claim certainty.
        """
        low, high = percentiles(self.resamples)
        if low < high or np.isnan(low):
            return low, high
        return (float("nan"), float("nan")) if self.samples is None else unvaried(self.value, self.samples)

    def verdict(self, above: str, below: str, neither: str) -> str:
        """A word for values whose interval is above 0, below 0, or neither, or that have none."""
        low, high = self.interval
        if np.isnan(low):
            if not np.isfinite(self.resamples).any():
                return TOO_FEW
            return neither if self.value == 0 else NOT_ESTIMABLE
        return above if low > 0 else below if high < 0 else neither


def share_recovered(clean: Estimate, attacked: Estimate, defended: Estimate) -> Estimate:
    """(defended − attacked) / (clean − attacked): how much of the drop the defended model does not have.

    >>> still = np.array([])
    >>> share_recovered(Estimate(0.8, still), Estimate(0.4, still), Estimate(0.5, still)).value.__round__(3)
    0.25
    """
    drop, gain = clean - attacked, defended - attacked
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = np.where(drop.resamples > 0, gain.resamples / drop.resamples, np.nan)
    return Estimate(gain.value / drop.value if drop.value > 0 else float("nan"), shares)


def finding(
    metric: str,
    key: Key,
    subject: str,
    estimate: Estimate,
    n: int,
    unit: str,
    verdict: str = "",
    interval: tuple[float, float] | None = None,
) -> Finding:
    """A finding about a subject on what it was tested on; without a value where there is none."""
    low, high = estimate.interval if interval is None else interval
    value, low_end, high_end = (
        float(number) if np.isfinite(number) else None for number in (estimate.value, low, high)
    )
    judgement = "not measured" if value is None else verdict
    return Finding(metric, key[0], key[1], subject, value, low_end, high_end, n, verdict=judgement, unit=unit)


def drop_finding(stage: Stage, key: Key, subject: str, drop: Estimate, n: int, unit: str) -> Finding:
    """`….drop`: the original minus the attacked value, on the same samples."""
    return finding(f"{stage}.drop", key, subject, drop, n, unit, drop.verdict(LOWER, HIGHER, NO_DROP))


def cut_finding(stage: Stage, key: Key, subject: str, n: int, cut: int = 0, beyond: int | None = None) -> Finding:
    """`….cut`: how many of n samples are longer than the subject reads; of tagged ones, the entities it cannot see.

    >>> cut_finding("ner", ("clean", ""), "mine", 90, 2, 5).verdict
    'cut, 5 entities lie beyond what is read'
    """
    lost = "" if beyond is None else f", {beyond} entities lie beyond what is read"
    verdict = f"cut{lost}" if cut else "all are read whole"
    return Finding(f"{stage}.cut", key[0], key[1], subject, float(cut), n=n, verdict=verdict, unit="samples")


def gain_findings(
    stage: Stage,
    key: Key,
    subject: str,
    clean: Estimate,
    before: Estimate,
    after: Estimate,
    n: int,
    unit: str,
    trained_on: Collection[str],
) -> list[Finding]:
    """What a model that was trained on attacked copies gains on one test set over the model that was not.

    `….gain` is their difference, `….recovered` the share of the drop that it is, where a drop is shown. On the original
    samples there is no drop: there the difference, with its sign turned round, is the `….cost`. The gain on an attack
    that the copies were made with stands once more as `….own_gain`: the promise of adversarial training, to be read
    (and gated) by itself.
    """
    findings = gained(stage, "gain", key, subject, after - before, n, unit, trained_on)
    if key[0] == CLEAN:
        cost = before - after
        return [*findings, finding(f"{stage}.cost", key, subject, cost, n, unit, cost.verdict(COSTS, PAYS, NO_COST))]
    shown = (clean - before).verdict(LOWER, HIGHER, NOTHING_LOST)
    if shown != LOWER:  # a share of a drop that is not shown would be a share of noise
        why = TOO_FEW if shown == TOO_FEW else NOTHING_LOST
        nothing = Finding(f"{stage}.recovered", key[0], key[1], subject, n=n, verdict=why, unit="share")
        return [*findings, nothing]
    return [*findings, finding(f"{stage}.recovered", key, subject, share_recovered(clean, before, after), n, "share")]


def gained(
    stage: Stage, metric: str, key: Key, subject: str, gain: Estimate, n: int, unit: str, trained_on: Collection[str]
) -> list[Finding]:
    """`….gain`, or `….gain_over_control`: over as many unchanged copies, so with as many steps.

    On an attack that the copies were made with once more as `….own_gain`, and `….own_gain_over_control`: what is due to
    the attack.
    """
    gain_finding = finding(f"{stage}.{metric}", key, subject, gain, n, unit, gain.verdict(HELPS, HURTS, NO_GAIN))
    own = key[0] in trained_on and key[0] != CLEAN
    return [gain_finding, replace(gain_finding, metric=f"{stage}.own_{metric}")] if own else [gain_finding]
