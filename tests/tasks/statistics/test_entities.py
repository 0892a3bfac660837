"""Entities and their scores are seqeval's, and a bootstrap of counts is one of sentences.

And: approximate randomisation: exact where it can be, as scipy's, and at its level where entities come in
clusters.
"""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import permutation_test
from seqeval.metrics import f1_score, precision_score, recall_score
from seqeval.metrics.sequence_labeling import get_entities

from assay.tasks.statistics.entities import entities_of, percentiles, randomisation_p, resampled, scores
from assay.tasks.statistics.paired import mcnemar

tags = st.sampled_from(["O", "B-Disease", "I-Disease", "B-Chemical", "I-Chemical"])


def counts(gold, said):
    rows = [(set(entities_of(one)), set(entities_of(other))) for one, other in zip(gold, said, strict=True)]
    return np.array([(len(there & named), len(named), len(there)) for there, named in rows])


@settings(max_examples=150)
@given(st.lists(tags, max_size=12))
def test_entities_are_those_of_seqeval_also_where_tags_break_the_convention(sentence):
    ours = [(one.kind, one.first, one.last - 1) for one in entities_of(sentence)]
    assert ours == [tuple(one) for one in get_entities(sentence)]


@settings(max_examples=100)
@given(st.lists(st.lists(st.tuples(tags, tags), min_size=1, max_size=8), min_size=1, max_size=6))
def test_scores_are_those_of_seqeval(sentences):
    gold, said = ([[pair[side] for pair in one] for one in sentences] for side in (0, 1))
    ours = scores(counts(gold, said).sum(axis=0))
    theirs = [one(gold, said, zero_division=0) for one in (precision_score, recall_score, f1_score)]
    assert np.allclose([*map(float, ours)], theirs)


def test_resampled_systems_meet_the_same_sentences():
    rng = np.random.default_rng(0)
    first = rng.integers(0, 3, size=(50, 3))
    ours, theirs = resampled([first, first + 1], rng, resamples=200)
    assert (theirs - ours == 50).all()  # one more in each of fifty sentences, whichever they are


def test_the_bootstrap_is_that_of_drawing_sentences_one_by_one():
    rng = np.random.default_rng(1)
    there = rng.integers(0, 4, size=200)
    found = rng.binomial(there, 0.7)
    rows = np.stack([found, there, there], axis=1)
    low, high = percentiles(scores(resampled([rows], np.random.default_rng(2))[0]).f1)
    drawn = np.random.default_rng(3).integers(0, 200, size=(5000, 200))
    slow_low, slow_high = percentiles(found[drawn].sum(axis=1) / there[drawn].sum(axis=1))
    assert (low, high) == (pytest.approx(slow_low, abs=0.004), pytest.approx(slow_high, abs=0.004))


def test_no_entities_score_nothing():
    assert scores([0, 0, 0]) == (0.0, 0.0, 0.0)
    assert all(np.isnan(end) for end in percentiles(np.array([np.nan])))


def test_no_sentences_have_no_resamples():
    nothing = np.zeros((0, 3), dtype=np.int64)
    assert [one.shape for one in resampled([nothing, nothing], np.random.default_rng(0))] == [(0, 3), (0, 3)]


def sentences(n: int, seed: int) -> np.ndarray:
    """Found, named and there [n, 3]."""
    rng = np.random.default_rng(seed)
    there = rng.integers(0, 5, n)
    found = rng.binomial(there, 0.6)
    return np.stack([found, found + rng.integers(0, 2, n), there], axis=1)


def two_systems(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    first, second = sentences(n, seed), sentences(n, seed + 1000)
    second[:, 2] = first[:, 2]
    second[:, 0] = np.minimum(second[:, 0], second[:, 2])
    return first, second


@pytest.mark.parametrize("seed", range(4))
def test_few_sentences_are_counted_in_every_way_they_can_be_swapped(seed):
    first, second = two_systems(7, seed)
    observed = abs(scores(first.sum(axis=0)).f1 - scores(second.sum(axis=0)).f1)
    as_far = 0
    for swaps in product([False, True], repeat=7):
        swapped = np.array(swaps)[:, None]
        ours, theirs = np.where(swapped, second, first).sum(axis=0), np.where(swapped, first, second).sum(axis=0)
        as_far += abs(scores(ours).f1 - scores(theirs).f1) >= observed - 1e-12
    assert randomisation_p(first, second, np.random.default_rng(0)) == as_far / 2**7


@pytest.mark.parametrize("n", [10, 40])
def test_it_is_scipys_permutation_test_of_samples(n):
    first, second = two_systems(n, 3)
    first[: n // 3] = np.stack([second[: n // 3, 2]] * 3, axis=1)  # a difference that neither end of [0, 1] hides

    def apart(ours, theirs, axis):
        found = [
            scores(np.stack([one[part].sum(axis=axis) for part in range(3)], axis=-1)).f1 for one in (ours, theirs)
        ]
        return found[0] - found[1]

    def difference(*places, axis):  # scipy swaps whole sentences by swapping their numbers
        rows = np.stack([first, second])
        which = [place.astype(int) for place in places]
        gathered = [np.moveaxis(rows.reshape(-1, 3)[one], -1, 0) for one in which]
        return apart(*gathered, axis=-1)

    places = (np.arange(n).astype(float), np.arange(n, 2 * n).astype(float))
    theirs = permutation_test(
        places,
        difference,
        permutation_type="samples",
        n_resamples=1024 if n == 10 else 4999,
        vectorized=True,
        rng=np.random.default_rng(1),
    ).pvalue
    ours = randomisation_p(first, second, np.random.default_rng(0))
    assert 1e-4 < ours < 0.6
    assert ours == pytest.approx(theirs, abs=1e-9 if n == 10 else 4 * np.sqrt(0.25 / 4999))


def test_the_level_holds_where_the_entities_of_a_sentence_share_their_fate_and_mcnemars_does_not():
    rng, rejected, by_entity = np.random.default_rng(5), 0, 0
    for _ in range(300):
        there = rng.integers(3, 9, 12)
        hit = rng.random((2, 12)) < 0.5  # a sentence is read whole or not at all, by either of two like systems
        first, second = (np.stack([one * there, one * there, there], axis=1) for one in hit)
        rejected += randomisation_p(first, second, rng) <= 0.05
        by_entity += mcnemar(np.repeat(hit[0], there), np.repeat(hit[1], there)) <= 0.05
    assert rejected / 300 <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 300)
    assert by_entity / 300 > 0.3


def test_many_sentences_are_drawn_and_keep_to_what_the_draws_allow():
    found, missed = np.array([[1, 1, 1]] * 40), np.array([[0, 0, 1]] * 40)
    assert randomisation_p(found, missed, np.random.default_rng(0), draws=999) == 1 / 1000
    mixed = np.concatenate([found[:20], missed[:20]]), np.concatenate([missed[:20], found[:20]])
    assert randomisation_p(*mixed, np.random.default_rng(0), draws=999) == 1.0


def test_it_does_not_matter_which_system_comes_first_and_alike_ones_do_not_differ():
    first, second = two_systems(12, 8)
    one, other = (randomisation_p(*pair, np.random.default_rng(0)) for pair in ((first, second), (second, first)))
    assert one == other
    assert randomisation_p(first, first, np.random.default_rng(0)) == 1.0
    assert randomisation_p(first[:0], first[:0], np.random.default_rng(0)) == 1.0
    with pytest.raises(ValueError, match="the same sentences"):
        randomisation_p(first, second[:3], np.random.default_rng(0))
