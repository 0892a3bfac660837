"""The closed form against the `lime` package: the same masks and probabilities, the same words and coefficients."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lime.lime_base import LimeBase
from sklearn.linear_model import LinearRegression
from sklearn.metrics.pairwise import pairwise_distances

from assay.tasks.trust.explainers.documents import distinct_masks, draw_masks
from assay.tasks.trust.explainers.lime import Moments, explain_class, forward_selection, moments, proximity


def kernel(distances):
    return np.sqrt(np.exp(-(distances**2) / 25**2))


def perturbed(words, samples=800, seed=0, classes=3):
    """Masks as LIME draws them, and probabilities that no linear model fits exactly."""
    generator = np.random.default_rng(seed)
    (masks,) = draw_masks(words, samples, generator)
    logits = masks @ generator.normal(size=(words, classes)) + np.sin(3 * masks @ generator.normal(size=(words, 1)))
    powers = np.exp(logits)
    return masks, powers / powers.sum(axis=1, keepdims=True)


def by_the_package(masks, probabilities, target, words):
    data = masks.astype(float)
    distances = pairwise_distances(data, data[:1], metric="cosine").ravel() * 100
    _, pairs, _, _ = LimeBase(kernel).explain_instance_with_data(data, probabilities, distances, target, words)
    return [int(word) for word, _ in pairs], np.array([coefficient for _, coefficient in pairs])


def ours(masks, probabilities, target, words):
    distinct, counts = distinct_masks(masks)
    place = {mask.tobytes(): row for row, mask in enumerate(masks)}
    answers = probabilities[[place[mask.tobytes()] for mask in distinct]]
    chosen, coefficients = explain_class(moments(distinct, counts, answers), target, words)
    return chosen.tolist(), coefficients


@pytest.mark.slow
@pytest.mark.parametrize("top", [1, 3, 5, 6, 7, 10, 20])
@pytest.mark.parametrize("words", [1, 2, 5, 12, 30])
def test_coefficients_are_the_packages_to_1e_10_with_the_same_words_in_the_same_order(words, top):
    masks, probabilities = perturbed(words, seed=words)
    for target in range(3):
        expected, coefficients = by_the_package(masks, probabilities, target, top)
        found, own = ours(masks, probabilities, target, top)
        assert found == expected
        assert np.abs(own - coefficients).max() < 1e-10


def test_five_thousand_masks_of_a_hundred_words_give_the_packages_coefficients():
    masks, probabilities = perturbed(100, samples=5000)
    expected, coefficients = by_the_package(masks, probabilities, 1, 10)
    found, own = ours(masks, probabilities, 1, 10)
    assert found == expected
    assert np.abs(own - coefficients).max() < 1e-10


def test_proximity_is_the_kernel_of_scikit_learns_cosine_distance():
    masks = np.tril(np.ones((9, 8), dtype=bool), k=-1)
    distances = pairwise_distances(masks.astype(float), np.ones((1, 8)), metric="cosine").ravel() * 100
    assert np.allclose(proximity(masks.sum(axis=1), 8), kernel(distances), rtol=0, atol=1e-13)


def test_the_moments_of_two_batches_add_up_to_those_of_both():
    masks, probabilities = perturbed(12)
    counts = np.ones(len(masks), dtype=np.int64)
    parts = [moments(masks[half], counts[half], probabilities[half]) for half in (slice(0, 300), slice(300, None))]
    whole, added = moments(masks, counts, probabilities), parts[0] + parts[1]
    assert isinstance(added, Moments)
    for name in ("weight", "words", "outcomes", "pairs", "cross"):
        assert np.allclose(getattr(added, name), getattr(whole, name), rtol=1e-13)


@given(seed=st.integers(0, 2**32 - 1), words=st.integers(2, 9))
@settings(max_examples=25)
def test_forward_selection_takes_what_a_least_squares_fit_gains_most_from(seed, words):
    generator = np.random.default_rng(seed)
    data = generator.normal(size=(40, words)) @ generator.normal(size=(words, words))
    outcome = generator.normal(size=40)
    centred, answers = data - data.mean(axis=0), outcome - outcome.mean()
    chosen = forward_selection(centred.T @ centred, centred.T @ answers, words).tolist()
    for size in range(words):
        fits = {
            word: LinearRegression().fit(data[:, [*chosen[:size], word]], outcome)
            for word in range(words)
            if word not in chosen[:size]
        }
        scores = {word: fit.score(data[:, [*chosen[:size], word]], outcome) for word, fit in fits.items()}
        assert scores[chosen[size]] >= max(scores.values()) - 1e-9
    assert sorted(chosen) == list(range(words))


def test_a_word_that_repeats_another_is_selected_last():
    generator = np.random.default_rng(0)
    data = generator.normal(size=(50, 3))
    data[:, 2] = data[:, 0]
    outcome = 3 * data[:, 0] + 0.1 * data[:, 1]
    centred, answers = data - data.mean(axis=0), outcome - outcome.mean()
    assert forward_selection(centred.T @ centred, centred.T @ answers, 3).tolist() == [0, 1, 2]


def test_a_subject_that_always_says_the_same_gives_every_word_nothing():
    masks, _ = perturbed(8)
    chosen, coefficients = ours(masks, np.full((len(masks), 2), 0.5), 0, 5)
    assert len(chosen) == len(set(chosen)) == 5
    assert np.abs(coefficients).max() < 1e-12
