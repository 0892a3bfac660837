"""Rules on texts: words and patterns, each of which speaks for one class."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np

from assay.tasks.labeling.frames import InBatches, TextsIn
from assay.tasks.labeling.rules import ABSTAIN, ColumnRule

Texts = Sequence[str | None]


def says(name: str, pattern: str, vote: int, *, unless: str | None = None, column: str = "text") -> ColumnRule[Texts]:
    """The rule that votes where a text matches a regular expression, whatever the case, and not the other one.

    >>> rule = says("praises", r"\\bgood\\b", 1, unless=r"\\bnot good\\b")
    >>> rule.function(["A good book", "Not good", None]).tolist()
    [1, -1, -1]
    """
    wanted, unwanted = re.compile(pattern, re.IGNORECASE), re.compile(unless or r"(?!)", re.IGNORECASE)

    def search(texts: Texts) -> object:
        hits = [text is not None and bool(wanted.search(text)) and not unwanted.search(text) for text in texts]
        return np.where(hits, vote, ABSTAIN) if hits else np.array([], np.int64)

    return ColumnRule(name, search, InBatches(TextsIn(column), rows=4096))


def any_of(words: Iterable[str]) -> str:
    """The pattern of whole words, any of which will do.

    >>> any_of(["good", "fine"])
    '\\\\b(?:good|fine)\\\\b'
    """
    return rf"\b(?:{'|'.join(map(re.escape, words))})\b"
