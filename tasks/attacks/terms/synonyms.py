"""Another name of the same concept for a term (Araujo et al., Section 4.1, synonymy adversaries)."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from assay.tasks.language.lexicons import Lexicon

NO_SYNONYM, SEVERAL = "no synonym", "several concepts"
_PIECE = re.compile(r"\w+|[^\w\s]")


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
        entries = tuple(one for one in entries if one.kind.casefold() == kind.casefold())
    concepts = sorted({one.concept for one in entries})
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
