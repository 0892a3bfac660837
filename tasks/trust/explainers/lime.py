"""LIME (Ribeiro et al., "Why should I trust you?", KDD 2016, Eq. 1 and Algorithm 1): our engine in closed form out
of one Gram matrix, and the `lime` package itself.

The settings are those of `LimeTextExplainer`: cosine distance times 100, an exponential kernel of width 25, ridge
regression with an intercept, and `auto` feature selection. Coefficients agree with the package's to 1e-10 on the same
masks (a test holds them to it).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import reduce
from operator import add

import numpy as np
import numpy.typing as npt

from assay.data.arrays import Floats
from assay.tasks.subjects.texts.model import TextModel
from assay.tasks.trust.explainers.choice import Effort, ExplainerChoice
from assay.tasks.trust.explainers.documents import (
    Document,
    Explanation,
    Masks,
    distinct_masks,
    draw_masks,
    explanation,
    perturbed,
)

Ints = npt.NDArray[np.int64]

KERNEL_WIDTH = 25.0
FORWARD_AT_MOST = 6  # up to so many words `auto` selects by forward selection, beyond by weight
_ALPHA, _ALPHA_OF_ALL = 1.0, 0.01  # the ridge penalty of the model, and of the one that words are selected by
_COLLINEAR = 1e-10  # share of a word's variance left beside the selected ones at which it tells nothing new


def proximity(kept: npt.NDArray[np.integer], words: int) -> Floats:
    """The weight of a text of which `kept` of all words are left.

    The cosine distance of a mask to the whole text depends on nothing else: 1 - √(kept / words).

    >>> [round(weight, 4) for weight in proximity(np.array([4, 1, 0]), 4).tolist()]
    [1.0, 0.1353, 0.0003]
    """
    distance = 100.0 * (1.0 - np.sqrt(kept / words))
    return np.sqrt(np.exp(-(distance**2) / KERNEL_WIDTH**2))


@dataclass(frozen=True)
class Moments:
    """The weighted sums that every local model of a text is made of; those of two batches add up to those of both."""

    weight: float
    words: Floats  # [d]
    outcomes: Floats  # [k]
    pairs: Floats  # [d, d]
    cross: Floats  # [d, k]

    def __add__(self, other: Moments) -> Moments:
        return Moments(*(getattr(self, each.name) + getattr(other, each.name) for each in fields(self)))


def moments(masks: Masks, counts: npt.NDArray[np.integer], probabilities: Floats) -> Moments:
    """The moments of perturbed texts: masks [n, d], how often each was drawn [n], what the subject said [n, k]."""
    weight = counts * proximity(masks.sum(axis=1), masks.shape[1])
    root = np.sqrt(weight)[:, None]
    weighted, outcomes = masks.astype(np.float64) * root, probabilities * root
    return Moments(
        float(weight.sum()),
        weighted.T @ root[:, 0],
        outcomes.T @ root[:, 0],
        weighted.T @ weighted,
        weighted.T @ outcomes,
    )


def explain_class(moments: Moments, target: int, words: int) -> tuple[Ints, Floats]:
    """The at most `words` selected words and their coefficients for the class, the largest in size first."""
    gram = moments.pairs - np.outer(moments.words, moments.words) / moments.weight  # centred: the intercept is gone
    cross = moments.cross[:, target] - moments.words * (moments.outcomes[target] / moments.weight)
    chosen = forward_selection(gram, cross, words) if words <= FORWARD_AT_MOST else highest_weights(gram, cross, words)
    coefficients = ridge(gram[np.ix_(chosen, chosen)], cross[chosen], _ALPHA)
    order = np.argsort(-np.abs(coefficients), kind="stable")
    return chosen[order], coefficients[order]


def ridge(gram: Floats, cross: Floats, alpha: float) -> Floats:
    """The coefficients of ridge regression from the centred Gram matrix [d, d] and XᵀY [d].

    >>> ridge(np.array([[4.0]]), np.array([10.0]), 1.0).tolist()
    [2.0]
    """
    return np.asarray(np.linalg.solve(gram + alpha * np.eye(len(gram)), cross), dtype=np.float64)


def highest_weights(gram: Floats, cross: Floats, words: int) -> Ints:
    """The words with the largest coefficients in a model of all words; of equal ones, the earlier word."""
    return np.argsort(-np.abs(ridge(gram, cross, _ALPHA_OF_ALL)), kind="stable")[:words]


def forward_selection(gram: Floats, cross: Floats, words: int) -> Ints:
    """Word after word the one with which a least-squares model explains most, as a Cholesky factorisation whose pivots
    are chosen by that gain: r² of the selected words grows by cross² / variance, both without what they explain."""
    variance, left = np.diag(gram).copy(), cross.copy()
    floor = _COLLINEAR * variance
    columns = np.zeros((len(gram), 0))
    chosen: list[int] = []
    for _ in range(min(words, len(gram))):
        gain = np.divide(left**2, variance, out=np.zeros_like(left), where=variance > floor)
        gain[chosen] = -1.0
        pivot = int(gain.argmax())
        chosen.append(pivot)
        if variance[pivot] <= floor[pivot]:
            continue  # nothing is left to explain: the others follow in the order of the text
        root = np.sqrt(variance[pivot])
        column = (gram[:, pivot] - columns @ columns[pivot]) / root
        left = left - column * (left[pivot] / root)
        variance = variance - column**2
        columns = np.column_stack([columns, column])
    return np.array(chosen, dtype=np.int64)


def explain_by_lime(
    model: TextModel, document: Document, target: int, settings: Effort, generator: np.random.Generator
) -> Explanation:
    """The words that a local linear model of the class's probability rests on (Ribeiro et al. 2016, Algorithm 1)."""
    texts = perturbed(document, model)
    blocks = draw_masks(len(document.words), settings.samples, generator)
    moments = reduce(add, (neighbourhood(texts, masks) for masks in blocks))
    chosen, coefficients = explain_class(moments, target, settings.top_words)
    return explanation(document, chosen, coefficients)


