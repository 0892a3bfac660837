"""Two runs of the same samples: a regression is seen, equal models are not told apart, other samples are said to
be.

And: shares add up, treat alike what is alike, and their intervals hold the truth as often as they say.
"""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.tasks.statistics.between_runs import (
    RunDifference,
    Sampled,
    by_intervals,
    coalitions,
    difference,
    orders,
    right_or_wrong,
    share_weights,
    with_intervals,
)
from assay.tasks.statistics.findings import Finding

N = 450


IDS = [f"s{number:05d}" for number in range(6000)]


def runs_of(right: float, lost: float, gained: float, rng: np.random.Generator, n: int = N) -> tuple[Sampled, Sampled]:
    """A run, and a later one that loses and gains some of the samples' right answers."""
    before = rng.random(n) < right
    after = np.where(before, rng.random(n) >= lost, rng.random(n) < gained)
    return right_or_wrong(IDS[:n], before), right_or_wrong(IDS[:n], after)


def compared(one: Sampled, other: Sampled, level: float = 0.95) -> RunDifference:
    found = difference(one, other, np.random.default_rng(0), level)
    assert found is not None
    return found


def marked(right: float, lost: float, gained: float, draws: int, rng: np.random.Generator) -> float:
    return float(np.mean([compared(*runs_of(right, lost, gained, rng)).p <= 0.05 for _ in range(draws)]))


def test_a_loss_of_three_points_is_seen_in_seven_of_ten_draws_and_equal_models_in_one_of_twenty() -> None:
    rng = np.random.default_rng(15)
    assert marked(0.96, 0.04 / 0.96, 0.25, 150, rng) >= 0.70  # .96 → .93, and one in a hundred gained
    assert marked(0.96, 0.02 / 0.96, 0.5, 150, rng) <= 0.09  # as many lost as gained; .05, and two standard errors


def test_groups_of_samples_do_not_make_chance_look_like_a_change() -> None:
    rng, groups = np.random.default_rng(4), np.repeat([f"p{number}" for number in range(75)], 4)
    false = {True: 0, False: 0}
    for _ in range(150):
        before = rng.random(300) < 0.9
        swapped = np.repeat(rng.random(75) < 0.1, 4)  # whole patients change, as often for the better as for the worse
        after = np.where(swapped, np.repeat(rng.random(75) < 0.5, 4), before)
        before = np.where(swapped, np.repeat(rng.random(75) < 0.5, 4), before)
        one, other = right_or_wrong(IDS[:300], before), right_or_wrong(IDS[:300], after)
        for grouped in false:
            kept = groups if grouped else None
            sides = [Sampled(side.ids, side.above, side.below, kept) for side in (one, other)]
            false[grouped] += compared(sides[0], sides[1]).p <= 0.05
    assert false[True] / 150 <= 0.08 < false[False] / 150


@pytest.mark.parametrize("groups", [None, np.array([f"g{number % 40}" for number in range(N)])])
def test_scores_are_resampled_by_group(groups: np.ndarray | None) -> None:
    rng = np.random.default_rng(1)
    hits = rng.integers(0, 5, N).astype(np.float64)
    before = Sampled(np.array(IDS[:N]), hits, np.full(N, 5.0), groups)
    worse = Sampled(before.ids, np.maximum(hits - (rng.random(N) < 0.2), 0), before.below, groups)
    found = compared(before, worse)
    assert found.how == "paired bootstrap"
    assert found.value == pytest.approx(worse.value - before.value)
    assert found.low < found.value < found.high < 0
    assert found.p < 0.01
    beyond = compared(before, worse, level=0.9999)  # resamples do not reach so far
    assert beyond.how == "paired, by Student's t"
    assert beyond.low < found.low


@given(st.permutations(range(40)), st.integers(0, 40))
def test_the_order_of_the_samples_does_not_matter(order: list[int], right: int) -> None:
    before, after = right_or_wrong(IDS[:40], np.arange(40) < right), right_or_wrong(IDS[:40], np.arange(40) % 3 > 0)
    assert compared(before, after.at(np.array(order))) == compared(before, after)


def test_identical_outcomes_are_no_change() -> None:
    before, _ = runs_of(0.9, 0, 0, np.random.default_rng(3))
    found = compared(before, before.at(np.arange(N)[::-1]))
    assert (found.value, found.p, found.identical) == (0.0, 1.0, True)


