"""Looking for replacements on a worker: word vectors are made there, and words find their neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import pyarrow as pa

from assay.data.word_schemas import CosineLimits, SynonymCosines, WordSwaps
from assay.infra.errors import InputError
from assay.tasks.attacks.text_table import TEXT_ATTACKS
from assay.tasks.attacks.words.resolved import ResolvedWordAttack, asks_subject
from assay.tasks.attacks.words.settings import Guided
from assay.tasks.attacks.words.swapping import (
    Pools,
    guided_rows,
    is_one_word,
    listed_rows,
    may_change,
    neighbour_rows,
    read_lists,
    synonym_cosine,
)
from assay.tasks.language.embeddings.corpus import sentences_of, vocabulary_of
from assay.tasks.language.embeddings.ensemble import ResolvedProviders, build_providers
from assay.tasks.language.embeddings.fasttext import fasttext_provider
from assay.tasks.language.embeddings.keyed_vectors import KeyedProvider
from assay.tasks.language.embeddings.provider import Provider
from assay.tasks.language.embeddings.stored import word_vectors
from assay.tasks.language.lemmas import spelling
from assay.tasks.language.neighbours import Vocabulary
from assay.tasks.language.relatedness import theta_relate
from assay.tasks.language.spaces import Space
from assay.tasks.language.synonyms import synonym_pairs
from assay.tasks.language.telling_apart import ToldApart, told_apart
from assay.tasks.subjects.resolved import ResolvedSubject
from assay.tasks.subjects.texts.loading import load_text_model

MOST_OF_CORPUS, MOST_OF_FILE = 10_000, 65_000
"""So many words, the most frequent ones, can be put in: of the training texts, and of a file of vectors."""


@dataclass(frozen=True)
class Words:
    """Words, as a piece of work."""

    words: tuple[str, ...]


@dataclass(frozen=True)
class Voter:
    """A provider of word vectors, as a piece of work: its place among them."""

    place: int


@dataclass(frozen=True)
class Inside:
    """The subject, where its own vectors are asked."""

    subject: ResolvedSubject
    files: dict[str, bytes]
    classes: int


def neighbour_piece(
    piece: Words, *, texts: Sequence[str], attack: ResolvedWordAttack, inside: Inside | None, seed: int
) -> tuple[pa.Table, pa.Table]:
    """The nearest words, however far they are, and what is known of how near synonyms are and how well told apart."""
    asked, count = piece.words, attack.settings.candidates
    replacements = TEXT_ATTACKS.of(attack.settings).replacements
    known: dict[str, object]
    if replacements is not None:
        word = TEXT_ATTACKS.of(attack.settings).word
        rows = listed_rows(asked, replacements(asked, texts, attack.settings, seed), count)
        known = {"provider": word}
    elif attack.lists is not None:
        rows = listed_rows(asked, read_lists(attack.lists.name, attack.lists.content), count)
        known = {"provider": attack.lists.name}
    else:
        assert attack.providers is not None
        provider = _provider(attack.providers, 0, texts, inside, seed)
        vocabulary = Vocabulary.of(provider, vocabulary_words(provider, texts))
        rows = neighbour_rows(asked, vocabulary, provider, count)
        known = {"provider": provider.name, **_separation(told_apart(provider.vectors, synonym_pairs(), seed))}
        if attack.given_cosine is None:
            known |= dict(zip(("synonyms", "related"), _synonym_cosines(provider, seed), strict=True))
    table = pa.Table.from_pylist(rows, schema=WordSwaps.schema)
    return table, pa.Table.from_pylist([known], schema=SynonymCosines.schema)


def pool_limits(spaces: Sequence[Space], least: float | None, seed: int) -> pa.Table:
    """What the guided attack asks of each space, by its θ_relate where no least cosine is given, as `CosineLimits`."""
    rows = [
        {"provider": space.provider, "limit": space.theta if least is None else least}
        | _separation(told_apart(space.of, synonym_pairs(), seed))
        for space in spaces
    ]
    return pa.Table.from_pylist(rows, schema=CosineLimits.schema)


def _separation(apart: ToldApart | None) -> dict[str, object]:
    return {} if apart is None else asdict(apart)


def _synonym_cosines(provider: Provider, seed: int) -> tuple[float, float]:
    """What half of all synonyms reach, and θ_relate; NaN where the vectors know too few pairs."""
    pairs, nobody_knows = synonym_pairs(), float("nan")
    try:
        synonyms = synonym_cosine(provider, pairs)
    except InputError:
        return nobody_knows, nobody_knows
    try:
        return synonyms, theta_relate(provider, pairs, seed).value
    except InputError:
        return synonyms, nobody_knows


def embed_piece(
    voter: Voter,
    *,
    texts: Sequence[str],
    words: Sequence[str],
    providers: ResolvedProviders,
    inside: Inside | None,
    seed: int,
) -> pa.Table:
    """The vectors that one provider gives the words."""
    return word_vectors(_provider(providers, voter.place, texts, inside, seed), words)


def guided_piece(piece: Words, *, pools: Pools, spaces: Sequence[Space], settings: Guided, lemmatise: bool) -> pa.Table:
    """The swaps of the guided attack for some words; where words are pooled by their lemmas, they are asked by them."""
    spelt = [spelling(word, lemmatise) for word in piece.words]
    swaps = guided_rows(
        sorted(set(spelt)),
        pools,
        spaces,
        candidates=settings.candidates,
        similar=settings.similar,
        least=settings.min_cosine,
        part_of_speech=settings.part_of_speech,
    )
    by_spelling: dict[object, list[dict[str, object]]] = {}
    for row in swaps:
        by_spelling.setdefault(row["word"], []).append(row)
    rows = [
        row | {"word": word}
        for word, spelled in zip(piece.words, spelt, strict=True)
        for row in by_spelling.get(spelled, ())
    ]
    return pa.Table.from_pylist(rows, schema=WordSwaps.schema)


def sentence_piece(piece: Words, *, texts: Sequence[str], seed: int) -> pa.Table:
    """The fastText vectors by which sentences are compared, trained on the training texts."""
    return word_vectors(fasttext_provider(texts, seed), piece.words)


def vocabulary_words(provider: Provider, texts: Sequence[str]) -> list[str]:
    """The words that may be put in: the most frequent ones of the training texts, or of the file of vectors."""
    if isinstance(provider, KeyedProvider):
        words = [word.lower() for word in provider.words[:MOST_OF_FILE]]
    else:
        words = vocabulary_of(sentences_of(texts), most=MOST_OF_CORPUS)
    return sorted({word for word in words if may_change(word) and is_one_word(word)})


def _provider(
    providers: ResolvedProviders, place: int, texts: Sequence[str], inside: Inside | None, seed: int
) -> Provider:
    single = ResolvedProviders((providers.providers[place],))
    if not asks_subject(single):
        return build_providers(single, texts, None, seed)[0]
    assert inside is not None
    return build_providers(single, texts, load_text_model(inside.subject, inside.files, inside.classes), seed)[0]
