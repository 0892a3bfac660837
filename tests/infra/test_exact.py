"""Merging is exact, whatever the order and the grouping; and what cannot be exact is refused in words."""

import math
import random
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.infra.errors import InputError
from assay.infra.stages.exact import ExactSum, Greatest, Least, Smallest, merge, mergeable

FLOATS = st.floats(allow_nan=False, allow_infinity=False, min_value=-1e300, max_value=1e300)
LEAVES: list[Callable[[int], object]] = [
    lambda n: n,
    lambda n: np.arange(6).reshape(2, 3) * n,
    lambda n: frozenset({n % 5, n % 3}),
    lambda n: Least((n % 7, str(n))),
    lambda n: Greatest(n / 3),
    lambda n: Smallest.of([(n % 7, str(n)), (n % 3, "b")], 3),
    lambda n: ExactSum.of([n / 7, 1e16 / (n + 1), -0.1]),
    lambda n: {"n": n, f"only {n % 4}": np.array([n, 1]), "inner": {"sum": ExactSum.of([n / 10])}},
]


def same(one: object, other: object) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, np.ndarray):
        return isinstance(other, np.ndarray) and one.dtype == other.dtype and np.array_equal(one, other)
    return one == other


@pytest.mark.parametrize("leaf", LEAVES)
@given(a=st.integers(0, 1000), b=st.integers(0, 1000), c=st.integers(0, 1000))
@settings(max_examples=25, deadline=None)
def test_merging_is_associative_and_commutative(leaf: Callable[[int], object], a: int, b: int, c: int) -> None:
    assert same(merge(leaf(a), leaf(b)), merge(leaf(b), leaf(a)))
    assert same(merge(merge(leaf(a), leaf(b)), leaf(c)), merge(leaf(a), merge(leaf(b), leaf(c))))


@given(values=st.lists(FLOATS, max_size=60), cuts=st.integers(1, 9), seed=st.integers(0, 99))
@settings(max_examples=150, deadline=None)
def test_exact_sum_equals_fsum_for_any_order_and_partitioning(values: list[float], cuts: int, seed: int) -> None:
    shuffled = random.Random(seed).sample(values, len(values))
    total = ExactSum()
    for start in range(cuts):
        total = merge(total, ExactSum.of(shuffled[start::cuts]))
    assert total.value() == math.fsum(values)


@given(values=st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=1, max_size=60))
@settings(max_examples=60, deadline=None)
def test_exact_sum_reads_float32_as_it_is(values: list[float]) -> None:
    assert ExactSum.of(np.array(values, dtype=np.float32)).value() == math.fsum(values)


def test_exact_sum_spans_the_whole_range_of_floats() -> None:
    smallest, greatest = math.ulp(0.0), 1.7976931348623157e308
    assert ExactSum.of([greatest, smallest, -greatest]).value() == smallest
    assert ExactSum.of([greatest, greatest, -greatest]).value() == greatest


def test_exact_sum_of_a_million_differs_from_no_partitioning() -> None:
    values = np.random.default_rng(0).normal(size=1_000_000).astype(np.float32) * 1e3
    sums = {sum((ExactSum.of(part) for part in np.array_split(values, n)), ExactSum()).value() for n in (1, 7, 40)}
    assert sums == {math.fsum(values.tolist())}


def test_exact_sum_takes_integers_and_any_shape() -> None:
    assert ExactSum.of(np.array([[2**62, 2**62], [1, 0]])).value() == float(2**63 + 1)
    assert ExactSum.of([]).value() == 0.0


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_exact_sum_names_the_value_that_is_no_number(bad: float) -> None:
    with pytest.raises(InputError, match="value 2 of 3 to be summed"):
        ExactSum.of([1.0, 2.0, bad])


def test_a_sum_beyond_all_floats_says_so() -> None:
    with pytest.raises(OverflowError, match="beyond the greatest float"):
        ExactSum.of([1.7e308, 1.7e308]).value()


@pytest.mark.parametrize("leaf", [1.0, np.float32(1), np.ones(3), {"inner": 0.5}])
def test_a_float_is_refused_with_a_way_out(leaf: object) -> None:
    with pytest.raises(TypeError, match="ExactSum"):
        merge(leaf, leaf)


@pytest.mark.parametrize("leaf", [True, np.array([True]), [1], (1,), None, "text", {1, 2}, {1: 2}])
def test_what_has_no_exact_merge_is_refused(leaf: object) -> None:
    with pytest.raises(TypeError, match="does not merge to the same result in every order"):
        mergeable(leaf)


def test_the_error_names_the_place() -> None:
    with pytest.raises(TypeError, match=r"votes, partition 3\['rules'\]\['a'\] is a float"):
        mergeable({"rules": {"a": 0.5}}, "votes, partition 3")


def test_one_partition_gives_the_same_type_as_many() -> None:
    small = np.array([1, 2], dtype=np.int8)
    assert mergeable(small).dtype == merge(small, small).dtype == np.int64
    assert type(mergeable(np.uint8(3))) is int


def test_counts_never_wrap_around() -> None:
    most = np.array([2**63 - 1])
    with pytest.raises(OverflowError):
        merge(most, np.array([1]))
    with pytest.raises(OverflowError):
        merge(-most, np.array([-2]))
    with pytest.raises(OverflowError):
        mergeable(np.array([2**63], dtype=np.uint64))
    assert merge(2**63, 2**63) == 2**64
    assert merge(np.array([200], dtype=np.uint8), np.array([200], dtype=np.uint8))[0] == 400


def test_unlike_leaves_are_refused() -> None:
    with pytest.raises(TypeError, match="shape"):
        merge(np.arange(2), np.arange(3))
    with pytest.raises(TypeError, match="in one partition"):
        merge(1, frozenset())


def test_least_and_greatest_know_one_zero_and_no_nan() -> None:
    assert math.copysign(1, merge(Least(-0.0), Least(0.0)).value) == 1
    assert merge(Greatest(np.float32(1)), Greatest(2.5)) == Greatest(2.5)
    assert repr(merge(Least(1.0), Least(1))) == repr(merge(Least(1), Least(1.0)))
    with pytest.raises(InputError, match="NaN"):
        Least((1, math.nan))
