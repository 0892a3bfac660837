"""Reader of the rows of a SQL query, in the order of its id; secrets of an address are names of environment
variables until a connection is made, and stand in no message.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, quote_plus
from uuid import UUID

import numpy as np
import pyarrow as pa

from assay.infra.errors import InputError, install_command, reason_of
from assay.infra.masking import register, register_address
from assay.infra.storage.folders import require_regular
from assay.infra.storage.network import SECRET_OPTION, ended_after, value_from
from assay.tasks.ingest.reader_choice import (
    ROW_BYTES,
    Columns,
    FileIndex,
    Layout,
    ReaderChoice,
    Reading,
    Span,
    unknown_column,
)
from assay.tasks.ingest.record_scanner import require_columns
from assay.tasks.ingest.rows import NOUNS, TYPES, Reject, Rows, cast_text, plain_type, shown
from assay.tasks.ingest.settings import Source
from assay.tasks.ingest.source_files import Address, Places, SourceFile
from assay.tasks.ingest.text_tables import LOOKED_AT

if TYPE_CHECKING:
    from sqlalchemy import URL, Connection, Engine, Subquery


_VARIABLE = re.compile(r"\$\{([A-Za-z_]\w*)\}")
_FORM = "as in sqlite:///comments.db or postgresql://night:${DB_PASSWORD}@db/clinic"


@dataclass(frozen=True)
class FilledAddress:
    """An address with its variables put in, and what of it must be repeated nowhere."""

    url: URL
    values: Mapping[str, str]

    def without_values(self, text: str) -> str:
        """The text, whatever it repeats of the variables, be it a password or only a host."""
        for name, value in sorted(self.values.items(), key=lambda variable: -len(variable[1])):
            text = text.replace(value, f"${{{name}}}").replace(quote_plus(value), f"${{{name}}}")
        return text


def filled_address(written: str) -> FilledAddress:
    """The address with its variables put in: as they are at its beginning, quoted further on."""
    from sqlalchemy.engine import make_url
    from sqlalchemy.exc import ArgumentError

    values: dict[str, str] = {}

    def value(match: re.Match[str]) -> str:
        kept = values[match[1]] = value_from(match[1], f"`sql` names ${{{match[1]}}}, and ")
        return kept if match.start() == 0 else quote_plus(kept)

    address = _VARIABLE.sub(value, written)
    try:
        url = make_url(address)
    except (ArgumentError, ValueError):
        raise InputError(f"{written} (sql) is no address of a database; write it {_FORM}.") from None
    if url.drivername in ("postgresql", "postgres"):
        url = url.set(drivername="postgresql+psycopg")
    secrets = [url.password, *(value for name, value in url.query.items() if SECRET_OPTION.search(name))]
    for name, filled in values.items():
        register_address(name, filled)
        for secret in filter(None, map(str, filter(None, secrets))):
            if filled in secret or secret in filled:
                register(name, secret)
    return FilledAddress(url, values)


def database_at(address: Address) -> list[str]:
    """The address with the path of a SQLite file made absolute; variables that may be secret stay names."""
    filled = filled_address(address.written)
    if filled.url.get_backend_name() != "sqlite":
        return [address.written]
    path = Path(address.base_dir, filled.url.database or "")
    if not filled.url.database or filled.url.database == ":memory:":
        raise InputError(f"{address.written} (sql) is a database in memory, which has no rows; name its file, {_FORM}.")
    require_regular(path, f"{path} (sql)")
    if not path.exists():
        raise InputError(f"There is no database {address.written} (sql); it was looked for at {path}.")
    return [f"sqlite:///{path.absolute()}"]


def names_of_databases(urls: Sequence[str]) -> list[str]:
    """A database's own name: neither its host nor who asks.

    >>> names_of_databases(["sqlite:////data/comments.db", "postgresql://night:${DB_PASSWORD}@db/clinic"])
    ['comments.db', 'clinic']
    """
    names = []
    for url in urls:
        path = url.partition("://")[2].partition("?")[0]
        name = path.rpartition("/")[2] if "/" in path else ""
        names.append("database" if not name or _VARIABLE.search(name) else name)
    return names


MOST_CELL = 64 << 20
"""A cell has at most so many bytes, by the database's own limit where it has one."""
MOST_BYTES = 1 << 30
"""The rows that are read at once have at most so many."""


@contextlib.contextmanager
def answering(connection: Connection, name: str, seconds: float) -> Iterator[None]:
    """Within the block the database is at work for so many seconds at most, then it is told to stop."""
    driver = connection.connection.dbapi_connection
    with ended_after(seconds, getattr(driver, "interrupt", getattr(driver, "cancel", lambda: None))) as over:
        try:
            yield
        except Exception as fault:
            if not over.is_set():
                raise
            why = f"took more than {seconds:g} s: ask for less, or raise `query_timeout`"
            raise InputError(f"The query of {name} (sql) {why}.") from fault


