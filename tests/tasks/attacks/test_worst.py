"""The worst case is never better than any of the attacks it is made of."""

from __future__ import annotations

from itertools import product

import numpy as np
import pyarrow as pa
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_subjects import answers, draws_for, tiny_images, tiny_model

from assay.data.schemas import Attacked
from assay.tasks.attacks.measures import Trial, on_grid, trials, worst_of
from assay.tasks.attacks.pgd import FGSM, PGD
from assay.tasks.attacks.random_search import Square
from assay.tasks.attacks.running import run_attack
from assay.tasks.statistics.classification import accuracy

torch.set_num_threads(1)


def table(attack: str, truth: np.ndarray, clean: np.ndarray, moved: np.ndarray, success: np.ndarray, eps: float = 0.1):
    """Records of one attack out of truth and probabilities: [n] codes and [n, k], or [n, k] both."""
    n, several = len(truth), truth.ndim == 2
    codes = [[-1] * n] * 2 if several else [clean.argmax(axis=1), moved.argmax(axis=1)]
    gold, labels = ([None] * n, truth.tolist()) if several else (truth.tolist(), [None] * n)
    columns = [
        [f"s{i:03}" for i in range(n)],
        ["m"] * n,
        [attack] * n,
        [eps] * n,
        gold,
        labels,
        *codes,
        clean.tolist(),
        moved.tolist(),
        success,
        [eps] * n,
        [1.0] * n,
        [1] * n,
        [2] * n,
        [None] * n,
    ]
    return pa.table(columns, schema=Attacked.schema)


def known_of(truth: np.ndarray) -> tuple[int, ...]:
    return tuple((truth >= 0).sum(axis=0).tolist()) if truth.ndim == 2 else ()


def left(trial: Trial) -> list[float]:
    """The accuracy of the attacked images alone, and that of the robust answers."""
    found = [accuracy(said, trial.truth).value for said in (trial.attacked, trial.robust)]
    return [0.0 if value is None else value for value in found]


@given(seed=st.integers(0, 10**6), several=st.booleans(), attacks=st.integers(1, 4))
@settings(max_examples=60, deadline=None)
def test_whatever_attacks_did_and_claim_no_one_alone_leaves_less(seed: int, several: bool, attacks: int) -> None:
    rng, n, k = np.random.default_rng(seed), 12, 3
    truth = rng.integers(-1, 2, (n, k)) if several else rng.integers(0, k, n)
    clean = rng.random((n, k))
    tables = [table(f"a{i}", truth, clean, rng.random((n, k)), rng.random(n) < 0.5) for i in range(attacks)]
    (worst,) = trials([worst_of(*tables, known=known_of(truth))])
    for one in trials(tables):
        assert all(w <= o + 1e-12 for w, o in zip(left(worst), left(one), strict=True))
        assert (worst.success >= one.success).all()


def test_a_success_that_leaves_the_right_answer_is_no_harm() -> None:
    clean = np.array([[0.9, 0.05, 0.05]])
    at_truth = table("to-0", np.array([0]), clean, np.array([[0.99, 0.005, 0.005]]), np.array([True]))
    away = table("to-1", np.array([0]), clean, np.array([[0.1, 0.3, 0.6]]), np.array([False]))
    assert worst_of(at_truth, away)["winner"].to_pylist() == ["to-1"]


def test_flips_towards_the_truth_are_no_harm() -> None:
    truth, clean = np.array([[1, 1, 1, 1]]), np.array([[0.4, 0.4, 0.6, 0.6]])
    towards = table("towards", truth, clean, np.array([[0.6, 0.6, 0.6, 0.6]]), np.array([True]))
    away = table("away", truth, clean, np.array([[0.4, 0.4, 0.1, 0.6]]), np.array([True]))
    assert worst_of(towards, away)["winner"].to_pylist() == ["away"]


GOALS = ({}, {"goal": "least-likely"}, {"goal": "targeted", "target": 1})


@pytest.mark.parametrize("several", [False, True])
def test_the_worst_case_of_real_attacks_with_any_goals_is_below_each_and_falls_with_eps(several: bool) -> None:
    model, images = tiny_model(3, multilabel=several), tiny_images(40)
    truth = answers(model, images)
    truth[::4] = 1 - truth[::4] if several else (truth[::4] + 1) % 3
    if several:
        truth[::3, 0] = -1
    clean, grid, tables = model.predict(images.numpy()), (0.0, 0.01, 0.05), []
    for at, (kind, goal) in enumerate(product((FGSM, PGD, Square), GOALS)):
        attack = kind(name=f"{kind.__name__} {at}", **({"queries": 20} if kind is Square else {}), **goal)
        rows = []
        for eps in grid[at % 2 :]:  # every other attack has no clean point
            found = run_attack(attack, model, images, truth, eps, draws_for(40))
            moved = model.predict(found.images.numpy())
            rows.append(table(attack.called, truth.numpy(), clean, moved, found.success.numpy(), eps))
        tables.append(pa.concat_tables(rows))
    known, worst_at = known_of(truth.numpy()), []
    whole = [one for one in tables if 0.0 in one["eps"].to_pylist()]
    for worst, eps in zip(
        trials([worst_of(*(on_grid(t, grid=grid, known=known) for t in whole), known=known)]), grid, strict=True
    ):
        worst_at.append(left(worst))
        for one in trials(whole):
            if one.eps == eps:
                assert all(w <= o + 1e-12 for w, o in zip(left(worst), left(one), strict=True))
    assert worst_at == sorted(worst_at, reverse=True)
    assert worst_at[-1][0] < 0.5 * worst_at[0][0]
