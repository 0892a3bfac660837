"""Ticks are round, ranges hold their values, labels keep their distance."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.tasks.reporting.svg import Linear, nice_range, nice_ticks, spread_apart, whole_ticks

VALUES = st.floats(min_value=-1e6, max_value=1e6, allow_nan=False)


@given(st.lists(VALUES, min_size=1, max_size=20))
def test_range_holds_every_value(values):
    low, high = nice_range(values)
    slack = 1e-6 * (high - low)  # less than anyone can see
    assert low - slack <= min(values)
    assert max(values) <= high + slack
    assert low < high


@given(st.lists(st.floats(min_value=0, max_value=1), min_size=1, max_size=20))
def test_shares_never_leave_0_to_1(values):
    low, high = nice_range(values, 0.0, 1.0)
    assert 0 <= low < high <= 1


@given(VALUES, st.floats(min_value=0.001, max_value=1e5))
def test_ticks_lie_inside_and_are_neither_few_nor_many(low, width):
    ticks = nice_ticks(low, low + width)
    assert 2 <= len(ticks) <= 8
    assert all(low - width * 1e-6 <= tick <= low + width * (1 + 1e-6) for tick in ticks)


def test_missing_values_do_not_move_the_range():
    assert nice_range([None, 0.2, float("nan"), 0.8]) == nice_range([0.2, 0.8])
    assert nice_range([None]) == (0.0, 1.0)


@given(st.lists(st.floats(min_value=0, max_value=100), min_size=1, max_size=6))
def test_names_keep_their_distance_and_their_order(places):
    moved = spread_apart(places, 15, 0, 100)
    order = sorted(range(len(places)), key=lambda i: places[i])
    assert all(moved[b] - moved[a] >= 15 - 1e-9 for a, b in pairwise(order))


def test_names_that_do_not_collide_stay():
    assert spread_apart([10, 40, 80], 15, 0, 100) == [10, 40, 80]


def test_scale_goes_from_start_to_stop_even_where_all_values_are_equal():
    assert (Linear(0, 4, 10, 50)(4), Linear(3, 3, 10, 50)(3)) == (50, 10)


@pytest.mark.parametrize(
    ("values", "ticks"),
    [([1, 2, 3, 4, 5, 6, 7], [1, 3, 5, 7]), ([], []), ([1, 22, 300], nice_ticks(1, 300, 4)), ([0.1, 0.9], None)],
)
def test_whole_numbers_are_their_own_ticks(values, ticks):
    assert whole_ticks(values, 4) == (ticks if ticks is not None else nice_ticks(0.1, 0.9, 4))
