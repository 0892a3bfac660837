"""Examples that people can read: the words of a sentence, what the attack made of them, and tags, one below another."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from assay.tasks.reporting.parts import Block, Cell, Column, DataTable, Mark

_BESIDE = 3  # words on either side of the first changed term
_OPEN = 2  # examples of an attack; more are folded away
_WIDE = 12  # words at most in one example


@dataclass(frozen=True)
class TaggedExample:
    """A sentence before and under an attack: words, gold tags and a tagger's tags; the changes are `TermChanges`."""

    attack: str
    sample: str
    before: Sequence[str]
    after: Sequence[str]
    gold: Sequence[str]
    said_before: Sequence[str]
    said_after: Sequence[str]
    changes: Sequence[dict[str, Any]]


@dataclass(frozen=True)
class PairExample:
    """A pair before and under an attack: the sentences, what people say, and what a scorer says before and after."""

    attack: str
    sample: str
    before: str
    after: str
    other: str
    gold: float
    said_before: float
    said_after: float


def tagged_blocks(model: str, examples: Sequence[TaggedExample]) -> list[Block]:
    """One small table per sentence: words, attacked words, gold tags, and the tagger's before and after."""
    return [_aligned(model, example, folded=at >= _OPEN) for at, example in enumerate(examples) if example.changes]


def pairs_block(model: str, examples: Sequence[PairExample]) -> list[Block]:
    """A table of pairs whose score moved most."""
    if not examples:
        return []
    columns = [
        Column("Attack"),
        Column("Sentence"),
        Column("Attacked"),
        Column("Beside"),
        Column("People", "number"),
        Column("Before", "number"),
        Column("After", "number"),
    ]
    rows: list[list[Cell]] = [
        [one.attack, one.before, one.after, one.other, one.gold, one.said_before, one.said_after] for one in examples
    ]
    return [DataTable(f"Pairs whose score moved most, {model}", columns, rows)]


def _aligned(model: str, example: TaggedExample, *, folded: bool) -> DataTable:
    columns = _window(_words_in_columns(example))
    rows: list[list[Cell]] = [
        ["attacked", *(Mark(after, "bad") if before != after else after for before, after, *_ in columns)],
        ["should be", *(gold for _, _, gold, _, _ in columns)],
        ["said before", *(_judged(predicted, gold) for _, _, gold, predicted, _ in columns)],
        ["said under attack", *(_judged(predicted, gold) for _, _, gold, _, predicted in columns)],
    ]
    heads = [Column("original"), *(Column(before or "–") for before, *_ in columns)]
    return DataTable(f"{example.attack}, {model}: {example.sample}", heads, rows, collapsed=folded)


def _words_in_columns(example: TaggedExample) -> list[tuple[str, str, str, str, str]]:
    """Per column: the word before, the word after, its gold tag, and what was said before and after. A term that has
    another number of words after the attack takes as many columns as the longer of the two."""
    columns: list[tuple[str, str, str, str, str]] = []
    first = new_first = 0
    for change in [*example.changes, None]:
        last = len(example.before) if change is None else change["first"]
        new_last = len(example.after) if change is None else change["new_first"]
        columns += _side_by_side(example, range(first, last), range(new_first, new_last))
        if change is not None:
            first, new_first = change["last"], change["new_last"]
            columns += _side_by_side(example, range(change["first"], first), range(change["new_first"], new_first))
    return columns


def _side_by_side(example: TaggedExample, before: range, after: range) -> list[tuple[str, str, str, str, str]]:
    return [
        (
            "" if old is None else example.before[old],
            "" if new is None else example.after[new],
            "" if new is None else example.gold[new],
            "" if old is None else example.said_before[old],
            "" if new is None else example.said_after[new],
        )
        for old, new in zip_longest(before, after)
    ]


def _window(columns: list[tuple[str, str, str, str, str]]) -> list[tuple[str, str, str, str, str]]:
    """The columns around the first change."""
    if len(columns) <= _WIDE:
        return columns
    changed = next((at for at, (before, after, *_) in enumerate(columns) if before != after), 0)
    start = max(0, min(changed - _BESIDE, len(columns) - _WIDE))
    return columns[start : start + _WIDE]


def _judged(predicted: str, gold: str) -> Cell:
    if not predicted or (predicted == gold == "O"):
        return predicted
    return Mark(predicted, "good" if predicted == gold else "bad")
