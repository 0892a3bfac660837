from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.stats import binom, binomtest, norm

from assay.tasks.statistics.paired import bootstrap_difference, mcnemar, mean_difference, share_difference, wilcoxon


def systems(both: int, first: int, second: int, neither: int) -> tuple[np.ndarray, np.ndarray]:
    counts = [both, first, second, neither]
    return np.repeat([True, True, False, False], counts), np.repeat([True, False, True, False], counts)


@pytest.mark.parametrize("cells", [(50, 12, 3, 10), (5, 1, 0, 0), (1000, 140, 100, 30), (0, 7, 7, 0)])
def test_mcnemars_mid_p_is_the_exact_p_less_half_of_what_was_seen(cells: tuple[int, int, int, int]) -> None:
    _, b, c, _ = cells
    seen = binom.pmf(b, b + c, 0.5) if b != c else 0.0
    assert mcnemar(*systems(*cells)) == pytest.approx(binomtest(b, b + c).pvalue - seen, abs=1e-12)


@pytest.mark.parametrize(
    ("cells", "p"),
    [((1, 1, 7, 12), 0.0390625), ((59, 6, 16, 80), 0.034690)],  # Fagerland et al. (2013); contingencytables in R
)
def test_mcnemars_mid_p_is_what_is_published(cells: tuple[int, int, int, int], p: float) -> None:
    assert mcnemar(*systems(*cells)) == pytest.approx(p, abs=5e-7)


def test_equal_disagreements_are_no_surprise_and_systems_that_never_differ_cannot_be_told_apart() -> None:
    assert mcnemar(*systems(3, 6, 6, 1)) == 1.0
    assert mcnemar([True, False], [True, False]) == 1.0


def test_bootstrap_interval_covers_the_truth_as_often_as_it_says() -> None:
    generator, covered = np.random.default_rng(0), 0
    for _ in range(300):
        a, b = generator.random(150) < 0.8, generator.random(150) < 0.7
        found = bootstrap_difference(a, b, generator, resamples=400)
        covered += found.low <= 0.1 <= found.high
    assert 0.9 <= covered / 300 <= 0.99


def test_bootstrap_is_the_normal_interval_for_many_samples() -> None:
    a, b = systems(600, 200, 100, 100)
    found = bootstrap_difference(a, b, np.random.default_rng(0), resamples=20_000)
    half = 1.96 * np.sqrt((0.3 - 0.01) / 1000)
    assert found.value == pytest.approx(0.1)
    assert (found.low, found.high) == pytest.approx((0.1 - half, 0.1 + half), abs=0.003)


def test_bootstrap_takes_real_valued_losses() -> None:
    generator = np.random.default_rng(1)
    losses = generator.normal(1.0, 0.5, 400)
    found = bootstrap_difference(losses + 0.2, losses, generator)
    assert (found.value, found.low, found.high) == pytest.approx((0.2, 0.2, 0.2))


@pytest.mark.parametrize(("first", "second"), [([1, 0], [1]), ([[1, 0]], [[1, 0]])])
def test_values_that_are_not_pairs_are_refused(first: list[int], second: list[int]) -> None:
    with pytest.raises(ValueError, match="one length"):
        mcnemar(first, second)
    with pytest.raises(ValueError, match="one length"):
        bootstrap_difference(first, second, np.random.default_rng(0))


def score_by_hand(both: int, first: int, second: int, neither: int, apart: float) -> float:
    """Tango's statistic from its definition: the second's share that is most likely where the difference is `apart`."""
    n = both + first + second + neither

    def unlikely(share: float) -> float:
        return -(
            first * np.log(share + apart) + second * np.log(share) + (n - first - second) * np.log1p(-2 * share - apart)
        )

    share = minimize_scalar(
        unlikely, bounds=(max(0, -apart) + 1e-12, (1 - apart) / 2 - 1e-12), method="bounded", options={"xatol": 1e-13}
    ).x
    return float((first - second - n * apart) / np.sqrt(n * (2 * share + apart * (1 - apart))))


