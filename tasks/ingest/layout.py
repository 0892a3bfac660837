"""The columns of a source with their meaning and type, settled before a row is read, and the plan that cuts its
files into pieces for the workers.
"""

from __future__ import annotations

import bisect
import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from assay.data.images import COLUMNS
from assay.data.schemas import WORDS
from assay.infra.errors import InputError, SettingError
from assay.infra.storage.keys import InexactError, canonical_form, fingerprint
from assay.tasks.ingest.file_search import CLASS, PATH
from assay.tasks.ingest.file_search import SPLIT as SPLIT_FOLDER
from assay.tasks.ingest.gold import label_columns
from assay.tasks.ingest.image_pixels import is_array
from assay.tasks.ingest.reader_choice import (
    FileIndex,
    Head,
    ImageColumn,
    Layout,
    Reading,
    Span,
    parsing,
    typed_rows,
    unknown_column,
)
from assay.tasks.ingest.readers import READERS
from assay.tasks.ingest.rows import (
    NEARLY_NUMBERS,
    Rows,
    plain_type,
    require_enterable,
    require_known_zones,
    require_roles,
)
from assay.tasks.ingest.settings import Source
from assay.tasks.ingest.source_files import SourceFile, SourceFiles, hash_of_file
from assay.tasks.reporting.numerals import plural


def layout_of(source: SourceFiles, given: pa.Table | None = None) -> Layout:
    """The layout of a source: names checked, types settled, each file seen to have the columns of the first."""
    settings = source.settings
    if given is not None:
        types = pa.schema([(field.name, plain_type(field.type)) for field in given.schema])
        return _assign(settings, types, source.label, {}, given.schema.metadata or {})
    reader = READERS.named(source.files[0].format, settings)
    with parsing(source.label, reader.word, settings):
        types, heads = reader.columns(source.files, settings)
    return _assign(settings, types, source.files[0].name, heads, {})


@dataclass(frozen=True)
class _Named:
    """The columns that have a meaning of their own: as the settings say, else as our own data sets name them."""

    id: str | None
    label: str | None
    split: str | None
    image: str | None
    labels: tuple[str, ...]
    extents: tuple[str, ...] = ()
    """Height, width and channels, where the pixels of a data set of ours stand raw in a column."""
    unread: tuple[str, ...] = ()

    @property
    def read(self) -> list[str]:
        """The columns that are read for their meaning; they are no features."""
        columns = (self.id, self.label, self.image, *self.labels, *self.extents)
        return [column for column in columns if column is not None]


def _named(settings: Source, names: Sequence[str], metadata: Mapping[bytes, bytes]) -> _Named:
    """The columns with a meaning, in a data set of ours or a folder of images by the names that these have."""
    if settings.iob is not None:
        return _Named(None, None, SPLIT_FOLDER if SPLIT_FOLDER in names else None, None, ())
    if settings.images is not None:
        return _Named(PATH, CLASS, SPLIT_FOLDER if SPLIT_FOLDER in names else None, None, ())
    own = settings.dataset is not None and bool(metadata)

    def known(given: str | None, name: str, holds: bool = True) -> str | None:
        return given or (name if own and holds and name in names else None)

    images = metadata.get(b"images")
    labels = settings.labels
    if labels is None:
        labels = ("labels",) if own and images and settings.label is None and "labels" in names else ()
    label = None if labels else known(settings.label, "gold")
    extents = COLUMNS[1:] if own and images == b"raw" else ()
    unread = ("gold",) if own and labels else ()  # all null beside labels
    image = known(settings.image, "image", bool(images))
    return _Named(known(settings.id, "id"), label, known(settings.split, "split"), image, labels, extents, unread)


