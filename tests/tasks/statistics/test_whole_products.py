"""Sums of products are exact, however large the numbers."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from assay.tasks.statistics.order_test import squared_sum, whole_dot

ANY = st.integers(-(2**63), 2**63 - 1)
PAIRS = st.lists(st.tuples(ANY, ANY) | st.tuples(st.integers(-9, 9), st.integers(-9, 9)), max_size=30)


@given(PAIRS)
def test_a_dot_product_is_that_of_whole_numbers_without_end(pairs):
    first, second = (np.array([pair[at] for pair in pairs], dtype=np.int64) for at in (0, 1))
    assert whole_dot(first, second) == sum(one * two for one, two in pairs)


def test_many_products_of_the_largest_do_not_overflow():
    most = np.full(3_000_000, -(2**63), dtype=np.int64)
    assert whole_dot(most, most) == 3_000_000 * 2**126
    assert whole_dot(np.full(3_000_000, 2**31), np.full(3_000_000, 2**31)) == 3_000_000 * 2**62


@given(PAIRS, st.integers(-(10**40), 10**40), st.integers(-(10**40), 10**40))
def test_squares_of_weighted_sums_add_up(pairs, left, right):
    columns = [np.array([pair[at] for pair in pairs], dtype=np.int64) for at in (0, 1)]
    assert squared_sum(columns, (left, right)) == sum((left * one + right * two) ** 2 for one, two in pairs)
