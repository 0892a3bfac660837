"""Where the addresses of a source lead, as each reader says: what is found, what it is called, and its content."""

from __future__ import annotations

import glob
import os
import posixpath
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from assay.infra.contained_paths import contained
from assay.infra.errors import InputError
from assay.tasks.ingest.addresses import file_system, is_remote, require_named_file, unreachable
from assay.tasks.ingest.delta_tables import LOG, delta_files
from assay.tasks.ingest.files import SourceFile, hash_of_file, size_of
from assay.tasks.ingest.folder_columns import partition_path, partition_values
from assay.tasks.ingest.folder_walk import files_below
from assay.tasks.ingest.settings import Source

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem


@dataclass(frozen=True)
class Address:
    """One address of a source, as it is written: the setting that holds it, the folder that paths start from, and the
    endings of the files that a folder stands for."""

    written: str
    base_dir: str | Path
    origin: str
    endings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Places:
    """What a reader's addresses lead to.

    `find` gives where an address leads, in order. `called` gives a name for each place, the same wherever the whole
    lies: ids and rejects carry it. `content` is the hash of what is read there, `size` about how many bytes that is.
    `summary` says in a few words what was found, before it is used.
    """

    find: Callable[[Address], list[str]]
    called: Callable[[list[str]], list[str]]
    content: Callable[[SourceFile, Source], str]
    size: Callable[[SourceFile, Source], int]
    summary: Callable[[Sequence[SourceFile], Source], str]


def files_at(address: Address) -> list[str]:
    """The files that a path, a pattern or a URL leads to; a folder stands for the files of its kind below it."""
    pattern, origin = address.written, address.origin
    filesystem, path = file_system(pattern, address.base_dir, origin)
    try:
        paths = filesystem.glob(path) if glob.has_magic(path) else [path]
        if address.endings and paths == [path] and filesystem.isdir(path):
            paths = _below(filesystem, path, address) or [path]
        if not is_remote(pattern) and paths != [path]:
            _require_contained(paths, path, pattern, origin)
        if not paths:
            raise InputError(f"No file matches {pattern} ({origin}); it was looked for as {path}.")
        for file in paths:
            _require_file(filesystem, file, pattern, origin)
    except InputError:
        raise
    except Exception as error:
        # Every cloud's library has faults of its own (no credentials, no such bucket) that share no base but this one.
        if not is_remote(pattern) and not isinstance(error, ImportError | ValueError | OSError):
            raise
        raise unreachable(pattern, origin, error) from error
    return [filesystem.unstrip_protocol(file) if is_remote(pattern) else file for file in sorted(paths)]


def _below(filesystem: AbstractFileSystem, folder: str, address: Address) -> list[str]:
    """The files of a folder that hold rows; hidden ones (`_SUCCESS`, `.part.crc`) are notes of whoever wrote them."""
    named = f"{address.written} ({address.origin})"
    if ".parquet" in address.endings and not is_remote(address.written) and os.path.isdir(os.path.join(folder, LOG)):
        return delta_files(folder, named)
    below = files_below(filesystem, folder, address.endings, named)
    names = {name: name[len(folder) :].strip("/").split("/") for name in below}
    for log, what in ((LOG, "a Delta"), ("metadata", "an Iceberg")):
        if any(log in steps[:-1] and steps[-1].endswith(".json") for steps in names.values()):
            raise InputError(
                f"{named} is or holds {what} table, whose folder also holds rows that were deleted "
                "since; write what it holds now to Parquet, and name that."
            )
    seen = [name for name, steps in names.items() if not any(step.startswith(("_", ".")) for step in steps)]
    return [name for name in seen if name.lower().endswith(address.endings)]


def _require_contained(paths: Sequence[str], path: str, pattern: str, origin: str) -> None:
    """Nothing, or the sentence for a file that a folder or a pattern brings by a link to elsewhere; what a person names
    whole may lie anywhere."""
    home = path
    while glob.has_magic(home):
        home = posixpath.dirname(home)
    for file in paths:
        contained(home, posixpath.relpath(file, home), f"{pattern} ({origin})")


def _require_file(filesystem: AbstractFileSystem, path: str, pattern: str, origin: str) -> None:
    """Nothing, or the sentence for a file that is missing, empty, a folder, or no ordinary file."""
    try:
        kind = filesystem.info(path).get("type")
    except FileNotFoundError as error:
        if is_remote(pattern) and isinstance(error.__cause__, OSError) and not error.__cause__.filename:
            raise unreachable(pattern, origin, error.__cause__) from error  # http says so of hosts that do not answer
        raise InputError(f"There is no file {pattern} ({origin}); it was looked for at {path}.") from error
    if kind == "directory":
        raise InputError(f"{pattern} ({origin}) is a folder; name the files in it, for example {pattern}/*.")
    require_named_file(path, pattern, origin)
    if filesystem.size(path) == 0:
        raise InputError(f"{path} ({origin}) is empty: it has no header and no rows.")


def short_names(urls: Sequence[str]) -> list[str]:
    """File names where they are all different, else the paths below the deepest folder they share; of partitioned
    folders the whole path from the first partition on, whose values are part of what is read.

    >>> short_names(["/a/b/x.csv", "/a/c/y.csv"]), short_names(["/a/b/x.csv", "/a/c/x.csv"])
    (['x.csv', 'y.csv'], ['b/x.csv', 'c/x.csv'])
    >>> short_names(["/a/year=2026/x.csv"])
    ['year=2026/x.csv']
    """
    names = [partition_path(url) or posixpath.basename(url) for url in urls]
    if len(set(names)) == len(names):
        return names
    stem = posixpath.commonpath([posixpath.dirname(url) for url in urls])
    return [url[len(stem) :].lstrip("/") for url in urls]


def packed(*endings: str) -> tuple[str, ...]:
    """The endings, plain and as of files that are packed.

    >>> packed(".csv")
    ('.csv', '.csv.gz', '.csv.bz2', '.csv.xz', '.csv.zst', '.csv.zip')
    """
    return tuple(one + more for one in endings for more in ("", ".gz", ".bz2", ".xz", ".zst", ".zip"))


def files_found(files: Sequence[SourceFile], _: Source) -> str:
    """How many files there are, and what their folders say of them; nothing of a single file.

    >>> files_found([SourceFile(f"/lake/year={y}/a.csv", "", "csv") for y in (2025, 2026)], Source(csv="lake"))
    '2 files, of year 2025 to 2026'
    """
    partitions = [partition_values(file.url) for file in files]
    spans = [_from_to(name, {str(values[name]) for values in partitions if name in values}) for name in partitions[0]]
    parts = [f"{len(files)} files"] if len(files) > 1 else []
    return ", of ".join([*parts, *([" and ".join(spans)] if spans else [])])


def _from_to(name: str, values: set[str]) -> str:
    return f"{name} {min(values)}" + (f" to {max(values)}" if len(values) > 1 else "")


FILES = Places(
    files_at,
    short_names,
    lambda file, _: hash_of_file(file.url),
    lambda file, _: size_of(file.url),
    files_found,
)
"""Files, each read as it lies there."""