def _assign(
    settings: Source, types: pa.Schema, name: str, heads: dict[str, Head], metadata: Mapping[bytes, bytes]
) -> Layout:
    """Every setting that names a column, checked against the columns there are."""
    named = _named(settings, types.names, metadata)
    identity, label, split = named.id, named.label, named.split
    _require_named(settings, named, types.names, name)
    image = _image_column(settings, named, types, metadata, name)
    group = settings.group  # no feature, unless it is named among them: a patient's number says nothing of another
    rest = [column for column in types.names if column not in (*named.read, *named.unread, group)]
    truths = (settings.tags and settings.tokens, settings.tags, settings.score)
    kept = list(dict.fromkeys([*(settings.features or ()), *filter(None, (split, *truths))]))
    tagged, score = _tagged(settings, types, name), _score(settings, types, name)
    votes: list[str] = []
    if settings.dataset is not None and metadata.get(b"holds") == b"votes":
        votes = [column for column in rest if column not in kept and pa.types.is_int8(types.field(column).type)]
    elif settings.votes is not None:
        votes = [column for column in rest if column not in kept]
    if settings.votes is not None or votes:
        _require_votes(votes, types, name)
    elif settings.features is not None:
        rest = kept
    elif settings.images is not None:
        rest = [split] if split else []
    _require_free_names(rest, name, image is not None, bool(named.labels))
    require_roles(types, identity, label, {"split": split, "group": group}, name)
    require_enterable(types, rest, name)
    require_known_zones(types, [*rest, *([group] if group is not None and group in types.names else [])], name)
    read = dict.fromkeys([*named.read, *rest, *([group] if group is not None else [])])
    return Layout(
        types=pa.schema([_entering(types.field(column), votes, identity) for column in read]),
        id=identity,
        label=label,
        features=tuple(rest),
        votes=tuple(votes),
        required=tuple(settings.required),
        split=split,
        group=group,
        gold_in=settings.gold_in,
        delimiter=settings.delimiter,
        closed=settings.keeps_only_named,
        heads=heads,
        classes=tuple(json.loads(metadata[b"classes"])) if b"classes" in metadata else None,
        image=image,
        labels=label_columns(named.labels, types, name) if named.labels else None,
        iob_columns=settings.iob_columns,
        tagged=tagged,
        score=score,
        nearly_numbers=tuple(field.name for field in types if NEARLY_NUMBERS in (field.metadata or {})),
        other_truth=any(truth is not None for truth in (settings.iob, settings.tags, settings.score)),
        source=settings,
    )


def _tagged(settings: Source, types: pa.Schema, name: str) -> tuple[str, str] | None:
    """The columns of words and tags, seen to be lists of texts."""
    if settings.tags is None:
        return None
    for column, setting in ((settings.tokens, "tokens"), (settings.tags, "tags")):
        dtype = types.field(column).type
        if dtype != WORDS:
            raise InputError(
                f"{name} has {dtype} in column {column!r}, and `{setting}` are a list of texts per sentence; give them "
                "as jsonl, parquet or iob."
            )
    return settings.tokens, settings.tags


def _score(settings: Source, types: pa.Schema, name: str) -> str | None:
    """The column of numbers, seen to hold numbers."""
    if settings.score is None:
        return None
    dtype = types.field(settings.score).type
    if not (pa.types.is_floating(dtype) or pa.types.is_integer(dtype)):
        raise InputError(f"{name} has {dtype} in column {settings.score!r}, and a `score` is a number.")
    return settings.score


def _image_column(
    settings: Source, named: _Named, types: pa.Schema, metadata: Mapping[bytes, bytes], name: str
) -> ImageColumn | None:
    """The column of images and what stands in it, by its type."""
    column, pixels = PATH if settings.images is not None else named.image, settings.pixels
    if column is None:
        if pixels is not None:
            raise InputError(f"{name} holds no images, and `pixels` is about images; remove it, or say `image`.")
        return None
    dtype = types.field(column).type
    struct = pa.types.is_struct(dtype) and dtype.get_field_index("bytes") >= 0  # as Hugging Face writes images
    if settings.dataset is not None and metadata.get(b"images") == b"raw":
        return ImageColumn(column, "raw", pixels)
    if is_array(dtype):
        return ImageColumn(column, "array", pixels)
    packed = pa.types.is_large_binary(dtype) or (struct and pa.types.is_large_binary(dtype.field("bytes").type))
    if not packed and not pa.types.is_string(dtype):
        raise InputError(
            f"{name} has {dtype} in image column {column!r}; an image is a path, the bytes of a file, or a list of "
            "numbers."
        )
    if pixels is not None and pixels.shape:
        raise SettingError(
            f"{name} holds image files, and `pixels.shape` is about lists of numbers; remove it, or say `size`.",
            "pixels.shape",
            "",
        )
    return ImageColumn(column, "bytes" if packed else "path", pixels)


