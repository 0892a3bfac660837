"""The tests of an order: what the paper's says, why it misleads, and what stands beside it."""

import tracemalloc
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr

from assay.tasks.ordering.datasets import cut_points
from assay.tasks.ordering.validity import RIGHT, UNKNOWN, WRONG, Ordered, tie_free_accuracy, tie_range, trend, validity
from assay.tasks.statistics.correlation import nested_accuracy, permutation_p
from tests.tasks.ordering.in_one_place import adversarial_order, counted_at_once


def ordered(outcomes, datasets=10, scores=None) -> Ordered:
    outcomes = np.asarray(outcomes, dtype=np.int8)
    untied = np.arange(len(outcomes), 0, -1).astype(float)
    scores = untied if scores is None else np.asarray(scores)
    return counted_at_once(scores, outcomes, cut_points(len(outcomes), datasets))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, 6).map(lambda x: x / 6), min_size=3, max_size=12))
def test_the_trend_is_the_spearman_of_scipy(accuracies):
    ours = trend(accuracies)
    if len(set(accuracies)) == 1:
        assert (ours.rho, ours.p_value) == (0.0, 1.0)
    else:
        theirs = spearmanr(np.arange(len(accuracies)), accuracies)
        assert ours.rho == pytest.approx(theirs.statistic, abs=1e-12)
        assert ours.p_value == pytest.approx(theirs.pvalue, abs=1e-9)


@pytest.mark.parametrize(
    ("accuracies", "verdict"),
    [
        ([0.9, 0.8, 0.7, 0.6, 0.5], "adverse"),
        ([0.5, 0.6, 0.7, 0.8, 0.9], "violation"),
        ([0.9, 0.5, 0.8, 0.6, 0.7], "no trend"),
        ([0.5] * 5, "no trend"),
    ],
)
def test_definition_3_needs_both_a_direction_and_significance(accuracies, verdict):
    assert trend(accuracies).verdict(0.01) == verdict


def test_hits_per_stratum_follow_the_law_of_real_permutations():
    hits, sizes = np.array([2, 1, 1, 0]), np.array([2, 2, 2, 3])
    strata = np.repeat(np.arange(4), sizes)
    observed = trend(nested_accuracy(hits[None, :], sizes)[0]).rho
    as_low = [
        trend(nested_accuracy(np.bincount(strata[list(right)], minlength=4)[None, :], sizes)[0]).rho <= observed + 1e-12
        for right in combinations(range(9), int(hits.sum()))
    ]
    exact = np.mean(as_low)
    drawn = permutation_p(hits, sizes, 40_000, np.random.default_rng(0)).p_adverse
    assert drawn == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 40_000))


@pytest.mark.parametrize("chance", [0.5, 0.8])
def test_a_random_order_fools_the_nested_test_one_time_in_seven_each_way(chance):
    generator = np.random.default_rng(1)
    sizes, draws = np.full(10, 30), 3000
    hits = generator.binomial(sizes, chance, size=(draws, 10))
    verdicts = [trend(accuracies).verdict(0.01) for accuracies in nested_accuracy(hits, sizes)]
    assert 0.135 <= verdicts.count("adverse") / draws <= 0.165
    assert 0.135 <= verdicts.count("violation") / draws <= 0.165


@pytest.mark.slow
def test_the_permutation_verdict_is_calibrated():
    generator = np.random.default_rng(2)
    sizes, draws = np.full(10, 30), 3000
    tests = [
        permutation_p(generator.multivariate_hypergeometric(sizes, 240), sizes, 400, generator) for _ in range(draws)
    ]
    assert sum(test.p_adverse <= 0.01 for test in tests) / draws <= 0.015
    assert sum(test.p_violation <= 0.01 for test in tests) / draws <= 0.015
    assert any(min(test.p_adverse, test.p_violation) <= 0.01 for test in tests)


@st.composite
def tied_orders(draw):
    groups = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4))
    n = sum(groups)
    outcomes = draw(st.lists(st.sampled_from([RIGHT, WRONG, UNKNOWN]), min_size=n, max_size=n))
    cuts = sorted({*draw(st.sets(st.integers(1, n), max_size=4)), n})
    scores = np.repeat(np.arange(len(groups), 0, -1), groups).astype(float)
    return scores, np.array(outcomes, dtype=np.int8), np.array(cuts)


def all_tie_orders(scores, outcomes, cuts):
    """Every distinct way to break the ties, for at most eight samples."""
    for arrangement in permutations(range(len(scores))):
        if (scores[list(arrangement)] == scores).all():
            yield counted_at_once(scores, outcomes[list(arrangement)], cuts)


