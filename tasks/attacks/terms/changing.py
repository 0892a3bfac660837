"""One term under an attack: its letters changed, or a synonym in its place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.tasks.attacks.terms.finders import TermFinder
from assay.tasks.attacks.terms.settings import TypoAttack
from assay.tasks.attacks.terms.spans import Span, projected
from assay.tasks.attacks.terms.synonyms import Choice, choose_synonym, pieces_of
from assay.tasks.attacks.terms.typos import Typo, letters_in
from assay.tasks.language.lexicons import Lexicon

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


def mistyped(
    typo: Callable[[str, int, np.random.Generator], Typo],
    term: Term,
    attack: TypoAttack,
    generator: np.random.Generator,
) -> Change:
    """The term with so many typos in each of its words that has letters enough."""
    long_enough = [letters_in(word) >= attack.min_letters for word in term.words]
    # Drawn for every word, so that `min_letters` and the number of changes do not shift what the next word gets.
    children = generator.spawn(len(term.words))
    tried = [typo(word, attack.changes[0], child) for word, child in zip(term.words, children, strict=True)]
    after = tuple(one.word if long else word for one, long, word in zip(tried, long_enough, term.words, strict=True))
    changed = sum(one != other for one, other in zip(term.words, after, strict=True))
    outcome = CHANGED if changed else STUCK if any(long_enough) else SHORT
    return Change(term.span, term.words, after, outcome, words=sum(long_enough), changed=changed)


def renamed(term: Term, means: TermMeans, generator: np.random.Generator) -> Change:
    """A synonym of the same concept in the term's place, unless the term crosses the border of an entity."""
    span, before, tags = term.span, term.words, term.tags
    assert means.lexicon is not None
    stays = Change(span, before, before, CROSSES, words=len(before))
    if tags is not None and projected(tags, len(before)) is None:
        return stays
    choice: Choice = choose_synonym(" ".join(before), span.kind, means.lexicon, generator)
    if choice.name is None:
        return replace(stays, outcome=choice.outcome)
    after = tuple(pieces_of(choice.name))
    return Change(span, before, after, CHANGED, len(before), len(before), choice.concept, choice.name)