def _require_named(settings: Source, named: _Named, names: Sequence[str], file: str) -> None:
    """Nothing, or the sentence for the first setting that names a column which is not there."""
    references = [(getattr(named, setting), setting) for setting in ("id", "label", "split", "image")]
    references += [(settings.group, "group"), *((column, "labels") for column in named.labels)]
    references += [(column, "features") for column in settings.features or ()]
    references += [(column, "required") for column in settings.required]
    references += [(settings.tokens, "tokens"), (settings.tags, "tags")] if settings.tags is not None else []
    references += [(settings.score, "score")]
    for column, setting in references:
        if column is not None and column not in names:
            raise unknown_column(column, setting, names, file)


def _require_free_names(features: Sequence[str], file: str, images: bool, labels: bool) -> None:
    """Nothing, or the sentence for a feature that bears a name which has a meaning inside."""
    ours = [("id", "id", "sample id"), ("gold", "label", "gold class")]
    ours += [("labels", "labels", "list of labels")] if labels else []
    for column, setting, meaning in ours:
        if column in features:
            raise InputError(
                f"{file} has a column {column!r}, which is the name of the {meaning} inside; say "
                f"`{setting}: {column}`, or leave it out by listing the columns to keep under `features`."
            )
    for column in COLUMNS if images else ():
        if column in features:
            raise InputError(
                f"{file} has a column {column!r}, which is a name of the image's own columns inside; leave it out by "
                "listing the columns to keep under `features`, or rename it."
            )


def _entering(field: pa.Field, votes: Sequence[str], identity: str | None) -> pa.Field:
    """A column's type as it is read: votes as whole numbers, narrowed later; an int8 that is no vote is widened."""
    if field.name in votes:
        return pa.field(field.name, pa.int64())
    if pa.types.is_int8(field.type) and field.name != identity:
        return pa.field(field.name, pa.int16())
    return field.with_nullable(True).remove_metadata()


def _require_votes(votes: Sequence[str], types: pa.Schema, name: str) -> None:
    if not votes:
        raise InputError(f"{name} has no column of votes beside id, label and features; add at least one.")
    for column in votes:
        if not pa.types.is_integer(types.field(column).type):
            way_out = f"say `id: {column}`" if column == "id" else "list it under `features`"
            raise InputError(
                f"{name} has {types.field(column).type} in column {column!r} where whole-number votes were "
                f"expected (-1 where it abstains, never empty); if it is not a labelling function, {way_out}."
            )


GIVEN = "table"
"""What the format of a table in memory is called."""
TEXTS = ("csv", "jsonl", "iob")
"""Formats whose rows are counted by lines."""

PIECE_BYTES = 64 << 20
PIECE_ROWS = 100_000
PIECE_IMAGES = 256
MOST_BYTES = 512 << 20
"""A piece is about `PIECE_BYTES` or `PIECE_ROWS` (of images `PIECE_IMAGES`), whichever is less; never above
`MOST_BYTES`, whatever is asked."""
ALONE = 0.2
"""Files of at least this share of a piece are cut by themselves."""


@dataclass(frozen=True)
class Piece:
    """What one worker reads in one go: spans of one or several files."""

    spans: tuple[Span, ...]

    @property
    def place(self) -> str:
        """Which rows of which files, in words.

        >>> Piece((Span("a.csv", "csv", 10, 90, 2), Span("b.csv", "csv", 0, 50, 1))).place
        'a.csv from line 2, b.csv from line 1'
        """
        places = [
            f"{span.name} from {'line' if span.format in TEXTS else 'row'} {span.first}" for span in self.spans[:3]
        ]
        more = f" and {plural(len(self.spans) - 3, 'more file')}" if len(self.spans) > 3 else ""
        return ", ".join(places) + more


def most_rows(layout: Layout) -> int:
    """How many rows a piece has at most, unless somebody asks for fewer pieces."""
    return PIECE_ROWS if layout.image is None else PIECE_IMAGES


def index_file(file: SourceFile, layout: Layout) -> FileIndex:
    """The index of a file; text files are read once for it, of Parquet files only the footer."""
    reader = READERS.named(file.format, layout.source)
    with parsing(file.name, reader.word, layout.source):
        return reader.index(file, layout)


def index_table(table: pa.Table, name: str) -> FileIndex:
    """The index of a table in memory."""
    return FileIndex(name, GIVEN, table.num_rows, table.nbytes)


