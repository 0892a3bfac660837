"""Options of the attacks on texts: word swaps (A2T, guided by the trust oracle) and noise."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field

from assay.infra.settings import EachOnce
from assay.tasks.attacks.settings import NamedAttack

Ranking = Literal["gradient", "deletion", "unknown", "saliency"]
Cosine = Annotated[float, Field(ge=-1, le=1)]
RELATED: Literal["related"] = "related"


MUST_CHANGE = "the prediction must change"
"""The verdict on the rate of an attack whose texts say the opposite: a success is a prediction that stands."""


class WordAttack(NamedAttack):
    """What every word attack has."""

    ranking: Ranking = "gradient"
    """Which words are tried first: those with the largest gradient (without gradients `deletion`); whose deletion, or
    an unknown word in their place (`unknown`), costs the prediction most; or that weighted by what their best
    replacement does (`saliency`)."""

    candidates: int = Field(default=20, ge=1, le=1000)
    """How many replacements are tried for a word."""

    modified: float = Field(default=0.1, gt=0, le=1)
    """The share of a text's words that may be changed."""

    modified_floor: int = Field(default=4, ge=1)
    """How many words may be changed in any text, however short."""

    similarity: float = Field(default=0.9, ge=-1, le=1)
    """How similar the changed text is to the original, at least."""

    encoder: str | None = Field(default=None, min_length=1)
    """Who says so: `word-vectors` (the mean of fastText vectors from the training texts; the default), `minilm` (extra
    `encoders`), or the folder of a sentence encoder."""

    part_of_speech: bool = True
    """Whether a replacement must share a part of speech with the word (in English)."""

    antonyms: Literal["refuse", "wordnet", "allow"] = "refuse"
    """Whether a word may give way to its opposite: `refuse` leaves out what Assay's list and prefixes of negation know,
    `wordnet` also WordNet's antonyms, where NLTK has it."""

    keep: str | tuple[str, ...] | None = Field(default=None, examples=["[soup, waiter]"])
    """Words that are never replaced, besides stop words and negations: a list, or a UTF-8 file of them."""

    texts: int | None = Field(default=None, ge=1, examples=["100"])
    """How many audited texts are attacked, in proportion to the classes; left out, all."""

    examples: int = Field(default=6, ge=0, le=100)
    """How many attacked texts the report shows."""

    @property
    def least_cosine(self) -> float | str | None:
        """How similar a replacement's vector has to be, where the settings say; `related` is θ_relate."""
        return None

    @property
    def most_edits(self) -> int | None:
        """How many characters of a text may be edited; None where words alone are counted."""
        return None


class A2T(WordAttack):
    """A2T (Yoo and Qi 2021): synonyms from embedding neighbours, tried in the order of the gradient."""

    attack: Literal["a2t"] = "a2t"
    """Which attack it is."""

    vectors: str | None = Field(default=None, min_length=1)
    """Where neighbours come from: a provider or file of word vectors (see `trust.providers`), the catalogue's
    `counterfitted-neighbors`, a file of neighbour lists (.json, .json.gz), or the synonyms of `open-english-wordnet`
    (the catalogue's), `wordnet` or `wordnet:fra` (NLTK's, by language). Left out, `fasttext`, which learns little from
    few texts; `encoder` (MiniLM, extra `encoders`) knows more."""

    min_cosine: Cosine | Literal["related"] | None = None
    """How similar a replacement's vector is to the word's, at least. Left out, 0.8 in a file of vectors, else the
    cosine that half of Assay's synonym pairs reach; `related` is the looser θ_relate of `guided`."""

    @property
    def least_cosine(self) -> float | str | None:
        """As `min_cosine` says."""
        return self.min_cosine


class Guided(WordAttack):
    """A2T guided by the trust oracle: a word that the class is about gives way to a similar keyword of its class, any
    other to a similar word of another class that is no keyword. Needs `trust`; compare it with `a2t: {name:
    a2t-related, min_cosine: related}`."""

    attack: Literal["guided"] = "guided"
    """Which attack it is."""

    similar: int = Field(default=50, ge=1, le=100_000)
    """How many nearest words of the pools count as similar; the `candidates` of lowest (or highest) importance are
    tried."""

    min_cosine: Cosine | None = None
    """How similar a replacement's vector is to the word's, at least; left out, θ_relate of every provider, by
    majority."""

    explainer: str | None = Field(default=None, min_length=1, examples=["lime"])
    """Whose explanations made the word pools, one of `trust.explainers`; left out, the first."""

    @property
    def least_cosine(self) -> float | None:
        """As `min_cosine` says."""
        return self.min_cosine


NoiseKind = Literal["typos", "casing", "punctuation", "whitespace", "homoglyphs"]
NOISES: tuple[NoiseKind, ...] = ("typos", "casing", "punctuation", "whitespace", "homoglyphs")


class Noise(NamedAttack):
    """Typos anywhere, casing, punctuation, whitespace, homoglyphs: each at several severities."""

    attack: Literal["noise"] = "noise"
    """Which attack it is."""

    kinds: Annotated[tuple[NoiseKind, ...], Field(min_length=1), EachOnce] = NOISES
    """Which kinds of noise are tried, each by itself."""

    severities: Annotated[tuple[Annotated[int, Field(ge=1, le=5)], ...], Field(min_length=1), EachOnce] = (1, 3, 5)
    """How much of it, from 1 to 5."""

    examples: int = Field(default=4, ge=0, le=100)
    """How many noisy texts the report shows."""


class QuestionAttack(NamedAttack):
    """The same question put otherwise, to a model that answers in words."""

    texts: int | None = Field(default=None, ge=1, examples=["100"])
    """How many audited texts are asked about, in proportion to the classes; left out, all."""


class TextRewrite(NamedAttack):
    """What every attack on texts has that swaps no words."""

    texts: int | None = Field(default=None, ge=1, examples=["100"])
    """How many audited texts are attacked, in proportion to the classes; left out, all."""

    examples: int = Field(default=6, ge=0, le=100)
    """How many attacked texts the report shows."""

    def for_attacking(self) -> Self:
        """As it enters the stage that attacks: how it is called and shown changes no attacked text."""
        return self.model_copy(update={"name": None, "texts": None, "examples": 0})
