"""How similar a changed text is to the original, by sentence encoders, and which parts of speech a word can have.

A text that the constraint's encoder reads to its end is compared whole. Of a longer one the encoder would see
nothing of a change behind what it reads: it is compared in passages of `PASSAGE` characters, and as similar as
the least similar passage with a change. All encoders compare a text alike.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from zlib import crc32

import numpy as np
import numpy.typing as npt

from assay.tasks.language.embeddings.encoder import SentenceEncoder
from assay.tasks.language.embeddings.provider import Vectors
from assay.tasks.language.words import Word, normalised, replaced, words_of


@functools.lru_cache(maxsize=65_536)
def parts_of_speech(word: str) -> frozenset[str]:
    """All universal parts of speech that a word can have; none where the dictionary does not know it.

    >>> sorted(parts_of_speech("Films")), sorted(parts_of_speech("dull")), parts_of_speech("xyzzing")
    (['NOUN', 'VERB'], ['ADJ', 'VERB'], frozenset())
    """
    from lemminflect import getAllLemmas

    return frozenset(getAllLemmas(normalised(word)))


def could_be_alike(word: str, other: str) -> bool:
    """Whether two words can be the same part of speech: a word that nobody knows is like no other.

    >>> could_be_alike("film", "movie"), could_be_alike("film", "quickly"), could_be_alike("xyzzing", "film")
    (True, False, False)
    """
    return bool(parts_of_speech(word) & parts_of_speech(other))


CHARACTERS = "character-trigrams"
PASSAGE = 400
"""A passage is as many whole words as so many characters have: fewer tokens than any encoder reads."""
_BUCKETS = 4096
_MOST_AT_ONCE = 64  # texts that a network compares at a time
_WHOLE = 4000  # characters up to which vectors of words or letters are of the whole text


class NetworkEncoder:
    """A sentence encoder of transformers; the texts of one step are one block (or a few), padded to the longest."""

    def __init__(self, name: str, folder: str) -> None:
        """The encoder that lies in a folder; each process reads it once."""
        self.name = name
        self._encoder = _load_encoder(folder)

    def reads(self, text: str) -> bool:
        """Whether the text has no more tokens than the network reads."""
        return self._encoder.reads(text)

    def encode(self, texts: Sequence[str]) -> Vectors:
        """The mean over each text's last hidden states, [n, d]."""
        blocks = [texts[at : at + _MOST_AT_ONCE] for at in range(0, max(1, len(texts)), _MOST_AT_ONCE)]
        return np.concatenate([self._encoder.encode_together(block) for block in blocks])


class WordVectorEncoder:
    """The mean of the vectors of a text's words."""

    def __init__(self, name: str, vectors: Mapping[str, Vectors]) -> None:
        """A vector per word, in the form in which words are compared; other words are left out."""
        self.name, self._vectors = name, vectors
        self._width = len(next(iter(vectors.values()), np.zeros(1)))

    def reads(self, text: str) -> bool:
        """Whether the text is short enough to be compared whole."""
        return len(text) <= _WHOLE

    def encode(self, texts: Sequence[str]) -> Vectors:
        """The mean vector, [n, d]; zeros for a text of which no word is known."""
        means = np.zeros((len(texts), self._width), dtype=np.float32)
        for row, text in enumerate(texts):
            known = [self._vectors[form] for word in words_of(text) if (form := word.normalised) in self._vectors]
            if known:
                means[row] = np.mean(known, axis=0, dtype=np.float64)
        return means


class CharacterEncoder:
    """How often each three letters in a row occur: how alike two texts are as strings, whatever they mean."""

    name = CHARACTERS

    def reads(self, text: str) -> bool:
        """Whether the text is short enough to be compared whole."""
        return len(text) <= _WHOLE

    def encode(self, texts: Sequence[str]) -> Vectors:
        """The counts, hashed, [n, d].

        >>> CharacterEncoder().encode(["a good film", "A GOOD FILM"]).sum(axis=1).tolist()
        [11.0, 11.0]
        """
        counts = np.zeros((len(texts), _BUCKETS), dtype=np.float32)
        for row, text in enumerate(texts):
            letters = f" {normalised(text)} "
            for at in range(len(letters) - 2):
                counts[row, crc32(letters[at : at + 3].encode("utf-8", "surrogatepass")) % _BUCKETS] += 1
        return counts


