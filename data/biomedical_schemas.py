"""The kinds of artifact that audits of taggers and of sentence pairs make, and the columns of their samples.

Samples of tagged sentences have `tokens` (words, a list of strings) and `tags` (a list as long: `O`, `B-Disease`,
`I-Disease`). Samples of sentence pairs have `first` and `second` (strings) and `score` (a float). A subject's settings
may name other columns; `gold` is null in both.
"""

import pyarrow as pa

from assay.infra.artifacts import Table

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
