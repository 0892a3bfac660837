"""A word attack put together: goal, transformation, constraints and search, as TextAttack's A2T puts them together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.tasks.attacks.texts.textattack_import import textattack

textattack()

from textattack import Attack  # noqa: E402
from textattack.constraints.overlap import LevenshteinEditDistance  # noqa: E402
from textattack.constraints.pre_transformation import MaxModificationRate, RepeatModification  # noqa: E402

from assay.tasks.attacks.texts.rewriting import Change, Outcome  # noqa: E402
from assay.tasks.attacks.texts.settings import Ranking, WordAttack  # noqa: E402
from assay.tasks.attacks.texts.similarity import Compared, Encoder  # noqa: E402
from assay.tasks.attacks.texts.textattack_parts import (  # noqa: E402
    MOST_RANKED,
    ChangedLabel,
    EvaluatedModel,
    FixedWords,
    ListedSwap,
    MaskedSwap,
    RankedSwaps,
    SamePartOfSpeech,
    SimilarSentence,
    SpannedText,
    replacements,
)
from assay.tasks.language.words import Word, may_change, words_of  # noqa: E402
from assay.tasks.subjects.predictions import answered_classes  # noqa: E402
from assay.tasks.subjects.texts.model import TextModel, TokenModel  # noqa: E402

MOST_WORDS = 2000
"""So many words of a text, from its beginning, are under attack (and at most `MOST_RANKED` of them are tried); how many
may be changed is counted by these."""
_BEYOND = 2
_ALL_AT_ONCE = 1 << 20  # candidates of a step; the subject cuts them into its own blocks

_SEARCHES = {"gradient": "gradient", "deletion": "delete", "unknown": "unk", "saliency": "weighted-saliency"}
"""The rankings, as TextAttack's greedy search calls them."""

NO_TEXT, NO_WORD, STOP_WORDS = "the text is empty", "the text has no word", "the text has no word that may be changed"
NOT_LISTED = "no replacement is known for any word that may be changed"
REFUSED = "every replacement is refused by a constraint"
FICKLE = "the subject answers the same text differently"
STANDS = "the prediction stands"
STANDS_SO_FAR = f"{STANDS}, and only the first {MOST_RANKED} words that could be replaced were tried"
STANDS_IN_THE_HEAD = f"{STANDS}, and only the first {MOST_WORDS} words were tried"


class CountedAttack(Attack):  # type: ignore[misc]
    """An attack that knows how many candidates of a text kept to every constraint."""

    offered = 0

    def get_transformations(self, *asked: Any, **options: Any) -> Any:
        """The candidates of a step."""
        candidates = super().get_transformations(*asked, **options)
        self.offered += len(candidates)
        return candidates