@pytest.mark.parametrize("cells", [(36, 12, 2, 1), (1, 1, 7, 12), (59, 6, 16, 80), (3, 9, 8, 2)])
def test_tangos_interval_ends_where_the_score_test_just_rejects(cells: tuple[int, int, int, int]) -> None:
    found = share_difference(*systems(*cells))
    ends = [score_by_hand(*cells, apart) for apart in (found.low, found.high)]
    assert ends == pytest.approx([norm.ppf(0.975), -norm.ppf(0.975)], abs=1e-4)


@pytest.mark.parametrize(
    ("cells", "printed"), [((1, 1, 7, 12), (-0.2857, -0.5172, -0.0260)), ((59, 6, 16, 80), (-0.0621, -0.1240, -0.0054))]
)
def test_tangos_interval_is_what_another_program_prints(cells: tuple[int, ...], printed: tuple[float, ...]) -> None:
    found = share_difference(*systems(*cells))  # the R package contingencytables holds itself to these digits
    assert (round(found.value, 4), round(found.low, 4), round(found.high, 4)) == printed


def test_the_interval_leaves_zero_out_where_the_test_rejects_and_only_there() -> None:
    for first in range(31):
        for second in range(first + 1):
            found = share_difference(*systems(20, first, second, 9))
            rejected = mcnemar(*systems(20, first, second, 9)) <= 0.05
            assert (found.low > 0 or found.high < 0) == rejected, (first, second)


@pytest.mark.parametrize(("n", "cells"), [(25, (0.6, 0.2, 0.1, 0.1)), (60, (0.9, 0.06, 0.01, 0.03))])
def test_tangos_interval_covers_the_truth_as_often_as_it_says(n: int, cells: tuple[float, ...]) -> None:
    drawn = np.random.default_rng(0).multinomial(n, cells, size=1000)
    counts, times = np.unique(drawn, axis=0, return_counts=True)
    found = [share_difference(*systems(*one)) for one in counts]
    truth = cells[1] - cells[2]
    covered = times @ np.array([one.low <= truth <= one.high for one in found]) / 1000
    assert 0.93 <= covered <= 0.99


def test_ties_and_one_sided_pairs_leave_an_interval_of_some_width() -> None:
    tied, all_lost = share_difference(*systems(10, 0, 0, 0)), share_difference(*systems(0, 5, 0, 0))
    assert tied.low < -0.2 < 0.2 < tied.high
    assert (all_lost.value, all_lost.high) == (1.0, 1.0)
    assert all_lost.low < 0.5


def test_a_difference_over_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="no samples"):
        bootstrap_difference([], [], np.random.default_rng(0))
    with pytest.raises(ValueError, match="no samples"):
        share_difference([], [])


def test_wilcoxon_counts_all_signs_of_few_pairs() -> None:
    first, second = np.array([5.0, 3.0, 9.0, 1.0]), np.array([4.0, 5.0, 6.0, 5.0])
    ranks = np.array([1, 2, 3, 4])  # of the differences 1, -2, 3, -4 by size
    signs = np.array(np.meshgrid(*[[0, 1]] * 4)).reshape(4, -1).T
    sums = signs @ ranks  # under no difference every sign is as likely
    least = min(1 + 3, 2 + 4)
    assert wilcoxon(first, second) == pytest.approx(min(1.0, 2 * (sums <= least).mean()))


def test_wilcoxon_leaves_pairs_without_a_difference_out_and_does_not_mind_who_is_first() -> None:
    first, second = np.array([1.0, 2, 2, 3, 5, 8, 8]), np.array([1.0, 3, 1, 5, 1, 9, 2])
    assert wilcoxon(first, second) == wilcoxon(second, first) == wilcoxon(first[1:], second[1:])
    assert wilcoxon(first, first) == wilcoxon([], []) == 1.0


@pytest.mark.parametrize("n", [2, 3, 5, 10])
def test_a_mean_of_few_pairs_is_covered(n):
    """Precisions of n explanations, two thirds on average: .91 to .95 of 600 draws (.48, .75, .87 and .91 by the
    percentiles of resamples)."""
    rng, held = np.random.default_rng(3), []
    for seed in range(200):
        mean = mean_difference(rng.beta(2, 1, n), np.zeros(n), None, np.random.default_rng(seed), 500)
        held.append(mean.low <= 2 / 3 <= mean.high)
    assert np.mean(held) >= 0.88
