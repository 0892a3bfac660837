"""What an explainer is to everybody else, and what keeps it from being one when it is tried on a few texts."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from assay.data.arrays import Bools, Integers
from assay.infra.errors import InputError
from assay.infra.user_code.choices import Named, tried
from assay.tasks.subjects.texts.model import Encoded
from assay.tasks.trust.explainers.documents import Document, Explanation, read_document

GROUP = "assay.explainers"
"""Where installed packages offer explainers."""


class Effort(Protocol):
    """How much an explainer says, and asks."""

    @property
    def top_words(self) -> int:
        """How many words an explanation has at most."""

    @property
    def samples(self) -> int:
        """How many perturbed texts the subject is asked about."""


@dataclass(frozen=True)
class ExplainerChoice(Named):
    """An explainer that a pipeline can name.

    `explain` is given the subject, a document with at least one word, the class to explain in, the options, and a
    generator of its own, from which all draws come; `most_important` makes an explanation of one number per word.
    One that `looks_inside` is handed a `TokenModel`, and is refused for a subject that is a function of texts.
    """

    explain: Callable[[Any, Document, int, Effort, np.random.Generator], Explanation]
    looks_inside: bool = False

    def conformance(self) -> list[str]:
        """What keeps the explainer from being one, a sentence: it is tried on a few texts."""
        return tried(partial(check_explainer, self))


TEXTS = ("good and bad, but good", "fine", "a rather long text of words that say nothing, good or bad, of anything")
WEIGHTS = {"bad": -0.25, "good": 0.2, "fine": 0.1}
TOP = 4


@dataclass
class _Subject:
    """A subject whose probability of class 1 is linear in the distinct words, so that all of it is known: a function
    of texts, and a network over tokens as well."""

    classes: int = 2
    limit: int = 512
    word_pieces: bool = True
    vocabulary: list[str] = field(default_factory=lambda: ["", ""])

    def probabilities(self, texts: Sequence[str]) -> npt.NDArray[np.float64]:
        return self.token_probabilities([self.encode(text).ids for text in texts])

    def encode(self, text: str) -> Encoded:
        matches = list(re.finditer(r"\w+|[^\w\s]", text.lower()))[: self.limit - 2]
        for word in matches:
            if word[0] not in self.vocabulary:
                self.vocabulary.append(word[0])
        ids: Integers = np.array([0, *(self.vocabulary.index(word[0]) for word in matches), 1], dtype=np.int64)
        spans: Integers = np.array([(0, 0), *(word.span() for word in matches), (0, 0)], dtype=np.int64)
        special: Bools = np.array([True, *([False] * len(matches)), True])
        return Encoded(ids, spans[:, 0], spans[:, 1], special)

    def token_probabilities(self, batch: Sequence[Integers]) -> npt.NDArray[np.float64]:
        p = np.array([0.5 + sum(self._weight(token) for token in sorted(set(ids.tolist()))) for ids in batch])
        return np.stack([1 - p, p], axis=1)

    def gradients(self, text: str, target: int) -> npt.NDArray[np.float32]:
        ids = self.encode(text).ids
        sign = np.full(len(ids), 1.0 if target == 1 else -1.0)
        return np.stack([sign, np.zeros(len(ids))], axis=1).astype(np.float32)

    def embeddings(self, ids: Integers) -> npt.NDArray[np.float32]:
        return np.array([[self._weight(token), 1.0] for token in ids.tolist()], dtype=np.float32)

    def _weight(self, token: int) -> float:
        return WEIGHTS.get(self.vocabulary[token], 0.0)


@dataclass(frozen=True)
class _Brief:
    """Few words, few samples."""

    top_words: int = TOP
    samples: int = 50


def check_explainer(choice: ExplainerChoice) -> None:
    """Nothing, or one sentence: it names words of the text, at most as many as asked for and each once, with finite
    importance, and says the same again, whatever it explained in between.

    >>> from assay.tasks.trust.explainers.table import EXPLAINERS
    >>> check_explainer(EXPLAINERS.named("omission"))
    """
    first = [_checked_explanation(choice, text) for text in TEXTS]
    again = [_checked_explanation(choice, text) for text in reversed(TEXTS)][::-1]
    if first != again:
        raise InputError(
            f"The explainer {choice.word} explains the same prediction otherwise when it is asked again with the same "
            "generator: all draws come from that, and nothing is kept of other texts."
        )


def _checked_explanation(choice: ExplainerChoice, text: str) -> Explanation:
    """The explanation of one text, seen to be one."""
    subject = _Subject()
    document = read_document(text, subject)
    explanation = choice.explain(subject, document, 1, _Brief(), np.random.default_rng(0))
    require_explanation(choice, explanation, TOP)
    strange = [word.text for word in explanation.words if word not in document.words]
    if strange:
        raise InputError(f"The explainer {choice.word} named {strange[0]!r}, which is no word of the document.")
    if list(np.abs(explanation.importance)) != sorted(np.abs(explanation.importance), reverse=True):
        raise InputError(f"The explainer {choice.word} gave its words in no order: the largest importance comes first.")
    return explanation


def require_explanation(choice: ExplainerChoice, explanation: object, top: int) -> None:
    """Raises unless these are at most so many words, each once, with a finite importance each."""
    if not isinstance(explanation, Explanation):
        raise InputError(f"The explainer {choice.word} gave {type(explanation).__name__}, expected an Explanation.")
    if len(explanation.words) > top or len(set(explanation.words)) < len(explanation.words):
        raise InputError(
            f"The explainer {choice.word} gave {len(explanation.words)} words, expected at most {top}, each once."
        )
    if len(explanation.importance) != len(explanation.words) or not np.isfinite(explanation.importance).all():
        raise InputError(
            f"The explainer {choice.word} gave {len(explanation.importance)} numbers for {len(explanation.words)} "
            "words, expected a finite one for each."
        )
