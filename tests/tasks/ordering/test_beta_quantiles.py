"""Interpolated bounds are the inverted ones, to the last digits."""

import numpy as np
import pytest
from scipy.special import betaincinv

from assay.tasks.ordering.intervals import lower_bounds


@pytest.mark.parametrize("alpha", [1e-6, 0.01, 0.05, 0.5, 0.99])
def test_bounds_equal_the_inverted_incomplete_beta_function(alpha):
    generator = np.random.default_rng(0)
    n = generator.integers(1, 80, 100_000)
    s = n * generator.random(len(n))
    s[:20_000] = np.ceil(s[:20_000])
    s = np.where(s > 1e-4, s, 1.0)
    np.testing.assert_allclose(lower_bounds(n, s, alpha), betaincinv(s, n - s + 1, alpha / 2), atol=5e-14)


def test_bounds_rise_through_whole_votes_and_through_the_end_of_the_table():
    for n in (1, 2, 64, 65):
        s = np.linspace(0.01, n, 5000)
        assert (np.diff(lower_bounds(np.full(5000, n), s, 0.05)) > -1e-14).all()


def test_neighbouring_floats_around_a_whole_vote_hardly_differ():
    whole = np.arange(1.0, 64.0)
    n = np.full(63, 64)
    below, above = lower_bounds(n, np.nextafter(whole, 0), 0.05), lower_bounds(n, np.nextafter(whole, 99), 0.05)
    np.testing.assert_allclose(below, above, atol=1e-13)


def test_the_company_does_not_change_a_bound():
    n = np.random.default_rng(1).integers(1, 70, 40_000)
    s = n * np.random.default_rng(2).random(40_000)
    together = lower_bounds(n, s, 0.05)
    for start, stop in [(0, 1), (5, 12), (16_383, 16_386), (1, 40_000)]:
        np.testing.assert_array_equal(lower_bounds(n[start:stop], s[start:stop], 0.05), together[start:stop])
