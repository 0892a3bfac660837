"""Which entities of a sentence a tagger found, counted so that everything later is a matter of adding integers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from assay.data.term_schemas import EntityMatches
from assay.infra.errors import InputError, RunError
from assay.infra.partitions import Tallied
from assay.tasks.statistics.entities import Counts, Entity, entities_of

LONGEST = 4
"""Entities of so many words or more are measured together."""


def known_entities(training: pa.Table, *, tokens: str, tags: str) -> dict[str, frozenset[str]]:
    """The entities of a partition, as their words in small letters."""
    forms = set()
    require_columns(training, tokens, tags)
    for words, marked in zip(training[tokens].to_pylist(), training[tags].to_pylist(), strict=True):
        if words is not None and marked is not None:
            forms |= {_form(words, entity) for entity in entities_of(marked)}
    return {"forms": frozenset(forms)}


def require_columns(samples: pa.Table, *columns: str) -> None:
    """Raises where the samples have no such column: without tags nobody can say what an attack does to a tagger."""
    for column in columns:
        if column not in samples.column_names:
            raise InputError(
                f"The samples have no column {column!r}, and a tagger under attack is measured by its words and their "
                f"tags: their columns are {', '.join(samples.column_names)}; name them with the subject's `tokens` and "
                "`tags`, or bring tagged samples."
            )


def match_rows(
    tagged: pa.Table, original: pa.Table, *, tokens: str, tags: str, known: frozenset[str] | None
) -> Tallied:
    """The entities of every sentence whose tags are known; `original` are the same sentences before any attack.

    Counted beside them: the sentences of which the tagger did not read the end (`cut`), and the entities that stand
    there (`beyond`). `known` are the entities of what the tagger learned from; None where nobody knows.
    """
    require_columns(original, tokens, tags)
    rows, cut, beyond = [], 0, 0
    before = zip(original["id"].to_pylist(), original[tokens].to_pylist(), original[tags].to_pylist(), strict=True)
    for row, (sample, words, marked) in zip(tagged.to_pylist(), before, strict=True):
        if row["id"] != sample:
            raise RunError(f"Tagged sentences must stand in the order of the samples: {row['id']} beside {sample}.")
        if row["gold"] is None:
            continue
        gold, predicted = entities_of(row["gold"]), entities_of(row["predicted"])
        read = _words_read(row["confidence"])
        cut, beyond = cut + (read < len(row["tokens"])), beyond + sum(entity.last > read for entity in gold)
        unchanged = entities_of(marked)
        if len(unchanged) != len(gold):
            raise RunError(f"The sentence {sample} has {len(unchanged)} entities, and {len(gold)} under attack.")
        there, named = set(gold), set(predicted)
        rows.append(
            {
                "id": sample,
                "gold_kinds": [entity.kind for entity in gold],
                "gold_lengths": [_length(entity) for entity in unchanged],
                "gold_hits": [entity in named for entity in gold],
                "gold_seen": [_seen(words, entity, known) for entity in unchanged],
                "said_kinds": [entity.kind for entity in predicted],
                "said_lengths": [_length(entity) for entity in predicted],
                "said_hits": [entity in there for entity in predicted],
                "said_seen": [_seen(row["tokens"], entity, known) for entity in predicted],
            }
        )
    return Tallied(pa.Table.from_pylist(rows, schema=EntityMatches.schema), {"cut": cut, "beyond": beyond})


def counts_of(matches: pa.Table) -> Counts:
    """Found, named and there, per sentence [n, 3]."""
    hits, named = matches["gold_hits"].to_pylist(), matches["said_hits"].to_pylist()
    rows = [(sum(gold), len(predicted), len(gold)) for gold, predicted in zip(hits, named, strict=True)]
    return np.array(rows, dtype=np.int64).reshape(len(rows), 3)


def slices_of(matches: pa.Table) -> dict[str, Counts]:
    """The same for the entities of each kind (where there are several), of each length, seen in training and not.

    A length is that of the words themselves: of an entity before any attack, of what was named as it was named. So it
    tells precision and recall apart only where nothing was attacked.
    """
    columns = {name: matches[name].to_pylist() for name in matches.column_names}
    kinds = sorted({kind for name in ("gold_kinds", "said_kinds") for row in columns[name] for kind in row})
    wanted: list[tuple[str, str, object]] = []
    wanted += [(f"type={kind}", "kinds", kind) for kind in kinds] if len(kinds) > 1 else []
    wanted += [(_length_name(length), "lengths", length) for length in range(1, LONGEST + 1)]
    wanted += [("seen", "seen", True), ("unseen", "seen", False)]
    slices = {name: _slice_counts(columns, which, value) for name, which, value in wanted}
    return {name: counts for name, counts in slices.items() if counts[:, 2].any()}


def _slice_counts(columns: dict[str, list[list[object]]], which: str, value: object) -> Counts:
    rows = [
        (
            sum(hit is True for hit, one in zip(hits, gold, strict=True) if one == value),
            sum(one == value for one in predicted),
            sum(one == value for one in gold),
        )
        for hits, gold, predicted in zip(
            columns["gold_hits"], columns[f"gold_{which}"], columns[f"said_{which}"], strict=True
        )
    ]
    return np.array(rows, dtype=np.int64).reshape(len(rows), 3)


def _words_read(confidence: Sequence[float]) -> int:
    """How many words were read: those behind the last that a tagger was at all sure of were cut off."""
    return max((place for place, sure in enumerate(confidence, 1) if sure > 0), default=0)


def _length_name(length: int) -> str:
    return f"length={length}" + ("+" if length == LONGEST else "")


def _length(entity: Entity) -> int:
    return min(entity.last - entity.first, LONGEST)


def _seen(words: Sequence[str], entity: Entity, known: frozenset[str] | None) -> bool | None:
    return None if known is None else _form(words, entity) in known


def _form(words: Sequence[str], entity: Entity) -> str:
    return " ".join(words[entity.first : entity.last]).casefold()
