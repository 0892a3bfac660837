"""A first look at data: what kind of source an address is, what its columns hold, and a seeded part of its samples
as a run would read them.
"""

from __future__ import annotations

import glob
import math
import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from assay.data.samples.registry import embedded
from assay.infra.errors import InputError
from assay.infra.stages.exact import Seeds
from assay.tasks.ingest.entry import declared_classes, prepare, read_piece, require_rows, survey_piece, surveyed_classes
from assay.tasks.ingest.file_search import CLASS, SPLIT, is_remote, listing
from assay.tasks.ingest.gold import require_repeated
from assay.tasks.ingest.image_pixels import ENDINGS, UnfitError, decoded
from assay.tasks.ingest.label_studio import find_answers, require_classes, settled_samples
from assay.tasks.ingest.layout import Piece, index_file, index_table, most_rows, plan_pieces, read_span
from assay.tasks.ingest.reader_choice import FileIndex, Layout, Reading
from assay.tasks.ingest.readers import READERS
from assay.tasks.ingest.rows import NEARLY_NUMBERS, cast_text, rejects_table
from assay.tasks.ingest.settings import Source
from assay.tasks.ingest.source_files import opened
from assay.tasks.ingest.sources import ResolvedSource, resolve
from assay.tasks.subjects.predictions import LARGEST

Origin = Literal["csv", "parquet", "jsonl", "images", "sql", "dataset"]

_ENDINGS: dict[Origin, tuple[str, str]] = {
    "csv": (".csv", ".tsv"),
    "parquet": (".parquet", ".pq"),
    "jsonl": (".jsonl", ".ndjson"),
}
_TABLES = {ending: origin for origin, endings in _ENDINGS.items() for ending in endings}
_DATABASES = ("sqlite", "postgresql", "mysql", "mariadb", "mssql", "oracle")
_BETWEEN_CELLS = (",", ";", "\t", "|")


@dataclass(frozen=True)
class Address:
    """Where data lies, as `source` says it: the kind of source, the path or pattern, and what stands between cells."""

    origin: Origin
    path: str
    delimiter: str = ","
    query: str | None = None

    @property
    def settings(self) -> dict[str, object]:
        """What a source says of it."""
        if self.origin == "dataset":
            return {"dataset": self.path}
        if self.query is not None:
            return {"sql": (self.path,), "query": self.query}
        apart = {"delimiter": self.delimiter} if self.delimiter != "," else {}
        return {self.origin: (self.path,), **apart}


def address_of(data: str, base: Path, query: str | None = None) -> Address:
    """What a path, a pattern, a folder, a URL, a database with its query or a data set of ours is, paths counted from
    `base`; a sentence where that cannot be told."""
    if data.startswith("sample/"):
        return Address("dataset", embedded(data).name)
    if query is not None:
        return Address("sql", data, query=query)
    if data.partition("://")[0].partition("+")[0] in _DATABASES:
        raise InputError(f"{data} is a database: say which rows with --query 'select …', and their id with --id.")
    if not data.strip():
        raise InputError("Where the data lies is empty: give a file, a folder, a pattern or a URL with --data PATH.")
    place = base / Path(data).expanduser()
    if not is_remote(data) and place.is_dir():
        return _in_folder(data, place)
    origin = _by_ending(data)
    if origin is None:
        raise InputError(
            f"{data} is no folder here, and has no ending of a table: give a file or a pattern that ends in "
            f"{', '.join(_TABLES)}, .json, or a folder of images in folders of classes, with --data PATH."
        )
    files = [] if is_remote(data) else [Path(file) for file in sorted(glob.glob(str(place)))] or [place]
    return Address(origin, data, _delimiter(files) if origin == "csv" else ",")


