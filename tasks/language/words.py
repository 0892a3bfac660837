"""The words of a text with their character spans: one tokenizer for explanations, the trust oracle and attacks.

A word is a run of letters and digits with their combining marks. Inside it may stand an apostrophe, a hyphen, an
invisible joiner, and between digits a decimal point or a thousands comma: `can't`, `well-known`, `3.5`, `1,000`.
Initials are one word (`U.S`), a Chinese character is a word of its own. Punctuation, emoji, underscores, control
characters and NUL are between words. Scripts that write without spaces (Thai, kana) give one word per run, as they do
in a BERT tokenizer.
"""

from __future__ import annotations

import functools
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
_APOSTROPHES = "'\u2019\uff07\u05f3\u05f4"
_HYPHENS = "\\-\u2010\u2011"
_INVISIBLE = "\u00ad\u200c\u200d"
_PLAIN = str.maketrans({"\u2019": "'", "\uff07": "'", "\u2010": "-", "\u2011": "-", "\u00ad": None})
_NO_MARKS = {0x20E3, *range(0xFE00, 0xFE10)}  # they make emoji of digits


@dataclass(frozen=True, slots=True)
class Word:
    """A word as it stands in its text: `text[start:end]`."""

    text: str
    start: int
    end: int

    @property
    def normalised(self) -> str:
        """The form in which words are compared."""
        return normalised(self.text)


def words_of(text: str) -> list[Word]:
    """The words of a text in reading order; `text[word.start:word.end] == word.text` for each.

    >>> [word.text for word in words_of("Well-known? I can't: 3.5 of 1,000 in the U.S. 😀 don’t_care")]
    ['Well-known', 'I', "can't", '3.5', 'of', '1,000', 'in', 'the', 'U.S', 'don’t', 'care']
    """
    return [Word(match[0], match.start(), match.end()) for match in _pattern().finditer(text)]


def normalised(word: str) -> str:
    """The form in which words are compared: case folded, compatible characters made one, plain ' and -.

    >>> normalised("DON’T"), normalised("Stra\u00dfe"), normalised("cafe\u0301") == normalised("CAF\u00c9")
    ("don't", 'strasse', True)
    """
    if word.isascii():
        return word.lower()
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKD", word.translate(_PLAIN)).casefold())
    return unicodedata.normalize("NFKC", folded.casefold()).translate(_PLAIN)


def without(text: str, words: Iterable[Word]) -> str:
    """The text with these words deleted and everything else as it was, bit for bit.

    >>> text = "not  bad, not good"
    >>> without(text, [word for word in words_of(text) if word.text == "not"])
    '  bad,  good'
    """
    return replaced(text, [(word, "") for word in words])


def replaced(text: str, replacements: Iterable[tuple[Word, str]]) -> str:
    """The text with each of these words replaced by its string, and everything else as it was, bit for bit.

    >>> replaced("so bad!", [(words_of("so bad!")[1], "good")])
    'so good!'
    """
    parts, end = [], 0
    for word, replacement in sorted(replacements, key=lambda one: one[0].start):
        if word.start < end or text[word.start : word.end] != word.text:
            raise ValueError(f"{word} is not a word of this text, or is given twice")
        parts += [text[end : word.start], replacement]
        end = word.end
    return "".join([*parts, text[end:]])


def kept_texts(text: str, words: Sequence[Word], masks: Iterable[Sequence[bool]]) -> list[str]:
    """Per mask the text without the words that the mask drops: `without`, many times over, for explainers.

    >>> kept_texts("a b, c", words_of("a b, c"), [[True, False, True], [False, True, False]])
    ['a , c', ' b, ']
    """
    ends = [0, *(word.end for word in words)]
    gaps = [text[end : word.start] for end, word in zip(ends, words, strict=False)]
    tail = text[ends[-1] :]
    whole = [gap + word.text for gap, word in zip(gaps, words, strict=True)]
    texts = []
    for mask in masks:
        chosen = [word if keep else gap for word, gap, keep in zip(whole, gaps, mask, strict=True)]
        texts.append("".join(chosen) + tail)
    return texts


@functools.cache
def _pattern() -> re.Pattern[str]:
    """Possessive runs over disjoint sets of characters, so that every text takes linear time."""
    letter = f"[^\\W_{HAN}]"
    marks = f"[{_combining_marks()}]"
    run = f"{letter}++(?:{marks}++{letter}*+)*+"
    inner = rf"(?:[{_APOSTROPHES}{_HYPHENS}{_INVISIBLE}]|(?<=\d)(?:\.(?=\d)|,(?=\d{{3}}(?!\d))))"
    initial = f"[^\\W\\d_{HAN}]"
    return re.compile(f"(?:{initial}\\.)+{initial}(?!{letter}|{marks})|{run}(?:{inner}{run})*+|[{HAN}]{marks}*+")


def _combining_marks() -> str:
    """All combining marks but those that only make emoji, as ranges for a regular expression."""
    codes = [*range(0x300, 0x20000), *range(0xE0100, 0xE01F0)]
    marks = [code for code in codes if unicodedata.category(chr(code))[0] == "M" and code not in _NO_MARKS]
    starts = [code for code, before in zip(marks, [-1, *marks], strict=False) if code != before + 1]
    ends = [code for code, after in zip(marks, [*marks[1:], -1], strict=True) if after != code + 1]
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in zip(starts, ends, strict=True))
