"""What may take a word's place: its nearest words (A2T), or what the trust oracle's pools hold for it (guided),
searched on workers.

The attack guided by the oracle (section 4) weakens valid reasons and strengthens spurious ones. A word that is
related to the class gives way to a similar keyword of that class with low mean importance; any other word gives
way to a similar word that is a keyword of no class, from the pool of another class, with high mean importance.
"Similar" is what most word embeddings call so, each by its own threshold; of the `similar` nearest, the
`candidates` of the lowest (or the highest) importance are tried. So importance chooses only where more words
are similar than are tried: where there are fewer, all of them are, and which of them is put in is decided by
the subject's answers, as in A2T.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from toolz import groupby

from assay.data.arrays import Floats
from assay.data.schemas import CosineLimits, SynonymCosines, WordSwaps
from assay.infra.errors import InputError
from assay.infra.user_code.choices import plugin_faults
from assay.tasks.attacks.table import TEXT_ATTACKS
from assay.tasks.attacks.texts.resolved import ResolvedWordAttack
from assay.tasks.attacks.texts.settings import Guided
from assay.tasks.attacks.texts.similarity import could_be_alike
from assay.tasks.language.embeddings.corpus import FastTextProvider, fasttext_provider, sentences_of, vocabulary_of
from assay.tasks.language.embeddings.ensemble import ResolvedProviders, build_provider
from assay.tasks.language.embeddings.keyed_vectors import KeyedProvider
from assay.tasks.language.embeddings.provider import Provider, word_vectors
from assay.tasks.language.relatedness import (
    Anchors,
    Space,
    Vocabulary,
    pair_cosines,
    related_words,
    synonym_area,
    theta_relate,
)
from assay.tasks.language.synonyms import Pair, synonym_pairs
from assay.tasks.language.words import is_one_word, may_change, normalised, spelling, words_of

EVERY_CLASS = -1
Row = dict[str, object]


@dataclass(frozen=True)
class Pools:
    """The words of every class's pool together, their mean importance in each (NaN where a class has not the word), and
    whether they are a keyword of it."""

    words: tuple[str, ...]
    importance: Floats  # [k, n]
    keyword: npt.NDArray[np.bool_]  # [k, n]
    anchors: tuple[Anchors, ...]  # per class

    @property
    def strange(self) -> npt.NDArray[np.bool_]:
        """The words that are a keyword of no class, [n]: putting one of them in says nothing new about any."""
        return np.logical_not(self.keyword.any(axis=0))


def content_words(texts: Iterable[str]) -> list[str]:
    """The distinct words that an attack may change, in the form in which words are compared, alphabetically.

    >>> content_words(["The film is not good.", "A GOOD film"])
    ['film', 'good']
    """
    distinct = set(map(normalised, {word.text for text in texts for word in words_of(text)}))
    return sorted(word for word in distinct if may_change(word))


def synonym_cosine(provider: Provider, pairs: Sequence[Pair]) -> float:
    """The cosine that half of all synonym pairs reach: what counts as a synonym in vectors that are not made for it;
    NaN where they know none of the pairs.

    Vectors from contexts put everything related close, antonyms too; θ_relate lets those in, this mostly does not.
    """
    cosines = pair_cosines(provider.vectors([a for a, _ in pairs]), provider.vectors([b for _, b in pairs]))
    known = cosines[~np.isnan(cosines)]
    return float(np.median(known)) if len(known) else float("nan")


def neighbour_rows(
    asked: Sequence[str], vocabulary: Vocabulary, provider: Provider, count: int, least: float = -1.0
) -> list[Row]:
    """Of each word its nearest words of a vocabulary, by the cosine of their vectors."""
    near = vocabulary.nearest(asked, provider.vectors(list(asked)), count, least)
    return [
        _row(word, [neighbour.word for neighbour in nearest], [neighbour.cosine for neighbour in nearest])
        for word, nearest in zip(asked, near, strict=True)
        if nearest
    ]


def near_enough(rows: Iterable[Row], least: float) -> list[Row]:
    """The rows with those candidates that are near enough, and without words that have none.

    The nearest words of which the far ones are left out are the nearest ones that are near enough: a search need not
    know the limit.

    >>> row = {"word": "good", "candidates": ["great", "bad"], "cosines": [0.9, 0.4], "importance": [1.0, 2.0]}
    >>> near_enough([row], 0.5)
    [{'word': 'good', 'candidates': ['great'], 'cosines': [0.9], 'importance': [1.0]}]
    """
    near = []
    for row in rows:
        lists = {name: cast("list[object]", row[name]) for name in ("candidates", "cosines", "importance")}
        kept = [place for place, cosine in enumerate(cast("list[float]", row["cosines"])) if cosine >= least]
        if kept:
            near.append(row | {name: [values[place] for place in kept] for name, values in lists.items()})
    return near


def listed_rows(asked: Sequence[str], lists: Mapping[str, Sequence[str]], count: int) -> list[Row]:
    """Of each word what a file lists for it; such lists have no cosines, and their order is kept."""
    listed = {
        word: [other for other in lists.get(word, ()) if other != word and may_change(other) and is_one_word(other)]
        for word in asked
    }
    return [_row(word, some[:count]) for word, some in listed.items() if some]


def guided_rows(asked: Sequence[str], pools: Pools, spaces: Sequence[Space], settings: Guided) -> list[Row]:
    """Of each word and class what the oracle's pools hold for it (section 4); `min_cosine` overrules every θ_relate.

    With `part_of_speech` words that the attack's constraint would refuse do not count among the similar ones.
    """
    if not pools.words or not asked:
        return []
    close, nearness = _similar(asked, pools.words, spaces, settings.min_cosine)
    own = np.array([[word == other for other in pools.words] for word in asked], dtype=np.bool_)
    close &= ~own
    if settings.part_of_speech:
        close &= np.array([[could_be_alike(word, other) for other in pools.words] for word in asked], dtype=np.bool_)
    rows = []
    for code, anchors in enumerate(pools.anchors):
        weak = pools.keyword[code], pools.importance[code]
        strong = _injected(pools, code)
        for place, related in enumerate(related_words(asked, anchors, spaces)):
            if related is None:
                continue
            allowed, importance = weak if related else strong
            near = np.flatnonzero(close[place] & allowed & np.isfinite(importance))
            near = near[np.argsort(-nearness[place][near], kind="stable")][: settings.similar]
            score = importance[near] if related else -importance[near]
            chosen = near[np.argsort(score, kind="stable")][: settings.candidates]
            if len(chosen):
                words = [pools.words[place] for place in chosen]
                row = _row(asked[place], words, nearness[place][chosen].tolist(), importance[chosen].tolist())
                rows.append(row | {"code": code, "related": related})
    return rows


def pools_in(keywords: pa.Table, classes: int) -> Pools:
    """The pools in a table of `Keywords`; words that an attack may not put in are left out of them."""
    from assay.tasks.language.relatedness import anchors_in

    rows = keywords.select(["code", "word", "importance", "keyword"]).to_pylist()
    words = sorted({row["word"] for row in rows if may_change(row["word"]) and is_one_word(row["word"])})
    place = {word: at for at, word in enumerate(words)}
    importance = np.full((classes, len(words)), np.nan)
    keyword = np.zeros((classes, len(words)), dtype=np.bool_)
    for row in rows:
        if row["word"] in place:
            importance[row["code"], place[row["word"]]] = row["importance"]
            keyword[row["code"], place[row["word"]]] = row["keyword"]
    return Pools(tuple(words), importance, keyword, tuple(anchors_in(keywords, classes)))


def read_lists(name: str, content: bytes) -> dict[str, list[str]]:
    """The neighbour lists in a JSON file: every word with the words that may take its place."""
    try:
        raw = json.loads(gzip.decompress(content) if content[:2] == b"\x1f\x8b" else content)
    except (OSError, EOFError, ValueError) as fault:
        raise InputError(f"The neighbour lists {name} cannot be read as JSON ({fault}).") from fault
    fits = isinstance(raw, dict) and all(
        isinstance(words, list) and all(isinstance(word, str) for word in words) for words in raw.values()
    )
    if not fits:
        raise InputError(f'The neighbour lists {name} are no lists of words: {{"film": ["movie", …], …}} is expected.')
    return {normalised(word): list(map(normalised, words)) for word, words in raw.items()}


def _injected(pools: Pools, code: int) -> tuple[npt.NDArray[np.bool_], Floats]:
    """The words that may strengthen a spurious reason for another class, and their highest importance there, [n]."""
    others = np.delete(pools.importance, code, axis=0)
    known = np.isfinite(others).any(axis=0) if len(others) else np.zeros(len(pools.words), np.bool_)
    best = np.where(np.isfinite(others), others, -np.inf).max(axis=0, initial=-np.inf)
    return pools.strange & known, np.where(known, best, np.nan)


def _similar(
    asked: Sequence[str], words: Sequence[str], spaces: Sequence[Space], least: float | None
) -> tuple[npt.NDArray[np.bool_], Floats]:
    """Which words most voters call similar, and the mean cosine by which the nearest are chosen, both [n, m].

    A provider that does not know one of two words has no vote on them.
    """
    yes = np.zeros((len(asked), len(words)), dtype=np.int64)
    votes, total = yes.copy(), np.zeros(yes.shape)
    for space in spaces:
        cosines = space.cosines(asked, words)
        known = ~np.isnan(cosines)
        votes += known
        yes += known & (np.nan_to_num(cosines, nan=-2.0) >= (space.theta if least is None else least))
        total += np.nan_to_num(cosines)
    return 2 * yes > votes, total / np.maximum(votes, 1)


def _row(
    word: str,
    candidates: Sequence[str],
    cosines: Sequence[float] | None = None,
    importance: Sequence[float] | None = None,
) -> Row:
    """What may take a word's place in any text, as a row of `WordSwaps`."""
    nothing = [float("nan")] * len(candidates)
    return {
        "code": EVERY_CLASS,
        "word": word,
        "related": None,
        "candidates": list(candidates),
        "cosines": nothing if cosines is None else list(cosines),
        "importance": nothing if importance is None else list(importance),
    }