def _in_folder(data: str, place: Path) -> Address:
    """A folder holds images in folders of classes, or tables of one kind, or is a Delta table."""
    if (place / "_delta_log").is_dir():
        return Address("parquet", data)
    endings = Counter[str]()
    for _, folders, files in os.walk(place):
        folders[:] = [name for name in folders if not name.startswith(".")]
        endings.update(Path(name).suffix.lower() for name in files if not name.startswith("."))
    images = sum(endings[ending] for ending in ENDINGS)
    tables = {ending: endings[ending] for ending in _TABLES if endings[ending]}
    if images and images >= sum(tables.values()):
        return Address("images", data)
    kinds = {_TABLES[ending] for ending in tables}
    if not kinds:
        raise InputError(
            f"{data} is a folder without images or tables ({', '.join(_TABLES)}): name another one with --data PATH."
        )
    if len(tables) > 1:
        raise InputError(
            f"{data} is a folder with tables of several kinds ({', '.join(sorted(tables))}): say which with a pattern, "
            f"as in --data '{data}/*{min(tables)}'."
        )
    ending = next(iter(tables))
    matching = sorted(place.rglob(f"*{ending}"))
    pattern = f"**/*{ending}" if any(file.parent != place for file in matching) else f"*{ending}"
    path = f"{data.rstrip('/')}/{pattern}"
    return Address(_TABLES[ending], path, _delimiter(matching) if _TABLES[ending] == "csv" else ",")


def _by_ending(data: str) -> Origin | None:
    """The kind of table that a name ends in, packed or not.

    >>> _by_ending("day/*.csv.gz"), _by_ending("s3://bucket/day.json"), _by_ending("notes.docx")
    ('csv', 'jsonl', None)
    """
    name = data.rpartition("/")[2].lower()
    return next((origin for origin in _ENDINGS if name.endswith(READERS.named(origin).endings)), None)


def _delimiter(files: list[Path]) -> str:
    """What stands between the cells of a header: of the usual characters, the one there are most of; a comma where the
    file is packed or cannot be looked at."""
    if not files or not files[0].is_file():  # a pipe, say, at which one would wait for whoever writes
        return ","
    try:
        with files[0].open(encoding="utf-8-sig") as file:
            header = file.readline(1 << 20)
    except (OSError, UnicodeDecodeError):
        return ","
    return max(_BETWEEN_CELLS, key=header.count)


MOST_ROWS = 20_000
_BLOCK = 500
_SIZES = 200
"""So many images are opened to see what sizes there are."""
_WORDS, _NAMED_WORDS = 8.0, 3.0
"""A column of texts has more words a cell than this, on average; one that is called like a text, than the second."""
_DATE = r"^\d{4}[-/]\d{2}[-/]\d{2}([T ]\d{2}:.*)?$|^\d{1,2}[./-]\d{1,2}[./-]\d{2,4}( \d.*)?$"

_TEXTS = ("text", "comment", "review", "body", "message", "content", "sentence", "note", "report", "title")

Holds = Literal["numbers", "words", "texts", "dates", "other"]


@dataclass(frozen=True)
class Column:
    """A column at a first look: what it holds, how many values differ, how many are missing, and the commonest."""

    name: str
    holds: Holds
    whole: bool
    rows: int
    distinct: int
    missing: int
    values: tuple[str, ...] = ()
    """Its values in order of how often they stand there, where they are few."""
    counts_rows: bool = False
    """Whether it counts the rows: whole numbers, none twice, ever larger."""
    in_blocks: bool = False
    """Whether each of its values stands in as many rows as the others, one after the other: the people of a panel."""
    words: float = 0.0
    """How many words a cell has, on average."""
    half: float = 0.0
    """Of numbers, the median, or where none is larger the largest that is smaller."""
    fixes: int = 0
    """How many columns of few values are the same in all rows of one of its values: those of one person, say."""

    @property
    def is_unique(self) -> bool:
        """Whether no value stands there twice, and none is missing."""
        return self.rows > 1 and self.distinct == self.rows


@dataclass(frozen=True)
class Look:
    """Data at a first look: its columns, or of images the classes, parts, sizes and modes of their folders."""

    address: Address
    rows: int
    looked_at: int
    columns: tuple[Column, ...] = ()
    others: tuple[str, ...] = ()
    """Columns of lists, bytes and the like, which a start makes nothing of."""
    nearly_numbers: tuple[str, ...] = ()
    """Columns of words that would be numbers but for a few cells, or for a decimal comma."""
    classes: tuple[str, ...] = ()
    parts: tuple[str, ...] = ()
    shapes: tuple[tuple[int, int, int], ...] = ()
    """Channels (0 where they have to be said), height and width of images, as many as differ."""

    def column(self, name: str) -> Column | None:
        """The column of that name."""
        return next((column for column in self.columns if column.name == name), None)


MOST_VALUES = 20
"""A column with more different values is no column of classes."""


