"""What may replace a word, as stages: the nearest words for A2T, the oracle's pools for the guided attack."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan
from typing import Any, NamedTuple

import pyarrow as pa

from assay.data.schemas import Classes, Samples, SubjectFiles
from assay.data.text_schemas import Keywords, Thresholds, WordVectors
from assay.data.word_schemas import CosineLimits, SynonymCosines, WordSwaps
from assay.infra.artifacts import Artifact
from assay.infra.errors import InputError
from assay.infra.partitions import collect, map_pieces, read_files
from assay.infra.stage import say, stage, stage_seeds, write_table
from assay.tasks.attacks.words.measures import limits_said
from assay.tasks.attacks.words.resolved import ResolvedWordAttack, Sought, asks_subject
from assay.tasks.attacks.words.settings import Guided
from assay.tasks.attacks.words.swap_pieces import (
    Inside,
    Voter,
    Words,
    embed_piece,
    guided_piece,
    neighbour_piece,
    pool_limits,
    sentence_piece,
)
from assay.tasks.attacks.words.swapping import content_words, near_enough, pools_in
from assay.tasks.language.embeddings.ensemble import ResolvedProviders
from assay.tasks.language.lemmas import spelling
from assay.tasks.language.spaces import spaces_from
from assay.tasks.language.synonyms import synonym_pairs
from assay.tasks.subjects.resolved import ResolvedSubject
from assay.tasks.subjects.texts.rows import texts_of

_WORDS = 512  # words whose swaps are looked for at a time
SYNONYMS = "synonyms"
"""How near a replacement has to be where an attack does not say: as near as half of all synonyms."""


class Swaps(NamedTuple):
    """What may take a word's place, the vectors by which sentences are compared once more, and how similar a word has
    to be."""

    swaps: Artifact[WordSwaps]
    vectors: Artifact[WordVectors]
    limits: Artifact[CosineLimits]


class Nearest(NamedTuple):
    """The nearest words however far, the vectors by which sentences are compared, and how near synonyms are."""

    swaps: Artifact[WordSwaps]
    vectors: Artifact[WordVectors]
    known: Artifact[SynonymCosines]


class Near(NamedTuple):
    """The words that are near enough, and how near that is."""

    swaps: Artifact[WordSwaps]
    limits: Artifact[CosineLimits]


@dataclass(frozen=True)
class _Corpus:
    """The texts that words are found in: those that are attacked, and those that vectors are learnt from."""

    asked: list[str]
    learnt: list[str]


def find_neighbours(
    samples: Artifact[Samples],
    training: Artifact[Samples],
    classes: Artifact[Classes],
    files: Artifact[SubjectFiles],
    subject: ResolvedSubject,
    attack: ResolvedWordAttack,
) -> Swaps:
    """A2T: of every word of the samples the nearest words that are near enough.

    They are looked for once for all attacks that look for the same, however near a word has to be for each.
    """
    sought, text = Sought(attack), subject.settings.text
    asked = (subject, files, classes) if sought.of_subject else (None, None, None)
    nearest = look_for_neighbours(samples, training, text, sought, *asked)
    wanted = attack.given_cosine if attack.given_cosine is not None else str(attack.settings.least_cosine or SYNONYMS)
    near = keep_near(nearest.swaps, nearest.known, wanted)
    return Swaps(near.swaps, nearest.vectors, near.limits)


def find_guided_swaps(
    samples: Artifact[Samples],
    training: Artifact[Samples],
    keywords: Artifact[Keywords],
    thresholds: Artifact[Thresholds],
    classes: Artifact[Classes],
    files: Artifact[SubjectFiles],
    subject: ResolvedSubject,
    attack: ResolvedWordAttack,
    providers: ResolvedProviders,
    lemmatise: bool = False,
) -> Swaps:
    """Guided (section 4): of every word and class the similar words of the pools; found once for attacks alike."""
    arguments = (
        samples,
        training,
        keywords,
        thresholds,
        classes,
        subject.settings.text,
        Sought(attack),
        providers,
        lemmatise,
    )
    if asks_subject(providers):
        return look_into_pools(*arguments, subject, files)
    return look_into_pools(*arguments)


@stage(version=3, title="neighbours", draws=True)
def look_for_neighbours(
    samples: Artifact[Samples],
    training: Artifact[Samples],
    text: str,
    sought: Sought,
    subject: ResolvedSubject | None = None,
    files: Artifact[SubjectFiles] | None = None,
    classes: Artifact[Classes] | None = None,
) -> Nearest:
    """A2T: of every word of the samples the nearest words, by vectors or by neighbour lists."""
    corpus = _corpus(samples, training, text)
    swaps, known = map_pieces(
        neighbour_piece,
        [Words(tuple(corpus.asked))],
        into=(WordSwaps, SynonymCosines),
        texts=corpus.learnt,
        attack=sought.attack,
        inside=_inside(subject, files, classes),
        seed=stage_seeds().integer(),
    )
    say(f"{len(corpus.asked)} words looked up, {swaps.rows} have neighbours")
    return Nearest(swaps, _sentence_vectors(corpus, swaps), known)


@stage(version=2, title="near enough")
def keep_near(swaps: Artifact[WordSwaps], known: Artifact[SynonymCosines], wanted: float | str) -> Near:
    """The neighbours at the cosine that is `wanted`, or that synonyms (`synonyms`) or related words (`related`) have;
    what comes from lists stays as it is."""
    (row,) = collect(known, None).to_pylist()
    least = wanted if isinstance(wanted, float) else row[wanted]
    if least is not None and isnan(least):
        raise InputError(
            f"The word vectors {row['provider']} know too few of the synonym pairs to say how close a replacement is: "
            "set the attack's min_cosine."
        )
    rows = collect(swaps, None).to_pylist()
    kept = rows if least is None else near_enough(rows, least)
    limit = {name: row[name] for name in CosineLimits.schema.names if name in row} | {"limit": least}
    limit_text = limits_said({row["provider"]: least})
    say(f"{len(kept)} of {len(rows)} words have a replacement" + (f" · cosine ≥ {limit_text}" if limit_text else ""))
    near = write_table(pa.Table.from_pylist(kept, schema=WordSwaps.schema), into=WordSwaps)
    return Near(near, write_table(pa.Table.from_pylist([limit], schema=CosineLimits.schema), into=CosineLimits))


@stage(version=2, title="guided swaps", draws=True)
def look_into_pools(
    samples: Artifact[Samples],
    training: Artifact[Samples],
    keywords: Artifact[Keywords],
    thresholds: Artifact[Thresholds],
    classes: Artifact[Classes],
    text: str,
    sought: Sought,
    providers: ResolvedProviders,
    lemmatise: bool,
    subject: ResolvedSubject | None = None,
    files: Artifact[SubjectFiles] | None = None,
) -> Swaps:
    """Guided (section 4): of every word and class the similar words of the oracle's pools, by their importance."""
    settings = sought.attack.settings
    assert isinstance(settings, Guided)
    corpus = _corpus(samples, training, text)
    keyword_rows = collect(keywords, None)
    spelt = {spelling(word, lemmatise) for word in corpus.asked}
    words = sorted({*spelt, *keyword_rows["word"].to_pylist(), *(word for pair in synonym_pairs() for word in pair)})
    embedded = map_pieces(
        embed_piece,
        [Voter(place) for place in range(len(providers.providers))],
        into=WordVectors,
        name="spaces",
        texts=corpus.learnt,
        words=words,
        providers=providers,
        inside=_inside(subject, files, classes),
        seed=stage_seeds().integer(),
    )
    thetas = {row["provider"]: row["theta"] for row in collect(thresholds, ["provider", "theta"]).to_pylist()}
    pieces = [Words(tuple(corpus.asked[at : at + _WORDS])) for at in range(0, max(1, len(corpus.asked)), _WORDS)]
    spaces = spaces_from(collect(embedded, None), thetas)
    swaps = map_pieces(
        guided_piece,
        pieces,
        into=WordSwaps,
        name="swaps",
        pools=pools_in(keyword_rows, classes.rows),
        spaces=spaces,
        settings=settings,
        lemmatise=lemmatise,
    )
    limits = pool_limits(spaces, settings.min_cosine, stage_seeds().integer("synonyms"))
    asked = dict(zip(limits["provider"].to_pylist(), limits["limit"].to_pylist(), strict=True))
    related = collect(swaps, ["related"])["related"].to_pylist()
    say(
        f"replacements for {sum(related)} related and {len(related) - sum(related)} other words, counted per class · "
        f"cosine ≥ {limits_said(asked)}"
    )
    return Swaps(swaps, _sentence_vectors(corpus, swaps), write_table(limits, into=CosineLimits))


