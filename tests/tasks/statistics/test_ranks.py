from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from assay.tasks.statistics.correlation import spearman_rows


@given(st.integers(3, 30), st.integers(0, 10_000), st.integers(2, 12))
@settings(max_examples=50, deadline=None)
def test_every_row_is_scipys_spearman(width: int, seed: int, levels: int) -> None:
    rows = np.random.default_rng(seed).integers(0, levels, (4, width)) / levels
    ours = spearman_rows(rows)
    for row, rho, p_value in zip(rows, *ours, strict=True):
        if np.ptp(row) == 0:
            assert np.isnan(rho)
            assert np.isnan(p_value)
            continue
        theirs = spearmanr(np.arange(width), row)
        assert rho == pytest.approx(theirs.statistic, abs=1e-12)
        assert p_value == pytest.approx(theirs.pvalue, abs=1e-12)


@pytest.mark.parametrize("width", [2, 3, 10, 100, 1000])
def test_monotone_rows_reach_one_exactly(width: int) -> None:
    rising = np.arange(width) / width
    assert spearman_rows([rising, rising[::-1]]).rho.tolist() == [1.0, -1.0]


def test_perfect_correlation_of_ten_is_certain() -> None:
    assert spearman_rows(np.arange(10.0)).p_value[0] == 0.0


def test_two_values_have_a_sign_but_no_p_value() -> None:
    found = spearman_rows([[0.5, 0.4]])
    assert found.rho[0] == -1.0
    assert np.isnan(found.p_value[0])


def test_a_row_with_nan_is_undefined_and_leaves_the_others_alone() -> None:
    found = spearman_rows([[0.9, np.nan, 0.7], [0.9, 0.8, 0.7]])
    assert np.isnan(found.rho[0])
    assert found.rho[1] == -1.0


def test_papers_threshold_at_ten_data_sets() -> None:
    """|ρ| ≥ 0.765 is what p ≤ 0.01 asks of ten points (t(8) = 3.355)."""
    t = 3.3553873313333966
    critical = t / np.sqrt(8 + t * t)
    assert critical == pytest.approx(0.765, abs=5e-4)
    rows = np.array([np.random.default_rng(s).permutation(10) for s in range(500)])
    found = spearman_rows(rows)
    assert ((found.p_value <= 0.01) == (np.abs(found.rho) >= critical)).all()