@contextlib.contextmanager
def reading_from(written: str, name: str) -> Iterator[Connection]:
    """A connection that can only read; what goes wrong on it is a sentence without secrets."""
    import sqlalchemy

    filled = filled_address(written)
    try:
        with _engine(filled.url).connect() as connection:
            if filled.url.get_backend_name() == "postgresql":
                connection = connection.execution_options(postgresql_readonly=True)
            yield connection
    except (sqlalchemy.exc.SQLAlchemyError, ImportError, OSError, sqlite3.Error) as error:
        sentence = filled.without_values(_sentence(error, filled.url, name))
        raise InputError(sentence) from None  # the cause tells the address


def _engine(url: URL) -> Engine:
    from sqlalchemy import NullPool, create_engine

    if url.get_backend_name() != "sqlite":
        return create_engine(url, poolclass=NullPool, hide_parameters=True)

    def connect() -> sqlite3.Connection:
        connection = sqlite3.connect(f"file:{quote(str(url.database))}?mode=ro", uri=True)
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MOST_CELL)
        return connection

    return create_engine("sqlite://", creator=connect, poolclass=NullPool)


def _sentence(error: Exception, url: URL, name: str) -> str:
    """What the database, or what is missing to ask it, says."""
    if isinstance(error, ImportError):
        extra = f" (it comes with the extra `sql`: {install_command('sql')})" if "psycopg" in str(error) else ""
        return (
            f"{name} (sql) needs the driver {error.name or url.drivername}, which is not installed{extra}; install it."
        )
    reason = reason_of(getattr(error, "orig", None) or error)
    return f"{name} (sql) does not answer the query: {reason}."


_CHUNK = 10_000
_BUFFER = 1_000
_KINDS: tuple[tuple[tuple[type, ...], pa.DataType], ...] = (
    ((bool,), pa.bool_()),
    ((int,), pa.int64()),
    ((int, float, Decimal), pa.float64()),
    ((bytes, memoryview), pa.large_binary()),
    ((datetime,), pa.timestamp("us")),
    ((date,), pa.date32()),
    ((time,), pa.time64("us")),
)


def sql_columns(files: Sequence[SourceFile], settings: Source) -> Columns:
    """The columns of the query; their types as declared, else as the first rows suggest."""
    file = files[0]
    names = _names(file, settings)
    for setting, wanted in (("id", [settings.id]), ("columns", settings.columns or ())):
        for column in wanted:
            if column not in names:
                raise unknown_column(str(column), setting, names, file.name)
    first = next(_chunks(file, settings, names, LOOKED_AT), [])
    declared = settings.columns or {}
    cells = list(zip(*first, strict=True)) or [()] * len(names)
    types = {name: _type(values) for name, values in zip(names, cells, strict=True)}
    return pa.schema([(name, TYPES[declared[name]] if name in declared else types[name]) for name in names]), {}


def index_sql(file: SourceFile, layout: Layout) -> FileIndex:
    """The rows are counted by the database."""
    rows = _count(file, _settings(layout.source))
    return FileIndex(file.name, file.format, rows, rows * ROW_BYTES)


def read_sql(span: Span, reading: Reading, needed: tuple[str, ...]) -> Rows:
    """Rows in the types that the first ones suggested; one with a cell that does not fit is rejected."""
    file = SourceFile(reading.urls[span.name], span.name, span.format)
    chunks = _chunks(file, _settings(reading.layout.source), needed, _CHUNK, span.start, span.stop)
    rows, held = list[tuple[Any, ...]](), 0
    for chunk in chunks:
        rows += chunk
        held += sum(map(_size, chunk))
        if held > MOST_BYTES:
            raise InputError(
                f"Rows {span.start + 1} to {span.stop} of {span.name} hold more than {MOST_BYTES >> 30} GiB: leave "
                "large columns out of the query, or raise `compute.partitions`."
            )
    if len(rows) != span.stop - span.start:
        raise InputError(f"{span.name} has fewer rows than when they were counted: run again when nobody deletes any.")
    kept, rejects, columns = np.ones(len(rows), dtype=bool), [], []
    for at, name in enumerate(needed):
        target = reading.layout.types.field(name).type
        column, bad = _typed([_plain(row[at], target) for row in rows], target)
        columns.append(column)
        for row in (position for position in bad if kept[position]):
            kept[row] = False
            reason = f"{shown(rows[row][at])} is not {NOUNS.get(target, str(target))}"
            rejects.append(Reject(span.name, span.start + row + 1, reason, name))
    table = pa.table(columns, names=list(needed)).filter(pa.array(kept))
    return Rows(span.name, table, np.arange(span.start + 1, span.stop + 1)[kept], tuple(rejects))


def hash_of_rows(file: SourceFile, settings: Source) -> str:
    """The hash of the query's rows, all of them and in their order, whoever holds them."""
    names = _names(file, settings)
    digest = hashlib.sha256(repr(names).encode())
    for chunk in _chunks(file, settings, names, _CHUNK):
        for row in chunk:
            cells = tuple(bytes(cell) if isinstance(cell, memoryview) else cell for cell in row)
            digest.update(repr(cells).encode(errors="surrogatepass"))
    return digest.hexdigest()


