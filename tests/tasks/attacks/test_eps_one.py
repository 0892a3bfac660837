"""The flag at ε = 1: how often an attack that does nothing raises it, and one that leaves nothing does not."""

from __future__ import annotations

import numpy as np
import pytest

from assay.tasks.attacks.probes import _eps_one


def shares(codes: np.ndarray, classes: int = 2) -> np.ndarray:
    return np.where(codes[:, None] == np.arange(classes), 0.9, 0.1)


def flag(staying: float, majority: float = 0.8, accuracy: float = 0.9, n: int = 64, seed: int = 0):
    rng = np.random.default_rng(seed)
    truth = (rng.random(n) > majority).astype(np.int64)
    before = np.where(rng.random(n) < accuracy, truth, 1 - truth)
    after = np.where(rng.random(n) < staying, before, 1 - truth)
    return _eps_one(shares(before), shares(after), truth)


@pytest.mark.parametrize("staying", [1.0, 0.5])
def test_an_attack_that_does_nothing_or_half_on_an_80_percent_majority_is_always_flagged(staying):
    readings = [flag(staying, seed=seed) for seed in range(100)]
    assert all(one.raised for one in readings)
    assert "were right stay right at ε = 1" in readings[0].why


def test_an_attack_that_leaves_at_most_one_in_a_hundred_is_not():
    assert sum(flag(0.01, seed=seed).raised for seed in range(100)) <= 2


def test_a_constant_answer_is_not_called_robust_by_this_flag():
    truth = (np.arange(64) % 5 == 0).astype(np.int64)
    constant = shares(np.zeros(64, np.int64))
    assert not _eps_one(constant, constant, truth).raised


def test_without_truth_or_without_a_right_answer_nothing_is_measured():
    truth = np.ones(10, np.int64)
    wrong = shares(np.zeros(10, np.int64))
    assert _eps_one(wrong, wrong, truth).n == 0
    assert _eps_one(wrong, wrong, np.full(10, -1)).n == 0
