"""The parts of a word attack as TextAttack composes them, each a subclass of its extension point, over texts that our
tokenizer cuts into words: a word means the same to attacks as to the trust oracle.

The model is asked in evaluation mode and never padded to its maximum (TextAttack's own wrapper turns dropout on for the
gradient, which makes the ranking of words random); the reference sentence is encoded once per text (TextAttack encodes
it once per candidate); parts of speech are looked up once per word. One difference is deliberate: of three classes or
more a candidate that fools the subject counts above one that does not, however low the probability of the class falls
(see `ChangedLabel`).

TextAttack's own text splits `3.5` in two, searches every word from the left each time, and goes through flair. Ours
knows where its words stand, and replaces one of them bit for bit; only the surroundings of a replaced word are cut into
words anew, so that a candidate for a long text costs no more than one for a short text.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from assay.tasks.attacks.texts.textattack_import import textattack

textattack()

import torch  # noqa: E402
from textattack.constraints import Constraint, PreTransformationConstraint  # noqa: E402
from textattack.goal_functions import UntargetedClassification  # noqa: E402
from textattack.models.wrappers import ModelWrapper  # noqa: E402
from textattack.search_methods import GreedyWordSwapWIR  # noqa: E402
from textattack.shared import AttackedText  # noqa: E402
from textattack.transformations import WordSwap, WordSwapMaskedLM  # noqa: E402
from textattack.transformations.word_swaps.word_swap_embedding import recover_word_case  # noqa: E402

from assay.tasks.attacks.texts.similarity import Compared, could_be_alike  # noqa: E402
from assay.tasks.language.embeddings.encoder import LOADING  # noqa: E402
from assay.tasks.language.words import Word, normalised, words_of  # noqa: E402
from assay.tasks.subjects.predictions import answered_classes  # noqa: E402
from assay.tasks.subjects.texts.model import Encoded, TextModel, TokenModel  # noqa: E402

MOST_RANKED = 512
"""So many words of a text, from its beginning, are ranked and tried; TextAttack stops at the model's maximum."""
_AROUND = 2  # words on each side that a replaced word could join

LookUp = Callable[[str], Sequence[str]]


class SpannedText(AttackedText):  # type: ignore[misc]
    """A text with the spans of its words; what TextAttack keeps of changes (`attack_attrs`) is kept the same way."""

    def __init__(
        self, text: str, attack_attrs: dict[str, object] | None = None, origin: tuple[SpannedText, int] | None = None
    ) -> None:
        """The text; `origin` is the text that it came of, and which word of that was replaced by one word."""
        self._as_string, self._origin = text, origin
        self._spans = words_of(text) if attack_attrs is None else None
        self.root: SpannedText = self if origin is None else origin[0].root
        super().__init__(text, attack_attrs)

    @property
    def spans(self) -> list[Word]:
        """Where the words stand; found when it is asked for."""
        if self._spans is None:
            self._spans = words_of(self._as_string) if self._origin is None else self._shifted(*self._origin)
        return self._spans

    @property
    def words(self) -> list[str]:
        """The words in reading order."""
        return [word.text for word in self.spans]

    @property
    def num_words(self) -> int:
        """How many words it has: as many as the text that it came of."""
        return len(self.root.spans)

    @property
    def text(self) -> str:
        """The text as it is."""
        return self._as_string

    def word(self, index: int) -> str:
        """One of its words; of a candidate that is asked for its new word, nothing else is looked at."""
        if self._spans is None and self._origin is not None and self._origin[1] == index:
            return self._put_in(*self._origin)
        return self.spans[index].text

    def replace_word_at_index(self, index: int, new_word: str) -> SpannedText:
        """The text with one word replaced by one word, and everything else as it was."""
        word = self.spans[index]
        attrs = {
            "newly_modified_indices": {int(index)},
            "previous_attacked_text": self,
            "modified_indices": self.attack_attrs["modified_indices"] | {int(index)},
            "original_index_map": self.attack_attrs["original_index_map"],
        }
        new_text = self._as_string[: word.start] + new_word + self._as_string[word.end :]
        return SpannedText(new_text, attrs, (self, int(index)))

    def swapped(self, index: int, new_word: str) -> SpannedText | None:
        """The text with one word replaced by another; None where that would not be one word, or join its neighbours."""
        first, last = max(0, index - _AROUND), min(len(self.spans) - 1, index + _AROUND)
        word, start, end = self.spans[index], self.spans[first].start, self.spans[last].end
        before, after = self._as_string[start : word.start], self._as_string[word.end : end]
        actual = [word.text for word in words_of(before + new_word + after)]
        wanted = [word.text for word in words_of(before + word.text + after)]
        wanted[index - first] = new_word
        return self.replace_word_at_index(index, new_word) if actual == wanted else None

    def without_word(self, index: int) -> str:
        """The text without one word; for asking what the subject says of it."""
        word = self.spans[index]
        return self._as_string[: word.start] + self._as_string[word.end :]

    @property
    def changes(self) -> list[int]:
        """Which words are not those of the text that the attack began with."""
        return sorted(self.attack_attrs["modified_indices"])

    def _put_in(self, before: SpannedText, index: int) -> str:
        word = before.spans[index]
        return self._as_string[word.start : word.end + len(self._as_string) - len(before.text)]

    def _shifted(self, before: SpannedText, index: int) -> list[Word]:
        """The spans of the text before, those behind the replaced word further on by what it grew."""
        spans, longer = before.spans, len(self._as_string) - len(before.text)
        new = Word(self._put_in(before, index), spans[index].start, spans[index].end + longer)
        behind = (Word(span.text, span.start + longer, span.end + longer) for span in spans[index + 1 :])
        return [*spans[:index], new, *behind]


