"""The best or the worst of several: named after looking, so its interval has to hold for all of them at once.

Whoever names the worst of 42 cells has looked at 42 intervals. The named one is therefore taken at a higher level, at
which all of them hold together 95 times in 100: that of the largest deviation among values as correlated as these.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt

from assay.tasks.statistics.classification import Bools, Groups, Proportion, influence_of, proportion
from assay.tasks.statistics.clusters import codes_of
from assay.tasks.statistics.resampling import Array, critical_value

_DRAWS = 20_000
_SEED = 0  # the same draws for the same correlations: what is measured twice is the same twice

Extreme = Literal["lowest", "highest"]


def joint_level(covariance: Array, level: float = 0.95) -> float:
    """The level of each of k intervals at which all k hold together: the max-statistic of k normal deviates with the
    values' own correlations [k, k]. One value, or several that go together wholly, keep the level.

    >>> [round(joint_level(np.eye(k)), 3) for k in (1, 42)], round(joint_level(np.ones((42, 42))), 3)
    ([0.95, 0.999], 0.95)
    """
    from scipy.stats import norm

    varied = np.diag(covariance) > 0
    if varied.sum() < 2:
        return level
    spread = np.sqrt(np.diag(covariance)[varied])
    correlation = covariance[np.ix_(varied, varied)] / np.outer(spread, spread)
    weights, vectors = np.linalg.eigh(correlation)
    root = (vectors * np.sqrt(np.clip(weights, 0, None))) @ vectors.T  # the symmetric root: there is but one
    drawn = np.random.default_rng(_SEED).standard_normal((_DRAWS, len(root))) @ root.T
    return max(level, float(2 * norm.cdf(critical_value(drawn, np.zeros(len(root)), level)) - 1))


def extreme_share(
    cells: Sequence[tuple[npt.ArrayLike, Bools]], which: Extreme, groups: Groups = None, level: float = 0.95
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
    return named, proportion(hits, known, joint_level(influence.T @ influence, level), groups)
