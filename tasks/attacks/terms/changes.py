"""Terms in a sentence: who finds them (gold tags, a lexicon or a spaCy pipeline), and what an attack makes of one:
its letters changed, or a synonym of the same concept in its place.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.infra.errors import InputError
from assay.tasks.language.lexicons import Lexicon
from assay.tasks.statistics.entities import entities_of

if TYPE_CHECKING:
    from spacy.language import Language


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """The words `first` … `last` − 1 of a sentence, and what kind of thing they name (empty where unknown)."""

    first: int
    last: int
    kind: str = ""

    def overlaps(self, other: Span) -> bool:
        """Whether the two share a word."""
        return self.first < other.last and other.first < self.last


def outermost(spans: Iterable[Span]) -> list[Span]:
    """The spans without those that share a word with a longer one (or, as long, with an earlier one), in order.

    >>> outermost([Span(1, 2), Span(0, 3), Span(2, 5), Span(6, 7)])
    [Span(first=0, last=3, kind=''), Span(first=6, last=7, kind='')]
    """
    kept: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.first - span.last, span)):
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


GOLD = "gold"
LEXICON = "lexicon"
SPACY = "spacy:"


@dataclass(frozen=True)
class GoldFinder:
    """The entities that the sentence is tagged with."""

    fingerprint: str = GOLD

    def find(self, words: Sequence[str], tags: Sequence[str] | None) -> list[Span]:  # noqa: ARG002
        """The gold entities; none where nobody has tagged the sentence."""
        return [Span(entity.first, entity.last, entity.kind) for entity in entities_of(tags or ())]


@dataclass(frozen=True)
class LexiconFinder:
    """The longest names of a lexicon that stand in the sentence, in whatever case."""

    lexicon: Lexicon

    @property
    def fingerprint(self) -> str:
        """The hash of the lexicon."""
        return self.lexicon.fingerprint

    def find(self, words: Sequence[str], tags: Sequence[str] | None) -> list[Span]:  # noqa: ARG002
        """The names, left to right, the longest at each place."""
        return outermost(Span(first, last, kind) for first, last, kind in self.lexicon.terms_in(words))


@dataclass(frozen=True)
class SpacyFinder:
    """The entities that an installed spaCy or scispaCy pipeline finds, such as `en_ner_bc5cdr_md`."""

    pipeline: str
    version: str

    @property
    def fingerprint(self) -> str:
        """The pipeline and its version."""
        return f"{SPACY}{self.pipeline} {self.version}"

    def find(self, words: Sequence[str], tags: Sequence[str] | None) -> list[Span]:  # noqa: ARG002
        """The pipeline's entities over these words, as they were cut here."""
        from spacy.tokens import Doc

        language = _loaded(self.pipeline)
        document = language(Doc(language.vocab, words=list(words)))
        return outermost(Span(entity.start, entity.end, entity.label_) for entity in document.ents)


TermFinder = GoldFinder | LexiconFinder | SpacyFinder
"""Finds terms in the words of a sentence, in reading order, no two of which share a word; `tags` are its gold tags,
where there are any. Its fingerprint is the hash of everything that the result depends on."""


def spacy_finder(name: str) -> SpacyFinder:
    """The finder of that pipeline, or an error that says how to come by it."""
    return SpacyFinder(name, str(_loaded(name).meta.get("version", "")))


@functools.cache
def _loaded(name: str) -> Language:
    try:
        import spacy
    except ImportError as fault:
        raise InputError(
            f"`terms: {SPACY}{name}` needs spaCy, which is not installed: pip install spacy, or find terms with "
            "`terms: lexicon`."
        ) from fault
    try:
        return spacy.load(name)
    except OSError as fault:
        raise InputError(
            f"spaCy has no pipeline {name!r} installed: install it (for scispaCy models, pip install with the address "
            "on its page), or find terms with `terms: lexicon`."
        ) from fault


CHANGED, SPARED, SHORT, STUCK = "changed", "spared", "too short", "nothing to change"
CROSSES = "crosses an entity"


@dataclass(frozen=True)
class Term:
    """A term in a sentence: where it stands, its words, and their tags (None where the sentence has none)."""

    span: Span
    words: tuple[str, ...]
    tags: Sequence[str] | None = None


@dataclass(frozen=True, slots=True)
class Change:
    """What became of one term: its words before, the words now in its place, and why, where they are the same."""

    span: Span
    before: tuple[str, ...]
    after: tuple[str, ...]
    outcome: str
    words: int = 0
    changed: int = 0
    concept: str | None = None
    name: str | None = None
    """The synonym as its lexicon writes it, before it was cut into words."""


@dataclass(frozen=True)
class TermMeans:
    """What an attack needs beside its options: who finds the terms, and the lexicon that synonyms come from."""

    finder: TermFinder
    lexicon: Lexicon | None = None

    @property
    def fingerprint(self) -> str:
        """The hash of both."""
        return f"{self.finder.fingerprint}/{self.lexicon.fingerprint if self.lexicon else ''}"
