"""Taggers as an audit sees them: sentences as words in, a tag for every word out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True)
class Tagging:
    """A tag per word, the probability of each, and whether the sentence was longer than the tagger reads."""

    tags: list[str]
    confidence: list[float]
    cut: bool = False


class Tagger(Protocol):
    """Any tagger."""

    def tag(self, sentences: Sequence[Sequence[str]]) -> list[Tagging]:
        """The tags of every sentence; a sentence's do not depend on the others."""
        ...