def _settings(source: Source | None) -> Source:
    assert source is not None
    return source


def _subquery(settings: Source, names: Sequence[str]) -> Subquery:
    """The query as a table, which no database lets write."""
    from sqlalchemy import column, text

    query = str(settings.query).strip().rstrip(";").replace(":", r"\:")
    return text(f"{query}\n").columns(*(column(name) for name in names)).subquery("samples")


def _names(file: SourceFile, settings: Source) -> list[str]:
    from sqlalchemy import false, literal_column, select

    words = str(settings.query).split(None, 1)
    if not words or (
        words[0].lower() not in ("select", "with", "values", "table") and not words[0].startswith(("--", "/*"))
    ):
        raise InputError(
            f"The query of {file.name} begins with {shown(words[0] if words else '')}, and only `select` reads."
        )
    table = _subquery(settings, [])
    with reading_from(file.url, file.name) as connection, answering(connection, file.name, settings.query_timeout):
        names = list(connection.execute(select(literal_column("*")).select_from(table).where(false())).keys())
    if "" in names:
        raise InputError(f"The query of {file.name} gives a column without a name; give it one with `as`.")
    require_columns(names, file.name)
    return names


def _count(file: SourceFile, settings: Source) -> int:
    from sqlalchemy import func, select

    _names(file, settings)
    with reading_from(file.url, file.name) as connection, answering(connection, file.name, settings.query_timeout):
        return int(connection.execute(select(func.count()).select_from(_subquery(settings, []))).scalar_one())


def _chunks(
    file: SourceFile, settings: Source, names: Sequence[str], size: int, start: int = 0, stop: int | None = None
) -> Iterator[list[tuple[Any, ...]]]:
    """The rows `start` to `stop`, so many at a time, or fewer where they are large, ordered by id."""
    from sqlalchemy import select

    with reading_from(file.url, file.name) as connection:
        streamed = connection.execution_options(stream_results=True, max_row_buffer=_BUFFER)
        with answering(connection, file.name, settings.query_timeout):
            table = _subquery(settings, list(dict.fromkeys([*names, str(settings.id)])))
            rows = select(*(table.c[name] for name in names)).order_by(table.c[str(settings.id)])
            result = streamed.execute(rows if stop is None else rows.offset(start).limit(stop - start))
        while True:
            chunk, held = list[tuple[Any, ...]](), 0
            with answering(connection, file.name, settings.query_timeout):
                while len(chunk) < size and held < MOST_CELL and (row := result.fetchone()) is not None:
                    chunk.append(tuple(row))
                    held += _size(chunk[-1])
            if not chunk:
                return
            yield chunk


def _size(row: tuple[Any, ...]) -> int:
    return sum(len(cell) for cell in row if isinstance(cell, str | bytes | memoryview))


def _type(cells: Sequence[Any]) -> pa.DataType:
    """The type that all cells are of; text where they are of several kinds, or of one that has no column type."""
    kinds = {type(cell) for cell in cells if cell is not None}
    for known, target in _KINDS:
        if kinds and kinds <= set(known):
            return target
    if kinds == {list}:
        return plain_type(pa.array([cell for cell in cells if cell is not None]).type)
    return pa.string()


def _plain(cell: Any, target: pa.DataType) -> Any:
    """A cell as Arrow takes it."""
    if isinstance(cell, memoryview):
        return bytes(cell)
    if isinstance(cell, datetime) and cell.tzinfo is not None:
        cell = cell.astimezone(UTC).replace(tzinfo=None)
    if isinstance(cell, Decimal) and pa.types.is_floating(target):
        return float(cell)
    if pa.types.is_string(target) and cell is not None and not isinstance(cell, str):
        return json.dumps(cell, sort_keys=True) if isinstance(cell, dict | list) else str(cell)
    return str(cell) if isinstance(cell, UUID) else cell


def _typed(cells: list[Any], target: pa.DataType) -> tuple[pa.Array, list[int]]:
    """The column, and the positions of cells that are of no such type (null in it)."""
    faults = (pa.ArrowException, TypeError, ValueError, OverflowError)
    try:
        return pa.array(cells, target), []
    except faults:
        pass
    values, bad = [], []
    for at, cell in enumerate(cells):
        try:
            values.append(pa.array([cell], target)[0].as_py())
        except faults:
            column, misfit = cast_text(pa.array([str(cell)], pa.string()), target)
            values.append(column[0].as_py())
            bad += [at] if len(misfit) else []
    return pa.array(values, target), bad


SQL = ReaderChoice(
    "sql",
    sql_columns,
    index_sql,
    read_sql,
    places=Places(
        database_at,
        names_of_databases,
        hash_of_rows,
        lambda file, settings: _count(file, settings) * ROW_BYTES,
        lambda files, settings: f"{files[0].name}, ordered by {settings.id}",
    ),
)
