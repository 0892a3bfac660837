"""Clusters are those of average linkage on all words at once, in whatever order words come."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import pdist

from assay.infra.errors import InputError
from assay.tasks.trust import keywords
from assay.tasks.trust.keywords import cluster_words


def together(labels):
    """A partition as a set of sets of positions."""
    return {
        frozenset(np.flatnonzero(np.asarray(labels) == label).tolist()) for label in set(np.asarray(labels).tolist())
    }


def names(n):
    return [f"w{i:04d}" for i in range(n)]


@settings(max_examples=60)
@given(st.integers(2, 60), st.integers(0, 10**6), st.sampled_from([0.05, 0.2, 0.3, 0.6, 1.0]))
def test_clusters_equal_scipys_on_all_distances(n, seed, theta):
    generator = np.random.default_rng(seed)
    centres = generator.normal(size=(max(n // 6, 1), 6))
    vectors = (centres[generator.integers(len(centres), size=n)] + 0.4 * generator.normal(size=(n, 6))).astype(
        np.float32
    )
    whole = fcluster(linkage(pdist(vectors.astype(float), "cosine"), "average"), theta, "distance")
    assert together(cluster_words(names(n), vectors, theta)) == together(whole)


@settings(max_examples=30)
@given(st.integers(1, 40), st.randoms(use_true_random=False))
def test_the_order_of_words_has_no_say_even_among_ties(n, shuffler):
    vectors = np.array([[i % 3, (i * 7) % 4, 1] for i in range(n)], dtype=np.float32)  # many equal distances
    words = names(n)
    order = list(range(n))
    shuffler.shuffle(order)
    plain = cluster_words(words, vectors, 0.1)
    shuffled = cluster_words([words[i] for i in order], vectors[order], 0.1)
    assert shuffled.tolist() == plain[order].tolist()


def test_clusters_are_numbered_by_their_first_word_and_unknown_words_are_alone():
    vectors = np.array([[0, 1], [1, 0], [np.nan, np.nan], [1, 0.1], [0, 0]], dtype=np.float32)
    assert cluster_words(["e", "a", "b", "c", "d"], vectors, 0.3).tolist() == [3, 0, 1, 0, 2]


def test_no_words_make_no_clusters():
    assert cluster_words([], np.zeros((0, 3), dtype=np.float32), 0.3).tolist() == []


def test_words_that_all_hang_together_are_refused_before_memory_is(monkeypatch):
    monkeypatch.setattr(keywords, "LARGEST", 50)
    with pytest.raises(InputError, match=r"51 words of a pool hang together.*lower trust\.theta_dist"):
        cluster_words(names(51), np.ones((51, 2), dtype=np.float32), 0.3)


def test_many_words_that_do_not_hang_together_are_no_burden():
    import tracemalloc

    n = 6000
    vectors = np.random.default_rng(0).normal(size=(n, 50)).astype(np.float32)
    tracemalloc.start()
    labels = cluster_words(names(n), vectors, 0.2)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(set(labels.tolist())) > 0.9 * n
    assert peak < 100e6  # all distances alone would be 144 MB
