"""Numbers say neither more nor less than what was measured."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.tasks.reporting.numerals import (
    THIN,
    coefficient,
    duration,
    integer,
    interval,
    moment,
    number,
    p_equals,
    p_value,
    percent,
    unbroken,
)


@pytest.mark.parametrize("write", [number, coefficient, percent, p_value, duration, integer])
def test_what_was_not_measured_is_a_dash(write):
    assert write(None) == "–"


@pytest.mark.parametrize("write", [number, coefficient, percent, p_value, duration])
def test_nan_is_not_a_number_to_print(write):
    assert write(math.nan) == "–"


@given(st.floats(min_value=0, max_value=1))
def test_only_all_is_100_percent_and_only_none_is_0(value):
    shown = percent(value, sign=False)
    assert (shown == "100") == (value == 1)
    assert (shown == "0") == (value == 0)


@given(st.floats(min_value=0, max_value=1), st.floats(min_value=0, max_value=1))
def test_percent_keeps_the_order(a, b):
    low, high = sorted((a, b))
    assert float(percent(low, sign=False)) <= float(percent(high, sign=False))


@given(st.floats(min_value=0, max_value=1))
def test_no_p_value_is_written_as_zero(p):
    assert p_value(p).strip("< 0.") != "" or p_value(p).startswith("<")


def test_p_is_related_once():
    assert (p_equals(0.0), p_equals(1.0), p_equals(0.0321)) == ("p < 0.001", "p = 1.000", "p = 0.032")


def test_thousands_stand_apart_and_minus_is_a_minus():
    assert integer(-1234567) == f"−1{THIN}234{THIN}567"
    assert number(-1234.5) == f"−1{THIN}234.500"


def test_small_numbers_are_not_rounded_to_nothing():
    assert number(0.00001234) == "1.2e−05"


def test_half_an_interval_is_none():
    assert interval(0.1, None) == ""


def test_seconds_never_reach_sixty():
    assert duration(59.96) == "1 min 0 s"
    assert duration(3599.9) == "1 h 0 min"


def test_times_that_are_none_stay_as_they_came():
    assert moment("<yesterday>") == "<yesterday>"


def test_numbers_stay_on_one_line():
    assert " " not in unbroken("[−0.98, 1.00]")
    assert unbroken("a = b, [a long text, and more]") == "a = b, [a long text, and more]"
