"""What planning knows of a file, and the runs of its rows that are read together."""

from __future__ import annotations

from dataclasses import dataclass, field

from assay.tasks.ingest.iob_rows import Shape
from assay.tasks.ingest.scan import TextIndex


@dataclass(frozen=True)
class Span:
    """A run of rows of one file: bytes `start` to `stop` of a text file, rows of a Parquet file or a given table.

    `first` is the line (text) or the row number (others) of the first one, counted from 1. A span knows its file by
    name only: where the file lies is said when it is read, so that a written plan outlives a moved folder.
    """

    name: str
    format: str
    start: int
    stop: int
    first: int


@dataclass(frozen=True)
class FileIndex:
    """What planning needs of a file: how many rows and bytes, and for text files where the records begin."""

    name: str
    format: str
    rows: int
    bytes: int
    text: TextIndex | None = None
    begins: tuple[int, int] = (0, 0)
    """In IOB files, how many entities begin with B- and with I-, where one or the other convention has it."""
    shape: Shape = field(default_factory=Shape)
    """In IOB files, what all sentences have in common."""

    def span(self, start: int, stop: int) -> Span | None:
        """Rows `start` to `stop`, moved to the marks that a text file's index holds; none if nothing is left."""
        if self.text is None:
            return Span(self.name, self.format, start, stop, start + 1)
        _, begin, line = self.text.mark_at(start)
        end = self.text.size if stop >= self.rows else self.text.mark_at(stop)[1]
        return Span(self.name, self.format, begin, end, line) if begin < end else None
