"""A piece of a source becomes samples and rejects, each reject with its reason; ids are checked to be unique over
all pieces by hashes of eight bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import TypedDict

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from assay.data.images import COLUMNS
from assay.data.schemas import Samples
from assay.infra.errors import InputError
from assay.infra.stages.exact import Smallest
from assay.infra.stages.shuffle import Received, parcels
from assay.tasks.ingest.file_search import folder_of, listing
from assay.tasks.ingest.gold import (
    checked_scores,
    checked_tags,
    classes_of_columns,
    classes_of_lists,
    gold_codes,
    gold_names,
    marked,
    marks_column,
    named_labels,
    settle_classes,
)
from assay.tasks.ingest.image_cells import pictures, with_form
from assay.tasks.ingest.image_pixels import UnfitError
from assay.tasks.ingest.iob import convention_of
from assay.tasks.ingest.layout import Piece, index_file, index_table, layout_of, read_span
from assay.tasks.ingest.reader_choice import FileIndex, Layout, Reading
from assay.tasks.ingest.rows import NOUNS, Reject, Rows, cast_text, out_of_calendar, rejects_table, shown
from assay.tasks.ingest.settings import Source
from assay.tasks.ingest.sources import ResolvedSource
from assay.tasks.statistics.groups import GROUP, group_names


class Entry:
    """Turns rows away, each once and for the first reason that is found."""

    def __init__(self, rows: Rows, ids: pa.Array | None) -> None:
        self.rows = rows
        self.ids = ids
        self.closed = np.zeros(len(rows.positions), dtype=bool)
        self.rejects: list[Reject] = list(rows.rejects)

    def reject(self, faults: Iterable[tuple[int, str]], column: str | None) -> None:
        """Turn away the rows at these positions (of the table), each for its reason."""
        for position, reason in faults:
            if not self.closed[position]:
                self.closed[position] = True
                known = self.ids[position].as_py() if self.ids is not None else None
                file, row = self.rows.place(position)
                self.rejects.append(Reject(file, row, reason, column, known or None))


def enter(rows: Rows, reading: Reading, classes: tuple[str, ...]) -> tuple[pa.Table, pa.Table]:
    """The rows of one file as Samples and Rejects: typed, identified, with the code of their gold class.

    A row is turned away for a cell that does not fit its column's type, no id, a label that is no class, a missing
    value where one is required, a vote outside the classes, or an image that cannot be had or differs from the others.
    """
    layout = reading.layout
    ids = ids_of(rows, layout)
    entry = Entry(rows, ids if layout.id is not None else None)
    _require(entry, pc.equal(pc.fill_null(ids, ""), ""), "there is no id", layout.id)
    columns = {name: _typed(entry, name, layout) for name in layout.types.names if name != layout.id}
    codes = pa.nulls(len(entry.closed), pa.int16())
    if layout.label is not None:
        codes, faults = gold_codes(columns[layout.label], classes)
        entry.reject(faults, layout.label)
    gold = _where_shown(codes, columns, layout)
    columns |= _truths(entry, columns, layout)
    for name in layout.required:
        if name in columns:
            _require(entry, _missing(columns[name]), f"{name} is missing and required", name)
    features = {
        name: _vote(entry, name, columns[name], classes) if name in layout.votes else columns[name]
        for name in layout.features
    }
    features |= _labels(entry, columns, layout, classes)
    features |= _images(entry, reading)
    if layout.group is not None:
        features[GROUP] = group_names(ids if layout.group == layout.id else columns[layout.group])
    table = pa.table({"id": ids, "gold": gold, **features}).filter(pa.array(~entry.closed))
    fields = [*Samples.schema, *(pa.field(name, column.type) for name, column in features.items())]
    return pa.table(table.columns, schema=pa.schema(fields)), rejects_table(entry.rejects)


def ids_of(rows: Rows, layout: Layout) -> pa.Array:
    """The id column as text, or `file:row` for each row."""
    if layout.id is not None:
        ids = rows.table.column(layout.id).combine_chunks().cast(pa.string())
        return pc.utf8_trim_whitespace(ids)
    return pc.binary_join_element_wise(rows.file, pa.array(rows.positions).cast(pa.string()), ":")


def _typed(entry: Entry, name: str, layout: Layout) -> pa.Array:
    """A column in its type; cells of text files that do not fit turn their rows away."""
    column, target = entry.rows.table.column(name).combine_chunks(), layout.types.field(name).type
    if column.type == target or pa.types.is_integer(column.type):
        entry.reject(((at, "a time outside the years 1 to 9999") for at in out_of_calendar(column).tolist()), name)
        return column
    values, bad = cast_text(column, target)
    noun = NOUNS.get(target, str(target))
    entry.reject(((at, f"{shown(column[at].as_py())} is not {noun}") for at in bad.tolist()), name)
    return values


def _truths(entry: Entry, columns: dict[str, pa.Array], layout: Layout) -> dict[str, pa.Array]:
    """The columns of tags and scores that are not classes, each row of them checked; what is hidden is null."""
    truths: dict[str, pa.Array] = {}
    if layout.tagged is not None:
        words, tags = layout.tagged
        truths[tags], faults = checked_tags(columns[words], columns[tags])
        entry.reject(faults, tags)
    if layout.score is not None:
        truths[layout.score], faults = checked_scores(columns[layout.score])
        entry.reject(faults, layout.score)
    return {name: _where_shown(truth, columns, layout) for name, truth in truths.items()}


def _where_shown(truth: pa.Array, columns: dict[str, pa.Array], layout: Layout) -> pa.Array:
    """What is true of each row, null in the parts whose truth is hidden."""
    used = _shown(columns, layout)
    return truth if used is None else pc.if_else(used, truth, pa.scalar(None, truth.type))


def _shown(columns: dict[str, pa.Array], layout: Layout) -> pa.Array | None:
    """Whether each row's truth is used, or None where all of it is: that of the parts named in `gold_in`."""
    if layout.gold_in is None or layout.split is None:
        return None
    part = columns[layout.split].cast(pa.string())
    return pc.is_in(part, value_set=pa.array(layout.gold_in, pa.string()))


