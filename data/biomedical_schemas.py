"""The kinds of artifact that audits of taggers and of sentence pairs make, attacks on medical terms among them, and
the columns of their samples.

Samples of tagged sentences have `tokens` (words, a list of strings) and `tags` (a list as long: `O`, `B-Disease`,
`I-Disease`). Samples of sentence pairs have `first` and `second` (strings) and `score` (a float). A subject's
settings may name other columns; `gold` is null in both.
"""

from __future__ import annotations

import pyarrow as pa

from assay.infra.storage.artifacts import Table

_S, _F = pa.string(), pa.float64()
WORDS = pa.list_(_S)
"""The type of the columns `tokens` and `tags`."""


def _schema(*fields: tuple[str, pa.DataType, bool]) -> pa.Schema:
    return pa.schema([pa.field(name, dtype, nullable=nullable) for name, dtype, nullable in fields])


class Tagged(Table):
    """One row per sentence: its words, the tag each should have (null where unknown), and the tag a subject gives it.

    `confidence` is the probability of the tag given. A word beyond what the subject reads is tagged `O` at confidence
    0. All lists of a row are of one length.
    """

    schema = _schema(
        ("id", _S, False),
        ("tokens", WORDS, False),
        ("gold", WORDS, True),
        ("predicted", WORDS, False),
        ("confidence", pa.list_(_F), False),
    )


class Scored(Table):
    """One row per pair of sentences: how similar people say they are (null where unknown), and a subject."""

    schema = _schema(("id", _S, False), ("gold", _F, True), ("predicted", _F, False))


_TERM_S, _TERM_I4, _TERM_B = pa.string(), pa.int32(), pa.bool_()


def _term_schema(*fields: tuple[str, pa.DataType, bool]) -> pa.Schema:
    return pa.schema([pa.field(name, dtype, nullable=nullable) for name, dtype, nullable in fields])


class TermChanges(Table):
    """One row per term of a sample, in reading order: what stood there, what stands there now, and what was done.

    `first` and `last` are places of words before the attack (`last` is not included), `new_first` and `new_last` after
    it; `start` and `end` are character offsets in the attacked sentence (tagged words are joined by a blank). `words`
    of the term could be attacked, `changed` were. `outcome` is `changed`, or why nothing changed: `spared` (the share
    left it out), `too short`, `nothing to change`, `no synonym`, `several concepts`, `crosses an entity`.
    """

    schema = _term_schema(
        ("id", _TERM_S, False),
        ("attack", _TERM_S, False),
        ("kind", _TERM_S, False),
        ("before", _TERM_S, False),
        ("after", _TERM_S, False),
        ("first", _TERM_I4, False),
        ("last", _TERM_I4, False),
        ("new_first", _TERM_I4, False),
        ("new_last", _TERM_I4, False),
        ("start", _TERM_I4, False),
        ("end", _TERM_I4, False),
        ("words", _TERM_I4, False),
        ("changed", _TERM_I4, False),
        ("concept", _TERM_S, True),
        ("outcome", _TERM_S, False),
    )


class EntityMatches(Table):
    """One row per sentence: its entities (`gold_*`) and those that a tagger named (`said_*`), in reading order.

    A hit has both ends and the kind right. `seen` says whether the words of the entity, before any attack, are those of
    an entity in the training samples.
    """

    schema = _term_schema(
        ("id", _TERM_S, False),
        ("gold_kinds", pa.list_(_TERM_S), False),
        ("gold_lengths", pa.list_(_TERM_I4), False),
        ("gold_hits", pa.list_(_TERM_B), False),
        ("gold_seen", pa.list_(_TERM_B), False),
        ("said_kinds", pa.list_(_TERM_S), False),
        ("said_lengths", pa.list_(_TERM_I4), False),
        ("said_hits", pa.list_(_TERM_B), False),
        ("said_seen", pa.list_(_TERM_B), False),
    )
