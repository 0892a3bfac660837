"""What a reader of files is to everybody else: the columns of files, an index of each, and the rows of a span."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from assay.infra.choices import Named
from assay.tasks.ingest.places import FILES, Places

if TYPE_CHECKING:
    import pyarrow as pa

    from assay.tasks.ingest.files import SourceFile
    from assay.tasks.ingest.heads import Head
    from assay.tasks.ingest.layout import Layout
    from assay.tasks.ingest.pieces import Reading
    from assay.tasks.ingest.rows import Rows
    from assay.tasks.ingest.settings import Source
    from assay.tasks.ingest.spans import FileIndex, Span

GROUP = "assay.readers"
"""Where installed packages offer readers of files."""


@dataclass(frozen=True)
class ReaderChoice(Named):
    """A reader of one format; `table_reader` makes one of three simple functions.

    `columns` gives the types of the first file's columns, and where the records of text files begin. `index` gives how
    many rows and bytes a file has. `read` gives the rows of a span with the columns that are needed, in that order;
    a row may not depend on how the file is cut into spans.
    """

    columns: Callable[[Sequence[SourceFile], Source], tuple[pa.Schema, dict[str, Head]]]
    index: Callable[[SourceFile, Layout], FileIndex]
    read: Callable[[Span, Reading, tuple[str, ...]], Rows]
    places: Places = FILES
    """Where its addresses lead: to files, unless it says otherwise."""
    endings: tuple[str, ...] = ()
    """How the files end that a folder stands for; without any, a folder is refused."""