def _corpus(samples: Artifact[Samples], training: Artifact[Samples], column: str) -> _Corpus:
    """What is attacked, and what vectors are learnt from: the training texts, or where there are none the same."""
    attacked = texts_of(collect(samples, ["id", column]), column)
    learnt = texts_of(collect(training, ["id", column]), column) if training.rows else attacked
    return _Corpus(content_words(attacked), learnt)


def _inside(
    subject: ResolvedSubject | None, files: Artifact[SubjectFiles] | None, classes: Artifact[Classes] | None
) -> Inside | None:
    if subject is None or files is None or classes is None:
        return None
    return Inside(subject, read_files(files), classes.rows)


def _sentence_vectors(corpus: _Corpus, swaps: Artifact[Any]) -> Artifact[WordVectors]:
    """FastText vectors of all words that an attacked text can have, by which sentences are compared."""
    listed: Sequence[Sequence[str]] = collect(swaps, ["candidates"])["candidates"].to_pylist()
    words = {*corpus.asked, *(word for some in listed for word in some)}
    vectors: Artifact[WordVectors] = map_pieces(
        sentence_piece,
        [Words(tuple(sorted(words)))],
        into=WordVectors,
        name="vectors",
        texts=corpus.learnt,
        seed=stage_seeds().integer("sentences"),
    )
    return vectors
