"""Votes of neighbours, places in the plane, and labels that go together."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.neighbors import KNeighborsClassifier

from assay.data.schemas import Attacked
from assay.tasks.diagnostics.inspection import Truth, draw_images, draw_samples, truths_of
from assay.tasks.diagnostics.measures import agreement, agreement_findings, co_occurrence, count_answers, embed


@given(seed=st.integers(0, 10_000), neighbours=st.sampled_from([1, 3, 5]))
@settings(max_examples=25)
def test_votes_of_two_classes_are_those_of_scikit_learn(seed, neighbours):
    draw = np.random.default_rng(seed)
    known, asked = draw.normal(size=(40, 6)).astype(np.float32), draw.normal(size=(15, 6)).astype(np.float32)
    truths, targets = draw.integers(0, 2, 40), draw.integers(0, 2, 15)
    theirs = KNeighborsClassifier(neighbours, algorithm="brute").fit(known, truths).predict(asked)
    assert agreement(known, truths, asked, targets, neighbours).tolist() == (theirs == targets).astype(float).tolist()


def test_no_training_sample_votes_on_itself():
    places = np.array([[0.0], [0.1], [5.0], [5.1]], np.float32)
    classes = np.array([0, 1, 0, 1])
    assert agreement(places, classes, places, classes, 1).tolist() == [1, 1, 1, 1]
    assert agreement(places, classes, places, classes, 1, themselves=True).tolist() == [0, 0, 0, 0]


def test_a_draw_goes_to_the_nearest_and_the_unknown_neither_vote_nor_are_judged():
    line = np.array([[1.0], [2.0], [3.0], [4.0]], np.float32)
    at = np.array([[0.0]], np.float32)
    assert agreement(line, np.array([1, 0, 0, 1]), at, np.array([1]), 4).tolist() == [1.0]
    assert agreement(line, np.array([-1, 0, -1, -1]), at, np.array([0]), 4).tolist() == [1.0]
    assert np.isnan(agreement(line, np.array([1, 0, 0, 1]), at, np.array([-1]), 4)).all()


def test_of_several_labels_the_share_that_the_vote_gets_right_counts():
    line = np.array([[1.0], [2.0], [3.0]], np.float32)
    labels = np.array([[1, 0, 1], [1, 0, -1], [0, 0, 0]])
    asked = np.array([[1, 1, 0], [1, 0, -1]])
    found = agreement(line, labels, np.array([[0.0], [0.0]], np.float32), asked, 3)
    assert found.tolist() == [pytest.approx(1 / 3), 1.0]  # votes: yes 2 of 3, no, and yes by one half


def test_of_several_labels_few_samples_that_agree_alike_are_no_certainty():
    rows = [{"layer": "conv", "shown": "clean", "eps": 0.0, "agrees": 0.5} for _ in range(5)]
    (share,) = agreement_findings(pa.Table.from_pylist(rows), "net", several=True)
    assert share.value == 0.5
    assert share.low < 0.25
    assert share.high > 0.75


def test_an_embedding_keeps_groups_together_and_is_the_same_for_the_same_seed():
    draw = np.random.default_rng(0)
    features = np.concatenate([draw.normal(at, 0.1, (25, 20)) for at in (0, 3, 6)]).astype(np.float32)
    groups = np.repeat([0, 1, 2], 25)
    places = embed(features, 10, seed=1)
    assert places.shape == (75, 2)
    assert np.array_equal(places, embed(features, 10, seed=1))
    assert agreement(places.astype(np.float32), groups, places.astype(np.float32), groups, 5, themselves=True).all()
    assert embed(np.ones((9, 3), np.float32), 5, 0).tolist() == [[0, 0]] * 9
    assert embed(np.eye(3, dtype=np.float32), 5, 0).tolist() == [[0, 0]] * 3


def attacked(probabilities, clean=-1, after=-1, eps=0.1):
    n = len(probabilities)
    columns = {
        "id": [f"s{at}" for at in range(n)],
        "subject": ["x"] * n,
        "attack": ["pgd"] * n,
        "eps": [eps] * n,
        "gold": [0] * n,
        "labels": [None] * n,
        "clean": [clean] * n,
        "attacked": [after] * n,
        "clean_probabilities": [before for before, _ in probabilities],
        "attacked_probabilities": [later for _, later in probabilities],
        "success": [True] * n,
        "distance": [eps] * n,
        "distance_l2": [eps] * n,
        "steps": [1] * n,
        "queries": [1] * n,
        "winner": [None] * n,
    }
    return pa.table(columns, schema=Attacked.schema)


def test_labels_are_counted_by_hand_before_and_after():
    table = attacked([([0.9, 0.8, 0.1], [0.9, 0.9, 0.9]), ([0.6, 0.1, 0.1], [0.1, 0.1, 0.1])])
    found = count_answers(table, eps=0.1, classes=3)
    assert found["clean"].tolist() == [[2, 1, 0], [1, 1, 0], [0, 0, 0]]
    assert found["attacked"].tolist() == [[1, 1, 1]] * 3
    assert found["clean alone"].tolist() == [1, 0, 0]
    assert found["attacked alone"].tolist() == [0, 0, 0]
    assert found["images"].tolist() == [2]
    assert not found["moved"].any()
    assert count_answers(table, eps=0.2, classes=3)["images"].tolist() == [0]


def test_of_single_classes_it_is_counted_what_became_of_each():
    found = count_answers(attacked([([1, 0], [0, 1])] * 3, clean=0, after=1), eps=0.1, classes=2)
    assert found["moved"].tolist() == [[0, 3], [0, 0]]
    assert not found["clean"].any()


@given(st.lists(st.lists(st.booleans(), min_size=4, max_size=4), min_size=1, max_size=30), st.integers(0, 29))
@settings(max_examples=30)
def test_co_occurrence_is_symmetric_and_adds_up_over_any_cut(rows, at):
    named = np.array(rows, bool)
    whole = co_occurrence(named)
    assert np.array_equal(whole, whole.T)
    assert (whole <= np.minimum.outer(np.diag(whole), np.diag(whole))).all()
    assert np.array_equal(whole, co_occurrence(named[:at]) + co_occurrence(named[at:]))


def test_images_that_were_right_and_fell_are_looked_at_first_and_evenly_over_the_classes():
    truths = {f"s{at}": Truth(at % 2) for at in range(20)}
    rows = [
        {**row, "id": f"s{at}", "gold": at % 2, "clean": at % 2 if at != 4 else 1 - at % 2, "success": at < 6}
        for at, row in enumerate(attacked([([1, 0], [0, 1])] * 20).to_pylist())
    ]
    table = pa.Table.from_pylist(rows, schema=Attacked.schema)
    chosen = draw_images(truths, table, 0.1, 4)
    assert chosen <= {"s0", "s1", "s2", "s3", "s5"}  # s4 was wrong before
    assert sorted(truths[one].gold for one in chosen) == [0, 0, 1, 1]
    assert len(draw_images(truths, table, 0.1, 12)) == 12
    assert len(draw_samples(truths, 8)) == 8


def test_truths_of_several_labels_are_coloured_by_the_first():
    table = pa.table({"id": ["a", "b", "c"], "gold": [None] * 3, "labels": [[0, 1, 1], [0, 0, -1], None]})
    found = truths_of(table)
    assert [one.code for one in found.values()] == [1, -1, -1]
    assert found["c"].labels == (-1, -1, -1)