def neighbourhood(ask: Callable[[Masks], Floats], masks: Masks) -> Moments:
    """What the subject says of the perturbed texts, summed up; each different text is asked about once."""
    distinct, counts = distinct_masks(masks)
    return moments(distinct, counts, ask(distinct))


LIME = ExplainerChoice("lime", explain_by_lime)

_TEXTS = 256  # of the package's texts, how many the subject is asked about at a time


def explain_by_lime_package(
    model: TextModel, document: Document, target: int, settings: Effort, generator: np.random.Generator
) -> Explanation:
    """What `lime.lime_text.LimeTextExplainer` says with its default settings, our words, and a seed per sample."""
    from lime.lime_text import LimeTextExplainer

    end = document.occurrences[-1].end
    words, tail = document.text[:end], document.text[end:]  # it takes quadratic time over what it is given

    def classify(texts: list[str]) -> npt.NDArray[np.float64]:
        batches = ([text + tail for text in texts[at : at + _TEXTS]] for at in range(0, len(texts), _TEXTS))
        return np.concatenate([model.probabilities(batch) for batch in batches])

    def split(_: str) -> list[str]:
        return [word.text for word in document.occurrences]

    explainer = LimeTextExplainer(split_expression=split, random_state=int(generator.integers(2**32)))
    lime_explanation = explainer.explain_instance(
        words, classify, labels=(target,), num_features=settings.top_words, num_samples=settings.samples
    )
    pairs = lime_explanation.local_exp[target]
    place = {word.text: feature for feature, word in enumerate(document.words)}
    named = [lime_explanation.domain_mapper.indexed_string.word(feature) for feature, _ in pairs]
    features, weights = [place[str(word)] for word in named], [float(weight) for _, weight in pairs]
    return explanation(document, np.array(features), np.array(weights))


LIME_PACKAGE = ExplainerChoice("lime-package", explain_by_lime_package)
