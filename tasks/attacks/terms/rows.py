"""Partitions of tagged sentences, or of sentence pairs, under an attack on their terms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from assay.data.term_schemas import TermChanges
from assay.infra.errors import InputError
from assay.infra.partition_work import Tallied
from assay.infra.seeds import Seeds
from assay.infra.settings import Settings
from assay.tasks.attacks.terms.changing import CHANGED, Change
from assay.tasks.attacks.terms.matching import require_columns
from assay.tasks.attacks.terms.perturbing import Perturbed, perturb
from assay.tasks.attacks.terms.resolved import ResolvedAttack
from assay.tasks.attacks.terms.table import TERM_ATTACKS
from assay.tasks.language.words import Word, words_of


class SentenceColumns(Settings):
    """Where the sentences stand: a column of words with one of tags, or, for pairs, a column of whole sentences."""

    words: str
    """The column of words, or of sentences."""

    tags: str | None = None
    """The column of tags; without one, `words` holds sentences."""


@dataclass(frozen=True, slots=True)
class Row:
    """A sample after the attack: its new cells and what became of its terms."""

    words: Any
    tags: list[str] | None
    changes: list[dict[str, Any]]


def attacked_rows(
    samples: pa.Table, *, attacks: Sequence[ResolvedAttack], sentences: SentenceColumns, seeds: Seeds, reach: float
) -> Tallied:
    """The samples with their terms attacked, every other column as it was, and a row for each term.

    Of several attacks each sample draws one; `reach` is the share of the samples that are attacked at all.
    """
    cells = samples[sentences.words].to_pylist()
    if sentences.tags:
        require_columns(samples, sentences.words, sentences.tags)
    tags = samples[sentences.tags].to_pylist() if sentences.tags else [None] * samples.num_rows
    rows = [
        _row(sample, cell, own, attacks, sentences, seeds, reach)
        for sample, cell, own in zip(samples["id"].to_pylist(), cells, tags, strict=True)
    ]
    attacked = _with(samples, sentences.words, [row.words for row in rows])
    if sentences.tags:
        attacked = _with(attacked, sentences.tags, [row.tags for row in rows])
    changes = [change for row in rows for change in row.changes]
    counted = Counter(change["outcome"] for change in changes)
    tally = {
        "terms": len(changes),
        "words": sum(change["changed"] for change in changes),
        "outcomes": dict(counted),
        "untagged": tags.count(None) if sentences.tags else 0,
    }
    table = pa.Table.from_pylist(changes, schema=TermChanges.schema)
    return Tallied((attacked, table), tally)


def _row(
    sample: str,
    cell: Any,
    tags: list[str] | None,
    attacks: Sequence[ResolvedAttack],
    sentences: SentenceColumns,
    seeds: Seeds,
    reach: float,
) -> Row:
    generator = seeds.generator(sample)
    luck, which = generator.random(), int(generator.integers(len(attacks)))
    if cell is None or (sentences.tags and tags is None) or luck >= reach:  # untagged, it is not measured either
        return Row(cell, tags, [])
    attack = attacks[which]
    if sentences.tags:
        if tags is None or len(tags) != len(cell):
            raise InputError(
                f"The sample {sample} has {len(cell)} words in {sentences.words!r} and {len(tags or ())} tags in "
                f"{sentences.tags!r}; expected one tag per word."
            )
        perturbed = perturb(cell, tags, attack.settings, attack.means, generator)
        places = _places(perturbed.changes)
        starts = np.cumsum([0, *(len(word) + 1 for word in perturbed.words)]).tolist()
        offsets = [(starts[first], max(starts[first], starts[last] - 1)) for first, last in places]
        return Row(perturbed.words, perturbed.tags, _records(sample, attack, perturbed.changes, places, offsets))
    words = words_of(cell)
    perturbed = perturb([word.text for word in words], None, attack.settings, attack.means, generator)
    text, offsets = spliced(cell, words, perturbed)
    return Row(text, None, _records(sample, attack, perturbed.changes, _places(perturbed.changes), offsets))


def spliced(text: str, words: Sequence[Word], perturbed: Perturbed) -> tuple[str, list[tuple[int, int]]]:
    """The text with its changed terms put in, everything else as it was bit for bit, and where each term now stands."""
    parts, end, length, offsets = list[str](), 0, 0, list[tuple[int, int]]()
    for change in perturbed.changes:
        own = words[change.span.first : change.span.last]
        first, last = own[0].start, own[-1].end
        term = text[first:last] if change.outcome != CHANGED else change.name or _retyped(text, own, change.after)
        parts += [text[end:first], term]
        start = length + first - end
        offsets.append((start, start + len(term)))
        length, end = start + len(term), last
    return "".join([*parts, text[end:]]), offsets


def _retyped(text: str, words: Sequence[Word], after: Sequence[str]) -> str:
    ends = [words[0].start, *(word.end for word in words)]
    return "".join(text[end : word.start] + new for end, word, new in zip(ends, words, after, strict=False))


def _places(changes: Sequence[Change]) -> list[tuple[int, int]]:
    """Where the words of each term stand in the attacked sentence."""
    shift, places = 0, []
    for change in changes:
        first = change.span.first + shift
        places.append((first, first + len(change.after)))
        shift += len(change.after) - len(change.before)
    return places


def _records(
    sample: str,
    attack: ResolvedAttack,
    changes: Sequence[Change],
    places: Sequence[tuple[int, int]],
    offsets: Sequence[tuple[int, int]],
) -> list[dict[str, Any]]:
    word = TERM_ATTACKS.of(attack.settings).word
    return [
        {
            "id": sample,
            "attack": word,
            "kind": change.span.kind,
            "before": " ".join(change.before),
            "after": change.name or " ".join(change.after),
            "first": change.span.first,
            "last": change.span.last,
            "new_first": new_first,
            "new_last": new_last,
            "start": start,
            "end": end,
            "words": change.words,
            "changed": change.changed,
            "concept": change.concept,
            "outcome": change.outcome,
        }
        for change, (new_first, new_last), (start, end) in zip(changes, places, offsets, strict=True)
    ]


def _with(samples: pa.Table, column: str, values: list[Any]) -> pa.Table:
    at = samples.schema.get_field_index(column)
    field = samples.schema.field(at)
    return samples.set_column(at, field, pa.array(values, field.type))
