"""Tagged sentences and pairs out of samples, what a tagger and a scorer are, and a user's own function as either."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from assay.infra.errors import InputError
from assay.tasks.subjects.own_models import Asked, answers_in_blocks
from assay.tasks.subjects.predictions import as_numbers
from assay.tasks.subjects.resolved import ResolvedSubject
from assay.tasks.subjects.settings import Subject
from assay.tasks.subjects.texts.rows import column_of, texts_of
from assay.tasks.subjects.trained import sealed_card

Words = list[str]
Pair = tuple[str, str]
PREFIXES = ("B-", "I-")


@dataclass(frozen=True)
class Sentences:
    """Sentences as their words, and the tag of every word, None where a sentence has none."""

    ids: Sequence[str]
    tokens: Sequence[Words]
    tags: Sequence[Words | None]


@dataclass(frozen=True)
class Pairs:
    """Pairs of sentences, and how similar they are, None where nobody says."""

    ids: list[str]
    pairs: list[Pair]
    scores: list[float | None]


def sentences_of(samples: pa.Table, subject: Subject) -> Sentences:
    """The sentences that a tagger reads, each with as many tags as words.

    >>> rows = pa.table({"id": ["a"], "tokens": [["fever"]], "tags": [["B-Disease"]]})
    >>> sentences_of(rows, Subject(tagger="small-tagger")).tags
    [['B-Disease']]
    """
    ids: list[str] = samples["id"].to_pylist()
    tokens = _lists(samples, subject.tokens, "tokens", ids)
    if subject.tags not in samples.column_names:
        return Sentences(ids, tokens, [None] * len(ids))
    tags: Sequence[Words | None] = _lists(samples, subject.tags, "tags", ids, optional=True)
    for sample, words, given in zip(ids, tokens, tags, strict=True):
        if given is not None:
            _require_fitting(sample, words, given, subject)
    return Sentences(ids, tokens, tags)


def pairs_of(samples: pa.Table, subject: Subject) -> Pairs:
    """The pairs that a scorer reads, and their scores.

    >>> rows = pa.table({"id": ["a"], "first": ["One."], "second": ["Two."], "score": [1]})
    >>> pairs_of(rows, Subject(scorer="small-scorer")).scores
    [1.0]
    """
    ids: list[str] = samples["id"].to_pylist()
    sides = (texts_of(samples, column, "pair", "scorer") for column in subject.pair)
    pairs = list(zip(*sides, strict=True))
    if subject.score not in samples.column_names:
        return Pairs(ids, pairs, [None] * len(ids))
    values = samples[subject.score]
    if not (pa.types.is_floating(values.type) or pa.types.is_integer(values.type) or pa.types.is_null(values.type)):
        raise InputError(f"The column {subject.score!r} holds {values.type}, and a score is a number.")
    scores: list[float | None] = values.cast(pa.float64()).to_pylist()
    for sample, score in zip(ids, scores, strict=True):
        if score is not None and not math.isfinite(score):
            raise InputError(f"Sample {sample!r} has the score {score}, expected a finite number, or none.")
    return Pairs(ids, pairs, scores)


def tag_names(tags: Sequence[str]) -> tuple[str, ...]:
    """All tags of the entities that these tags are of: `O`, then both tags of every type, by name.

    >>> tag_names(["O", "I-Disease"])
    ('O', 'B-Disease', 'I-Disease')
    """
    types = sorted({tag[2:] for tag in tags if tag != "O"})
    return ("O", *(prefix + name for name in types for prefix in PREFIXES))


def _require_fitting(sample: str, words: Words, tags: Words, subject: Subject) -> None:
    if len(words) != len(tags):
        raise InputError(
            f"Sample {sample!r} has {len(words)} words ({subject.tokens}) and {len(tags)} tags ({subject.tags}): "
            "every word has one tag."
        )
    wrong = next((tag for tag in tags if tag != "O" and not (tag[:2] in PREFIXES and len(tag) > 2)), None)
    if wrong is not None:
        raise InputError(
            f"Sample {sample!r} has the tag {wrong!r}, expected O, B-TYPE or I-TYPE (as in B-Disease, I-Disease)."
        )


def _lists(samples: pa.Table, column: str, setting: str, ids: list[str], optional: bool = False) -> list[Words]:
    dtype = column_of(samples, column, setting, "tagger").type
    if not (pa.types.is_list(dtype) or pa.types.is_large_list(dtype)) or not _is_text(dtype.value_type):
        raise InputError(f"The column {column!r} holds {dtype}, and a tagger's {setting} are a list of texts.")
    values: list[Words | None] = samples[column].to_pylist()
    for sample, value in zip(ids, values, strict=True):
        if (value is None and not optional) or (value is not None and None in value):
            raise InputError(
                f"Sample {sample!r} has a missing value in {column!r}: list it under the source's `required`, or leave "
                "the sample out."
            )
    return values  # type: ignore[return-value]  # None only where it is optional


def _is_text(dtype: pa.DataType) -> bool:
    return bool(pa.types.is_string(dtype) or pa.types.is_large_string(dtype) or pa.types.is_null(dtype))


@dataclass(frozen=True)
class Tagging:
    """A tag per word, the probability of each, and whether the sentence was longer than the tagger reads."""

    tags: list[str]
    confidence: list[float]
    cut: bool = False


class Tagger(Protocol):
    """Any tagger."""

    def tag(self, sentences: Sequence[Sequence[str]]) -> list[Tagging]:
        """The tags of every sentence; a sentence's do not depend on the others."""