MOST_OF_CORPUS, MOST_OF_FILE = 10_000, 65_000
"""So many words, the most frequent ones, can be put in: of the training texts, and of a file of vectors."""


@dataclass(frozen=True)
class Words:
    """Words, as a piece of work."""

    words: tuple[str, ...]


@dataclass(frozen=True)
class Learner:
    """What learns word vectors, as a piece of work: a provider by its place, or with none what compares sentences."""

    provider: int | None


SENTENCES = "of sentences"
"""What the vectors by which sentences are compared are called among those of providers."""


def neighbour_piece(
    piece: Words, *, texts: Sequence[str], attack: ResolvedWordAttack, load: Callable[[], object], seed: int
) -> tuple[pa.Table, pa.Table]:
    """The nearest words, however far they are, and what is known of how near synonyms are and how well told apart;
    `load` gives the subject, where its own vectors are asked."""
    asked, count, choice = piece.words, attack.settings.candidates, TEXT_ATTACKS.of(attack.settings)
    known: dict[str, object]
    if choice.replacements is not None:
        with plugin_faults(attack.settings, choice.word, attack.unquoted):
            offered: object = choice.replacements(asked, texts, attack.settings, seed)
        if not isinstance(offered, Mapping) or any(isinstance(words, str) for words in offered.values()):
            raise InputError(f"The attack {choice.word} offers no list of words for each word in a mapping of them.")
        rows = listed_rows(asked, offered, count)
        known = {"provider": choice.word}
    elif attack.lists is not None:
        rows = listed_rows(asked, read_lists(attack.lists.name, attack.lists.content), count)
        known = {"provider": attack.lists.name}
    else:
        assert attack.providers is not None
        provider = build_provider(attack.providers, 0, texts, load, seed)
        rows = neighbour_rows(asked, Vocabulary.of(provider, vocabulary_words(provider, texts)), provider, count)
        known = {"provider": provider.name, **synonym_area(provider.vectors, synonym_pairs(), seed)}
        if attack.given_cosine is None:
            known["synonyms"] = synonym_cosine(provider, synonym_pairs())
            known["related"] = _related_cosine(provider, seed)
    table = pa.Table.from_pylist(rows, schema=WordSwaps.schema)
    return table, pa.Table.from_pylist([known], schema=SynonymCosines.schema)


