"""Stretches of words in a sentence: entities as tags have them, terms as finders find them, and tags after a change."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from assay.tasks.statistics.entities import entities_of


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """The words `first` … `last` − 1 of a sentence, and what kind of thing they name (empty where unknown)."""

    first: int
    last: int
    kind: str = ""

    def within(self, other: Span) -> bool:
        """Whether every word of this span is a word of the other."""
        return other.first <= self.first and self.last <= other.last

    def overlaps(self, other: Span) -> bool:
        """Whether the two share a word."""
        return self.first < other.last and other.first < self.last


def entity_spans(tags: Sequence[str]) -> list[Span]:
    """The entities that tags mark, in reading order.

    >>> entity_spans(["O", "B-Disease", "I-Disease", "B-Disease"])
    [Span(first=1, last=3, kind='Disease'), Span(first=3, last=4, kind='Disease')]
    """
    return [Span(one.first, one.last, one.kind) for one in entities_of(tags)]


def outermost(spans: Iterable[Span]) -> list[Span]:
    """The spans without those that share a word with a longer one (or, as long, with an earlier one), in order.

    >>> outermost([Span(1, 2), Span(0, 3), Span(2, 5), Span(6, 7)])
    [Span(first=0, last=3, kind=''), Span(first=6, last=7, kind='')]
    """
    kept: list[Span] = []
    for span in sorted(spans, key=lambda one: (one.first - one.last, one)):
        if not any(span.overlaps(other) for other in kept):
            kept.append(span)
    return sorted(kept)


def projected(tags: Sequence[str], words: int) -> list[str] | None:
    """The tags of a term that now has this many words: the first keeps its tag, the others are inside the entity.

    None where the term is not of one piece: an entity begins or ends within it, so that nobody can say which of the
    new words belong to it.

    >>> projected(["B-Disease"], 3), projected(["I-Disease", "I-Disease"], 1), projected(["O", "O"], 1)
    (['B-Disease', 'I-Disease', 'I-Disease'], ['I-Disease'], ['O'])
    >>> projected(["O", "B-Disease"], 2) is None, projected(["B-Disease", "B-Disease"], 1) is None
    (True, True)
    """
    if all(tag == "O" for tag in tags):
        return ["O"] * words
    kind = tags[0].partition("-")[2]
    if tags[0] == "O" or any(tag != f"I-{kind}" for tag in tags[1:]):
        return None
    return [tags[0], *[f"I-{kind}"] * (words - 1)]
