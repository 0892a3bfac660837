from __future__ import annotations

import itertools

import numpy as np
import pytest

from assay.tasks.statistics.correlation import nested_accuracy, permutation_p, spearman_rows


def rng(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def explicit(right: np.ndarray, sizes: list[int], orders: np.ndarray) -> np.ndarray:
    """ρ of the nested accuracies for explicit orders of the samples, 0 where the curve is constant."""
    cuts = np.cumsum(sizes)
    hits = np.cumsum(right[orders], axis=1)[:, cuts - 1]
    return np.nan_to_num(spearman_rows(hits / cuts).rho)


def test_p_equals_the_full_enumeration_of_orders() -> None:
    """Seven samples in three strata: all 5040 orders against 40 000 draws from the hypergeometric law."""
    right, sizes = np.array([1, 1, 1, 1, 0, 0, 1]), [3, 2, 2]
    rho = explicit(right, sizes, np.array(list(itertools.permutations(range(7)))))
    observed = rho[0]
    test = permutation_p([3, 1, 1], sizes, 40_000, rng())
    assert test.rho == pytest.approx(observed)
    assert test.p_adverse == pytest.approx((rho <= observed + 1e-9).mean(), abs=0.01)
    assert test.p_violation == pytest.approx((rho >= observed - 1e-9).mean(), abs=0.01)


def test_p_agrees_with_shuffled_samples_of_unequal_strata() -> None:
    generator, sizes = rng(1), [40, 25, 35, 30, 45, 25]
    right = generator.random(200) < np.linspace(0.85, 0.75, 200)
    orders = generator.permuted(np.tile(np.arange(200), (8000, 1)), axis=1)
    shuffled = explicit(right, sizes, orders)
    hits = np.add.reduceat(right.astype(int), np.cumsum([0, *sizes[:-1]]))
    test = permutation_p(hits, sizes, 8000, rng(2))
    assert test.rho is not None
    assert test.p_adverse == pytest.approx((shuffled <= test.rho + 1e-9).mean(), abs=0.02)


def test_random_orders_are_called_adverse_no_more_often_than_promised() -> None:
    """Where the paper's nested t-test fires on about 15 % of random orders, this one keeps to γ = 1 %."""
    generator, draws = rng(3), 1000
    sizes = np.full(10, 30)
    hits = generator.multivariate_hypergeometric(sizes, 210, size=draws)
    paper = spearman_rows(nested_accuracy(hits, sizes))
    fired = (paper.p_value <= 0.01) & (paper.rho < 0)
    adverse = np.array([permutation_p(row, sizes, 500, generator).p_adverse <= 0.01 for row in hits])
    assert 0.11 <= fired.mean() <= 0.19
    assert adverse.mean() <= 0.02


def test_best_p_value_does_not_fall_with_more_permutations() -> None:
    """ρ = −1 comes up by chance about once in 2^(N−1) random orders: nested curves are no finer than that."""
    sizes = np.full(10, 1000)
    hits = np.rint(1000 * np.linspace(0.95, 0.7, 10)).astype(int)
    test = permutation_p(hits, sizes, 50_000, rng())
    assert test.rho == -1.0
    assert test.p_adverse == pytest.approx(1 / 512, rel=0.25)


def test_falling_and_rising_agreement_get_opposite_verdicts() -> None:
    falling = np.array([30, 29, 28, 27, 25, 24, 22, 21, 19, 17])
    sizes = np.full(10, 30)
    down, up = permutation_p(falling, sizes, 2000, rng()), permutation_p(falling[::-1], sizes, 2000, rng())
    assert (down.verdict(0.01), up.verdict(0.01)) == ("adverse", "violation")
    assert (down.rho, up.rho) == (-1.0, 1.0)
    assert (
        permutation_p(np.array([20, 21, 20, 21, 20, 21, 20, 21, 20, 21]), sizes, 2000, rng()).verdict(0.01)
        == "no trend"
    )


@pytest.mark.parametrize("hits", [[0, 0, 0, 0], [5, 5, 5, 5]])
def test_a_subject_that_is_always_right_or_always_wrong_has_no_trend(hits: list[int]) -> None:
    test = permutation_p(hits, [5, 5, 5, 5], 99, rng())
    assert (test.rho, test.p_adverse, test.p_violation) == (None, 1.0, 1.0)


def test_p_is_never_zero_and_counts_the_observed_order() -> None:
    test = permutation_p([500, 0], [500, 500], 9, rng())
    assert test.p_adverse >= 1 / 10


def test_permutations_beyond_one_block_are_all_counted() -> None:
    test = permutation_p([4, 3, 2], [5, 5, 5], 20_000, rng())
    assert test.p_adverse + test.p_violation > 1  # ties are in both tails
    assert test.permutations == 20_000


@pytest.mark.parametrize(
    ("hits", "sizes", "said"),
    [
        ([6, 1], [5, 5], "more than it has samples"),
        ([1, 1], [5], "one length"),
        ([0, 0], [0, 0], "no stratum has a sample"),
        ([0.5, 1.0], [5, 5], "counts"),
    ],
)
def test_impossible_counts_are_refused(hits: list[float], sizes: list[int], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        permutation_p(hits, sizes, 10, rng())
