"""The named worst, or best, of several keeps the promise of its interval."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from assay.tasks.statistics.classification import Proportion, extreme_share, joint_level, proportion


def coverage(
    draws: int,
    cells: int,
    n: int,
    share: float,
    *,
    seed: int,
    likeness: float = 0.36,
    group: int = 0,
    which: str = "lowest",
) -> tuple[float, float]:
    """How often the interval of the named cell holds its truth: ours, and the plain one."""
    rng, ours, plain = np.random.default_rng(seed), 0, 0
    groups = np.repeat(np.arange(n // group), group) if group else None
    known = np.ones(n, dtype=np.bool_)
    for _ in range(draws):
        hard = rng.normal(size=(n if groups is None else n // group, 1))
        hard = hard if groups is None else hard[groups]
        noise = rng.normal(size=(n, cells))
        right = likeness**0.5 * hard + (1 - likeness) ** 0.5 * noise < norm.ppf(share)
        at, named = extreme_share([(cell, known) for cell in right.T], which, groups)
        alone = proportion(right[:, at], known, groups=groups)
        ours += holds(named, share)
        plain += holds(alone, share)
    return ours / draws, plain / draws


def holds(interval: Proportion, truth: float) -> bool:
    return interval.low <= truth <= interval.high


def test_the_named_worst_of_42_cells_is_covered():
    ours, plain = coverage(60, 42, 200, 0.8, seed=5)
    assert ours >= 0.93
    assert plain <= 0.75


@pytest.mark.slow
@pytest.mark.parametrize(
    ("cells", "n", "share", "more"),
    [
        (42, 200, 0.8, {}),
        (42, 450, 0.6, {"likeness": 0.6}),
        (42, 300, 0.8, {"group": 4, "likeness": 0.3}),
        (8, 200, 0.5, {"which": "highest"}),
    ],
)
def test_coverage_over_600_draws(cells: int, n: int, share: float, more: dict[str, object]):
    """At least .93 (600 draws: ± .01), where the plain interval holds .55 to .83."""
    ours, plain = coverage(600, cells, n, share, seed=7, **more)
    assert ours >= 0.93
    assert plain <= 0.85


def test_independent_cells_have_sidaks_level_and_cells_that_go_together_the_plain_one():
    assert joint_level(np.eye(42)) == pytest.approx(0.95 ** (1 / 42), abs=2e-4)
    assert joint_level(np.full((42, 42), 0.25)) == pytest.approx(0.95, abs=2e-3)
    assert joint_level(np.diag([0.25, 0.0, 0.0])) == 0.95  # what does not vary takes no part


@given(st.lists(st.lists(st.booleans(), min_size=12, max_size=12), min_size=1, max_size=6), st.permutations(range(12)))
@settings(max_examples=60, deadline=None)
def test_the_order_of_samples_does_not_matter_and_nothing_is_narrower_than_alone(cells, order):
    known = np.ones(12, dtype=np.bool_)
    at, worst = extreme_share([(np.array(cell), known) for cell in cells], "lowest")
    assert worst.value == min(np.mean(cell) for cell in cells)
    alone = proportion(cells[at], known)
    assert worst.low <= alone.low
    assert worst.high >= alone.high
    other, turned = extreme_share([(np.array(cell)[order], known) for cell in cells], "lowest")
    assert (other, turned.value) == (at, worst.value)
    assert (turned.low, turned.high) == pytest.approx((worst.low, worst.high), abs=1e-6)


def test_cells_of_which_nothing_is_known_are_left_out():
    known, unknown = np.ones(4, dtype=np.bool_), np.zeros(4, dtype=np.bool_)
    right = np.array([True, True, False, True])
    assert extreme_share([(right, unknown)], "lowest") is None
    at, worst = extreme_share([(right, unknown), (right, known)], "lowest")
    assert (at, worst.value, worst.n) == (1, 0.75, 4)
