"""An attack on terms with everything it names in hand: its term finder, and the lexicon that synonyms come from."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from assay.data.catalog import located
from assay.infra.blame import blamed_on
from assay.tasks.attacks.terms.changing import TermMeans
from assay.tasks.attacks.terms.finders import GOLD, LEXICON, SPACY, GoldFinder, LexiconFinder, TermFinder, spacy_finder
from assay.tasks.attacks.terms.settings import TermAttack
from assay.tasks.attacks.terms.table import TERM_ATTACKS
from assay.tasks.language.catalogue_lexicon import CATALOGUE, catalogue_lexicon
from assay.tasks.language.lexicons import Lexicon, read_lexicon, shipped_lexicon


@dataclass(frozen=True)
class ResolvedAttack:
    """The options of an attack at one severity, ready to travel to the workers."""

    settings: TermAttack
    means: TermMeans

    @property
    def fingerprint(self) -> str:
        """The options and everything they name."""
        return json.dumps([self.settings.model_dump(mode="json"), self.means.fingerprint], sort_keys=True)


def resolve_attack(settings: TermAttack, beside: Path) -> ResolvedAttack:
    """Everything the options name, found before anything runs; paths count from the folder `beside`."""
    finder = _finder(settings.terms, beside)
    named = TERM_ATTACKS.of(settings).lexicon
    lexicon = None if named is None else _lexicon(named(settings), finder, beside)
    return ResolvedAttack(settings.for_perturbing(), TermMeans(finder, lexicon))


def require_attack(settings: TermAttack, beside: Path) -> None:
    """Raises where something that the options name is not here, or cannot be read."""
    with blamed_on("terms", settings.terms):
        if settings.terms.startswith(SPACY):
            spacy_finder(settings.terms.removeprefix(SPACY))
        elif settings.terms not in (GOLD, LEXICON):
            _require_lexicon(settings.terms, beside)
    lexicon = TERM_ATTACKS.of(settings).lexicon
    named = None if lexicon is None else lexicon(settings)
    if named is not None and named not in (GOLD, LEXICON):
        own = [name for name in type(settings).model_fields if name != "terms" and getattr(settings, name) == named]
        with blamed_on(own[0] if own else "attack", named):
            _require_lexicon(named, beside)


def _require_lexicon(named: str, beside: Path) -> None:
    if named == CATALOGUE:
        located(CATALOGUE)
    else:
        read_lexicon(beside / named)


def _finder(terms: str, beside: Path) -> TermFinder:
    if terms == GOLD:
        return GoldFinder()
    if terms.startswith(SPACY):
        return spacy_finder(terms.removeprefix(SPACY))
    return LexiconFinder(shipped_lexicon() if terms == LEXICON else _lexicon_named(terms, beside))


def _lexicon_named(name: str, beside: Path) -> Lexicon:
    return catalogue_lexicon() if name == CATALOGUE else read_lexicon(beside / name)


def _lexicon(named: str | None, finder: TermFinder, beside: Path) -> Lexicon:
    if named is not None:
        return _lexicon_named(named, beside)
    return finder.lexicon if isinstance(finder, LexiconFinder) else shipped_lexicon()
