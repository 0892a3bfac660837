"""How long, wide and deep a text file may be: looked at before any parser is, since parsers hang and crash on such.

A line without an end, a header of a hundred thousand names, brackets within brackets without number and NUL bytes are
the marks of a file that is damaged or something else, not of data.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import accumulate

from assay.infra.errors import InputError

MOST_RECORD = 8 << 20
"""A row of a text file has at most so many bytes."""

MOST_HEADER = 1 << 20
"""A header line has at most so many."""

MOST_COLUMNS = 4096
"""A table has at most so many columns."""

MOST_DEPTH = 32
"""Objects and lists of a JSON line stand at most so deep in each other."""

_NAMES = re.compile(rb'"((?:[^"\\]|\\.)*+)"\s*+:', re.DOTALL)
_TEXT_IN_QUOTES = re.compile(rb'"(?:[^"\\]|\\.)*+(?:"|\Z)', re.DOTALL)
_STEPS = {ord("["): 1, ord("{"): 1, ord("]"): -1, ord("}"): -1}
_NO_BRACKETS = bytes(byte for byte in range(256) if byte not in _STEPS)


def require_record(size: int, file: str, line: int) -> None:
    """Nothing, or the sentence for a row that does not end."""
    if size > MOST_RECORD:
        raise InputError(
            f"{file} has a row of more than {MOST_RECORD >> 20} MiB that begins in line {line}: is a line break or a "
            "closing quote missing? Large values belong into files of their own, or into Parquet."
        )


def require_header(header: bytes, file: str, line: int) -> None:
    """Nothing, or the sentence for a header line that no table has."""
    if len(header) > MOST_HEADER:
        raise InputError(
            f"{file} has a header of more than {MOST_HEADER >> 20} MiB in line {line}: the first line names the "
            "columns; is a line break missing?"
        )


def require_columns(names: Sequence[str], file: str) -> None:
    """Nothing, or the sentence for a table that is too wide, or that has two columns of one name."""
    if len(names) > MOST_COLUMNS:
        raise InputError(
            f"{file} has more than {MOST_COLUMNS:,} columns, the next one is {names[MOST_COLUMNS][:40]!r}; give wide "
            "data as one column of lists, or leave columns out of the file."
        )
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise InputError(f"{file} has two columns named {name!r}; rename one of them.")
        seen.add(name)


def require_no_nul(data: bytes, file: str, line: int) -> None:
    """Nothing, or the sentence for bytes that no text has."""
    at = data.find(b"\0")
    if at >= 0:
        line += data.count(b"\n", 0, at)
        raise InputError(
            f"{file} has a NUL byte in line {line}, and text has none: the file is damaged, or is no text file."
        )


def depth_of(line: bytes) -> int:
    """How deep objects and lists stand in each other, brackets inside texts left out.

    >>> depth_of(b'{"a": [[1], "]]["]}'), depth_of(b"[" * 100_000)
    (3, 100000)
    """
    brackets = _TEXT_IN_QUOTES.sub(b"", line).translate(None, _NO_BRACKETS)
    return max(accumulate(_STEPS[byte] for byte in brackets), default=0)


def may_be_too_wide(lines: bytes) -> bool:
    """Whether JSON lines have so many different names before a colon that it is worth counting their fields."""
    return len({name[1] for name in _NAMES.finditer(lines)}) > MOST_COLUMNS


def is_readable_object(line: bytes) -> bool:
    """Whether a JSON line may be given to Arrow's parser, which crashes on a line that is `null`.

    >>> is_readable_object(b' {"a": 1}'), is_readable_object(b"null"), is_readable_object(b'{"a":' * 50)
    (True, False, False)
    """
    return line.lstrip()[:1] == b"{" and not is_too_deep(line)


def is_too_deep(line: bytes) -> bool:
    """Whether a line is nested beyond what parsers bear; most lines have too few brackets to be asked."""
    return line.count(b"[") + line.count(b"{") > MOST_DEPTH and depth_of(line) > MOST_DEPTH