def first_look(address: Address, base: Path, identity: str | None = None) -> Look:
    """What the data at an address shows; a seeded part of it where there is much."""
    if address.origin == "dataset":
        return _at_sample(address, base)
    source = Source.model_validate(address.settings if address.query is None else {**address.settings, "id": identity})
    return _at_images(address, source, base) if address.origin == "images" else _at_table(address, source, base)


def _at_table(address: Address, source: Source, base: Path) -> Look:
    resolved = resolve(source, base)
    reader = READERS.named(resolved.files[0].format, resolved.settings)
    types, heads = reader.columns(resolved.files, resolved.settings)
    plain = pa.schema([pa.field(field.name, field.type) for field in types if _is_plain(field.type)])
    names = tuple(plain.names)
    layout = Layout(
        plain, None, None, names, (), delimiter=source.delimiter, closed=True, heads=heads, source=resolved.settings
    )
    files = [index_file(file, layout) for file in resolved.files]
    rows = require_rows(files, resolved)
    reading = Reading(layout, {file.name: file.url for file in resolved.files})
    reading, pieces = _drawn(reading, files, rows, MOST_ROWS)
    parts = [read_span(span, reading, names) for piece in pieces for span in piece.spans]
    table = pa.concat_tables([plain.empty_table(), *(_typed(part.table, plain) for part in parts)])
    rejects = rejects_table([reject for part in parts for reject in part.rejects])
    Seen(table, rejects, (), rows).require_fit(source, resolved.label)
    others = tuple(field.name for field in types if field.name not in names)
    columns = with_fixed([column_of(table[name], name) for name in names], table)
    nearly = tuple(field.name for field in types if NEARLY_NUMBERS in (field.metadata or {}))
    return Look(address, rows, table.num_rows, tuple(columns), others, nearly)


def _typed(table: pa.Table, types: pa.Schema) -> pa.Table:
    cells = zip((table[name].combine_chunks() for name in types.names), types.types, strict=True)
    return pa.table([each if each.type == kind else cast_text(each, kind)[0] for each, kind in cells], schema=types)


def _is_plain(kind: pa.DataType) -> bool:
    """Whether values of the type can be counted and shown: the others are left to the pipeline's own settings."""
    numbers = pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)
    return bool(numbers or pa.types.is_string(kind) or pa.types.is_timestamp(kind) or pa.types.is_date(kind))


def column_of(values: pa.ChunkedArray, name: str) -> Column:
    """What a column shows.

    >>> column = column_of(pa.chunked_array([["a", "b", "a", None]]), "kind")
    >>> column.holds, column.distinct, column.missing, column.values
    ('words', 2, 1, ('a', 'b'))
    """
    values = values.cast(pa.float32()) if pa.types.is_float16(values.type) else values  # Arrow counts no half ones
    kind, rows = values.type, len(values)
    known, words = values.drop_null(), 0.0
    if pa.types.is_floating(kind):  # whole numbers of which some are missing come as such
        known = known.filter(pc.is_finite(known))
        if len(known) and pc.all(pc.equal(known, pc.floor(known))).as_py() and pc.max(pc.abs(known)).as_py() < 2**53:
            known = known.cast(pa.int64(), safe=False)
    whole = bool(pa.types.is_integer(known.type))
    if pa.types.is_string(kind):
        known = known.filter(pc.not_equal(pc.utf8_trim_whitespace(known), ""))
        words = pc.mean(pc.list_value_length(pc.utf8_split_whitespace(pc.utf8_trim_whitespace(known)))).as_py() or 0.0
    counts = known.value_counts()
    distinct = len(counts)
    common = sorted(counts.to_pylist(), key=lambda counted: (-counted["counts"], _shown(counted["values"])))
    few = tuple(_shown(counted["values"]) for counted in common) if distinct <= MOST_VALUES else ()
    numbers = known.to_numpy() if whole or pa.types.is_floating(kind) else np.empty(0)
    counting = whole and distinct == rows > 2 and bool((np.diff(numbers) > 0).all())
    blocks = np.diff(np.flatnonzero(np.diff(numbers, prepend=np.nan, append=np.nan))) if whole else np.empty(0)
    alike = len(blocks) == distinct > MOST_VALUES and blocks == max(2, np.median(blocks))
    in_blocks = bool(np.mean(alike) > _EQUAL)
    below = numbers[numbers < numbers.max()] if len(numbers) else numbers
    half = float(min(np.median(numbers), below.max())) if len(below) else 0.0
    infinite = pa.types.is_floating(kind) and pc.any(pc.greater(pc.abs(values), LARGEST)).as_py()
    holds = "other" if infinite else _holds(kind, known, name, words, distinct)
    return Column(name, holds, whole, rows, distinct, rows - len(known), few, counting, in_blocks, words, half)