@settings(max_examples=30, deadline=None)
@given(tied_orders().filter(lambda tied: len(tied[0]) <= 7))
def test_the_tie_free_accuracy_is_the_mean_over_all_ways_to_break_ties(tied):
    means = tie_free_accuracy(counted_at_once(*tied))
    orders = list(all_tie_orders(*tied))
    hits = np.mean([np.cumsum(each.hits) for each in orders], axis=0)
    known = np.mean([np.cumsum(each.known) for each in orders], axis=0)
    for accuracy, right, of_gold in zip(means, hits, known, strict=True):
        assert (accuracy is None) == (of_gold == 0)
        if accuracy is not None:
            assert float(accuracy) == pytest.approx(right / of_gold, abs=1e-12)


@settings(max_examples=30, deadline=None)
@given(tied_orders().filter(lambda tied: len(tied[0]) <= 7 and (tied[1] != UNKNOWN).all()))
def test_the_range_over_random_tie_orders_is_the_range_over_all_of_them(tied):
    rhos = [trend(nested_accuracy(each.hits[None, :], each.known)[0]).rho for each in all_tie_orders(*tied)]
    low, high = tie_range(counted_at_once(*tied), np.random.default_rng(0), orders=4000)
    assert (low, high) == pytest.approx((min(rhos), max(rhos)), abs=1e-12)


def test_one_group_of_ties_has_no_trend_whatever_the_hash_says():
    outcomes = np.r_[np.ones(150), np.zeros(150)]
    tested = validity(ordered(outcomes, scores=np.full(300, 0.3)), 2000, np.random.default_rng(0))
    assert tested.nested.rho == pytest.approx(-1, abs=0.2)
    assert tested.tie_free.rho == 0
    assert tested.tie_range[0] < -0.5 < 0.5 < tested.tie_range[1]


def test_without_ties_the_tie_free_rho_is_the_nested_one_and_has_no_range():
    outcomes = np.random.default_rng(4).integers(0, 2, 200)
    tested = validity(ordered(outcomes), 2000, np.random.default_rng(0))
    assert tested.tie_free.rho == tested.nested.rho == tested.tie_range[0] == tested.tie_range[1]
    assert tested.permutation.rho == pytest.approx(tested.nested.rho)


def test_what_tie_orders_cost_does_not_grow_with_the_samples():
    scores = -np.sort(-np.random.default_rng(0).integers(0, 30, 200_000) / 30)
    order = ordered(np.random.default_rng(1).integers(0, 2, 200_000), scores=scores)
    tracemalloc.start()
    tie_range(order, np.random.default_rng(0))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4_000_000  # some numbers a cut and order, and none a sample


def test_a_clear_order_is_adverse_by_every_test_and_its_reverse_a_violation():
    generator = np.random.default_rng(0)
    outcomes = generator.random(600) < np.linspace(1, 0.3, 600)
    falling = validity(ordered(outcomes), 2000, generator)
    rising = validity(ordered(outcomes[::-1]), 2000, generator)
    for tested, verdict in ((falling, "adverse"), (rising, "violation")):
        assert tested.nested.verdict(0.01) == tested.disjoint.verdict(0.01) == verdict
        assert tested.tie_free.verdict(0.01) == verdict
    assert falling.permutation.p_adverse <= 0.01 < falling.permutation.p_violation
    assert rising.permutation.p_violation <= 0.01 < rising.permutation.p_adverse


def test_all_right_or_all_wrong_is_no_trend():
    for outcome in (RIGHT, WRONG):
        tested = validity(ordered([outcome] * 50), 2000, np.random.default_rng(0))
        assert tested.nested.verdict(0.01) == "no trend"
        assert tested.permutation.p_adverse == tested.permutation.p_violation == 1.0


def test_without_gold_nothing_is_measured_and_with_some_only_that_counts():
    assert validity(ordered([UNKNOWN] * 50), 2000, np.random.default_rng(0)) is None
    assert validity(ordered([UNKNOWN] * 45 + [RIGHT] * 5), 2000, np.random.default_rng(0)) is None
    falls = np.random.default_rng(0).random(400) < np.linspace(1, 0.2, 400)
    outcomes = np.where(np.arange(400) % 4 == 0, falls.astype(int), UNKNOWN)
    order = ordered(outcomes)
    assert order.known.tolist() == [10] * 10
    assert validity(order, 2000, np.random.default_rng(0)).permutation.p_adverse <= 0.01


def test_the_order_of_the_samples_decides_the_validity_and_their_names_do_not():
    scores = np.random.default_rng(0).integers(0, 5, 100) / 5
    outcomes = np.random.default_rng(1).integers(0, 2, 100)
    hashes = np.random.default_rng(2).permutation(100)
    shuffle = np.random.default_rng(3).permutation(100)

    def tested(positions):
        order = adversarial_order(scores[positions], hashes[positions])
        chosen = positions[order]
        return validity(ordered(outcomes[chosen], scores=scores[chosen]), 2000, np.random.default_rng(5))

    assert tested(shuffle) == tested(np.arange(100))