def _labels(
    entry: Entry, columns: dict[str, pa.Array], layout: Layout, classes: tuple[str, ...]
) -> dict[str, pa.Array]:
    """The column `labels`, where samples bear several classes; what is hidden is unknown."""
    if layout.labels is None:
        return {}
    marks, faults = marked(layout.labels, [columns[name] for name in layout.labels.names], classes)
    for position, reason, column in faults:
        entry.reject([(position, reason)], column)
    used = _shown(columns, layout)
    if used is not None:
        marks[~pc.fill_null(used, False).to_numpy(zero_copy_only=False)] = -1
    return {"labels": marks_column(marks)}


def _images(entry: Entry, reading: Reading) -> dict[str, pa.Array]:
    """The pixels of each row that is still to enter, and their extents; empty where the image does not fit."""
    image = reading.layout.image
    if image is None:
        return {}
    assert image.form is not None
    blobs = [b""] * len(entry.closed)
    for position, picture in pictures(entry.rows, image, reading, entry.closed):
        if isinstance(picture, UnfitError):
            entry.reject([(position, str(picture))], image.name if entry.rows.files is None else None)
        else:
            blobs[position] = picture.tobytes()
    extents = (image.form.height, image.form.width, image.form.channels)
    sizes = [pa.array(np.full(len(blobs), extent, np.int16)) for extent in extents]
    return dict(zip(COLUMNS, [pa.array(blobs, pa.large_binary()), *sizes], strict=True))


def _vote(entry: Entry, name: str, column: pa.Array, classes: tuple[str, ...]) -> pa.Array:
    """A column of votes as int8; nothing at all is an abstention."""
    votes = pc.fill_null(column, -1)
    outside = pc.or_(pc.less(votes, -1), pc.greater_equal(votes, len(classes)))
    bad = pc.indices_nonzero(outside).to_pylist()
    expected = f"-1 to abstain or a class from 0 to {len(classes) - 1}"
    entry.reject(((at, f"{name} votes {votes[at].as_py()}, and a vote is {expected}") for at in bad), name)
    return pc.if_else(outside, pa.scalar(-1, votes.type), votes).cast(pa.int8())


def _missing(column: pa.Array) -> pa.Array:
    missing = pc.is_null(column, nan_is_null=pa.types.is_floating(column.type))
    return pc.or_(missing, pc.equal(column, "")) if pa.types.is_string(column.type) else missing


def _require(entry: Entry, absent: pa.Array, reason: str, column: str | None) -> None:
    bad = pc.indices_nonzero(pc.fill_null(absent, True)).to_pylist()
    entry.reject(((at, reason) for at in bad), column)


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
    require_rows(files, source)
    urls = {} if folder else {file.name: file.url for file in source.files}
    plain, bare = (sum(file.begins[side] for file in files) for side in (0, 1))
    shapes = {file.name: file.shape for file in files if file.format == "iob"}
    reading = Reading(layout, urls, table, convention_of(plain, bare), shapes, folder)
    return with_form(reading, files, source.label)


def require_rows(files: list[FileIndex], source: ResolvedSource) -> int:
    """How many rows the files of a source have; refused where there are none."""
    rows = sum(file.filled for file in files)
    if not rows:
        what = "no sentences" if source.settings.iob is not None else "no rows below its header"
        raise InputError(f"{source.label} has {what}.")
    return rows


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


def declared_classes(layout: Layout, settings: Source, source: str) -> tuple[str, ...] | None:
    """The classes where nobody needs to look for them: as given, as the data set names them, as columns are named."""
    if layout.other_truth:
        return ()
    given = settings.classes or layout.classes
    if layout.labels is not None and layout.labels.kind != "names":
        return classes_of_columns(layout.labels, given, source)
    if given is None and layout.label is None and layout.labels is None and not layout.votes:
        return settle_classes(frozenset(), True, None, source)
    return given


