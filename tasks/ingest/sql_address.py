"""Databases by address: secrets are names of environment variables until a connection is made, and in no sentence."""

from __future__ import annotations

import contextlib
import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote, quote_plus

from assay.infra.credentials import SECRET_OPTION, value_from
from assay.infra.errors import InputError
from assay.infra.masking import register, register_address
from assay.infra.regular_files import require_regular
from assay.tasks.ingest.places import Address

if TYPE_CHECKING:
    from sqlalchemy import URL, Connection, Engine

_VARIABLE = re.compile(r"\$\{([A-Za-z_]\w*)\}")
_FORM = "as in sqlite:///comments.db or postgresql://night:${DB_PASSWORD}@db/clinic"


@dataclass(frozen=True)
class FilledAddress:
    """An address with its variables put in, and what of it must be repeated nowhere."""

    url: URL
    values: Mapping[str, str]

    def without_values(self, text: str) -> str:
        """The text, whatever it repeats of the variables, be it a password or only a host."""
        for name, value in sorted(self.values.items(), key=lambda one: -len(one[1])):
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
    for name, one in values.items():
        register_address(name, one)
        for secret in (str(secret) for secret in secrets if secret and (one in str(secret) or str(secret) in one)):
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
        raise InputError(
            filled.without_values(_sentence(error, filled.url, name))
        ) from None  # the cause tells the address


def _engine(url: URL) -> Engine:
    from sqlalchemy import NullPool, create_engine

    if url.get_backend_name() != "sqlite":
        return create_engine(url, poolclass=NullPool, hide_parameters=True)
    place = f"file:{quote(str(url.database))}?mode=ro"
    return create_engine("sqlite://", creator=lambda: sqlite3.connect(place, uri=True), poolclass=NullPool)


def _sentence(error: Exception, url: URL, name: str) -> str:
    """What the database, or what is missing to ask it, says."""
    if isinstance(error, ImportError):
        extra = " (it comes with the extra `sql`: pip install 'assay-audit[sql]')" if "psycopg" in str(error) else ""
        return (
            f"{name} (sql) needs the driver {error.name or url.drivername}, which is not installed{extra}; install it."
        )
    message = str(getattr(error, "orig", None) or error).strip()
    first = (message.splitlines() or [type(error).__name__])[0].rstrip(".")
    return f"{name} (sql) does not answer the query: {first}."
