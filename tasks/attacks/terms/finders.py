"""Who says which words of a sentence are medical terms: the gold tags, a lexicon, or a spaCy pipeline."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from assay.infra.errors import InputError
from assay.tasks.attacks.terms.spans import Span, entity_spans, outermost
from assay.tasks.language.lexicons import Lexicon

if TYPE_CHECKING:
    from spacy.language import Language

GOLD = "gold"
LEXICON = "lexicon"
SPACY = "spacy:"


class TermFinder(Protocol):
    """Finds terms in the words of a sentence; `tags` are its gold tags, where there are any."""

    @property
    def fingerprint(self) -> str:
        """The hash of everything that the result depends on."""
        ...

    def find(self, words: Sequence[str], tags: Sequence[str] | None) -> list[Span]:
        """The terms, in reading order; no two share a word."""
        ...


@dataclass(frozen=True)
class GoldFinder:
    """The entities that the sentence is tagged with."""

    fingerprint: str = GOLD

    def find(self, words: Sequence[str], tags: Sequence[str] | None) -> list[Span]:  # noqa: ARG002 - of the protocol
        """The gold entities; none where nobody has tagged the sentence."""
        return [] if tags is None else entity_spans(tags)


@dataclass(frozen=True)
class LexiconFinder:
    """The longest names of a lexicon that stand in the sentence, in whatever case."""

    lexicon: Lexicon

    @property
    def fingerprint(self) -> str:
        """The hash of the lexicon."""
        return self.lexicon.fingerprint

    def find(self, words: Sequence[str], tags: Sequence[str] | None) -> list[Span]:  # noqa: ARG002 - of the protocol
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

    def find(self, words: Sequence[str], tags: Sequence[str] | None) -> list[Span]:  # noqa: ARG002 - of the protocol
        """The pipeline's entities over these words, as they were cut here."""
        from spacy.tokens import Doc

        language = _loaded(self.pipeline)
        document = language(Doc(language.vocab, words=list(words)))
        return outermost(Span(entity.start, entity.end, entity.label_) for entity in document.ents)


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
