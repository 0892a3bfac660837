"""Human rationales in whatever form a data set has them, as spans of characters of their text.

Character spans are taken as they are, a mask has one 0 or 1 per token of the text (tokens are what blanks separate),
and phrases are looked for: word by word as they stand, or, where an annotator reworded them, as the words of the phrase
that stand closest together in the text. Nothing is ever quoted in an error: texts with rationales tend to be private.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from assay.infra.errors import InputError
from assay.tasks.language.words import Word, words_of

_FOUND = 0.5  # of a reworded phrase's words, that must stand close together for it to count as found
_ROOM = 2  # how much longer than the phrase the stretch may be that they stand in


@dataclass(frozen=True, slots=True, order=True)
class Span:
    """Characters `start` to `end` (not included) of a text."""

    start: int
    end: int


def rationale_spans(text: str, rationale: object, who: str = "The rationale") -> list[Span]:
    """The spans of a rationale in reading order, overlapping ones made one; none where it is null or empty.

    >>> rationale_spans("a dull film", [{"start": 2, "end": 6}])
    [Span(start=2, end=6)]
    >>> rationale_spans("a dull film", [0, 1, 1])
    [Span(start=2, end=6), Span(start=7, end=11)]
    >>> rationale_spans("a dull film", ["dull film"])
    [Span(start=2, end=11)]
    """
    if isinstance(rationale, str):
        rationale = _read(rationale)
    if rationale is None:
        return []
    if not isinstance(rationale, Sequence):
        raise _not_understood(who, f"is a {type(rationale).__name__}")
    if not len(rationale):
        return []
    if all(isinstance(entry, str) for entry in rationale):
        words = words_of(text)
        have = [word.normalised for word in words]
        return _merged(span for phrase in rationale for span in _phrase(words, have, phrase))
    if all(isinstance(entry, (bool, int)) for entry in rationale):
        return _mask(text, [int(entry) for entry in rationale], who)
    return _merged(_span(text, entry, who) for entry in rationale)


def rationale_words(text: str, spans: Iterable[Span]) -> frozenset[str]:
    """The words of the text that a rationale touches, in the form in which words are compared.

    >>> sorted(rationale_words("A Dull film", [Span(2, 8)]))
    ['dull', 'film']
    """
    marked = sorted(spans)
    return frozenset(
        word.normalised for word in words_of(text) if any(s.start < word.end and word.start < s.end for s in marked)
    )


def _read(written: str) -> object:
    """What a cell of text holds: JSON, or phrases between semicolons or line ends."""
    if written.lstrip().startswith("["):
        try:
            return json.loads(written)
        except ValueError:
            pass
    return [phrase.strip() for phrase in re.split(r"[;\n]", written) if phrase.strip()]


def _mask(text: str, mask: Sequence[int], who: str) -> list[Span]:
    tokens = [Span(match.start(), match.end()) for match in re.finditer(r"\S+", text)]
    if set(mask) - {0, 1}:
        raise _not_understood(who, "has numbers other than 0 and 1")
    if len(mask) != len(tokens):
        raise InputError(
            f"{who} is a mask of {len(mask)} tokens, and its text has {len(tokens)} between blanks: one 0 or 1 is "
            "expected for each."
        )
    return [token for token, marked in zip(tokens, mask, strict=True) if marked]


def _span(text: str, given: object, who: str) -> Span:
    if isinstance(given, Mapping) and set(given) == {"start", "end"}:
        ends = [given["start"], given["end"]]
    elif isinstance(given, Sequence) and not isinstance(given, str) and len(given) == 2:
        ends = list(given)
    else:
        raise _not_understood(who, f"has an entry that is a {type(given).__name__}")
    if not all(isinstance(end, int) and not isinstance(end, bool) for end in ends):
        raise _not_understood(who, "has a span whose ends are no whole numbers")
    start, end = ends
    if not 0 <= start < end <= len(text):
        raise InputError(f"{who} has a span from {start} to {end}, and its text has the characters 0 to {len(text)}.")
    return Span(start, end)


def _phrase(words: Sequence[Word], have: Sequence[str], phrase: str) -> list[Span]:
    """Every place where the phrase stands word by word; else its words where they stand closest together, if at all."""
    wanted = [word.normalised for word in words_of(phrase)]
    size = len(wanted)
    if not size:
        return []
    exact = [at for at in range(len(have) - size + 1) if have[at : at + size] == wanted]
    if exact:
        return [Span(words[at].start, words[at + size - 1].end) for at in exact]
    return [Span(word.start, word.end) for word in _closest(words, have, set(wanted))]


def _closest(words: Sequence[Word], have: Sequence[str], wanted: set[str]) -> list[Word]:
    """The words of the phrase in the stretch of the text that has most of them; none where it has less than half."""
    room, best, most = _ROOM * len(wanted), -1, 0
    for start in range(len(have)):
        if have[start] in wanted and (hits := len(wanted.intersection(have[start : start + room]))) > most:
            best, most = start, hits
    if best < 0 or most < _FOUND * len(wanted) or (most == 1 and len(wanted) > 1):
        return []
    return [words[at] for at in range(best, min(best + room, len(words))) if have[at] in wanted]


def _merged(spans: Iterable[Span]) -> list[Span]:
    merged: list[Span] = []
    for span in sorted(spans):
        if merged and span.start < merged[-1].end:
            merged[-1] = Span(merged[-1].start, max(merged[-1].end, span.end))
        else:
            merged.append(span)
    return merged


def _not_understood(who: str, problem: str) -> InputError:
    return InputError(
        f"{who} {problem}; expected are spans of characters ([{{start, end}}, …] or [[start, end], …]), a mask (0 or 1 "
        "per token between blanks), or phrases."
    )
