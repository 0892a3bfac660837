"""Another name of the same concept in the place of a term (Araujo et al., Section 4.1, synonymy adversaries)."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from assay.tasks.attacks.choice import TermAttackChoice
from assay.tasks.attacks.terms.settings import TermAttack

if TYPE_CHECKING:
    import numpy as np

    from assay.tasks.attacks.terms.changes import Change, Term, TermMeans
    from assay.tasks.language.lexicons import Lexicon

NO_SYNONYM, SEVERAL = "no synonym", "several concepts"
_PIECE = re.compile(r"\w+|[^\w\s]")


class Synonymy(TermAttack):
    """Each attacked term is replaced by a synonym of the same concept."""

    attack: Literal["synonymy"] = "synonymy"
    """Which attack it is."""

    synonyms: str | None = Field(default=None, min_length=1)
    """A lexicon file, or `disease-chemical-synonyms`; left out, the lexicon that `terms` names, or Assay's."""


@dataclass(frozen=True, slots=True)
class Choice:
    """The synonym and its concept; without a name, why there is none."""

    name: str | None
    concept: str | None
    outcome: str = ""


def choose_synonym(term: str, kind: str, lexicon: Lexicon, generator: np.random.Generator) -> Choice:
    """A name drawn from the others of the term's concept; none where the lexicon knows no other, or several concepts.

    `kind` is what the finder says the term is. Where the lexicon knows that kind of thing, only names of that kind
    count: RA the chemical is no rheumatoid arthritis.
    """
    entries = lexicon.names_of(term)
    if kind.casefold() in lexicon.kinds:
        entries = tuple(entry for entry in entries if entry.kind.casefold() == kind.casefold())
    concepts = sorted({entry.concept for entry in entries})
    if len(concepts) > 1:
        return Choice(None, None, SEVERAL)
    names = lexicon.synonyms(concepts[0], term) if concepts else []
    if not names:
        return Choice(None, concepts[0] if concepts else None, NO_SYNONYM)
    name = names[int(generator.integers(len(names)))]
    return Choice(_as_written(name, term), concepts[0])


def pieces_of(name: str) -> list[str]:
    """The words of a name as corpora of tagged sentences cut them: every sign is a word of its own.

    >>> pieces_of("non-small cell carcinoma, Crohn's")
    ['non', '-', 'small', 'cell', 'carcinoma', ',', 'Crohn', "'", 's']
    """
    return _PIECE.findall(name)


def _as_written(name: str, term: str) -> str:
    """The name with a capital where the term begins with one and is not all capitals: as sentences begin.

    >>> _as_written("cardiac arrest", "Asystole"), _as_written("heart attack", "MI")
    ('Cardiac arrest', 'heart attack')
    """
    capital = term[:1].isupper() and not term[1:2].isupper()
    return name[:1].upper() + name[1:] if capital and name.islower() else name


def renamed(term: Term, _: Synonymy, means: TermMeans, generator: np.random.Generator) -> Change:
    """A synonym of the same concept in the term's place, unless the term crosses the border of an entity."""
    from assay.tasks.attacks.terms.changes import CHANGED, CROSSES, Change, projected

    span, before, tags = term.span, term.words, term.tags
    assert means.lexicon is not None
    stays = Change(span, before, before, CROSSES, words=len(before))
    if tags is not None and projected(tags, len(before)) is None:
        return stays
    choice = choose_synonym(" ".join(before), span.kind, means.lexicon, generator)
    if choice.name is None:
        return replace(stays, outcome=choice.outcome)
    after = tuple(pieces_of(choice.name))
    return Change(span, before, after, CHANGED, len(before), len(before), choice.concept, choice.name)


SYNONYMY_ATTACK = TermAttackChoice(Synonymy, renamed, lexicon=lambda synonymy: synonymy.synonyms)