class Scorer(Protocol):
    """Any scorer of sentence pairs."""

    def score(self, pairs: Sequence[Pair]) -> npt.NDArray[np.float64]:
        """How similar the sentences of each pair are, [n]; a pair's score does not depend on the others."""

    def count_cut(self, pairs: Sequence[Pair]) -> int:
        """How many pairs are longer than the scorer reads."""


_LIST = "a list of {}"


@dataclass(frozen=True)
class OwnTagger:
    """A `Tagger` around a function from a list of sentences (each a list of words) to a list of lists of tags."""

    code: Asked
    masked: bool = False

    def tag(self, sentences: Sequence[Sequence[str]]) -> list[Tagging]:
        """The tags as the function gives them, checked; it says nothing of how sure it is, which counts as 1."""
        taggings: list[Tagging] = []
        listed = [list(words) for words in sentences]
        for _, block, asked, answer in answers_in_blocks(self.code, "tagger", listed, self.masked, _LIST):
            for row, words in enumerate(block):
                tags = _tags_of(answer, asked, row, len(words), self)
                taggings.append(Tagging(tags, [1.0] * len(tags)))
        return taggings


@dataclass(frozen=True)
class OwnScorer:
    """A `Scorer` around a function from a list of pairs of sentences to a list of numbers."""

    code: Asked
    masked: bool = False

    def score(self, pairs: Sequence[Pair]) -> npt.NDArray[np.float64]:
        """The scores as the function gives them, checked, [n]."""
        result = np.empty(len(pairs))
        for start, block, asked, answer in answers_in_blocks(self.code, "scorer", pairs, self.masked, _LIST):
            values = as_numbers(answer, f'The scorer "{self.code.written}"', "a number per pair")
            if values.shape != (asked,) or not np.isfinite(values).all():
                raise InputError(
                    f"{_returned('scorer', self, answer)} for {asked} pairs, expected a finite number per pair."
                )
            result[start : start + len(block)] = values[: len(block)]
        return result

    def count_cut(self, pairs: Sequence[Pair]) -> int:  # noqa: ARG002 - nobody knows what a function reads
        """None, as far as anybody can know."""
        return 0


def _returned(what: str, model: OwnTagger | OwnScorer, output: object) -> str:
    value = type(output).__name__ if model.masked else str(output)[:80]
    return f'The {what} "{model.code.written}" returned {value}'


def _tags_of(output: object, asked: int, row: int, words: int, tagger: OwnTagger) -> list[str]:
    """The tags of one sentence out of what a function returned for a block."""
    rows = list(output) if isinstance(output, Sequence) else []
    if len(rows) != asked or not isinstance(rows[row], Sequence) or len(rows[row]) != words:
        raise InputError(f"{_returned('tagger', tagger, output)}, expected per sentence a list of one tag per word.")
    tags = [str(tag) for tag in rows[row]]
    wrong = next((tag for tag in tags if tag != "O" and not (tag[:2] in PREFIXES and len(tag) > 2)), None)
    if wrong is not None:
        value = "something that is no tag" if tagger.masked else f"the tag {wrong!r}"
        raise InputError(f'The tagger "{tagger.code.written}" returned {value}, expected O, B-TYPE or I-TYPE.')
    return tags


def card_file(subject: ResolvedSubject, files: Mapping[str, bytes], about: Mapping[str, Any]) -> dict[str, bytes]:
    """The card; its fingerprint covers the files beside it and what it says of them."""
    card = {"kind": subject.way, "who": f'The {subject.kind} "{subject.settings.named}"'} | dict(about)
    return sealed_card(card, files, subject.fingerprint + json.dumps(card, sort_keys=True))
