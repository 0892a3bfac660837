"""What a file of word vectors announces, held against its size before anything is made of that many numbers."""

from __future__ import annotations

import struct

from assay.infra.errors import InputError

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
