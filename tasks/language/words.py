"""The words of a text with their character spans, their lemmas, and which of them are stop words or negations: one
tokenizer for explanations, the trust oracle and attacks.

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
from importlib import resources

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


def replaced(text: str, replacements: Iterable[tuple[Word, str]]) -> str:
    """The text with each of these words replaced by its string, and everything else as it was, bit for bit.

    >>> replaced("so bad!", [(words_of("so bad!")[1], "good")])
    'so good!'
    """
    parts, end = [], 0
    for word, replacement in sorted(replacements, key=lambda pair: pair[0].start):
        if word.start < end or text[word.start : word.end] != word.text:
            raise ValueError(f"{word} is not a word of this text, or is given twice")
        parts += [text[end : word.start], replacement]
        end = word.end
    return "".join([*parts, text[end:]])


def kept_texts(text: str, words: Sequence[Word], masks: Iterable[Sequence[bool]]) -> list[str]:
    """Per mask the text without the words that the mask drops: `replaced` by nothing, many times over, for explainers.

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


_ORDER = ("AUX", "NOUN", "VERB", "ADJ", "ADV", "PROPN")


@functools.lru_cache(maxsize=65_536)
def lemma(word: str) -> str:
    """The lemma of a lower-case word; a word that is itself a lemma, or that the dictionary does not know, stays.

    >>> [lemma(word) for word in ("films", "hated", "boring", "was", "children", "xyzzing")]
    ['film', 'hate', 'boring', 'be', 'child', 'xyzzing']
    """
    from lemminflect import getAllLemmas

    lemmas: dict[str, tuple[str, ...]] = getAllLemmas(word)
    firsts = [lemmas[part][0].lower() for part in _ORDER if lemmas.get(part)]
    return word if not firsts or word in firsts else firsts[0]


def spelling(word: str, lemmatise: bool) -> str:
    """A word as pools, vectors and keywords spell it."""
    return lemma(normalised(word)) if lemmatise else normalised(word)


_SUFFIXES = ("'s", "'re", "'ll", "'ve", "'d", "'m")


def is_stop_word(word: str) -> bool:
    """Whether a word, in any case and with a contracted verb or not, is a stop word. Negations are none.

    >>> [is_stop_word(word) for word in ("The", "they’re", "not", "film", "film's")]
    [True, True, False, False, False]
    """
    plain = normalised(word)
    if plain in stop_words():
        return True
    return any(plain.endswith(suffix) and plain[: -len(suffix)] in stop_words() for suffix in _SUFFIXES)


def is_negation(word: str) -> bool:
    """Whether a word turns a sentence round: `not`, `never`, and every `…n't`.

    >>> [is_negation(word) for word in ("NOT", "don’t", "cannot", "note")]
    [True, True, True, False]
    """
    plain = normalised(word)
    return plain in negations() or plain.endswith("n't")


def may_change(word: str) -> bool:
    """Whether an attack may take a word away, or put it in: stop words and negations stay out of it."""
    return bool(word) and not (is_stop_word(word) or is_negation(word))


def is_one_word(word: str) -> bool:
    """Whether our tokenizer sees one word, the whole of it.

    >>> is_one_word("film"), is_one_word("at all"), is_one_word("film_noir")
    (True, False, False)
    """
    return [part.text for part in words_of(word)] == [word]


@functools.cache
def stop_words() -> frozenset[str]:
    """All stop words, in the form in which words are compared."""
    return _listed("stop_words.txt")


@functools.cache
def negations() -> frozenset[str]:
    """All negations but those that end in n't."""
    return _listed("negations.txt")


@functools.cache
def given_names() -> tuple[str, ...]:
    """Given names of many countries, in alphabetical order."""
    return tuple(sorted(_listed("names.txt")))


def _listed(file: str) -> frozenset[str]:
    text = resources.files("assay.data").joinpath("lexicons", file).read_text(encoding="utf-8")
    return frozenset(word for line in text.splitlines() if not line.startswith("#") for word in line.split())