def plan_pieces(files: list[FileIndex], partitions: int | None = None, most_rows: int = PIECE_ROWS) -> list[Piece]:
    """All rows of all files, in order: cut by file, or as about `partitions` pieces of about the same number of rows.

    Cut by file, a file of some size keeps its pieces whatever other files there are; small ones share a piece with
    their neighbours (`runs_of_files`).
    """
    if partitions is None:
        pieces = []
        for run in runs_of_files(files, most_rows):
            rows, size = sum(file.rows for file in run), sum(file.bytes for file in run)
            pieces += _even_pieces(run, max(1, math.ceil(size / PIECE_BYTES), math.ceil(rows / most_rows)))
        return pieces
    size = sum(file.bytes for file in files)
    return _even_pieces(files, max(partitions, math.ceil(size / MOST_BYTES)))


def runs_of_files(files: Sequence[FileIndex], most_rows: int) -> list[list[FileIndex]]:
    """The files that are cut together, in their order: each by itself, but small ones in runs.

    Where a run begins is up to the name and the size of the file it begins with (a hash decides, on average at half a
    piece), so that a file that is new, or gone, changes the run that it is in and no other. Only a run that would grow
    above one piece is closed by what is in it.
    """
    runs: list[list[FileIndex]] = []
    room = 0.0
    for file in files:
        size = max(file.bytes / PIECE_BYTES, file.rows / most_rows)
        drawn = int.from_bytes(hashlib.blake2b(file.name.encode(), digest_size=8).digest()) / 2**64
        if not runs or size >= ALONE or size > room or drawn < 2 * size:
            runs.append([])
            room = 0.0 if size >= ALONE else 1.0
        runs[-1].append(file)
        room -= size
    return runs


def _even_pieces(files: Sequence[FileIndex], wanted: int) -> list[Piece]:
    """The rows of the files as so many pieces, of about the same number of rows."""
    rows = sum(file.rows for file in files)
    pieces = min(wanted, max(rows, 1))
    bounds = [rows * number // pieces for number in range(pieces + 1)]
    spans: list[list[Span]] = [[] for _ in range(pieces)]
    before = 0
    for file in files:
        number = bisect.bisect_right(bounds, before) - 1
        while number < pieces and bounds[number] < before + file.rows:
            start, stop = max(bounds[number], before) - before, min(bounds[number + 1] - before, file.rows)
            if start < stop and (span := file.span(start, stop)) is not None:
                spans[number].append(span)
            number += 1
        before += file.rows
    return [Piece(tuple(group)) for group in spans if group]


def read_span(span: Span, reading: Reading, wanted: tuple[str, ...] | None = None) -> Rows:
    """The rows of a span: text columns of CSV, typed columns of everything else; only the `wanted` ones if given."""
    layout = reading.layout
    needed = tuple(layout.types.names) if wanted is None else wanted
    if span.format != GIVEN:
        reader = READERS.named(span.format, layout.source)
        with parsing(span.name, reader.word, layout.source):
            return reader.read(span, reading, needed)
    assert reading.table is not None
    table = reading.table.slice(span.start, span.stop - span.start)
    files = tuple(table["path"].to_pylist()) if reading.folder else None
    return replace(typed_rows(span, table, reading, needed), files=files)


FORMATS = frozenset({"parquet", "csv", "jsonl", "iob"})
"""Those that are read by us, so that the stage's version stands for how; readers of plug-ins do as they like."""


def content_of_pieces(
    source: SourceFiles, reading: Reading, classes: tuple[str, ...] = ()
) -> Callable[[Piece], str] | None:
    """What makes the samples of a piece, as a text: its rows' place in its files, their content, and how all are read.

    None where a piece is more than that: a table made in memory, images in files of their own, formats of plug-ins.
    """
    image = reading.layout.image
    if source.given is not None or reading.table is not None or (image is not None and image.kind == "path"):
        return None
    if not {file.format for file in source.files} <= FORMATS:
        return None
    layout = replace(reading.layout, heads={}, source=None)
    try:
        shared = fingerprint((layout, reading.convention, classes))
    except InexactError:
        return None
    urls, heads = {file.name: file.url for file in source.files}, reading.layout.heads

    def content(piece: Piece) -> str:
        spans = [
            [hash_of_file(urls[span.name]), canonical_form((span, heads.get(span.name), reading.shapes.get(span.name)))]
            for span in piece.spans
        ]
        return hashlib.sha256(json.dumps([shared, spans]).encode()).hexdigest()

    return content
