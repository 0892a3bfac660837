"""θ_relate is what the paper's binary search finds; unknown words take no part in anything."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.infra.errors import InputError
from assay.tasks.language.embeddings.provider import TableProvider
from assay.tasks.language.relatedness import (
    balanced_threshold,
    cosines,
    mean_vector,
    pair_cosines,
    random_pairs,
    theta_relate,
)
from assay.tasks.language.synonyms import synonym_pairs


def called_related(threshold, related, unrelated):
    return int((related >= threshold).sum()), int((unrelated >= threshold).sum())


def searched(related, unrelated, above):
    """TOKI's binary search; where many thresholds balance, the highest (`above`) or the lowest of them."""
    low, high = -1.001, 1.001
    for _ in range(60):
        middle = (low + high) / 2
        count = sum(called_related(middle, related, unrelated))
        if count > len(related) or (above and count == len(related)):
            low = middle
        else:
            high = middle
    return low if above else high


def measures(threshold, related, unrelated):
    """Precision and recall of `related`, then of `unrelated`."""
    hits, false = called_related(threshold, related, unrelated)
    n = len(related)
    return hits / (hits + false), hits / n, (n - false) / (2 * n - hits - false), (n - false) / n


similarities = st.integers(3, 60).flatmap(
    lambda n: st.lists(st.integers(-(10**6), 10**6), min_size=2 * n, max_size=2 * n, unique=True)
)


@pytest.mark.slow
@settings(max_examples=200)
@given(similarities)
def test_theta_is_the_middle_of_the_thresholds_at_which_the_papers_search_stops(values):
    pooled = np.array(values) / 10**6
    related, unrelated = pooled[: len(pooled) // 2], pooled[len(pooled) // 2 :]
    theta = balanced_threshold(related, unrelated)
    lowest, highest = searched(related, unrelated, above=False), searched(related, unrelated, above=True)
    assert theta == pytest.approx((lowest + highest) / 2, abs=1e-6)
    assert called_related(theta, related, unrelated) == called_related(highest, related, unrelated)
    assert len(set(np.round(measures(theta, related, unrelated), 12))) == 1


def test_theta_equals_the_search_to_a_millionth_where_pairs_are_many():
    generator = np.random.default_rng(0)
    related, unrelated = generator.normal(0.5, 0.1, 400_000), generator.normal(0.35, 0.1, 400_000)
    theta = balanced_threshold(related, unrelated)
    assert theta == pytest.approx(searched(related, unrelated, above=True), abs=1e-6)
    assert theta == pytest.approx(0.425, abs=1e-3)
    assert np.ptp(measures(theta, related, unrelated)) < 1e-6


def provider_of(words, seed=0, unknown=()):
    generator = np.random.default_rng(seed)
    vectors = generator.normal(size=(len(words), 8)).astype(np.float32)
    vectors[[words.index(word) for word in unknown]] = np.nan
    return TableProvider("made", words, vectors)


def test_pairs_with_an_unknown_word_are_left_out_on_both_sides():
    pairs = [(f"a{i}", f"b{i}") for i in range(20)]
    provider = provider_of(sorted(sum(pairs, ())), unknown=["a3", "b7"])
    theta = theta_relate(provider, pairs)
    assert (theta.pairs, theta.unknown) == (18, 2)
    without = [pair for pair in pairs if pair[0] not in ("a3", "a7")]
    assert theta_relate(provider, without).value == theta.value


def test_theta_is_the_same_for_the_same_seed_and_order_free():
    pairs = [(f"a{i}", f"b{i}") for i in range(30)]
    provider = provider_of(sorted(sum(pairs, ())))
    assert theta_relate(provider, pairs, seed=3) == theta_relate(provider, list(pairs), seed=3)
    assert theta_relate(provider, pairs, seed=3).value != theta_relate(provider, pairs, seed=4).value


def test_too_few_known_pairs_are_an_error_that_says_what_to_do():
    pairs = [(f"a{i}", f"b{i}") for i in range(30)]
    with pytest.raises(InputError, match=r"made know only 9 of 30 synonym pairs.*trust\.synonyms, or set trust\.theta"):
        theta_relate(provider_of([word for pair in pairs[:9] for word in pair]), pairs)


@given(st.integers(4, 40), st.integers(0, 99))
def test_random_pairs_are_as_many_distinct_and_never_synonyms(count, seed):
    synonyms = [(2 * i, 2 * i + 1) for i in range(count)]
    drawn = random_pairs(synonyms, seed)
    assert len(drawn) == len({frozenset(pair) for pair in drawn}) == count
    assert all(a != b and a // 2 != b // 2 for a, b in drawn)


def test_words_that_are_all_synonyms_of_each_other_leave_no_random_pairs():
    with pytest.raises(InputError, match="too few words"):
        random_pairs([(0, 1), (0, 2), (1, 2)], seed=0)


def test_the_shipped_pairs_are_told_from_random_ones_by_vectors_made_of_their_meanings():
    pairs = synonym_pairs()
    words = sorted({word for pair in pairs for word in pair})
    generator = np.random.default_rng(0)
    vectors = {word: generator.normal(size=50) for word in words}
    for a, b in pairs:
        vectors[b] = vectors[a] + 0.3 * vectors[b]
    theta = theta_relate(TableProvider("x", words, np.array([vectors[w] for w in words], dtype=np.float32)), pairs)
    assert theta.pairs == len(pairs)
    assert theta.balance > 0.9


def test_cosines_are_scipys_and_the_same_bits_in_any_company():
    from scipy.spatial.distance import cdist

    generator = np.random.default_rng(1)
    these, those = (generator.normal(size=(n, 17)).astype(np.float32) for n in (600, 40))
    found = cosines(these, those)
    np.testing.assert_allclose(found, 1 - cdist(these.astype(float), those.astype(float), "cosine"), atol=1e-12)
    np.testing.assert_array_equal(cosines(these[300:301], those), found[300:301])
    np.testing.assert_allclose(pair_cosines(these[:40], those), np.diag(found[:40]), atol=1e-12)


def test_an_unknown_or_empty_vector_has_no_cosine():
    vectors = np.array([[np.nan, np.nan], [0, 0], [1, 1]], dtype=np.float32)
    assert np.isnan(cosines(vectors, vectors)).sum() == 8
    assert cosines(vectors[:0], vectors).shape == (0, 3)


def test_a_mean_counts_what_is_known():
    known = np.array([[1, 0], [np.nan, np.nan], [0, 1]], dtype=np.float32)
    assert mean_vector(known).tolist() == [0.5, 0.5]
    assert np.isnan(mean_vector(np.zeros((0, 3), dtype=np.float32))).all()
