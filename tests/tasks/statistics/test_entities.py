"""Entities and their scores are seqeval's, and a bootstrap of counts is one of sentences."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from seqeval.metrics import f1_score, precision_score, recall_score
from seqeval.metrics.sequence_labeling import get_entities

from assay.tasks.statistics.entities import entities_of, percentiles, resampled, scores

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
