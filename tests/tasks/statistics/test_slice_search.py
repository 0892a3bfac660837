"""Slices: what is bad is found, what is not is not claimed."""

from __future__ import annotations

import numpy as np
import pytest

from assay.tasks.statistics.slice_search import worst_slices


def searched(seed: int, fall: float, n: int = 800) -> list:
    rng = np.random.default_rng(seed)
    columns = {name: rng.choice(list("abcd"), n).tolist() for name in ("site", "sex", "device")}
    bad = np.array([site == "a" and sex == "b" for site, sex in zip(columns["site"], columns["sex"], strict=True)])
    return worst_slices(rng.random(n) < 0.9 - fall * bad, columns, np.arange(n), rng)


def test_a_planted_slice_is_found_and_confirmed():
    found = searched(0, 0.5)
    assert {"sex = b, site = a", "site = a, sex = b"} & {one.name for one in found if one.p_adjusted <= 0.01}


def test_missing_values_make_no_slice():
    found = worst_slices([1, 0] * 100, {"site": ["a", None] * 100}, range(200), np.random.default_rng(0))
    assert all("None" not in one.name for one in found)


def test_halves_never_part_a_cluster():
    hits = np.repeat([1, 0] * 40, 5)
    clusters = np.repeat(np.arange(80), 5)
    found = worst_slices(hits, {"site": np.repeat(["a", "b"] * 40, 5).tolist()}, clusters, np.random.default_rng(0))
    assert all(one.n % 5 == 0 for one in found)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_nothing_is_confirmed_where_nothing_is_there_over_600_draws():
    """At .05: in at most 7 % of draws (± 2)."""
    false = sum(any(one.p_adjusted <= 0.05 for one in searched(seed, 0.0, 400)) for seed in range(600))
    assert false / 600 <= 0.07
