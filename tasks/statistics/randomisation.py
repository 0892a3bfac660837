"""Do two systems differ on the same sentences? Approximate randomisation, where a sentence holds several answers.

The entities of one sentence are not independent of each other, so that a test which counts them one by one (McNemar's)
finds differences where there are none. Under the null hypothesis that both systems are alike, their answers to a whole
sentence can change places; the difference of F1 is compared with those of such swaps (Noreen 1989; Yeh, *More accurate
tests for the statistical significance of result differences*, COLING 2000).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from assay.tasks.statistics.entities import Counts, scores

DRAWS = 99_999
_EXACT = 16  # sentences that differ, up to which every way to swap them is counted
_CELLS = 4_000_000  # drawn numbers in memory at a time
_ROUNDING = 1e-12  # differences that are nearer to each other are the same number


def randomisation_p(first: Counts, second: Counts, generator: np.random.Generator, draws: int = DRAWS) -> float:
    """The two-sided p-value of the difference in F1 between two systems on the same sentences [n, 3].

    Exact where at most 16 sentences differ; else (b + 1) / (draws + 1), b being how many draws differ as much, so that
    no p is smaller than the draws allow and the level is kept (Phipson and Smyth 2010). 1 where no sentence differs.

    >>> first, second = np.array([[1, 1, 1]] * 6), np.array([[0, 0, 1]] * 6)
    >>> randomisation_p(first, second, np.random.default_rng(0))  # 2 of 2⁶ ways are as far apart
    0.03125
    """
    if first.shape != second.shape:
        raise ValueError("only systems on the same sentences can be compared")
    steps = (second - first).astype(np.float64)  # what the first system's sums change by where a sentence is swapped
    steps = steps[steps.any(axis=1)]
    if not len(steps):
        return 1.0
    sums = np.stack([first.sum(axis=0), second.sum(axis=0)]).astype(np.float64)
    observed = _f1_distance(sums, np.zeros((1, 3)))[0]
    if len(steps) <= _EXACT:
        ways = (np.arange(2 ** len(steps))[:, None] >> np.arange(len(steps))) & 1
        return float((_f1_distance(sums, ways @ steps) >= observed - _ROUNDING).mean())
    alike, times = np.unique(steps, axis=0, return_counts=True)
    block, as_far = max(1, _CELLS // len(alike)), 0
    for start in range(0, draws, block):
        swapped = generator.binomial(times, 0.5, size=(min(block, draws - start), len(times)))
        as_far += int((_f1_distance(sums, swapped @ alike) >= observed - _ROUNDING).sum())
    return (as_far + 1) / (draws + 1)


def _f1_distance(sums: npt.NDArray[np.float64], moved: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """How far F1 is apart [b], after what was `moved` [b, 3] from the second system's sums to the first's."""
    return np.asarray(np.abs(scores(sums[0] + moved).f1 - scores(sums[1] - moved).f1))
