"""A word attack put together: goal, transformation, constraints and search, as TextAttack's A2T puts them together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from assay.tasks.attacks.words.bootstrap import textattack

textattack()

from textattack import Attack  # noqa: E402
from textattack.constraints.pre_transformation import MaxModificationRate, RepeatModification  # noqa: E402

from assay.tasks.attacks.words.parts import (  # noqa: E402
    ChangedLabel,
    ContentWords,
    EvaluatedModel,
    ListedSwap,
    ListedWords,
    RankedSwaps,
    ReadWords,
    SamePartOfSpeech,
    SimilarSentence,
)
from assay.tasks.attacks.words.settings import Ranking, WordAttack  # noqa: E402
from assay.tasks.attacks.words.similarity import Encoder  # noqa: E402
from assay.tasks.attacks.words.spanned_text import SpannedText  # noqa: E402
from assay.tasks.language.words import Word, words_of  # noqa: E402
from assay.tasks.subjects.text_model import TextModel, TokenModel  # noqa: E402

MOST_WORDS = 2000
"""So many words of a text, from its beginning, are under attack; how many may be changed is counted by these."""
_BEYOND = 2
_ALL_AT_ONCE = 1 << 20  # candidates of a step; the subject cuts them into its own blocks

NO_TEXT, NO_WORD, STOP_WORDS = "the text is empty", "the text has no word", "the text has no word that may be changed"
NOT_LISTED, STANDS = "no replacement is known for any word", "the prediction stands"


@dataclass(frozen=True)
class Change:
    """A word that the attack changed: which word of the text, where it stood, and what stands there now."""

    position: int
    start: int
    end: int
    original: str
    replacement: str


@dataclass(frozen=True)
class Outcome:
    """What came of one text: `similarity` is None where nothing was changed."""

    status: str
    reason: str
    text: str
    words: int
    changes: tuple[Change, ...] = ()
    similarity: float | None = None
    queries: int = 0


@dataclass(frozen=True)
class WordAttacker:
    """One attack on one subject, ready for texts; whatever it has attacked before, a text gets the same answer."""

    attack: Any
    victim: EvaluatedModel
    swap: ListedSwap
    ranking: Ranking
    candidates: Callable[[str, int], Sequence[str]]

    def outcome(self, text: str, label: int) -> Outcome:
        """The attack on a text of which the subject says `label`."""
        words = words_of(text)
        head, self.victim.tail = self._attacked_part(text, words)
        given = SpannedText(head)
        reason = self._hopeless(given)
        if reason:
            return Outcome("skipped", reason, text, len(words))
        self.swap.look_up = lambda word: self.candidates(word, label)
        result = self.attack.attack(given, label)
        found = result.perturbed_result
        status = "success" if int(np.argmax(np.asarray(found.raw_output))) != label else "failed"
        reason = "" if status == "success" else STANDS if self._listed(given) else NOT_LISTED
        made = found.attacked_text
        return Outcome(
            status, reason, made.text + text[len(head) :], len(words), _changes(given, made), _similarity(made),
            int(found.num_queries),
        )  # fmt: skip

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

    def _hopeless(self, text: SpannedText) -> str:
        """Why a text cannot be attacked, or nothing."""
        if not text.text:
            return NO_TEXT
        if not text.spans:
            return NO_WORD
        open_words = [rule for rule in self.attack.pre_transformation_constraints if not isinstance(rule, ListedWords)]
        left = set.intersection(*(rule(text, self.swap) for rule in open_words))
        return "" if left else STOP_WORDS

    def _listed(self, text: SpannedText) -> bool:
        return bool(self.attack.get_indices_to_order(text)[0])


def compose(
    model: TextModel, settings: WordAttack, encoder: Encoder, candidates: Callable[[str, int], Sequence[str]]
) -> WordAttacker:
    """The attack that the settings describe; a subject without gradients is ranked by deletion.

    `candidates(word, label)` lists what may take the place of a word in a text of that class.
    """
    swap = ListedSwap()
    victim, ranking = EvaluatedModel(model), ranking_for(model, settings)
    constraints = [
        RepeatModification(), ContentWords(), ReadWords(victim), ListedWords(swap),
        MaxModificationRate(max_rate=float(settings.modified), min_threshold=settings.modified_floor),
        *([SamePartOfSpeech()] if settings.part_of_speech else []),
        SimilarSentence(encoder, settings.similarity),
    ]  # fmt: skip
    goal = ChangedLabel(victim, model_batch_size=_ALL_AT_ONCE)
    search = RankedSwaps("gradient" if ranking == "gradient" else "delete")
    return WordAttacker(Attack(goal, constraints, swap, search), victim, swap, ranking, candidates)


def ranking_for(model: TextModel, settings: WordAttack) -> Ranking:
    """How words are ranked: as asked, where the subject has gradients."""
    return settings.ranking if isinstance(model, TokenModel) else "deletion"


def most_changes(words: int, settings: WordAttack) -> int:
    """How many words of a text may be changed.

    >>> [most_changes(words, WordAttack()) for words in (5, 40, 41)]
    [4, 4, 5]
    """
    return max(int(np.ceil(words * settings.modified)), settings.modified_floor)


def _changes(before: SpannedText, after: SpannedText) -> tuple[Change, ...]:
    return tuple(
        Change(index, before.spans[index].start, before.spans[index].end, before.spans[index].text,
               after.spans[index].text)
        for index in after.changes
    )  # fmt: skip


def _similarity(text: SpannedText) -> float | None:
    found = text.attack_attrs.get("similarity_score")
    return None if found is None else float(found)
