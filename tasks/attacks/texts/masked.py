"""Words that a masked language model puts in a word's place (BERT-Attack, Li et al. 2020).

The model knows what fits into the sentence, not what means the same: antonyms fit as well. So the check of meaning is
another network's (MiniLM), opposites are refused, and parts of speech kept, which the published attack does not ask.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from assay.tasks.attacks.choice import TextAttackChoice
from assay.tasks.attacks.texts.settings import Ranking, WordAttack


class BertAttack(WordAttack):
    """What a masked language model thinks likely in the place of the words whose replacement by an unknown word costs
    the prediction most."""

    attack: Literal["bert-attack"] = "bert-attack"
    """Which attack it is."""

    masked_model: str = Field(min_length=1, examples=["bert-base-uncased"])
    """The folder of a masked language model of Hugging Face (`config.json`, `tokenizer.json`, `model.safetensors`)."""

    ranking: Ranking = "unknown"
    """Which words are tried first, as of `a2t`."""

    candidates: int = Field(default=8, ge=1, le=1000)
    """How many replacements are tried for a word; the paper's 48 take hours where a word has several pieces."""

    modified: float = Field(default=0.4, gt=0, le=1)
    """The share of a text's words that may be changed."""

    encoder: str | None = Field(default="minilm", min_length=1)
    """Who says how similar texts are, as of `a2t`; word vectors of the training texts do not know what the model puts
    in."""


BERT_ATTACK = TextAttackChoice(BertAttack, replacements=lambda *_: {})
