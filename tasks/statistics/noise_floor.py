"""What changes while nothing is changed, and what goes beyond it: shares per sample, paired, the sample (or its group)
what is independent.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from assay.tasks.statistics.clusters import codes_of
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.proportions import NO_SPREAD, unvaried

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
ABOVE = "attack.above_chance"
MORE, NO_MORE = "more than chance", "no more than chance"
"""The verdicts of `attack.above_chance`: whether something does what asking again would not."""


def changed_shares(first: Codes, again: Sequence[Codes]) -> Floats:
    """Per text, in what share of the answers when asked again it gets another one than at `first`, [n].

    >>> changed_shares(np.array([0, 1]), [np.array([0, 0]), np.array([0, 1])]).tolist()
    [0.0, 0.5]
    """
    return np.asarray(np.mean([answers != first for answers in again], axis=0), dtype=np.float64)


def mean_share(about: Finding, shares: Floats, groups: Codes | None) -> Finding:
    """The mean of what texts came to, with Student's interval and test over the texts, or over their groups.

    >>> mean_share(Finding("a", ""), np.array([0.0, 1.0, 1.0, 0.0]), None).value
    0.5
    """
    from scipy.special import stdtr, stdtrit

    n = len(shares)
    if not n:
        return replace(about, n=0, verdict="not measured")
    value = float(shares.mean())
    clusters = np.arange(n) if groups is None else codes_of(groups)
    moved = np.bincount(clusters, (shares - value) / n)
    there = len(np.unique(clusters))
    error = float(np.sqrt(moved @ moved * there / max(1, there - 1)))
    if error < NO_SPREAD:  # all alike, or of one group
        low, high = unvaried(value, there)
        return replace(about, n=n, value=value, low=low, high=high)
    half = -error * float(stdtrit(max(1, there - 1), 0.025))
    p = 2 * float(stdtr(max(1, there - 1), -abs(value) / error))
    return replace(about, n=n, value=value, low=max(-1.0, value - half), high=min(1.0, value + half), p_value=p)


def above_chance(about: Finding, attacked: Floats, clean: Floats, groups: Codes | None, significance: float) -> Finding:
    """`attack.above_chance`: how much oftener answers change under an attack than when the same texts are asked about
    again as they are."""
    apart = mean_share(replace(about, metric=ABOVE, unit="share"), attacked - clean, groups)
    more = (apart.value or 0.0) > 0 and (apart.low or 0.0) > 0 and (apart.p_value or 0.0) <= significance
    return apart if apart.value is None else replace(apart, verdict=MORE if more else NO_MORE)
