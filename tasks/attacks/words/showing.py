"""Texts under word attacks for people to look at, and which words carry the attacks that succeed."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass

import pyarrow as pa

from assay.data.changed_text_schemas import ChangedTexts
from assay.tasks.language.words import normalised

MASK = "\u25a0\u25a0\u25a0\u25a0"


def word_examples(attacked: pa.Table, *, called: str, limit: int, masked: bool) -> pa.Table:
    """The successful attacks that took the fewest words (the most similar of equals), and one that failed."""
    rows = [row for row in attacked.to_pylist() if row["changed"]]
    ranked = sorted(rows, key=lambda row: (row["changed"], -(row["similarity"] or 0.0), row["id"]))
    won = [row for row in ranked if row["status"] == "success"]
    lost = [row for row in ranked if row["status"] == "failed"]
    kept = limit - (limit > 1 and bool(lost))
    chosen = won[:kept] + lost[: limit - len(won[:kept])][:1]
    return pa.Table.from_pylist([_shown_row(row, called, masked) for row in chosen], schema=ChangedTexts.schema)


def rows_named(samples: pa.Table, *, ids: frozenset[str]) -> pa.Table:
    """The rows of a partition that are named."""
    return samples.filter(pa.array([sample in ids for sample in samples["id"].to_pylist()], pa.bool_()))


def _shown_row(row: dict[str, object], called: str, masked: bool) -> dict[str, object]:
    count = int(str(row["changed"]))
    shown = {name: row[name] for name in ("id", "gold", "status", "words", "similarity", "text", "starts", "ends")}
    shown |= {"attack": called, "group": "", "before": row["predicted"], "after": row["attacked"]}
    if masked:
        places = list(range(count))
        return shown | {"text": "", "starts": places, "ends": places, "news": [MASK] * count}
    return shown | {"news": row["replacements"]}


@dataclass(frozen=True)
class Carrier:
    """A word that attacks replace: in how many attacks, how many of them succeeded, and by what most often."""

    word: str
    attacks: int
    successes: int
    instead: str


def carriers(attacked: pa.Table) -> list[Carrier]:
    """The words that most successful attacks replaced, with the most frequent first.

    >>> one = {"status": "success", "originals": ["Good"], "replacements": ["fine"]}
    >>> carriers(pa.Table.from_pylist([one, one | {"status": "failed"}]))
    [Carrier(word='good', attacks=2, successes=1, instead='fine')]
    """
    attacks, successes = Counter[str](), Counter[str]()
    instead: dict[str, Counter[str]] = defaultdict(Counter)
    for row in attacked.select(["status", "originals", "replacements"]).to_pylist():
        words = [normalised(word) for word in row["originals"]]
        attacks.update(set(words))
        if row["status"] == "success":
            successes.update(set(words))
            for word, new in zip(words, row["replacements"], strict=True):
                instead[word][normalised(new)] += 1
    ranked = sorted(successes, key=lambda word: (-successes[word], attacks[word], word))
    return [Carrier(word, attacks[word], successes[word], _most_frequent(instead[word])) for word in ranked]


def _most_frequent(counts: Counter[str]) -> str:
    return min(counts, key=lambda word: (-counts[word], word))
