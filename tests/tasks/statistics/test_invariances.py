"""Every statistic of the room against what must not change it, by one table."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest

from assay.tasks.statistics.multiplicity import adjusted
from assay.tasks.statistics.paired import bootstrap_difference, mcnemar
from assay.tasks.statistics.proportions import normal_band, wilson
from assay.tasks.statistics.ranks import spearman_rows
from assay.tasks.statistics.trend import permutation_p

Result = tuple[float, ...]
RNG = np.random.default_rng(7)
RIGHT_A, RIGHT_B = RNG.random(60) < 0.8, RNG.random(60) < 0.6
CURVE = RNG.integers(0, 8, 10) / 8  # with ties
HITS, SIZES = RNG.integers(0, 20, 10), np.full(10, 20)
P_VALUES = RNG.random(9) ** 2
SHUFFLE_60, SHUFFLE_9 = RNG.permutation(60), RNG.permutation(9)


def seeded() -> np.random.Generator:
    return np.random.default_rng(3)


def rho(curve: np.ndarray) -> Result:
    found = spearman_rows(curve)
    return float(found.rho[0]), float(found.p_value[0])


def band(function: Callable[..., tuple[np.ndarray, np.ndarray]], hits: int, n: int) -> Result:
    low, high = function([hits], [n])
    return float(low[0]), float(high[0])


def disagreement(a: np.ndarray, b: np.ndarray) -> Result:
    result = mcnemar(a, b)
    return result.p_exact, result.p_chi_squared


def difference(a: np.ndarray, b: np.ndarray) -> Result:
    result = bootstrap_difference(a, b, seeded(), resamples=500)
    return result.value, result.low, result.high


def trend(hits: np.ndarray, sizes: np.ndarray) -> Result:
    result = permutation_p(hits, sizes, 400, seeded())
    assert result.rho is not None
    return result.rho, result.p_adverse, result.p_violation


def mirrored(result: Result) -> Result:
    """[low, high] of the complement's share, turned back into the share's own."""
    return 1 - result[1], 1 - result[0]


class Invariance(NamedTuple):
    claim: str
    original: Callable[[], Result]
    changed: Callable[[], Result]


TABLE = [
    Invariance("wilson: swapping the labels mirrors it", lambda: band(wilson, 13, 40),
               lambda: mirrored(band(wilson, 27, 40))),
    Invariance("normal band: swapping the labels mirrors it", lambda: band(normal_band, 13, 40),
               lambda: mirrored(band(normal_band, 27, 40))),
    Invariance("spearman: any rising map of the values", lambda: rho(CURVE), lambda: rho(np.exp(3 * CURVE) - 1)),
    Invariance("spearman: reversal turns its sign", lambda: rho(CURVE)[:1], lambda: (-rho(CURVE[::-1])[0],)),
    Invariance("spearman: negation turns its sign", lambda: rho(CURVE)[:1], lambda: (-rho(-CURVE)[0],)),
    Invariance("spearman: other rows beside it", lambda: rho(CURVE),
               lambda: tuple(float(x[1]) for x in spearman_rows(np.stack([CURVE[::-1], CURVE, CURVE * 2])))),
    Invariance("mcnemar: permuted samples", lambda: disagreement(RIGHT_A, RIGHT_B),
               lambda: disagreement(RIGHT_A[SHUFFLE_60], RIGHT_B[SHUFFLE_60])),
    Invariance("mcnemar: swapped systems", lambda: disagreement(RIGHT_A, RIGHT_B),
               lambda: disagreement(RIGHT_B, RIGHT_A)),
    Invariance("mcnemar: right and wrong swapped", lambda: disagreement(RIGHT_A, RIGHT_B),
               lambda: disagreement(~RIGHT_A, ~RIGHT_B)),
    Invariance("mcnemar: samples on which both agree", lambda: disagreement(RIGHT_A, RIGHT_B),
               lambda: disagreement(np.append(RIGHT_A, [True] * 50), np.append(RIGHT_B, [True] * 50))),
    Invariance("bootstrap: permuted samples", lambda: difference(RIGHT_A, RIGHT_B),
               lambda: difference(RIGHT_A[SHUFFLE_60], RIGHT_B[SHUFFLE_60])),
    Invariance("bootstrap: both systems shifted alike", lambda: difference(RIGHT_A, RIGHT_B),
               lambda: difference(RIGHT_A + 2.0, RIGHT_B + 2.0)),
    Invariance("holm: permuted tests", lambda: tuple(np.asarray(adjusted(list(P_VALUES)))[SHUFFLE_9]),
               lambda: tuple(adjusted(list(P_VALUES[SHUFFLE_9])))),
    Invariance("trend: hits and misses swapped turn ρ", lambda: trend(HITS, SIZES)[:1],
               lambda: (-trend(SIZES - HITS, SIZES)[0],)),
    Invariance("trend: an empty first stratum", lambda: trend(HITS, SIZES)[:1],
               lambda: trend(np.append(0, HITS), np.append(0, SIZES))[:1]),
    Invariance("trend: every sample twice leaves ρ", lambda: trend(HITS, SIZES)[:1],
               lambda: trend(2 * HITS, 2 * SIZES)[:1]),
    Invariance("trend: the same seed", lambda: trend(HITS, SIZES), lambda: trend(HITS, SIZES)),
]  # fmt: skip


@pytest.mark.parametrize("row", TABLE, ids=lambda row: row.claim)
def test_statistic_does_not_change(row: Invariance) -> None:
    assert row.changed() == pytest.approx(row.original(), abs=1e-12)


NARROWER = {
    "wilson": lambda k: band(wilson, 13 * k, 40 * k),
    "normal band": lambda k: band(normal_band, 13 * k, 40 * k),
    "bootstrap": lambda k: difference(np.tile(RIGHT_A, k), np.tile(RIGHT_B, k))[1:],
}


@pytest.mark.parametrize("name", NARROWER)
def test_duplicated_samples_narrow_the_interval_inside_the_old_one(name: str) -> None:
    low, high = NARROWER[name](1)
    closer_low, closer_high = NARROWER[name](16)
    assert low < closer_low < closer_high < high
    assert closer_high - closer_low == pytest.approx((high - low) / 4, rel=0.15)


def test_duplicated_disagreements_are_more_surprising() -> None:
    once, twice = disagreement(RIGHT_A, RIGHT_B), disagreement(np.tile(RIGHT_A, 2), np.tile(RIGHT_B, 2))
    assert twice[0] < once[0]
    assert twice[1] < once[1]
