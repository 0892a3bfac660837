"""Where the records of a text file begin (byte offset and line), found by a vectorised scan that can stop and go
on at any byte; files with endless lines, too many columns or NUL bytes are refused before a parser sees them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import BinaryIO

import numpy as np
from numpy.typing import NDArray

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


Bytes = NDArray[np.uint8]
Offsets = NDArray[np.int64]

_LF, _CR, _QUOTE = 10, 13, 34


@dataclass
class RecordScanner:
    """Finds record starts chunk by chunk; with `delimiter` the rules of CSV hold: a quoted line break ends nothing.

    A quote opens a field only at its beginning, as in Arrow's reader: in `5" pipe` it is a character like any other.
    Without `delimiter` (JSON Lines) every line is a record.
    """

    delimiter: str | None = None
    offset: int = 0
    line: int = 1
    inside: bool = False
    opened_at_line: int = 0
    _previous: int = _LF
    _closed_at: int = -1
    _pending_return: bool = False

    def feed(self, chunk: bytes) -> tuple[Offsets, Offsets]:
        """Byte offsets at which a record starts because the one before ended in this chunk, and their line numbers."""
        data = np.frombuffer(chunk, dtype=np.uint8)
        if not len(data):
            return np.empty(0, np.int64), np.empty(0, np.int64)
        breaks = self._line_breaks(data)  # the position just after each line break, may be len(data)
        lines = self.line + 1 + np.arange(len(breaks), dtype=np.int64)
        free = np.ones(len(breaks), dtype=bool)
        if self.delimiter is not None:
            quotes = self._structural_quotes(data)
            parity = np.searchsorted(quotes, breaks, side="left") + int(self.inside)
            free = parity % 2 == 0
            self.inside = bool((len(quotes) + int(self.inside)) % 2)
            if self.inside and len(quotes):
                self.opened_at_line = self.line + int(np.searchsorted(breaks, quotes[-1], side="right"))
        starts = breaks[free] + self.offset
        self.line += len(breaks)
        self.offset += len(data)
        self._previous = int(data[-1])
        return starts, lines[free]

    def _line_breaks(self, data: Bytes) -> Offsets:
        breaks = np.flatnonzero(data == _LF).astype(np.int64) + 1
        if self.delimiter is None:
            return breaks
        returns = np.flatnonzero(data == _CR).astype(np.int64)
        lone = [np.zeros(1, np.int64)] if self._pending_return and data[0] != _LF else []
        self._pending_return = bool(len(returns)) and int(returns[-1]) == len(data) - 1
        if self._pending_return:
            returns = returns[:-1]
        lone.append(returns[data[returns + 1] != _LF] + 1)
        extra = np.concatenate(lone)
        return np.sort(np.concatenate([breaks, extra])) if len(extra) else breaks

    def _structural_quotes(self, data: Bytes) -> Offsets:
        """The quotes that open or close a field, doubled quotes inside a field included (they cancel out)."""
        quotes = np.flatnonzero(data == _QUOTE).astype(np.int64)
        if not len(quotes):
            return quotes
        before = np.where(quotes > 0, data[quotes - 1], self._previous)
        at_field_start = (before == ord(self.delimiter or ",")) | (before == _LF) | (before == _CR)
        at_field_start |= before == _QUOTE
        opening = np.arange(len(quotes)) % 2 == int(self.inside)
        # `""` just after a quote reopens a field only where that quote closed one
        follows_close = np.diff(quotes, prepend=self._closed_at - self.offset) == 1
        good = at_field_start & ((before != _QUOTE) | follows_close)
        if not bool(np.all(good[opening])):
            quotes = self._walk_quotes(quotes, before)
        closing_last = len(quotes) and (len(quotes) + int(self.inside)) % 2 == 0
        if closing_last:
            self._closed_at = int(quotes[-1]) + self.offset
        return quotes

    def _walk_quotes(self, quotes: Offsets, before: Bytes) -> Offsets:
        """One quote after the other: the slow way, taken only where a stray quote stands in the middle of a field."""
        kept: list[int] = []
        inside, closed_at = self.inside, self._closed_at - self.offset
        starts = {ord(self.delimiter or ","), _LF, _CR}
        for position, character in zip(quotes.tolist(), before.tolist(), strict=True):
            if inside:
                inside, closed_at = False, position
            elif position == closed_at + 1 or character in starts:
                inside = True
            else:
                continue
            kept.append(position)
        return np.asarray(kept, dtype=np.int64)


@dataclass(frozen=True)
class TextIndex:
    """A text file's records, thinned out: every so-many-th record's number, byte offset and line (from 1)."""

    size: int
    records: int
    marks: Offsets = field(repr=False)  # [m, 3]: record number, byte offset, line
    blank: int = 0
    """How many of the records are blank lines."""

    def mark_at(self, record: int) -> tuple[int, int, int]:
        """The last mark at or before a record: its record number, offset and line."""
        position = int(np.searchsorted(self.marks[:, 0], record, side="right")) - 1
        number, offset, line = self.marks[max(position, 0)].tolist()
        return number, offset, line


_CHUNK, _MARKS = 16 << 20, 256  # bytes that are read at a time, and about so many marks in them


def index_records(
    file: BinaryIO, delimiter: str | None, start: int = 0, line: int = 1, file_name: str = "the file"
) -> TextIndex:
    """The index of a file read from byte `start` (in line `line`), where its first record begins.

    Raises where a quoted cell opens and never closes: it would swallow the rest of the file.
    """
    scanner = RecordScanner(delimiter, offset=start, line=line)
    marks = [np.array([[0, start, line]], dtype=np.int64)]
    count, blank, last = 1, 0, (start, line)
    pending: tuple[int, int] | None = None  # a start at the very end of what was read: a record only if more follows
    while chunk := file.read(_CHUNK):
        if pending is not None:
            marks.append(np.array([[count, *pending]], dtype=np.int64))
            count, pending = count + 1, None
        begin, starts_here = scanner.offset, last[0] == scanner.offset
        starts, lines = scanner.feed(chunk)
        inside = np.insert(starts[starts < scanner.offset], 0, [begin] * starts_here) - begin
        blank += int(np.isin(np.frombuffer(chunk, np.uint8)[inside], (_LF, _CR)).sum())
        sizes = np.diff(np.concatenate([np.array(last[:1], np.int64), starts]), append=scanner.offset)
        longest = int(sizes.argmax())
        require_record(int(sizes[longest]), file_name, last[1] if longest == 0 else int(lines[longest - 1]))
        if len(starts):
            last = (int(starts[-1]), int(lines[-1]))  # the record that goes on behind what was read
            if last[0] == scanner.offset:
                pending, starts, lines = last, starts[:-1], lines[:-1]
        step = max(1, len(starts) // _MARKS)
        numbers = count + np.arange(0, len(starts), step, dtype=np.int64)
        marks.append(np.stack([numbers, starts[::step], lines[::step]], axis=1))
        count += len(starts)
    if scanner.inside:
        raise InputError(
            f"{file_name} has a quoted cell that opens in line {scanner.opened_at_line} and never closes; add the "
            "closing quote."
        )
    records = count if scanner.offset > start else 0
    return TextIndex(scanner.offset, records, np.concatenate(marks)[: None if records else 0], blank)


def records_in(data: bytes, delimiter: str | None, line: int = 1) -> tuple[Offsets, Offsets]:
    """Start offset and line number of every record of `data` that is not blank; `line` is the first one's line.

    >>> starts, lines = records_in(b'a,"x\\ny"\\n\\nb,c\\n', ",", line=7)
    >>> starts.tolist(), lines.tolist()
    ([0, 9], [7, 10])
    """
    starts, lines = RecordScanner(delimiter, line=line).feed(data)
    starts, lines = np.insert(starts, 0, 0), np.insert(lines, 0, line)
    there = starts < len(data)
    starts, lines = starts[there], lines[there]
    first = np.frombuffer(data, dtype=np.uint8)[starts]
    filled = (first != _LF) & (first != _CR)
    return starts[filled], lines[filled]
