"""Neighbours are those that gensim finds, in an order that nothing but words and vectors decides."""

import numpy as np
from gensim.models import KeyedVectors
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.tasks.language.embeddings.provider import TableProvider
from assay.tasks.language.relatedness import Vocabulary

WORDS = [f"w{i:03d}" for i in range(200)]


def test_neighbours_are_gensims():
    vectors = np.random.default_rng(0).normal(size=(200, 12)).astype(np.float32)
    keyed = KeyedVectors(12)
    keyed.add_vectors(WORDS, vectors)
    found = Vocabulary(WORDS, vectors).nearest(WORDS[:20], vectors[:20], 7)
    for word, near in zip(WORDS[:20], found, strict=True):
        theirs = keyed.most_similar(word, topn=7)
        assert [one.word for one in near] == [name for name, _ in theirs]
        np.testing.assert_allclose([one.cosine for one in near], [cosine for _, cosine in theirs], atol=1e-5)


@settings(max_examples=30)
@given(st.randoms(use_true_random=False), st.integers(1, 12))
def test_equal_cosines_come_in_alphabetical_order_however_words_are_given(shuffler, count):
    words = WORDS[:12]
    shuffler.shuffle(words)
    near = Vocabulary(words, np.ones((12, 3), dtype=np.float32)).nearest(
        ["x"], np.ones((1, 3), dtype=np.float32), count
    )
    assert [one.word for one in near[0]] == WORDS[:count]


def test_a_word_is_not_its_own_neighbour_and_far_ones_can_be_left_out():
    vectors = np.array([[1, 0], [1, 0.1], [0, 1], [np.nan, np.nan]], dtype=np.float32)
    provider = TableProvider("x", ["a", "b", "c", "unknown"], vectors)
    vocabulary = Vocabulary.of(provider, ["unknown", "c", "b", "a", "a", "missing"])
    asked = ["a", "unknown", "c"]
    found = vocabulary.nearest(asked, provider.vectors(asked), 5, least=0.5)
    assert [[one.word for one in near] for near in found] == [["b"], [], []]


def test_an_empty_vocabulary_has_no_neighbours():
    assert Vocabulary([], np.zeros((0, 2), dtype=np.float32)).nearest(["a"], np.ones((1, 2), dtype=np.float32), 3) == [
        []
    ]
