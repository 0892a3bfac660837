"""LIME by our engine: LIME's result with its own draws replayed, and the truth where the truth is known."""

from __future__ import annotations

import numpy as np
import pytest
from lime.lime_text import LimeTextExplainer

from assay.tasks.language.words import words_of
from assay.tasks.trust.explainers import documents
from assay.tasks.trust.explainers.documents import perturbed, read_document
from assay.tasks.trust.explainers.explaining import explain
from assay.tasks.trust.explainers.lime import explain_class, neighbourhood
from assay.tasks.trust.explainers.table import Explaining

TEXT = "A dull plot, a dull cast and no wit; but the music was good, the music was really good and it can't be faulted."
WEIGHTS = {"dull": -0.3, "good": 0.25, "wit": 0.12, "music": 0.06, "can": -0.03, "no": -0.02}


def curved(black_box):
    """A subject of which LIME's linear model is only an approximation."""

    class Curved(black_box):
        def score(self, pieces):
            return float(1 / (1 + np.exp(-6 * super().score(pieces) + ("good" in pieces) * ("music" in pieces))))

    return Curved(WEIGHTS, base=0.1)


def masks_of(state, words, samples):
    """The masks that the package draws from a RandomState."""
    masks = np.ones((samples, words), dtype=bool)
    for row, size in enumerate(state.randint(1, words + 1, samples - 1), start=1):
        masks[row, state.choice(range(words), size, replace=False)] = False
    return masks


@pytest.mark.parametrize("top", [3, 5, 6, 10, 20])
def test_with_the_packages_draws_words_and_coefficients_are_the_packages(black_box, top):
    model = curved(black_box)
    by_package = LimeTextExplainer(split_expression=lambda text: [word.text for word in words_of(text)], random_state=7)
    expected = by_package.explain_instance(TEXT, model.probabilities, labels=(1,), num_features=top, num_samples=500)
    document = read_document(TEXT, model)
    masks = masks_of(np.random.RandomState(7), len(document.words), 500)
    chosen, coefficients = explain_class(neighbourhood(perturbed(document, model), masks), 1, top)
    assert [document.words[word].text for word in chosen] == [word for word, _ in expected.as_list(label=1)]
    assert np.abs(coefficients - [weight for _, weight in expected.as_list(label=1)]).max() < 1e-10


def test_our_words_are_the_packages_where_both_split_alike(black_box):
    model, text = curved(black_box), "a dull plot a dull cast no wit good music good"
    expected = LimeTextExplainer(random_state=3).explain_instance(text, model.probabilities, num_samples=300)
    document = read_document(text, model)
    masks = masks_of(np.random.RandomState(3), len(document.words), 300)
    chosen, coefficients = explain_class(neighbourhood(perturbed(document, model), masks), 1, 10)
    assert [document.words[word].text for word in chosen] == [word for word, _ in expected.as_list()]
    assert np.abs(coefficients - [weight for _, weight in expected.as_list()]).max() < 1e-10


@pytest.mark.parametrize("engine", ["lime", "lime-package"])
@pytest.mark.parametrize("top", [5, 8])
@pytest.mark.parametrize("kind", ["black box", "tokens"])
def test_the_words_of_a_linear_subject_are_recovered_with_sign_and_order(black_box, token_bag, engine, top, kind):
    model = (black_box if kind == "black box" else token_bag)(WEIGHTS, base=0.4)
    settings = Explaining(explainer=engine, top_words=top, samples=2000)
    found = explain(model, TEXT.replace("can't", "we can"), 1, settings, np.random.default_rng(0))
    assert [word.text for word in found.words[:5]] == ["dull", "good", "wit", "music", "can"]
    for word, importance in zip(found.words[:5], found.importance[:5], strict=True):
        assert importance == pytest.approx(WEIGHTS[word.text], rel=0.1)
    assert all(abs(importance) < 0.025 for importance in found.importance[5:])
    against = explain(model, TEXT.replace("can't", "we can"), 0, settings, np.random.default_rng(0))
    assert against.words == found.words
    assert np.allclose(against.importance, np.negative(found.importance))


def test_a_repeated_word_is_one_word_with_the_span_of_its_first_occurrence(black_box):
    found = explain(black_box(WEIGHTS, 0.4), TEXT, 1, Explaining(samples=500), np.random.default_rng(0))
    words = [word.text for word in found.words]
    assert len(set(words)) == len(words)
    dull = found.words[words.index("dull")]
    assert (dull.start, dull.end) == (2, 6)


def test_the_same_generator_gives_the_same_explanation_and_another_seed_nearly_the_same(token_bag):
    model, settings = token_bag(WEIGHTS, 0.4), Explaining(samples=2000)
    first, again, other = (explain(model, TEXT, 1, settings, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert first.words[:3] == other.words[:3]


def test_masked_tokens_and_texts_give_the_same_explanation(token_bag):
    text = "A dull plot, a dull cast and no wit; the music was (really) good."
    by_tokens, by_texts = token_bag(WEIGHTS, 0.4), token_bag(WEIGHTS, 0.4, word_pieces=False)
    one, other = (
        explain(model, text, 1, Explaining(samples=500), np.random.default_rng(1)) for model in (by_tokens, by_texts)
    )
    assert one == other
    assert by_tokens.token_asked > 300
    assert by_tokens.asked == []
    assert by_texts.token_asked == 0


def test_a_short_text_asks_only_about_its_different_versions(black_box):
    model = black_box(WEIGHTS, 0.4)
    explain(model, "dull but good", 1, Explaining(samples=5000), np.random.default_rng(0))
    assert sum(model.asked) == 8


def test_the_subject_is_never_handed_all_texts_at_once(black_box, token_bag, monkeypatch):
    model, text = black_box(WEIGHTS, 0.4), " ".join(f"word{i}" for i in range(300))
    explain(model, text, 1, Explaining(samples=5000), np.random.default_rng(0))
    assert sum(model.asked) > 4900
    assert max(model.asked) <= 1024
    monkeypatch.setattr(documents, "_CHARACTERS", 20_000)
    model = black_box(WEIGHTS, 0.4)
    explain(model, text, 1, Explaining(samples=500), np.random.default_rng(0))
    assert max(model.asked) * 9 * 300 / 20 < 20_000
