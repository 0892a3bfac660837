"""Word vectors out of a file: GloVe, word2vec (text or binary) or fastText, told apart by content, held against
the size that they announce, read by gensim.
"""

from __future__ import annotations

import gzip
import re
import struct
import zlib
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal, cast

import numpy as np

from assay.infra.errors import InputError
from assay.tasks.language.embeddings.provider import Vectors

if TYPE_CHECKING:
    from gensim.models import KeyedVectors


MOST_DIMENSIONS = 8192
"""No published word vectors have as many."""

MOST_IN_A_BYTE = 1032
"""So many bytes, at most, does deflate pack into one."""

NUMBERS_MADE_UNASKED = 1 << 22
"""Room for so many numbers is made without a look at the file: whoever reads it says what is wrong with it."""

_FASTTEXT_HEAD = struct.Struct("<14i d 3i 2q")
"""Magic number and version, twelve settings and a number, then the counts of the dictionary."""


def require_announced_size(words: int, dimensions: int, least_bytes: int, size: int, called: str) -> None:
    """Nothing, or the sentence for a header that announces more than the file can hold.

    `least_bytes` is what the file's form needs for one number; `size` is that of the unpacked file, or a bound on it.

    >>> require_announced_size(2, 100_000_000_000, 4, 60, "v.bin")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    assay.infra.errors.InputError: v.bin, line 1: announces vectors of 100000000000 numbers, and 1 to 8192 are ...
    """
    if not 1 <= dimensions <= MOST_DIMENSIONS:
        raise InputError(
            f"{called}, line 1: announces vectors of {dimensions} numbers, and 1 to {MOST_DIMENSIONS} are read; it is "
            "damaged, or no file of word vectors."
        )
    if words * dimensions > NUMBERS_MADE_UNASKED and words * dimensions * least_bytes > size:
        raise InputError(
            f"{called}, line 1: announces {words} words of {dimensions} numbers, and has {size} bytes; it is damaged "
            "or cut short: write or copy it again."
        )


def require_fasttext_size(head: bytes, size: int, called: str) -> None:
    """The same for fastText's own form, whose counts stand in its first bytes."""
    if len(head) < _FASTTEXT_HEAD.size:
        raise InputError(f"{called} begins like fastText vectors and ends before its first word; copy it again.")
    cells = _FASTTEXT_HEAD.unpack_from(head)
    dimensions, buckets, entries, words = int(cells[2]), int(cells[10]), int(cells[15]), int(cells[16])
    if buckets < 0 or words > entries or entries < 1:
        raise InputError(f"{called} announces {words} words of {entries} and {buckets} buckets; it is damaged.")
    require_announced_size(words + buckets, dimensions, 1, size, called)  # one byte: those that are quantised are small


MOST_WORDS = 500_000
"""Of a larger file the first so many words are read; such files begin with the most frequent ones."""

HEAD = 1 << 18
"""So many bytes at the beginning say what a file is."""

Format = Literal["glove", "word2vec-text", "word2vec-binary", "fasttext-binary"]

_FASTTEXT_MAGIC = struct.pack("<i", 793712314)


class KeyedProvider:
    """Vectors of a file; a word is looked up as it is, then in small letters, then with a capital."""

    def __init__(self, name: str, vectors: KeyedVectors) -> None:
        """What gensim has read."""
        self.name, self._keyed = name, vectors

    @property
    def words(self) -> Sequence[str]:
        """The words of the file in its order, which most files keep by frequency."""
        return cast("Sequence[str]", self._keyed.index_to_key)

    def vectors(self, words: Sequence[str]) -> Vectors:
        """The vector of each word, [n, d]; NaN where the file has none."""
        vectors = np.full((len(words), self._keyed.vector_size), np.nan, dtype=np.float32)
        for row, word in enumerate(words):
            for form in (word, word.lower(), word.capitalize()):
                if form in self._keyed.key_to_index:
                    vectors[row] = self._keyed.get_vector(form)
                    break
        return vectors


def read_vectors(path: Path, name: str | None = None) -> KeyedProvider:
    """The provider behind a file of word vectors; files that would be unpickled are refused."""
    from gensim.models import KeyedVectors
    from gensim.models.fasttext import load_facebook_vectors

    kind = format_of(path)
    try:
        if kind == "fasttext-binary":
            keyed = load_facebook_vectors(str(path))
        else:
            keyed = KeyedVectors.load_word2vec_format(
                str(path),
                binary=kind == "word2vec-binary",
                no_header=kind == "glove",
                limit=MOST_WORDS,
                unicode_errors="replace",
            )
    except Exception as fault:  # whatever gensim raises on somebody's file is about that file
        raise InputError(f"{path} begins like {kind} word vectors, but cannot be read: {str(fault)[:200]}.") from fault
    if not np.isfinite(keyed.vectors).all():
        raise InputError(f"{path} has vectors with numbers that are not finite; it is damaged.")
    return KeyedProvider(name or path.name, keyed)


def format_of(path: Path) -> Format:
    """What a file of word vectors is, by its first bytes."""
    head = _first_bytes(path)
    size = path.stat().st_size * (MOST_IN_A_BYTE if path.suffix == ".gz" else 1)
    if head.startswith(_FASTTEXT_MAGIC):
        require_fasttext_size(head, size, str(path))
        return "fasttext-binary"
    if head.startswith(b"\x80"):
        raise InputError(
            f"{path} is a pickle (gensim's own format), which could run any code and is never read; save it with "
            "`KeyedVectors.save_word2vec_format` and name that file."
        )
    if head.startswith(b"PK"):
        raise InputError(f"{path} is a zip archive; unpack it and name the file of vectors inside.")
    first, line_end, rest = head.partition(b"\n")
    if re.fullmatch(rb"\d+ \d+\s*", first):
        words, dimensions = (int(cell) if len(cell) < 20 else 10**20 for cell in first.split())
        require_announced_size(min(words, MOST_WORDS), dimensions, 2, size, str(path))
        return "word2vec-text" if _is_text_row(rest.partition(b"\n")[0], dimensions) else "word2vec-binary"
    if not line_end and len(head) == HEAD:
        raise InputError(f"{path}, line 1: has no end within {HEAD} bytes; a line is a word and its numbers.")
    cells = first.split()
    if len(cells) > 2 and _is_text_row(first, len(cells) - 1):
        return "glove"
    raise InputError(
        f"{path} is no file of word vectors: GloVe or word2vec text (a word and its numbers per line), word2vec binary "
        "or fastText binary is expected."
    )


def _is_text_row(row: bytes, size: int) -> bool:
    cells = row.rstrip().rsplit(maxsplit=size) if size > 0 else []
    if len(cells) != size + 1:
        return False
    try:
        [float(cell) for cell in cells[1:]]
    except ValueError:
        return False
    return True


def _first_bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            if file.read(2) != b"\x1f\x8b":
                file.seek(0)
                return file.read(HEAD)
        with gzip.open(path) as packed:
            return cast("BinaryIO", packed).read(HEAD)
    except (OSError, EOFError, zlib.error) as fault:
        raise InputError(f"The word vectors {path} cannot be read ({fault}).") from fault
