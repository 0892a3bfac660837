"""The kinds of artifact that audits of taggers and of sentence pairs make, attacks on medical terms among them, and
the columns of their samples.

Samples of tagged sentences have `tokens` (words, a list of strings) and `tags` (a list as long: `O`, `B-Disease`,
`I-Disease`). Samples of sentence pairs have `first` and `second` (strings) and `score` (a float). A subject's
settings may name other columns; `gold` is null in both.
"""

from __future__ import annotations

import pyarrow as pa

from assay.data.schemas import optional, required, schema_of
from assay.infra.storage.artifacts import Table

_S, _I4, _F, _B = pa.string(), pa.int32(), pa.float64(), pa.bool_()
WORDS = pa.list_(_S)
"""The type of the columns `tokens` and `tags`."""


class Tagged(Table):
    """One row per sentence: its words, the tag each should have (null where unknown), and the tag a subject gives it.

    `confidence` is the probability of the tag given. A word beyond what the subject reads is tagged `O` at confidence
    0. All lists of a row are of one length.
    """

    schema = schema_of(
        required(_S, "id"),
        required(WORDS, "tokens"),
        optional(WORDS, "gold"),
        required(WORDS, "predicted"),
        required(pa.list_(_F), "confidence"),
    )


class Scored(Table):
    """One row per pair of sentences: how similar people say they are (null where unknown), and a subject."""

    schema = schema_of(required(_S, "id"), optional(_F, "gold"), required(_F, "predicted"))


class TermChanges(Table):
    """One row per term of a sample, in reading order: what stood there, what stands there now, and what was done.

    `first` and `last` are places of words before the attack (`last` is not included), `new_first` and `new_last` after
    it; `start` and `end` are character offsets in the attacked sentence (tagged words are joined by a blank). `words`
    of the term could be attacked, `changed` were. `outcome` is `changed`, or why nothing changed: `spared` (the share
    left it out), `too short`, `nothing to change`, `no synonym`, `several concepts`, `crosses an entity`.
    """

    schema = schema_of(
        required(_S, "id", "attack", "kind", "before", "after"),
        required(_I4, "first", "last", "new_first", "new_last", "start", "end", "words", "changed"),
        optional(_S, "concept"),
        required(_S, "outcome"),
    )


class EntityMatches(Table):
    """One row per sentence: its entities (`gold_*`) and those that a tagger named (`said_*`), in reading order.

    A hit has both ends and the kind right. `seen` says whether the words of the entity, before any attack, are those of
    an entity in the training samples.
    """

    schema = schema_of(
        required(_S, "id"),
        required(pa.list_(_S), "gold_kinds"),
        required(pa.list_(_I4), "gold_lengths"),
        required(pa.list_(_B), "gold_hits", "gold_seen"),
        required(pa.list_(_S), "said_kinds"),
        required(pa.list_(_I4), "said_lengths"),
        required(pa.list_(_B), "said_hits", "said_seen"),
    )
