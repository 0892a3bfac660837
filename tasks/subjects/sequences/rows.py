"""Tagged sentences and pairs of sentences out of samples, or an error that names the sample that is neither."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from assay.infra.errors import InputError
from assay.tasks.subjects.settings import Subject

Words = list[str]
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
    first: list[str]
    second: list[str]
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
    first, second = (_texts(samples, column, ids) for column in subject.pair)
    if subject.score not in samples.column_names:
        return Pairs(ids, first, second, [None] * len(ids))
    values = samples[subject.score]
    if not (pa.types.is_floating(values.type) or pa.types.is_integer(values.type) or pa.types.is_null(values.type)):
        raise InputError(f"The column {subject.score!r} holds {values.type}, and a score is a number.")
    scores: list[float | None] = values.cast(pa.float64()).to_pylist()
    for sample, score in zip(ids, scores, strict=True):
        if score is not None and not math.isfinite(score):
            raise InputError(f"Sample {sample!r} has the score {score}, expected a finite number, or none.")
    return Pairs(ids, first, second, scores)


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
    dtype = _column(samples, column, setting, "tagger").type
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


def _texts(samples: pa.Table, column: str, ids: list[str]) -> list[str]:
    values = _column(samples, column, "pair", "scorer")
    if not _is_text(values.type):
        raise InputError(f"The column {column!r} holds {values.type}, and a scorer reads text.")
    if values.null_count:
        sample = ids[pc.index(pc.is_null(values), True).as_py()]
        raise InputError(
            f"Sample {sample!r} has no text in the column {column!r}: list it under the source's `required`, or leave "
            "the sample out."
        )
    texts: list[str] = values.to_pylist()
    return texts


def _column(samples: pa.Table, column: str, setting: str, who: str) -> pa.ChunkedArray:
    if column not in samples.column_names:
        raise InputError(
            f"The samples have no column {column!r} for the {who} to read: their columns are "
            f"{', '.join(samples.column_names)}; name one with the subject's `{setting}`."
        )
    return samples[column]


def _is_text(dtype: pa.DataType) -> bool:
    return bool(pa.types.is_string(dtype) or pa.types.is_large_string(dtype) or pa.types.is_null(dtype))
