"""Published word attacks under Assay's check of meaning: DeepWordBug (Gao et al. 2018), which misspells the words that
matter most, and BERT-Attack (Li et al. 2020), which puts in what a masked language model thinks likely.

The published DeepWordBug may turn a word into another one (`bad` into `bed`), which says something else; here a
misspelling that is a word itself is left out. A masked model knows what fits into the sentence, not what means the
same: antonyms fit as well. So BERT-Attack's check of meaning is another network's (MiniLM), opposites are refused, and
parts of speech kept, which the published attack does not ask.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

import numpy as np
from pydantic import Field

from assay.tasks.attacks.choice import TextAttackChoice
from assay.tasks.attacks.texts.settings import Ranking, WordAttack


class DeepWordBug(WordAttack):
    """Misspellings, in any language."""

    attack: Literal["deepwordbug"] = "deepwordbug"
    """Which attack it is."""

    ranking: Ranking = "unknown"
    """Which words are tried first, as of `a2t`."""

    modified: float = Field(default=1.0, gt=0, le=1)
    """The share of a text's words that may be changed."""

    part_of_speech: bool = False
    """As of `a2t`; a misspelt word has none."""

    edits: int = Field(default=30, ge=1)
    """How many characters of a text may be edited in all (Levenshtein's distance)."""

    @property
    def most_edits(self) -> int:
        """As `edits` says."""
        return self.edits


def misspellings(
    words: Sequence[str], _texts: Sequence[str], _settings: DeepWordBug, seed: int
) -> Mapping[str, list[str]]:
    """Of each word up to four misspellings, by letters of the words themselves; none that is a word.

    >>> sorted(map(len, misspellings(["wonderful"], [], DeepWordBug(), 0)["wonderful"]))
    [8, 9, 9, 10]
    """
    from assay.infra.stages.exact import Seeds
    from assay.tasks.attacks.texts.similarity import parts_of_speech

    letters, seeds = sorted({letter for word in words for letter in word if letter.isalpha()}), Seeds(seed, "letters")
    known = {"", *words}
    made = {word: edited(word, letters, seeds.generator(word)) for word in words}
    return {word: [new for new in some if new not in known and not parts_of_speech(new)] for word, some in made.items()}


def edited(word: str, letters: Sequence[str], generator: np.random.Generator) -> Iterator[str]:
    """A word with two letters swapped, with one replaced, without one, and with one more; places and letters drawn."""
    at, pair = int(generator.integers(len(word))), int(generator.integers(max(1, len(word) - 1)))
    letter, other = (letters[int(generator.integers(len(letters)))] for _ in range(2)) if letters else ("", "")
    yield word[:pair] + word[pair : pair + 2][::-1] + word[pair + 2 :]
    yield word[:at] + letter + word[at + 1 :]
    yield word[:at] + word[at + 1 :]
    yield word[:at] + other + word[at:]


DEEPWORDBUG_ATTACK = TextAttackChoice(DeepWordBug, replacements=misspellings)


class BertAttack(WordAttack):
    """What a masked language model thinks likely there."""

    attack: Literal["bert-attack"] = "bert-attack"
    """Which attack it is."""

    masked_model: str = Field(min_length=1, examples=["bert-base-uncased"])
    """The folder of a masked language model of Hugging Face (`config.json`, `tokenizer.json`, `model.safetensors`)."""

    ranking: Ranking = "unknown"
    """Which words are tried first, as of `a2t`."""

    candidates: int = Field(default=8, ge=1, le=1000)
    """How many replacements are tried for a word; the paper's 48 take hours."""

    modified: float = Field(default=0.4, gt=0, le=1)
    """The share of a text's words that may be changed."""

    encoder: str | None = Field(default="minilm", min_length=1)
    """As of `a2t`; word vectors of the training texts do not know what the model puts in."""


BERT_ATTACK = TextAttackChoice(BertAttack, replacements=lambda *_: {})
