"""One sentence under an attack on its terms (Araujo et al., Section 4.1): words, tags, and what became of each term.

What is drawn for a term does not depend on the severity: the terms attacked at a share of 0.5 are among those at 1, and
a word with two changes is the word with one, changed once more. So the severities of one attack can be compared
sentence by sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.tasks.attacks.terms.finders import TermFinder
from assay.tasks.attacks.terms.settings import AnyTermAttack, Keyboard, Synonymy
from assay.tasks.attacks.terms.spans import Span, projected
from assay.tasks.attacks.terms.synonyms import Choice, choose_synonym, pieces_of
from assay.tasks.attacks.terms.typos import letters_in, press_neighbours, swap_letters
from assay.tasks.language.lexicons import Lexicon

CHANGED, SPARED, SHORT, STUCK = "changed", "spared", "too short", "nothing to change"
CROSSES = "crosses an entity"


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


@dataclass(frozen=True, slots=True)
class Perturbed:
    """A sentence after the attack: words, tags (as many; None where it has none), and the changes in reading order."""

    words: list[str]
    tags: list[str] | None
    changes: list[Change]


@dataclass(frozen=True)
class TermMeans:
    """What an attack needs beside its options: who finds the terms, and the lexicon that synonyms come from."""

    finder: TermFinder
    lexicon: Lexicon | None = None

    @property
    def fingerprint(self) -> str:
        """The hash of both."""
        return f"{self.finder.fingerprint}/{self.lexicon.fingerprint if self.lexicon else ''}"


def perturb(
    words: Sequence[str], tags: Sequence[str] | None, attack: AnyTermAttack, means: TermMeans,
    generator: np.random.Generator,
) -> Perturbed:  # fmt: skip
    """The sentence under the attack at its first severity.

    Tags stay as they are, one for one, unless a synonym has more or fewer words than the term: then they are projected
    onto the new words.
    """
    spans = means.finder.find(words, tags)
    drawn, seeds = generator.random(len(spans)), generator.integers(2**63, size=len(spans))
    made, new_tags, changes, end = list[str](), list[str](), list[Change](), 0
    for span, luck, seed in zip(spans, drawn.tolist(), seeds.tolist(), strict=True):
        before = tuple(words[span.first : span.last])
        if luck < attack.share[0]:
            own = None if tags is None else tags[span.first : span.last]
            change = _change(span, before, own, attack, means, np.random.default_rng(seed))
        else:
            change = Change(span, before, before, SPARED)
        changes.append(change)
        made += [*words[end : span.first], *change.after]
        if tags is not None:
            kept = tags[span.first : span.last]
            same = len(change.after) == len(before)
            new_tags += [*tags[end : span.first], *(kept if same else projected(kept, len(change.after)) or ())]
        end = span.last
    made += words[end:]
    return Perturbed(made, None if tags is None else [*new_tags, *tags[end:]], changes)


def _change(
    span: Span, before: tuple[str, ...], tags: Sequence[str] | None, attack: AnyTermAttack, means: TermMeans,
    generator: np.random.Generator,
) -> Change:  # fmt: skip
    if isinstance(attack, Synonymy):
        return _renamed(span, before, tags, means, generator)
    typo = press_neighbours if isinstance(attack, Keyboard) else swap_letters
    long_enough = [letters_in(word) >= attack.min_letters for word in before]
    # Drawn for every word, so that `min_letters` and the number of changes do not shift what the next word gets.
    tried = [
        typo(word, attack.changes[0], child) for word, child in zip(before, generator.spawn(len(before)), strict=True)
    ]
    after = tuple(one.word if long else word for one, long, word in zip(tried, long_enough, before, strict=True))
    changed = sum(one != other for one, other in zip(before, after, strict=True))
    outcome = CHANGED if changed else STUCK if any(long_enough) else SHORT
    return Change(span, before, after, outcome, words=sum(long_enough), changed=changed)


def _renamed(
    span: Span, before: tuple[str, ...], tags: Sequence[str] | None, means: TermMeans, generator: np.random.Generator
) -> Change:
    assert means.lexicon is not None
    stays = Change(span, before, before, CROSSES, words=len(before))
    if tags is not None and projected(tags, len(before)) is None:
        return stays
    choice: Choice = choose_synonym(" ".join(before), span.kind, means.lexicon, generator)
    if choice.name is None:
        return replace(stays, outcome=choice.outcome)
    after = tuple(pieces_of(choice.name))
    return Change(span, before, after, CHANGED, len(before), len(before), choice.concept, choice.name)