def test_partly_replaced_samples_are_compared_over_all_and_on_those_that_both_have() -> None:
    before, after = runs_of(0.9, 0.1, 0.0, np.random.default_rng(3))
    before, after = before.at(np.arange(400)), after.at(np.arange(50, N))
    change = compared(before, after)
    assert (change.how, change.is_paired) == ("all samples", False)
    assert change.value == pytest.approx(after.value - before.value)
    assert change.shared is not None
    assert change.new is not None
    assert (change.shared.how, change.shared.n, change.new.how) == ("McNemar", 350, "other samples")
    assert difference(before, after, np.random.default_rng(0), on="shared") == change.shared
    assert difference(before, after, np.random.default_rng(0), on="new") == change.new


def test_a_new_file_with_wrong_labels_is_heard_though_nothing_changed_on_the_samples_of_before() -> None:
    """2,400 samples at 88 %, then 600 more, 30 % with a wrong label: who looks at the shared ones hears nothing."""
    rng = np.random.default_rng(0)
    ids, right = [f"s{n:04}" for n in range(3000)], np.concatenate([rng.random(2400) < 0.88, rng.random(600) < 0.62])
    before, after = right_or_wrong(ids[:2400], right[:2400]), right_or_wrong(ids, right)
    change = compared(before, after, level=0.9999)
    assert change.high < -0.02
    assert change.shared is not None
    assert change.shared.identical
    assert change.new is not None
    assert change.new.high < -0.2


@pytest.mark.slow
@pytest.mark.parametrize(("kept", "grouped"), [(0.9, False), (0.5, False), (0.5, True), (0.1, False)])
def test_the_interval_over_all_samples_holds_the_true_change_as_often_as_it_says(kept: float, grouped: bool) -> None:
    rng, n, true, held = np.random.default_rng(1), 400, -0.02, []
    ids, start = [f"s{number:04}" for number in range(2 * n)], round(n * (1 - kept))
    groups = np.array([f"g{number // 4}" for number in range(2 * n)]) if grouped else None
    for _ in range(400):
        # Of a group all are alike, which is the worst case.
        luck = np.repeat(rng.random(n // 2), 4) if grouped else rng.random(2 * n)
        was, now = luck < 0.9, luck < 0.9 + true
        before, after = right_or_wrong(ids[:n], was[:n]), right_or_wrong(ids[start : start + n], now[start : start + n])
        if groups is not None:
            before, after = replace(before, groups=groups[:n]), replace(after, groups=groups[start : start + n])
        change = compared(before, after)
        held.append(change.low <= true <= change.high)
    assert 0.92 <= np.mean(held) <= 0.985


def test_all_right_in_both_runs_leaves_an_interval_that_is_no_point() -> None:
    before, after = (right_or_wrong(IDS[start : start + 100], np.ones(100, np.bool_)) for start in (0, 50))
    change = compared(before, after)
    assert change.value == 0
    assert change.low < 0 < change.high


def test_other_samples_are_said_to_be_others() -> None:
    rng = np.random.default_rng(3)
    before = right_or_wrong(IDS[:N], rng.random(N) < 0.96)
    after = right_or_wrong(IDS[N : 2 * N], rng.random(N) < 0.7)
    found = compared(before, after)
    assert (found.how, found.is_paired) == ("other samples", False)
    assert found.high < 0
    assert found.p < 1e-6


def test_a_finding_without_an_interval_cannot_be_compared() -> None:
    assert by_intervals(Finding("a.b", value=1.0), Finding("a.b", value=2.0, low=1.9, high=2.1)) is None


def test_the_range_that_ties_leave_is_no_interval_to_compare_by() -> None:
    before, after = (Finding("ordering.spearman_tie_free", value=rho, low=rho, high=rho, n=294) for rho in (-0.9, -1.0))
    assert by_intervals(before, after) is None


def test_without_samples_there_is_no_difference() -> None:
    nothing = right_or_wrong([], np.zeros(0, np.bool_))
    assert difference(nothing, nothing, np.random.default_rng(0)) is None


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


def test_of_more_than_four_six_orders_are_drawn_in_pairs_and_shares_are_near_shapleys() -> None:
    drawn = orders(NAMES)
    assert len(set(drawn)) == 6
    assert drawn[1::2] == [order[::-1] for order in drawn[::2]]
    assert drawn == orders(NAMES)  # the same on any day
    worth = dict(zip(NAMES, range(1, 7), strict=True))
    alone = np.array([sum(worth[name] for name in chosen) for chosen in coalitions(NAMES)], dtype=np.float64)
    assert share_weights(NAMES) @ alone == pytest.approx(list(worth.values()))
    paired = [float({"rules", "model"} <= chosen) for chosen in coalitions(NAMES)]  # worth something together only
    assert (share_weights(NAMES) @ np.array(paired))[1:3] == pytest.approx([0.5, 0.5])


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


@pytest.mark.slow
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
