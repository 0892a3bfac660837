"""What a worker does with a piece: read it, check it, hand over samples and rejects."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from assay.infra.errors import InputError
from assay.tasks.ingest.casting import cast_text
from assay.tasks.ingest.classes import gold_names, settle_classes
from assay.tasks.ingest.entry import enter
from assay.tasks.ingest.image_cells import with_form
from assay.tasks.ingest.image_folder import folder_of, listing
from assay.tasks.ingest.layout import Layout, layout_of
from assay.tasks.ingest.multilabel import named_labels, settle_labels
from assay.tasks.ingest.pieces import Piece, Reading, index_file, index_table, read_span
from assay.tasks.ingest.settings import Source
from assay.tasks.ingest.sources import ResolvedSource
from assay.tasks.ingest.spans import FileIndex
from assay.tasks.ingest.tag_conventions import convention_of


def prepare(source: ResolvedSource) -> tuple[Reading, list[FileIndex]]:
    """How a source is read, and what planning needs to know of its files; refuses a source without rows."""
    table = source.given.build() if source.given is not None else None
    folder = ""
    if source.settings.images is not None:
        table = listing([file.name for file in source.files])
        folder = folder_of(source.files[0].url, source.files[0].name)
    layout = layout_of(source, table)
    if table is not None:
        files = [index_table(table, source.label)]
    else:
        files = [index_file(file, layout) for file in source.files]
    if not sum(file.rows for file in files):
        what = "no sentences" if source.settings.iob is not None else "no rows below its header"
        raise InputError(f"{source.label} has {what}.")
    urls = {} if folder else {file.name: file.url for file in source.files}
    plain, bare = (sum(file.begins[side] for file in files) for side in (0, 1))
    shapes = {file.name: file.shape for file in files if file.format == "iob"}
    reading = Reading(layout, urls, table, convention_of(plain, bare), shapes, folder)
    return with_form(reading, files, source.label)


def read_piece(piece: Piece, reading: Reading, classes: tuple[str, ...]) -> tuple[pa.Table, pa.Table]:
    """The samples and the rejects of a piece."""
    tables = [enter(read_span(span, reading), reading, classes) for span in piece.spans]
    return pa.concat_tables(samples for samples, _ in tables), pa.concat_tables(rejects for _, rejects in tables)


def survey_piece(piece: Piece, reading: Reading) -> dict[str, frozenset[str]]:
    """The labels that a piece names, its largest and its smallest vote, as text: what the classes are read off."""
    layout = reading.layout
    listed = layout.labels.names if layout.labels is not None and layout.labels.kind == "names" else ()
    wanted = tuple(name for name in (layout.label, *layout.votes, *listed) if name is not None)
    names: set[str] = set()
    votes: set[str] = set()
    for span in piece.spans:
        rows = read_span(span, reading, wanted)
        if layout.label is not None:
            names |= gold_names(_as_read(rows.table.column(layout.label), layout, layout.label))
        for name in listed:
            names |= named_labels(rows.table.column(name).combine_chunks())
        for name in layout.votes:
            cast = pc.fill_null(_as_read(rows.table.column(name), layout, name), -1)
            votes |= {str(vote) for vote in pc.min_max(cast).as_py().values() if vote is not None}
    return {"names": frozenset(names), "votes": frozenset(votes)}


def known_classes(layout: Layout, settings: Source, source: str) -> tuple[str, ...] | None:
    """The classes where nobody needs to look for them: as given, as the data set names them, as columns are named."""
    if layout.other_truth:
        return ()
    given = settings.classes or layout.classes
    if layout.labels is not None and layout.labels.kind != "names":
        return settle_labels(layout.labels, given, frozenset(), source)
    if given is not None or (layout.label is None and layout.labels is None and not layout.votes):
        return settle_classes(given, frozenset(), True, None, source)
    return None


def found_classes(layout: Layout, names: frozenset[str], votes: frozenset[str], source: str) -> tuple[str, ...]:
    """The classes that the surveys of all pieces, put together, show."""
    if layout.labels is not None:
        return settle_labels(layout.labels, None, names, source)
    _require_abstentions(names, votes, source)
    numeric = layout.label is None or not pa.types.is_string(layout.types.field(layout.label).type)
    return settle_classes(None, names, numeric, max(map(int, votes), default=None), source)


def _require_abstentions(names: frozenset[str], votes: frozenset[str], source: str) -> None:
    """Nothing, or the sentence for votes that say 0 where ours say -1: 0 would become a class that no sample has."""
    codes = {name for name in names if name.isdecimal()}
    if votes and "-1" not in votes and "0" in votes and codes == names and names and "0" not in names:
        raise InputError(
            f"No vote of {source} is -1, and no sample's label is 0: is 0 written where a function abstains? Write -1 "
            "there and count classes from 0, or give `classes` if 0 is a class."
        )


def _as_read(column: pa.ChunkedArray, layout: Layout, name: str) -> pa.Array:
    array, target = column.combine_chunks(), layout.types.field(name).type
    return cast_text(array, target)[0] if pa.types.is_string(array.type) and array.type != target else array