@dataclass(frozen=True)
class WordAttacker:
    """One attack on one subject, ready for texts; whatever it has attacked before, a text gets the same answer."""

    attack: CountedAttack
    listed: FixedWords
    """The rule that words for which nothing is listed are not tried: the subject need not be asked about them."""
    victim: EvaluatedModel
    swap: ListedSwap | MaskedSwap
    similar: SimilarSentence
    ranking: Ranking
    encoder: Encoder
    second: Encoder
    candidates: Callable[[str, int], Sequence[str]]

    def outcome(self, text: str, label: int) -> Outcome:
        """The attack on a text of which the subject says `label`."""
        words = words_of(text)
        head, self.victim.tail = self._attacked_part(text, words)
        original = SpannedText(head)
        if isinstance(self.swap, ListedSwap):
            self.swap.look_up = lambda word: self.candidates(word, label)
        reason = self._obstacle(original)
        if reason:
            return Outcome("skipped", reason, text, len(words))
        self.similar.compared, self.attack.offered = Compared(self.encoder, text), 0
        result = self.attack.attack(original, label)
        perturbed, queries = result.perturbed_result, int(self.attack.goal_function.num_queries)
        attacked, fooled = perturbed.attacked_text, int(answered_classes(np.asarray(perturbed.raw_output))) != label
        if fooled and not attacked.changes:
            return Outcome("skipped", FICKLE, text, len(words), queries=queries)
        if not self.attack.offered:
            return Outcome("skipped", REFUSED, text, len(words), queries=queries)
        pairs = [(index, original.spans[index], attacked.spans[index].text) for index in attacked.changes]
        return Outcome(
            "success" if fooled else "failed",
            "" if fooled else self._failure(original, len(words)),
            attacked.text + text[len(head) :],
            len(words),
            tuple(Change(index, word.start, word.end, word.text, new) for index, word, new in pairs),
            attacked.attack_attrs.get("similarity_score"),
            self._second(text, attacked),
            queries,
        )

    def _second(self, text: str, attacked: SpannedText) -> float | None:
        """The similarity by the other encoder, of what the constraint's encoder compares too."""
        if not attacked.changes:
            return None
        (similarity,) = Compared(self.second, text, self.encoder.reads).similarities([replacements(attacked)])
        return float(similarity)

    def _failure(self, original: SpannedText, words: int) -> str:
        """That the attack failed, and what it did not try of a long text."""
        if len(self._open(original)) > MOST_RANKED:
            return STANDS_SO_FAR
        return STANDS_IN_THE_HEAD if original.num_words == MOST_WORDS < words else STANDS

    def _attacked_part(self, text: str, words: Sequence[Word]) -> tuple[str, str]:
        """The text as far as it is attacked, and what stands behind it whenever the subject is asked.

        Attacked is what the subject reads, and at most so many words of it; a few words more keep the last ones whole.
        Behind it stands the rest, or of a network as many words as it could read at most.
        """
        self.victim.tail = ""
        reach, limit = self.victim.reach(text), self.victim.limit
        last = min(len(words) if reach is None else sum(word.start < reach for word in words) + _BEYOND, MOST_WORDS)
        if last >= len(words):
            return text, ""
        asked = len(text) if limit is None or last + limit >= len(words) else words[last + limit].end
        return text[: words[last - 1].end], text[words[last - 1].end : asked]

    def _obstacle(self, text: SpannedText) -> str:
        """Why a text cannot be attacked, or nothing."""
        if not text.text:
            return NO_TEXT
        if not text.spans:
            return NO_WORD
        rules = [rule for rule in self.attack.pre_transformation_constraints if rule is not self.listed]
        if not set.intersection(*(rule(text, self.swap) for rule in rules)):
            return STOP_WORDS
        return "" if self._open(text) else NOT_LISTED

    def _open(self, text: SpannedText) -> list[int]:
        """The words that can be tried."""
        indices: list[int] = self.attack.get_indices_to_order(text)[1]
        return indices


def compose(
    model: TextModel,
    settings: WordAttack,
    encoder: Encoder,
    candidates: Callable[[str, int], Sequence[str]],
    second: Encoder,
    masked: MaskedSwap | None = None,
) -> WordAttacker:
    """The attack that the settings describe; a subject without gradients is ranked by deletion.

    `candidates(word, label)` lists what may take the place of a word in a text of that class; the `second` encoder
    is asked about the attacked text alone. A `masked` model offers words by their sentence instead.
    """
    swap, similar = masked or ListedSwap(), SimilarSentence(settings.similarity)
    victim, ranking = EvaluatedModel(model), settings.ranking
    if ranking == "gradient" and not isinstance(model, TokenModel):
        ranking = "deletion"
    listed = FixedWords(lambda _: lambda word: swap.offers(word.text))
    constraints = [
        RepeatModification(),
        FixedWords(lambda _: lambda word: may_change(word.text)),
        FixedWords(victim.reads),
        listed,
        MaxModificationRate(max_rate=float(settings.modified), min_threshold=settings.modified_floor),
        *([SamePartOfSpeech()] if settings.part_of_speech else []),
        *([LevenshteinEditDistance(settings.most_edits)] if settings.most_edits else []),
        similar,
    ]
    goal = ChangedLabel(victim, model_batch_size=_ALL_AT_ONCE)
    attack = CountedAttack(goal, constraints, swap, RankedSwaps(_SEARCHES[ranking]))
    return WordAttacker(attack, listed, victim, swap, similar, ranking, encoder, second, candidates)
