"""What an amount takes, from what other amounts took."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.flows.forecast.cost_model import SLACK, expected_cost, expected_rows, fixed_and_growing, most_kept

POSITIVE = st.floats(0.01, 1e4)


@given(POSITIVE, st.floats(0.0, 100.0), st.lists(st.integers(1, 10_000), min_size=2, max_size=6, unique=True), POSITIVE)
def test_a_line_is_found_again_wherever_it_was_seen(fixed: float, growing: float, sizes: list[int], at: float) -> None:
    points = [(float(size), fixed + growing * size) for size in sizes]
    true = fixed + growing * at
    assert expected_cost(points, at).value == pytest.approx(true, rel=0.03)  # amounts within 2 % are taken for the same


@given(st.lists(st.tuples(POSITIVE, POSITIVE), min_size=2, max_size=8), POSITIVE)
def test_no_part_is_negative_and_every_range_holds_its_value(points: list[tuple[float, float]], at: float) -> None:
    fixed, growing = fixed_and_growing(points)
    assert fixed >= 0
    assert growing >= 0
    found = expected_cost(points, at)
    assert 0 <= found.low <= found.value <= found.high


def test_from_one_size_the_range_reaches_from_nothing_grows_to_all_grows() -> None:
    found = expected_cost([(100.0, 8.0)], 50.0)
    assert (found.value, found.low, found.high) == (4.0, 4.0 / SLACK, 8.0 * SLACK)


def test_a_known_amount_takes_what_it_took_however_crooked_the_rest_is() -> None:
    assert expected_cost([(100.0, 2.0), (200.0, 9.0), (400.0, 10.0)], 200.0).value == 9.0


def test_what_varied_at_the_same_size_widens_the_range() -> None:
    steady, shaky = ([(1.0, took) for took in each] for each in ((10.0, 10.0, 10.0), (10.0, 4.0, 30.0)))
    assert expected_cost(steady, 1.0).high == 12.5
    assert expected_cost(shaky, 1.0).high == 30.0


def test_further_from_what_is_known_the_range_is_wider() -> None:
    points = [(100.0, 1.0), (200.0, 2.0)]
    near, far = expected_cost(points, 400.0), expected_cost(points, 3200.0)
    assert far.high / far.value > near.high / near.value


def test_what_took_nothing_takes_nothing() -> None:
    assert expected_cost([(10.0, 0.0), (20.0, 0.0)], 40.0).high == 0.0


@given(st.floats(0.01, 1.0), st.lists(st.integers(100, 10_000), min_size=2, max_size=5, unique=True))
def test_a_share_of_the_samples_has_no_limit_and_what_stays_has_one(share: float, sizes: list[int]) -> None:
    assert most_kept([(float(size), share * size) for size in sizes]) is None
    assert most_kept([(float(size), 50.0) for size in sizes]) == 50.0


def test_nothing_is_said_of_limits_from_one_size_or_where_nothing_was_kept() -> None:
    assert most_kept([(100.0, 50.0), (100.0, 50.0)]) is None
    assert most_kept([(100.0, 0.0), (200.0, 0.0)]) is None


@given(
    st.floats(0.01, 1.0), st.lists(st.integers(100, 10_000), min_size=1, max_size=5, unique=True), st.integers(1, 10**6)
)
def test_of_more_samples_the_same_share_is_kept(share: float, sizes: set[int], amount: int) -> None:
    assert expected_rows([(float(size), share * size) for size in sizes], amount) == pytest.approx(
        share * amount, rel=0.03
    )


def test_what_was_kept_of_an_amount_is_kept_of_it_again_and_a_limit_holds() -> None:
    assert expected_rows([(1000.0, 300.0), (500.0, 100.0)], 1000.0) == 300.0
    assert [expected_rows([(1000.0, 150.0), (500.0, 150.0)], of) for of in (4000.0, 700.0, 300.0)] == [150.0] * 3
    assert 117 < expected_rows([(1797.0, 150.0), (891.0, 150.0), (449.0, 117.0)], 600.0) <= 150
    assert expected_rows([(0.0, 0.0)], 10.0) == 0.0
