"""Clopper-Pearson intervals: statsmodels' for whole votes, and sound between them."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import beta
from statsmodels.stats.proportion import proportion_confint

from assay.data.schemas import Intervals, WeakLabels
from assay.tasks.ordering.intervals import clopper_pearson, interval_table

votes = st.lists(
    st.tuples(st.integers(0, 60), st.floats(0, 1)).map(lambda drawn: (drawn[0], drawn[0] * drawn[1])),
    min_size=1,
    max_size=30,
)


@pytest.mark.parametrize("alpha", [0.01, 0.05, 0.2])
def test_whole_votes_give_the_interval_of_statsmodels(alpha):
    n = np.repeat(np.arange(1, 80), 80)
    s = np.tile(np.arange(80), 79)
    n, s = n[s <= n], s[s <= n]
    low, high = proportion_confint(s, n, alpha=alpha, method="beta")
    ours = clopper_pearson(n, s.astype(float), alpha)
    np.testing.assert_allclose(ours.lower, np.nan_to_num(low, nan=0.0), atol=1e-12)
    np.testing.assert_allclose(ours.upper, np.nan_to_num(high, nan=1.0), atol=1e-12)


@settings(max_examples=50, deadline=None)
@given(votes, st.sampled_from([0.01, 0.05, 0.5]))
def test_real_votes_give_the_quantiles_of_the_beta_distribution(pairs, alpha):
    n, s = np.array([pair[0] for pair in pairs]), np.array([pair[1] for pair in pairs])
    ours = clopper_pearson(n, s, alpha)
    for cast, won, low, high in zip(n, s, ours.lower, ours.upper, strict=True):
        assert low == pytest.approx(beta.ppf(alpha / 2, won, cast - won + 1) if won > 1e-4 else 0.0, abs=1e-12)
        assert high == pytest.approx(
            beta.ppf(1 - alpha / 2, won + 1, cast - won) if cast - won > 1e-4 else 1.0, abs=1e-12
        )
        assert 0 <= low <= (won / cast if cast else 1) + 1e-12
        assert (won / cast if cast else 0) - 1e-12 <= high <= 1


@settings(max_examples=50, deadline=None)
@given(votes)
def test_every_sample_gets_the_bits_it_would_get_alone(pairs):
    n, s = np.array([pair[0] for pair in pairs]), np.array([pair[1] for pair in pairs])
    together = clopper_pearson(np.tile(n, 2), np.tile(s, 2), 0.05)
    for i in range(len(n)):
        alone = clopper_pearson(n[i : i + 1], s[i : i + 1], 0.05)
        assert together.lower[i] == together.lower[i + len(n)] == alone.lower[0]
        assert together.upper[i] == together.upper[i + len(n)] == alone.upper[0]


def test_interval_is_vacuous_without_votes():
    assert clopper_pearson([0], [0.0], 0.05) == ([0.0], [1.0])


def test_no_vote_won_bounds_below_by_zero_and_all_won_above_by_one():
    lower, upper = clopper_pearson([5, 5], [0.0, 5.0], 0.05)
    assert lower[0] == 0
    assert upper[1] == 1


def test_a_hardly_measurable_share_of_a_vote_is_none():
    assert clopper_pearson([5], [1e-300], 0.05).lower[0] == 0
    assert clopper_pearson([1], [1 - 1e-16], 0.05).upper[0] == 1


def test_the_lower_bound_rises_with_votes_won_and_with_unanimous_votes_cast():
    assert (np.diff(clopper_pearson(np.full(100, 20), np.linspace(0, 20, 100), 0.05).lower) > 0).all()
    unanimous = np.arange(1, 60)
    assert (np.diff(clopper_pearson(unanimous, unanimous.astype(float), 0.05).lower) > 0).all()


@pytest.mark.parametrize(("n", "s"), [([1], [1.5]), ([1], [-0.1]), ([1, 2], [1.0]), ([1], [float("nan")])])
def test_impossible_votes_are_refused(n, s):
    with pytest.raises(ValueError, match="votes"):
        clopper_pearson(n, s, 0.05)


def test_a_partition_of_labels_becomes_a_partition_of_intervals():
    labels = pa.table(
        {
            "id": ["a", "b"],
            "label": [1, 0],
            "confidence": [0.9, 0.5],
            "votes_cast": [4, 0],
            "share": [0.5, 0.5],
            "undecided": [False, True],
        },
        schema=WeakLabels.schema,
    )
    table = interval_table(labels, 0.05)
    assert table.schema.equals(Intervals.schema)
    assert table["votes_won"].to_pylist() == [2.0, 0.0]
    low, high = proportion_confint(2, 4, method="beta")
    assert table["lower"].to_pylist() == pytest.approx([low, 0.0])
    assert table["upper"].to_pylist() == pytest.approx([high, 1.0])
    assert interval_table(labels.slice(0, 0), 0.05).num_rows == 0
