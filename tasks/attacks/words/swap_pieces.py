"""Looking for replacements on a worker: word vectors are made there, and words find their neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa

from assay.data.word_schemas import WordSwaps
from assay.tasks.attacks.words.resolved import ResolvedWordAttack
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
from assay.tasks.language.spaces import Space
from assay.tasks.language.synonyms import synonym_pairs
from assay.tasks.subjects.resolved import ResolvedSubject
from assay.tasks.subjects.text_model import load_text_model

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


def neighbour_piece(
    piece: Words, *, texts: Sequence[str], attack: ResolvedWordAttack, files: dict[str, bytes],
    subject: ResolvedSubject, classes: int, seed: int,
) -> pa.Table:  # fmt: skip
    """The swaps of A2T."""
    asked, settings = piece.words, attack.settings
    if attack.lists is not None:
        rows = listed_rows(asked, read_lists(attack.lists.name, attack.lists.content), settings.candidates)
        return pa.Table.from_pylist(rows, schema=WordSwaps.schema)
    assert attack.providers is not None
    provider = _provider(attack.providers, 0, texts, files, subject, classes, seed)
    least = attack.least_cosine
    if least is None:
        least = synonym_cosine(provider, synonym_pairs())
    vocabulary = Vocabulary.of(provider, vocabulary_words(provider, texts))
    rows = neighbour_rows(asked, vocabulary, provider, settings.candidates, least)
    return pa.Table.from_pylist(rows, schema=WordSwaps.schema)


def embed_piece(
    voter: Voter, *, texts: Sequence[str], words: Sequence[str], providers: ResolvedProviders,
    files: dict[str, bytes], subject: ResolvedSubject, classes: int, seed: int,
) -> pa.Table:  # fmt: skip
    """The vectors that one provider gives the words."""
    return word_vectors(_provider(providers, voter.place, texts, files, subject, classes, seed), words)


def guided_piece(piece: Words, *, pools: Pools, spaces: Sequence[Space], settings: Guided, lemmatise: bool) -> pa.Table:
    """The swaps of the guided attack for some words; where words are pooled by their lemmas, they are asked by them."""
    spelt = [spelling(word, lemmatise) for word in piece.words]
    found = guided_rows(
        sorted(set(spelt)), pools, spaces, candidates=settings.candidates, similar=settings.similar,
        least=settings.min_cosine, part_of_speech=settings.part_of_speech,
    )  # fmt: skip
    by_spelling: dict[object, list[dict[str, object]]] = {}
    for row in found:
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
    providers: ResolvedProviders, place: int, texts: Sequence[str], files: dict[str, bytes],
    subject: ResolvedSubject, classes: int, seed: int,
) -> Provider:  # fmt: skip
    one = ResolvedProviders((providers.providers[place],))
    model = load_text_model(subject, files, classes) if one.providers[0].name == "subject" else None
    return build_providers(one, texts, model, seed)[0]
