"""The kinds of artifact that audits of taggers and of sentence pairs make, attacks on medical terms among them, and
the columns of their samples.

Samples of tagged sentences have `tokens` (words, a list of strings) and `tags` (a list as long: `O`, `B-Disease`,
`I-Disease`). Samples of sentence pairs have `first` and `second` (strings) and `score` (a float). A subject's
settings may name other columns; `gold` is null in both.
"""

from __future__ import annotations

import pyarrow as pa

from assay.data.columns import ListedTable

WORDS = pa.list_(pa.string())
"""The type of the columns `tokens` and `tags`."""


class Tagged(ListedTable):
    """One row per sentence: its words, the tag each should have (null where unknown), and the tag a subject gives it.

    `confidence` is the probability of the tag given. A word beyond what the subject reads is tagged `O` at confidence
    0. All lists of a row are of one length.
    """


class Scored(ListedTable):
    """One row per pair of sentences: how similar people say they are (null where unknown), and a subject."""


class TermChanges(ListedTable):
    """One row per term of a sample, in reading order: what stood there, what stands there now, and what was done.

    `first` and `last` are places of words before the attack (`last` is not included), `new_first` and `new_last` after
    it; `start` and `end` are character offsets in the attacked sentence (tagged words are joined by a blank). `words`
    of the term could be attacked, `changed` were. `outcome` is `changed`, or why nothing changed: `spared` (the share
    left it out), `too short`, `nothing to change`, `no synonym`, `several concepts`, `crosses an entity`.
    """


class EntityMatches(ListedTable):
    """One row per sentence: its entities (`gold_*`) and those that a tagger named (`said_*`), in reading order.

    A hit has both ends and the kind right. `seen` says whether the words of the entity, before any attack, are those of
    an entity in the training samples.
    """
