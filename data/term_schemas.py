"""The kinds of artifact that attacks on terms make: what became of each term, and which entities a tagger found."""

import pyarrow as pa

from assay.infra.artifacts import Table

_S, _I4, _B = pa.string(), pa.int32(), pa.bool_()


def _schema(*fields: tuple[str, pa.DataType, bool]) -> pa.Schema:
    return pa.schema([pa.field(name, dtype, nullable=nullable) for name, dtype, nullable in fields])


class TermChanges(Table):
    """One row per term of a sample, in reading order: what stood there, what stands there now, and what was done.

    `first` and `last` are places of words before the attack (`last` is not included), `new_first` and `new_last` after
    it; `start` and `end` are character offsets in the attacked sentence (tagged words are joined by a blank). `words`
    of the term could be attacked, `changed` were. `outcome` is `changed`, or why nothing changed: `spared` (the share
    left it out), `too short`, `nothing to change`, `no synonym`, `several concepts`, `crosses an entity`.
    """

    schema = _schema(
        ("id", _S, False),
        ("attack", _S, False),
        ("kind", _S, False),
        ("before", _S, False),
        ("after", _S, False),
        ("first", _I4, False),
        ("last", _I4, False),
        ("new_first", _I4, False),
        ("new_last", _I4, False),
        ("start", _I4, False),
        ("end", _I4, False),
        ("words", _I4, False),
        ("changed", _I4, False),
        ("concept", _S, True),
        ("outcome", _S, False),
    )


class EntityMatches(Table):
    """One row per sentence: its entities (`gold_*`) and those that a tagger named (`said_*`), in reading order.

    A hit has both ends and the kind right. `seen` says whether the words of the entity, before any attack, are those of
    an entity in the training samples.
    """

    schema = _schema(
        ("id", _S, False),
        ("gold_kinds", pa.list_(_S), False),
        ("gold_lengths", pa.list_(_I4), False),
        ("gold_hits", pa.list_(_B), False),
        ("gold_seen", pa.list_(_B), False),
        ("said_kinds", pa.list_(_S), False),
        ("said_lengths", pa.list_(_I4), False),
        ("said_hits", pa.list_(_B), False),
        ("said_seen", pa.list_(_B), False),
    )
