"""Weeks in which data and models change: a gate is red where three points are lost over all, and nowhere else."""

import numpy as np
import pytest

from benchmarks.weeks import KINDS, LOSS, RIGHT, N, Night, is_red, week

WEEKS = 8


@pytest.mark.parametrize("kind", KINDS)
def test_what_is_planted_is_lost_over_all_samples(kind):
    rng, moved = np.random.default_rng(0), {0.0: [], LOSS: []}
    for loss, changes in moved.items():
        for _ in range(60):
            before = Night(np.arange(N), rng.random(N) < RIGHT)
            changes.append(KINDS[kind](before, loss, rng).right.mean() - before.right.mean())
    assert np.mean(moved[LOSS]) == pytest.approx(-LOSS, abs=0.003)
    assert np.mean(moved[0.0]) == pytest.approx(0.0, abs=0.008)  # labels that are mended gain


@pytest.mark.parametrize("kind", KINDS)
def test_three_points_are_red_within_two_nights_and_nothing_else_is(kind):
    rng = np.random.default_rng(1)
    assert sum(week(KINDS[kind], LOSS, rng) for _ in range(WEEKS)) >= 0.8 * WEEKS - 1
    assert sum(week(KINDS[kind], 0.0, rng) for _ in range(WEEKS)) <= 1


def test_a_file_with_wrong_labels_is_silent_on_shared_samples():
    rng = np.random.default_rng(2)
    before = Night(np.arange(N), rng.random(N) < RIGHT)
    after = KINDS["a file added"](before, LOSS, rng)
    assert is_red(before, after, rng, "all")
    assert is_red(before, after, rng, "new")
    assert not is_red(before, after, rng, "shared")