def surveyed_classes(layout: Layout, names: frozenset[str], votes: frozenset[str], source: str) -> tuple[str, ...]:
    """The classes that the surveys of all pieces, put together, show."""
    if layout.labels is not None:
        return classes_of_lists(names, source)
    whole = all(name.isdecimal() for name in names)
    # votes that say 0 where ours say -1: 0 would become a class that no sample has
    if names and whole and "0" not in names and "0" in votes and "-1" not in votes:
        raise InputError(
            f"No vote of {source} is -1, and no sample's label is 0: is 0 written where a function abstains? Write -1 "
            "there and count classes from 0, or give `classes` if 0 is a class."
        )
    numeric = layout.label is None or not pa.types.is_string(layout.types.field(layout.label).type)
    return settle_classes(names, numeric, max(map(int, votes), default=None), source)


def _as_read(column: pa.ChunkedArray, layout: Layout, name: str) -> pa.Array:
    array, target = column.combine_chunks(), layout.types.field(name).type
    return cast_text(array, target)[0] if pa.types.is_string(array.type) and array.type != target else array


Hashes = NDArray[np.int64]


class CountedIds(TypedDict):
    """Hashes of the ids of partitions, each under the hash of all of them, and how often that partition was met."""

    hashes: dict[str, Hashes]
    times: dict[str, int]


MOST_SUSPECTS = 1000
"""So many hashes that came more than once are looked at: one repeated id is enough to stop."""


def hash_ids(ids: pa.Array, bits: int = 48) -> Hashes:
    """A hash of so many bits of every id: with 48 the hashes of equal partitions can be added up without overflow."""
    from pandas.util import hash_array

    values = np.asarray(ids.to_numpy(zero_copy_only=False), dtype=object)
    hashed: NDArray[np.uint64] = hash_array(values, categorize=False)
    return (hashed >> np.uint64(64 - bits)).astype(np.int64)


def count_ids(samples: pa.Table) -> CountedIds:
    """The hashes of a partition's ids, ready to be merged with other partitions'."""
    hashes = hash_ids(samples.column("id").combine_chunks())
    name = hashlib.sha256(hashes.tobytes()).hexdigest()
    return {"hashes": {name: hashes}, "times": {name: 1}}


def repeated_hashes(counted: CountedIds) -> Hashes:
    """The hashes met more than once: of repeated ids, and once in a while of two ids that collide."""
    met = ((hashes, counted["times"][name]) for name, hashes in counted["hashes"].items())
    return _met_again([np.repeat(hashes // times, min(times, 2)) for hashes, times in met])


def _met_again(parts: Sequence[Hashes]) -> Hashes:
    hashes = np.sort(np.concatenate(parts)) if parts else np.empty(0, np.int64)
    return np.unique(hashes[1:][hashes[1:] == hashes[:-1]])


def ids_dealt(samples: pa.Table, parts: int) -> pa.Table:
    """What a partition of very many sends to each part of the hashes: those of its ids that fall into it."""
    hashes = hash_ids(samples.column("id").combine_chunks(), 64)
    owners = hashes % parts
    order = np.argsort(owners, kind="stable")
    sent = np.split(hashes[order], np.searchsorted(owners[order], np.arange(1, parts)))
    return parcels({part: hashes.tobytes() for part, hashes in enumerate(sent)})


def repeated_in_part(part: int, received: Received) -> dict[str, Smallest]:  # noqa: ARG001 - what is sent to it says all
    """Some of the hashes that came to one part more than once."""
    again = _met_again([np.frombuffer(hashes, np.int64) for hashes in received.values()])
    return {"again": Smallest.of(again.tolist(), MOST_SUSPECTS)}


def count_suspects(samples: pa.Table, suspects: Hashes, bits: int) -> dict[str, int]:
    """How often each id occurs whose hash is among the suspects."""
    ids = samples.column("id").combine_chunks()
    counts = pc.value_counts(ids.filter(pa.array(np.isin(hash_ids(ids, bits), suspects))))
    return {item["values"].as_py(): int(item["counts"].as_py()) for item in counts}


def chosen_by_hash(samples: pa.Table, share: float, columns: list[str]) -> pa.Table:
    """About that share of the rows, chosen by the hash of their id: the same ones however the table is cut."""
    hashes = hash_ids(samples.column("id").combine_chunks())
    return samples.filter(pa.array(hashes < share * 2.0**48)).select(columns)


def places_of(identity: str, pieces: list[Piece], reading: Reading) -> Iterator[tuple[str, int]]:
    """Where samples with this id stand (file, row), read again piece by piece; nowhere without a column of ids."""
    name = reading.layout.id
    if name is None:
        return
    for span in (span for piece in pieces for span in piece.spans):
        rows = read_span(span, reading, (name,))
        for at in pc.indices_nonzero(pc.equal(ids_of(rows, reading.layout), identity)).to_pylist():
            yield span.name, int(rows.positions[at])