def tokens_of_words(words: list[Word], encoded: Encoded) -> list[list[int]]:
    """Per word the places of its tokens among those of the text, found by their characters.

    A word that the tokenizer drops, or that lies beyond what the subject reads, has none.
    """
    places: list[list[int]] = [[] for _ in words]
    at = 0
    for token, (start, end, special) in enumerate(
        zip(encoded.starts.tolist(), encoded.ends.tolist(), encoded.special.tolist(), strict=True)
    ):
        if special or end <= start:
            continue
        while at < len(words) and words[at].end <= start:
            at += 1
        if at < len(words) and words[at].start < end:
            places[at].append(token)
    return places


class EvaluatedModel(ModelWrapper):  # type: ignore[misc]
    """The subject as it is audited: in evaluation mode, in the fixed blocks of every other stage."""

    def __init__(self, model: TextModel) -> None:
        """A subject; `tail` is what follows every text that it is asked about, and is not attacked."""
        self.model, self.tail = model, ""

    def __call__(self, text_input_list: Sequence[str], **_: object) -> npt.NDArray[np.float64]:
        """The probability of every class, [n, k]."""
        return self.model.probabilities([text + self.tail for text in text_input_list])

    def reads(self, text: SpannedText) -> Callable[[Word], bool]:
        """Whether the subject reads a word of the text, which may be longer than it reads."""
        reach = self.reach(text.text)
        return lambda word: reach is None or word.end <= reach

    def encode(self, text: str) -> Encoded | None:
        """The tokens of a text with its tail; None for a subject without tokens."""
        return self.model.encode(text + self.tail) if isinstance(self.model, TokenModel) else None

    @property
    def limit(self) -> int | None:
        """The most tokens that the subject reads; None for a subject without tokens."""
        return self.model.limit if isinstance(self.model, TokenModel) else None

    def reach(self, text: str) -> int | None:
        """How many characters of a text the subject reads; None where it reads all."""
        encoded = self.encode(text)
        if encoded is None or not isinstance(self.model, TokenModel) or len(encoded.ids) < self.model.limit:
            return None
        return int(encoded.ends.max())

    def gradient(self, text: str, label: int) -> npt.NDArray[np.float32]:
        """The gradient of log p(label) at every token, [tokens, d]."""
        if not isinstance(self.model, TokenModel):
            raise TypeError("this subject only gives probabilities: rank by deletion")
        return self.model.gradients(text + self.tail, label)