def pool_limits(spaces: Sequence[Space], least: float | None, seed: int) -> pa.Table:
    """What the guided attack asks of each space, by its θ_relate where no least cosine is given, as `CosineLimits`."""
    rows = [
        {"provider": space.provider, "limit": space.theta if least is None else least}
        | synonym_area(space.of, synonym_pairs(), seed)
        for space in spaces
    ]
    return pa.Table.from_pylist(rows, schema=CosineLimits.schema)


def _related_cosine(provider: Provider, seed: int) -> float:
    """θ_relate; NaN where the vectors know too few pairs."""
    try:
        return theta_relate(provider, synonym_pairs(), seed).value
    except InputError:
        return float("nan")


def embed_piece(
    learner: Learner,
    *,
    texts: Sequence[str],
    words: Sequence[str],
    providers: ResolvedProviders,
    load: Callable[[], object],
    seed: int,
    compared: Words,
    sentence_seed: int,
) -> pa.Table:
    """The vectors that a provider gives the words, or that sentences are compared by."""
    if learner.provider is None:
        table = sentence_piece(compared, texts=texts, seed=sentence_seed)
        return table.set_column(0, "provider", pa.array([SENTENCES] * table.num_rows))
    return word_vectors(build_provider(providers, learner.provider, texts, load, seed), words)


def guided_piece(piece: Words, *, pools: Pools, spaces: Sequence[Space], settings: Guided, lemmatise: bool) -> pa.Table:
    """The swaps of the guided attack for some words; where words are pooled by their lemmas, they are asked by them."""
    spelt = {word: spelling(word, lemmatise) for word in piece.words}
    by_spelling = groupby("word", guided_rows(sorted(set(spelt.values())), pools, spaces, settings))
    rows = [row | {"word": word} for word, form in spelt.items() for row in by_spelling.get(form, ())]
    return pa.Table.from_pylist(rows, schema=WordSwaps.schema)


def compared_rows(vectors: pa.Table, *, words: Sequence[str]) -> pa.Table:
    """Of the vectors that `embed_piece` gives, those of these words that sentences are compared by."""
    chosen = pc.and_(pc.equal(vectors["provider"], SENTENCES), pc.is_in(vectors["word"], pa.array(words, pa.string())))
    rows = vectors.filter(chosen)
    return rows.set_column(0, "provider", pa.array([FastTextProvider.name] * rows.num_rows, pa.string()))


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