def _holds(kind: pa.DataType, known: pa.ChunkedArray, name: str, words: float, distinct: int) -> Holds:
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return "numbers"
    if pa.types.is_temporal(kind):
        return "dates"
    if not pa.types.is_string(kind):
        return "words" if pa.types.is_boolean(kind) else "other"
    if len(known) and pc.all(pc.match_substring_regex(known, _DATE)).as_py():
        return "dates"
    called = name.lower() in _TEXTS
    return "texts" if words > (_NAMED_WORDS if called else _WORDS) and (called or distinct > MOST_VALUES) else "words"


_ALIKE, _PAIRS = 0.995, 30
_EQUAL = 0.9


def with_fixed(columns: Sequence[Column], table: pa.Table) -> list[Column]:
    """The columns, each with how many others it fixes.

    An age fixes its decade, and is nobody's name: what only rises with a number does not count.

    >>> people = pa.table({"who": [at // 3 for at in range(90)], "sex": [at // 3 % 2 for at in range(90)]})
    >>> [column.fixes for column in with_fixed([column_of(people[name], name) for name in ("who", "sex")], people)]
    [1, 0]
    """
    codes = {
        column.name: np.asarray(table[column.name].combine_chunks().dictionary_encode().indices.fill_null(-1))
        for column in columns
    }
    few = [codes[column.name] for column in columns if 2 <= column.distinct <= MOST_VALUES]
    counted = []
    for column in columns:
        fixes, names = 0, column.whole or column.holds == "words"
        if names and MOST_VALUES < column.distinct <= 0.7 * column.rows:
            order = np.argsort(codes[column.name], kind="stable")
            pairs = np.flatnonzero(np.diff(codes[column.name][order]) == 0)
            values = table[column.name].to_numpy() if column.whole else None
            fixes = sum(_is_fixed(other, order, pairs, values) for other in few)
        counted.append(replace(column, fixes=fixes))
    return counted


def _is_fixed(
    codes: npt.NDArray[np.int32], order: npt.NDArray[np.int64], pairs: npt.NDArray[np.int64], values: object
) -> bool:
    """Whether neighbours of one value (`pairs` in the order) have the same code, and not because all have, nor since
    codes stand for stretches of the values, as decades do."""
    chance = ((np.bincount(codes + 1) / len(codes)) ** 2).sum()
    if len(pairs) < _PAIRS or chance > 0.9 or (codes[order][pairs] == codes[order][pairs + 1]).mean() < _ALIKE:
        return False
    if values is None:
        return True
    numbers = np.asarray(values, dtype=np.float64)[order]
    rising = np.argsort(numbers, kind="stable")
    changes = np.count_nonzero(np.diff(codes[order][rising]))
    return bool(changes > 0.1 * len(np.unique(numbers)))


