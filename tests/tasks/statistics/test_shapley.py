"""Shares add up, treat alike what is alike, and their intervals hold the truth as often as they say."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.tasks.statistics.between_runs import Sampled, coalitions, orders, share_weights, with_intervals

NAMES = ("samples", "rules", "model", "weights", "settings", "seed")


@given(st.integers(1, 6), st.integers(0, 10_000))
def test_shares_add_up_to_the_whole_whatever_the_values(players: int, seed: int) -> None:
    names = NAMES[:players]
    values = np.random.default_rng(seed).normal(size=len(coalitions(names)))
    assert (share_weights(names) @ values).sum() == pytest.approx(values[-1] - values[0], abs=1e-12)


@pytest.mark.parametrize("players", [1, 2, 3, 4])
def test_up_to_four_it_is_shapleys_value_by_its_formula(players: int) -> None:
    names, met = NAMES[:players], coalitions(NAMES[:players])
    values = dict(zip(met, np.random.default_rng(players).normal(size=len(met)), strict=True))
    shares = share_weights(names) @ [values[one] for one in met]
    for at, name in enumerate(names):
        others = [one for one in names if one != name]
        expected = 0.0
        for size in range(players):
            weight = math.factorial(size) * math.factorial(players - size - 1) / math.factorial(players)
            for chosen in itertools.combinations(others, size):
                expected += weight * (values[frozenset({*chosen, name})] - values[frozenset(chosen)])
        assert shares[at] == pytest.approx(expected)


def test_more_than_four_go_forward_and_backward() -> None:
    assert orders(NAMES) == [NAMES, NAMES[::-1]]
    assert len(coalitions(NAMES)) == 2 + 2 * (len(NAMES) - 1)


def test_what_changes_nothing_has_no_share_and_no_width() -> None:
    ids = np.array([f"s{n}" for n in range(60)], dtype=np.str_)
    one, other = (Sampled(ids, (np.arange(60) < right).astype(float), np.ones(60)) for right in (50, 40))
    met = [one, other, one, other]  # by coalitions of (a, b): only a changes anything
    found = with_intervals(share_weights("ab"), [each.value for each in met], met, np.random.default_rng(0))
    assert found[1] == pytest.approx((0.0, 0.0, 0.0), abs=1e-12)
    assert found[0].value == pytest.approx(-10 / 60)


def test_without_single_outcomes_there_is_a_share_and_no_interval() -> None:
    (found,) = with_intervals(np.array([[-1.0, 1.0]]), [0.9, 0.8], [None, None], np.random.default_rng(0))
    assert found.value == pytest.approx(-0.1)
    assert math.isnan(found.low)


@pytest.mark.parametrize("per_group", [1, 4])
def test_intervals_hold_the_truth_as_often_as_they_say(per_group: int) -> None:
    """Three changes that get in each other's way, on 200 fresh samples at a time, alone or in groups that are alike."""
    generator, names = np.random.default_rng(5), NAMES[:3]
    weights, met = share_weights(names), coalitions(names)

    def draw(groups: int) -> list[Sampled]:
        hard = np.repeat(generator.random(groups), per_group)  # a group is as hard as a whole
        ids = np.array([f"s{n}" for n in range(len(hard))], dtype=np.str_)
        alike = np.repeat(np.arange(groups), per_group).astype(str)
        noise = generator.random(len(hard))
        found = []
        for one in met:
            bar = 0.9 - 0.1 * ("samples" in one) - 0.15 * ("rules" in one) * (0.5 if "samples" in one else 1.0)
            right = (hard < bar) & ~((noise < 0.08) & ("model" in one))
            found.append(Sampled(ids, right.astype(float), np.ones(len(hard)), alike))
        return found

    truth = weights @ [one.value for one in draw(400_000 // per_group)]
    held = np.zeros(len(names))
    for _ in range(200):
        sampled = draw(200 // per_group)
        each = with_intervals(weights, [one.value for one in sampled], sampled, generator)
        held += [one.low <= value <= one.high for one, value in zip(each, truth, strict=True)]
    print(per_group, held / 200)
    assert (held / 200 >= 0.89).all(), held / 200