class ChangedLabel(UntargetedClassification):  # type: ignore[misc]
    """The goal: any other class than the subject's own on the original.

    The score is 1 − p(class), and 1 more where the goal is reached. TextAttack's is 1 − p(class) alone: of three or
    more classes its search goes on from the lowest p(class), and throws away a candidate of a higher one that has
    fooled the subject already. Of two classes both put candidates in the same order.
    """

    reached = 1.0
    """What is added where the goal is reached; 0 while words are ranked, as TextAttack ranks them."""

    def _get_score(self, model_output: Any, text: object) -> Any:
        score = 1 - model_output[self.ground_truth_output]
        return score + self.reached * float(self._is_goal_complete(model_output, text))

    def _process_model_outputs(self, _: Sequence[object], scores: Any) -> Any:
        return scores  # probabilities already; TextAttack would take a softmax of those that sum to 1.00001

    def _is_goal_complete(self, model_output: Any, _: object) -> bool:
        return bool(answered_classes(model_output.numpy()) != self.ground_truth_output)


class ListedSwap(WordSwap):  # type: ignore[misc]
    """The transformation: what a table lists for a word, in the case of the word."""

    def __init__(self) -> None:
        """Before each text, `look_up` is set to what it may ask; the words are in the form in which words compare."""
        super().__init__()
        self.look_up: LookUp = lambda _: ()

    def offers(self, word: str) -> bool:
        """Whether anything is listed for a word."""
        return bool(self._get_replacement_words(word))

    def _get_replacement_words(self, word: str) -> list[str]:
        form = normalised(word)
        cased = [recover_word_case(swap, word) for swap in self.look_up(form)]
        return [swap for swap in dict.fromkeys(cased) if normalised(swap) != form]  # another case is no other word

    def _get_transformations(self, current_text: SpannedText, indices_to_modify: set[int]) -> list[SpannedText]:
        candidates = [
            current_text.swapped(index, replacement)
            for index in sorted(indices_to_modify)
            for replacement in self._get_replacement_words(current_text.spans[index].text)
        ]
        return [candidate for candidate in candidates if candidate is not None]


class MaskedSwap(WordSwapMaskedLM):  # type: ignore[misc]
    """The transformation of BERT-Attack: what a masked language model puts in a word's place, as TextAttack asks it, in
    the case of the word."""

    def __init__(self, folder: str, candidates: int, permits: Callable[[str, str], bool]) -> None:
        """The model lies in a folder; `permits` says of a word whether another may take its place."""
        from transformers import AutoModelForMaskedLM, PreTrainedTokenizerFast

        model = AutoModelForMaskedLM.from_pretrained(folder, **LOADING)
        marks = {f"{name}_token": f"[{name.upper()}]" for name in ("pad", "mask", "unk")}
        tokenizer = PreTrainedTokenizerFast(tokenizer_file=f"{folder}/tokenizer.json", **marks)
        longest = int(model.config.max_position_embeddings)
        super().__init__("bert-attack", model, tokenizer, longest, max_candidates=candidates)
        self._permits = permits

    def offers(self, _word: str) -> bool:
        """Whether anything is offered for a word: of the sentence's words, for all."""
        return True

    def _get_transformations(self, current_text: SpannedText, indices_to_modify: set[int]) -> list[SpannedText]:
        candidates = []
        for text in super()._get_transformations(current_text, sorted(indices_to_modify)):
            (index,) = text.attack_attrs["newly_modified_indices"]
            word, new = current_text.spans[index].text, text.word(index)
            if self._permits(normalised(word), normalised(new)):
                candidates.append(current_text.swapped(index, recover_word_case(new, word)))
        return [candidate for candidate in candidates if candidate is not None]