def _shown(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _at_sample(address: Address, base: Path) -> Look:
    """A data set of ours: its columns but for id and class, which it names itself."""
    seen = read_samples(Source(dataset=address.path), base)
    names = [field.name for field in seen.samples.schema if _is_plain(field.type) and field.name not in ("id", "gold")]
    columns = tuple(column_of(seen.samples[name], name) for name in names)
    shape = [seen.samples[name][0].as_py() for name in ("channels", "height", "width") if name in names]
    shapes = (tuple(shape),) if len(shape) == 3 else ()
    return Look(address, seen.rows, seen.samples.num_rows, columns, classes=seen.classes, shapes=shapes)


def _at_images(address: Address, source: Source, base: Path) -> Look:
    resolved = resolve(source, base)
    table = listing([file.name for file in resolved.files])
    chosen = Seeds(0, "first look").generator().permutation(len(resolved.files))[:_SIZES]
    shapes = {_shape(resolved.files[at].url, resolved.files[at].name) for at in chosen}
    classes = tuple(sorted(table[CLASS].unique().to_pylist()))
    parts = tuple(sorted(table[SPLIT].unique().to_pylist())) if SPLIT in table.column_names else ()
    known = tuple(sorted(shape for shape in shapes if shape is not None))
    return Look(address, len(table), len(table), classes=classes, parts=parts, shapes=known)


def _shape(url: str, name: str) -> tuple[int, int, int] | None:
    """Channels (0 where they are to be said: palettes, transparency), height and width; None of what is no image."""
    with opened(url, name) as file:
        content = file.read()
    for channels in (None, 3):
        try:
            picture = decoded(content, channels)
        except UnfitError:
            continue
        depth, height, width = picture.shape
        return (depth if channels is None else 0), height, width
    return None


MOST_IMAGES = 600
"""Of more rows, or images, about so many are drawn with seed 0."""


@dataclass(frozen=True)
class Seen:
    """Samples as they enter: id, gold class and features; those turned away, the classes by name, of how many rows."""

    samples: pa.Table
    rejects: pa.Table
    classes: tuple[str, ...]
    rows: int

    @property
    def in_words(self) -> str:
        """How much of the data was looked at.

        >>> table = pa.table({"id": ["a"]})
        >>> Seen(table, table.slice(1), (), 1).in_words, Seen(table, table.slice(1), (), 9).in_words
        ('all 1 rows', '1 of 9 rows, drawn with seed 0')
        """
        looked = self.samples.num_rows + self.rejects.num_rows
        return f"all {looked:,} rows" if looked == self.rows else f"{looked:,} of {self.rows:,} rows, drawn with seed 0"

    @property
    def first_reject(self) -> str:
        """Where the first of the rows stands that were turned away, and why it was."""
        first = self.rejects.slice(0, 1).to_pylist()[0]
        return f"{first['file']} row {first['row']} ({first['reason']})"

    def require_fit(self, source: Source, named: str) -> Seen:
        """These rows, or the sentence where a run would turn away too many."""
        fit, out = self.samples.num_rows, self.rejects.num_rows
        if fit and out <= source.max_rejects * (fit + out):
            return self
        raise InputError(
            f"{out} of {fit + out} rows of {named} do not fit, the first in {self.first_reject}: "
            "correct the rows, or say what they are."
        )


def read_samples(source: Source, base: Path) -> Seen:
    """The samples of a source, paths counted from `base`; refused where a run would refuse them."""
    resolved = resolve(source, base)
    reading, files = prepare(resolved)
    rows = sum(file.filled for file in files)
    reading, pieces = _drawn(reading, files, rows, MOST_ROWS if reading.layout.image is None else MOST_IMAGES)
    classes = _classes(resolved, source, reading, pieces, rows)
    parts = [read_piece(piece, reading, classes) for piece in pieces]
    samples = pa.concat_tables([samples for samples, _ in parts])
    if source.gold is not None:  # people's answers
        answers = find_answers(source.gold, base)
        judged = answers.read()
        require_classes(judged, classes, answers.label)
        samples = settled_samples(samples, judged, classes)[0]
    seen = Seen(samples, pa.concat_tables([out for _, out in parts]), classes, rows)
    return seen.require_fit(source, resolved.label)


def _drawn(reading: Reading, files: list[FileIndex], rows: int, most: int) -> tuple[Reading, list[Piece]]:
    """About so many rows: of a listing of images single ones, of files blocks, so that sorted rows are seen too."""
    draw = Seeds(0, "first look").generator()
    if rows > most and reading.table is not None:
        table = reading.table.take(pa.array(np.sort(draw.choice(rows, most, replace=False))))
        return replace(reading, table=table), plan_pieces([index_table(table, files[0].name)], None, _BLOCK)
    pieces = plan_pieces(files, math.ceil(rows / _BLOCK) if rows > most else None, most_rows(reading.layout))
    wanted = max(1, math.floor(len(pieces) * most / rows)) if rows > most else len(pieces)
    return reading, [pieces[at] for at in np.sort(draw.permutation(len(pieces))[:wanted])]


def _classes(
    resolved: ResolvedSource, source: Source, reading: Reading, pieces: Sequence[Piece], rows: int
) -> tuple[str, ...]:
    known = declared_classes(reading.layout, source, resolved.label)
    if known is not None:
        return known
    surveys = [survey_piece(piece, reading) for piece in pieces]
    names, votes = (frozenset[str]().union(*(survey[what] for survey in surveys)) for what in ("names", "votes"))
    if reading.layout.label is not None:
        require_repeated(names, rows, resolved.label)
    return surveyed_classes(reading.layout, names, votes, resolved.label)
