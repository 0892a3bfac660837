"""Omission and gradients against the known weights, refusals, and documents at the edge."""

from __future__ import annotations

import numpy as np
import pytest

from assay.infra.errors import InputError
from assay.tasks.trust.explainers.explaining import explain
from assay.tasks.trust.explainers.table import Explaining

WEIGHTS = {"bad": -0.25, "good": 0.2, "fine": 0.1}
EVERY = ("lime", "lime-package", "omission", "gradient", "gradient-l1")


def explained(model, text, explainer, target=1, top=10, samples=200):
    settings = Explaining(explainer=explainer, top_words=top, samples=samples)
    return explain(model, text, target, settings, np.random.default_rng(0))


def test_omission_is_what_the_confidence_loses_without_the_word(black_box, token_bag):
    for make in (black_box, token_bag):
        found = explained(make(WEIGHTS), "bad, but good; good and fine", "omission")
        assert [word.text for word in found.words] == ["bad", "good", "fine", "but", "and"]
        assert found.importance == pytest.approx((-0.25, 0.2, 0.1, 0, 0))
        found = explained(make(WEIGHTS), "bad, but good; good and fine", "omission", target=0, top=2)
        assert found.importance == pytest.approx((0.25, -0.2))


def test_gradient_times_embedding_adds_up_over_the_pieces_of_all_occurrences(token_bag):
    found = explained(token_bag(WEIGHTS), "bad, but good good-fine", "gradient")
    assert [(word.text, word.start) for word in found.words] == [("good-fine", 14), ("bad", 0), ("good", 9), ("but", 5)]
    assert found.importance == pytest.approx((0.3, -0.25, 0.2, 0), abs=1e-7)
    assert explained(token_bag(WEIGHTS), "good bad", "gradient", target=0).importance == pytest.approx((0.25, -0.2))


def test_the_gradients_norm_is_unsigned_and_averages_the_pieces_of_an_occurrence(token_bag):
    found = explained(token_bag(WEIGHTS), "good bad-fine good", "gradient-l1")
    assert [word.text for word in found.words] == ["good", "bad-fine"]
    assert found.importance == pytest.approx((2.0, 1.0))


@pytest.mark.parametrize("explainer", ["gradient", "gradient-l1"])
@pytest.mark.parametrize("text", ["good", ""])
def test_a_gradient_of_a_function_of_texts_is_refused_in_words(black_box, explainer, text):
    with pytest.raises(InputError, match=f"`{explainer}` needs to see inside the subject.*`lime` or `omission`"):
        explained(black_box(WEIGHTS), text, explainer)


@pytest.mark.parametrize("explainer", EVERY)
@pytest.mark.parametrize("text", ["", "   ", "?! … 😀👍", "\0", "____"])
def test_a_text_without_words_has_an_empty_explanation(token_bag, explainer, text):
    found = explained(token_bag(WEIGHTS), text, explainer)
    assert (found.words, found.importance, found.text_words, found.read_words) == ((), (), 0, 0)


@pytest.mark.parametrize("explainer", EVERY)
def test_a_text_of_one_word_is_explained_by_it(token_bag, explainer):
    found = explained(token_bag(WEIGHTS), "good", explainer)
    assert [word.text for word in found.words] == ["good"]
    assert found.importance[0] > 0


@pytest.mark.parametrize("explainer", EVERY)
@pytest.mark.parametrize(
    "text",
    [
        "good 😀 bad👍🏽fine 🇪🇺",
        "שלום good עולם bad",
        "‏مرحبا good بالعالم‏ bad",
        "good\0bad \0fine\0 x",
        "好good吧 bad",
        "bad\u200bgood e\u0301te\u0301 ﬁne",
        "a\x0bgood\x1cbad\x85fine\u2028x",
    ],
)
def test_emoji_right_to_left_nul_and_glued_words_are_explained_with_their_spans(token_bag, explainer, text):
    found = explained(token_bag(WEIGHTS), text, explainer, top=1000)
    assert all(text[word.start : word.end] == word.text for word in found.words)
    assert found.read_words == found.text_words == len(found.words)
    by_word = {word.text: importance for word, importance in zip(found.words, found.importance, strict=True)}
    if explainer != "gradient-l1" and "bad" in by_word:
        assert by_word["bad"] < 0
    assert np.isfinite(found.importance).all()


@pytest.mark.slow
@pytest.mark.parametrize("explainer", EVERY)
def test_of_a_hundred_thousand_words_those_are_explained_that_the_subject_reads(token_bag, explainer):
    text = "good bad " * 20 + " ".join(f"word{i}" for i in range(99_960))
    found = explained(token_bag(WEIGHTS, limit=42), text, explainer, top=3)
    assert {word.text for word in found.words} == {"good", "bad"}
    assert (found.text_words, found.read_words) == (100_000, 40)


@pytest.mark.parametrize("explainer", ["lime", "lime-package", "omission"])
def test_of_a_hundred_thousand_words_for_a_function_the_first_two_thousand_are_explained(black_box, explainer):
    class Quick(black_box):
        """Looks only for the words with weights, so that the test does not take minutes."""

        def probabilities(self, texts):
            self.asked.append(len(texts))
            found = [[weight for word, weight in self.weights.items() if word in text] for text in texts]
            p = self.base + np.array([sum(weights) for weights in found])
            return np.stack([1 - p, p], axis=1)

    text = "good bad " + " ".join(f"word{i}" for i in range(99_998))
    model = Quick(WEIGHTS)
    if explainer == "omission":
        text = text[:40_000]
    found = explained(model, text, explainer, top=7, samples=10)
    assert found.read_words == 2000
    assert found.text_words > 4000
    if explainer == "omission":
        assert [word.text for word in found.words[:2]] == ["bad", "good"]


def test_the_size_of_texts_handed_over_is_bounded_for_long_texts(black_box):
    sizes = []

    class Watched(black_box):
        def probabilities(self, texts):
            sizes.append(sum(map(len, texts)))
            return super().probabilities(texts)

    text = " ".join(f"word{i}" for i in range(20_000))
    explained(Watched(WEIGHTS), text, "lime", samples=30)
    assert max(sizes) <= 1 << 21
    assert sum(sizes) > 1 << 22