class FixedWords(PreTransformationConstraint):  # type: ignore[misc]
    """Words that may not be changed whatever was changed before: looked up once per text, on the original."""

    _known: tuple[SpannedText, set[int]] | None = None

    def __init__(self, rule: Callable[[SpannedText], Callable[[Word], bool]]) -> None:
        """The rule says of a text which of its words may give way."""
        self._rule = rule

    def _get_modifiable_indices(self, current_text: SpannedText) -> set[int]:
        text = current_text.root
        if self._known is None or self._known[0] is not text:
            gives_way = self._rule(text)
            self._known = (text, {index for index, word in enumerate(text.spans) if gives_way(word)})
        return self._known[1]


class SamePartOfSpeech(Constraint):  # type: ignore[misc]
    """A replacement can be the same part of speech as the word of the original."""

    def __init__(self) -> None:
        """Always compared with the original text."""
        super().__init__(compare_against_original=True)

    def _check_constraint(self, transformed_text: SpannedText, reference_text: SpannedText) -> bool:
        return all(
            could_be_alike(reference_text.word(index), transformed_text.word(index))
            for index in transformed_text.attack_attrs["newly_modified_indices"]
        )


class SimilarSentence(Constraint):  # type: ignore[misc]
    """The changed text is as similar to the original as asked; all candidates of a step are encoded together."""

    def __init__(self, threshold: float) -> None:
        """The least cosine; before each text, `compared` is set to what its candidates are compared with."""
        super().__init__(compare_against_original=True)
        self._threshold = threshold
        self.compared: Compared | None = None

    def _check_constraint_many(self, transformed_texts: Sequence[SpannedText], _: SpannedText) -> list[SpannedText]:
        assert self.compared is not None
        kept = []
        scores = self.compared.similarities([replacements(candidate) for candidate in transformed_texts])
        for candidate, score in zip(transformed_texts, scores.tolist(), strict=True):
            candidate.attack_attrs["similarity_score"] = score
            if score >= self._threshold:
                kept.append(candidate)
        return kept

    def _check_constraint(self, transformed_text: SpannedText, reference_text: SpannedText) -> bool:
        return bool(self._check_constraint_many([transformed_text], reference_text))


def replacements(text: SpannedText) -> dict[int, str]:
    """The words of a changed text that are not those of the original, by their place."""
    return {index: text.word(index) for index in text.changes}


class RankedSwaps(GreedyWordSwapWIR):  # type: ignore[misc]
    """The greedy search: words by the L1 norm of their mean gradient, or by what their deletion costs, equal ones in
    reading order; by unknown words and by weighted saliency as TextAttack ranks them."""

    def _get_index_order(self, initial_text: SpannedText, **_: object) -> tuple[list[int], bool]:
        if self.wir_method in ("unk", "weighted-saliency"):
            self.goal_function.reached = 0.0
            order, over = super()._get_index_order(initial_text)
            self.goal_function.reached = 1.0
            return [int(index) for index in order][:MOST_RANKED], over
        _, changeable = self.get_indices_to_order(initial_text)
        indices = sorted(changeable)[:MOST_RANKED]
        if not indices:
            return [], False
        ranked = self._by_gradient if self.wir_method == "gradient" else self._by_deletion
        return [indices[place] for place in np.argsort(-ranked(initial_text, indices), kind="stable")], False

    def _by_deletion(self, text: SpannedText, indices: Sequence[int]) -> npt.NDArray[np.float64]:
        """The goal's scores of the texts without each of the words, which are strings: nobody looks into them."""
        goal = self.goal_function
        answers = goal.model([text.without_word(index) for index in indices])
        goal.num_queries += len(indices)
        return np.array([float(goal._get_score(torch.from_numpy(row), text)) for row in answers], dtype=np.float64)

    def _by_gradient(self, text: SpannedText, indices: Sequence[int]) -> npt.NDArray[np.float64]:
        victim = self.get_victim_model()
        gradient = victim.gradient(text.text, self.goal_function.ground_truth_output)
        tokens = tokens_of_words(text.spans, victim.encode(text.text))
        sizes = [
            float(np.abs(gradient[tokens[index]].mean(axis=0)).sum()) if tokens[index] else 0.0 for index in indices
        ]
        return np.array(sizes, dtype=np.float64)
