"""Does accuracy fall along an order? A permutation test that nested data sets cannot fool.

D_1 ⊂ D_2 ⊂ … share samples, so their accuracies move together and the t-test of Definition 2 calls a random order
adverse far too often. Here ρ is compared with its own distribution under random orders of the same samples.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from assay.tasks.statistics.ranks import spearman_rows

_TIE = 1e-12  # two ρ of integer ranks that are closer than this are the same number, rounded twice
_BLOCK = 16_384  # permutations in memory at a time


@dataclass(frozen=True)
class TrendTest:
    """ρ of the nested accuracies (None for a constant curve) and its one-sided p-values among random orders."""

    rho: float | None
    p_adverse: float
    p_violation: float
    permutations: int

    def verdict(self, significance: float) -> str:
        """`adverse` where accuracy falls along the order, `violation` where it rises, else `no trend`."""
        if self.p_adverse <= significance:
            return "adverse"
        return "violation" if self.p_violation <= significance else "no trend"


def permutation_p(
    hits_per_stratum: npt.ArrayLike, sizes: npt.ArrayLike, permutations: int, generator: np.random.Generator
) -> TrendTest:
    """ρ(i, accuracy of D_i) with p = (1 + #{ρ_perm ≤ ρ}) / (1 + B), and the same for ≥ (the violation).

    `sizes` are the samples that each D_i adds to D_{i−1}, `hits_per_stratum` how many of those are right. Under a
    random order the hits fall into the strata by the multivariate hypergeometric law, so no sample is ever shuffled:
    the cost does not grow with their number. A constant curve, observed or drawn, counts as ρ = 0: it has no trend.

    >>> falling = permutation_p([30, 29, 27, 26, 24, 22, 21, 19], [30] * 8, 999, np.random.default_rng(0))
    >>> falling.rho, falling.verdict(0.05)
    (-1.0, 'adverse')
    """
    hits, counts = _checked(hits_per_stratum, sizes)
    if permutations < 1:
        raise ValueError(f"a permutation test needs at least one permutation, not {permutations}")
    observed = _rho(hits[None, :], counts)[0]
    at_most = at_least = 0
    for start in range(0, permutations, _BLOCK):
        block = min(_BLOCK, permutations - start)
        drawn = _rho(generator.multivariate_hypergeometric(counts, int(hits.sum()), size=block), counts)
        at_most += int((drawn <= observed + _TIE).sum())
        at_least += int((drawn >= observed - _TIE).sum())
    constant = np.isnan(spearman_rows(nested_accuracy(hits[None, :], counts)).rho[0])
    return TrendTest(
        rho=None if constant else float(observed),
        p_adverse=(1 + at_most) / (1 + permutations),
        p_violation=(1 + at_least) / (1 + permutations),
        permutations=permutations,
    )


def nested_accuracy(hits: npt.NDArray[np.int64], sizes: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """The accuracy of D_1, D_2, … from the hits of each stratum, [b, N] → [b, N']: empty D_i are left out.

    Equal fractions come out as equal floats (division rounds correctly), so ties stay ties.

    >>> nested_accuracy(np.array([[0, 2, 1]]), np.array([0, 2, 2]))
    array([[1.  , 0.75]])
    """
    cumulative = np.cumsum(sizes)
    filled = cumulative > 0
    accuracy: npt.NDArray[np.float64] = np.cumsum(hits, axis=1)[:, filled] / cumulative[filled]
    return accuracy


def _rho(hits: npt.NDArray[np.int64], sizes: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
    """ρ per row of hits; 0 where the curve is constant."""
    return np.nan_to_num(spearman_rows(nested_accuracy(hits, sizes)).rho, nan=0.0)


def _checked(hits: npt.ArrayLike, sizes: npt.ArrayLike) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    won, counts = np.asarray(hits), np.asarray(sizes)
    if won.shape != counts.shape or won.ndim != 1:
        raise ValueError(f"hits and sizes must be two vectors of one length, not {won.shape} and {counts.shape}")
    if won.dtype.kind not in "iu" or counts.dtype.kind not in "iu":
        raise ValueError("hits and sizes must be counts (integers)")
    if (won < 0).any() or (won > counts).any():
        raise ValueError("a stratum cannot have fewer hits than none or more than it has samples")
    if counts.sum() == 0:
        raise ValueError("no stratum has a sample in it, so there is no accuracy to follow")
    return won.astype(np.int64), counts.astype(np.int64)
