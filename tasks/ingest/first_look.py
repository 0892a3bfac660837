"""What a source shows before anything runs: its columns, whether its first image can be read, which parts it has."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from assay.infra.errors import InputError
from assay.tasks.ingest.classes import gold_names, require_repeated
from assay.tasks.ingest.column_types import require_parting
from assay.tasks.ingest.files import SourceFiles
from assay.tasks.ingest.image_cells import with_form
from assay.tasks.ingest.image_folder import CLASS, folder_of, listing
from assay.tasks.ingest.layout import Layout, layout_of
from assay.tasks.ingest.pieces import Reading, index_file, index_table, plan_pieces, read_span
from assay.tasks.ingest.readers import places_of
from assay.tasks.ingest.spans import FileIndex

MOST_BYTES = 16 << 20
"""Of larger files only the head is looked at: the parts of the data, and the first image, are found when it runs."""


@dataclass(frozen=True)
class FirstLook:
    """The columns that samples will have, the values of the one that says which are audited, and the types read."""

    columns: Sequence[str]
    parts: frozenset[str] | None = None
    types: pa.Schema | None = None


def first_look(source: SourceFiles, parts: str | None) -> FirstLook:
    """What can be seen at once; raises where a column is missing, or where no image can be read."""
    if source.given is not None:
        return FirstLook(())
    if source.settings.images is not None:
        return _at_folder(source)
    layout = layout_of(source)
    part = parts or layout.split
    if parts is not None and parts in layout.types.names:
        require_parting(layout.types, parts, "evaluation.column", source.label)
    settings = source.settings
    if sum(places_of(file.format, settings).size(file, settings) for file in source.files) > MOST_BYTES:
        return FirstLook(layout.features, types=layout.types)
    files = [index_file(file, layout) for file in source.files]
    reading = Reading(layout, {file.name: file.url for file in source.files})
    if layout.image is not None:
        with_form(reading, files, source.label)
    known = part is not None and part in layout.types.names and all(file.format != "iob" for file in files)
    return FirstLook(layout.features, _values(reading, files, str(part)) if known else None, layout.types)


def _at_folder(source: SourceFiles) -> FirstLook:
    table = listing([file.name for file in source.files])
    require_repeated(gold_names(table[CLASS].combine_chunks()), len(table), source.label)
    layout: Layout = layout_of(source, table)
    folder = folder_of(source.files[0].url, source.files[0].name)
    with_form(Reading(layout, table=table, folder=folder), [index_table(table, source.label)], source.label)
    split = layout.split
    values = frozenset(table[split].unique().to_pylist()) if split is not None else None
    return FirstLook((), values)


def _values(reading: Reading, files: list[FileIndex], column: str) -> frozenset[str]:
    distinct: set[str] = set()
    plain = replace(reading, layout=replace(reading.layout, image=None))
    for piece in plan_pieces(files, None):
        for span in piece.spans:
            values = read_span(span, plain, (column,)).table.column(column)
            try:
                distinct |= {str(value) for value in values.drop_null().unique().cast(pa.string()).to_pylist()}
            except UnicodeDecodeError as fault:
                raise InputError(
                    f"{span.name} has text in column {column!r} that is not UTF-8; write it as UTF-8."
                ) from fault
    return frozenset(distinct)