Encoder = NetworkEncoder | WordVectorEncoder | CharacterEncoder
"""What makes vectors of whole texts [n, d], and says which texts it reads to their end."""


def cosine_to(reference: Vectors, others: Vectors) -> npt.NDArray[np.float64]:
    """The cosine of each of the other vectors with one, [n]; zero where either has no direction.

    >>> cosine_to(np.array([1.0, 0.0]), np.array([[1.0, 1.0], [0.0, 0.0]])).round(4).tolist()
    [0.7071, 0.0]
    """
    vector, matrix = np.asarray(reference, dtype=np.float64), np.asarray(others, dtype=np.float64)
    lengths = np.sqrt((matrix * matrix).sum(axis=1)) * np.sqrt((vector * vector).sum())
    cosines: npt.NDArray[np.float64] = (matrix @ vector) / np.where(lengths > 0, lengths, 1.0)
    return np.clip(cosines, -1.0, 1.0)


class Compared:
    """A text that changed ones are compared with; what an encoder said of a passage is not asked again."""

    def __init__(self, encoder: Encoder, text: str, reads: Callable[[str], bool] | None = None) -> None:
        """The encoder, the text; `reads` says what is compared whole; left out, what the encoder reads to its end."""
        self._encoder, self._text, self._words = encoder, text, words_of(text)
        self._reads = reads or encoder.reads
        self._whole = self._reads(text)
        self._passages = _passages(self._words)
        self._first = {passage: index for index, passage in reversed(list(enumerate(self._passages)))}
        self._known: dict[str, Vectors] = {}

    def similarities(self, changes: Sequence[Mapping[int, str]]) -> npt.NDArray[np.float64]:
        """How similar the text is to itself with some words replaced, [n]; 1 where none is."""
        pairs = [self._pairs(change) for change in changes]
        new = dict.fromkeys(text for some in pairs for pair in some for text in pair if text not in self._known)
        self._known.update(zip(new, self._encoder.encode(list(new)) if new else (), strict=True))
        cosines = [
            [float(cosine_to(self._known[own], self._known[other][None])[0]) for own, other in some] for some in pairs
        ]
        return np.array([min(some, default=1.0) for some in cosines], dtype=np.float64)

    def _pairs(self, changes: Mapping[int, str]) -> list[tuple[str, str]]:
        """The texts to compare: the whole ones, or every passage with a change."""
        if not changes:
            return []
        if self._whole:
            changed = self._with(changes, 0, len(self._text))
            if self._reads(changed):
                return [(self._text, changed)]
        pairs = []
        for place in sorted({self._passages[index] for index in changes}):
            last = self._first.get(place + 1, len(self._words)) - 1
            start, end = self._words[self._first[place]].start, self._words[last].end
            within = {index: new for index, new in changes.items() if self._passages[index] == place}
            pairs.append((self._text[start:end], self._with(within, start, end)))
        return pairs

    def _with(self, changes: Mapping[int, str], start: int, end: int) -> str:
        moved = [(self._words[index], new) for index, new in changes.items()]
        return replaced(
            self._text[start:end], [(Word(word.text, word.start - start, word.end - start), new) for word, new in moved]
        )


def _passages(words: Sequence[Word]) -> list[int]:
    """In which passage every word is: passages are filled one after another, each with one word at least."""
    passages: list[int] = []
    begin, passage = 0, -1
    for word in words:
        if passage < 0 or word.end - begin > PASSAGE:
            begin, passage = word.start, passage + 1
        passages.append(passage)
    return passages


@lru_cache(maxsize=2)
def _load_encoder(folder: str) -> SentenceEncoder:
    return SentenceEncoder(Path(folder))
