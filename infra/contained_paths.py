"""Paths that data names stay in the place that the project named.

What a person writes in pipelines.yaml may lead anywhere. A Delta log, a cell of a table, the index of a model's weights
or a record of the store names files too, and a stranger may have written it: such a path is relative, and leads below
its folder in every spelling that something on the way may read it in, with all symbolic links followed.
"""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterator
from itertools import islice
from urllib.parse import unquote

from assay.infra.errors import InputError
from assay.infra.regular_files import require_regular

_LONGEST, _LONGEST_NAME, _SHOWN = 4096, 255, 60
_DECODINGS = 16  # a path of 4,096 letters can hold a thousand, and a table as many such paths as it likes
_CONTROLS = re.compile(r"[\x00-\x1f\x7f]")
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


def escape_of(path: str, folder: str | None = None) -> str:
    """Why a path that data names is not followed, as a clause; empty where it leads to a place below its folder.

    With a folder on this machine, symbolic links are followed; without one, or elsewhere, the text alone is judged.

    >>> escape_of("scans/../a.png"), escape_of("scans/%252e%252e/%2e%2e/a.png")
    ('', 'leaves its folder; paths start there and stay there')
    """
    try:
        length = len(path.encode())
    except UnicodeEncodeError:
        return "is no UTF-8 text; rename the file"
    if _CONTROLS.search(path) or "::" in path:  # fsspec would read a chain of file systems out of ::
        return "has a control character or `::` in it; rename the file"
    if length > _LONGEST:
        return f"has {length:,} bytes, and a path has at most {_LONGEST:,}; rename the file"
    if posixpath.normpath(path) == ".":
        return "is the name of no file; write one"
    spellings = list(islice(_spellings(path), 2 * _DECODINGS + 1))
    if len(spellings) > 2 * _DECODINGS:
        return f"is percent-encoded {_DECODINGS} times or more; rename the file"
    if any(map(_leaves, spellings)):
        return "leaves its folder; paths start there and stay there"
    root = None if folder is None else local_path(folder)
    return "" if root is None else _escape_on_disk(path, root)


def contained(folder: str | os.PathLike[str] | None, path: object, named: str) -> str:
    """The address below a folder of the file that data names; without a folder, the name alone.

    On this machine it is an ordinary file, and no symbolic link leads out.
    `named` is how a sentence calls what names it. A file that is not there is for the caller to miss.

    >>> contained("s3://lake/visits", "site=north/a.parquet", "The log")
    's3://lake/visits/site=north/a.parquet'
    >>> contained("/lake", "../secret.parquet", "The log of lake")
    Traceback (most recent call last):
    assay.infra.errors.InputError: The log of lake names the file '../secret.parquet', which leaves its folder; paths \
start there and stay there.
    """
    place = None if folder is None else os.fspath(folder)
    reason = escape_of(path, place) if isinstance(path, str) else "is no text; write the name of a file"
    if reason:
        shown = repr(path) if len(repr(path)) <= _SHOWN else f"{repr(path)[:_SHOWN]}..."
        raise InputError(f"{named} names the file {shown}, which {reason}.")
    address = posixpath.join(place or "", posixpath.normpath(str(path)))
    if place is not None and (local := local_path(address)) is not None:
        require_regular(local, f"{path!r} ({named})")
    return address


def local_path(address: str) -> str | None:
    """The path of an address on this machine; none where the address leads elsewhere.

    >>> local_path("file:///lake"), local_path("/lake"), local_path("s3://lake")
    ('/lake', '/lake', None)
    """
    path = re.sub(r"^(file|local)://", "", address)
    return None if "://" in path else path


def _spellings(path: str) -> Iterator[str]:
    """The path as it stands, and as whoever decodes it once or more, or takes backslashes for separators, reads it."""
    while True:
        yield path
        yield path.replace("\\", "/")
        decoded = unquote(path)
        if decoded == path:
            return
        path = decoded


def _leaves(path: str) -> bool:
    """Whether a spelling is absolute, has a scheme or a drive, or climbs above where it starts."""
    if path.startswith("/") or "://" in path or _has_scheme(path):
        return True
    depth = 0
    for step in path.split("/"):
        if step.strip(" .") or not step:
            depth += bool(step)
        elif step != ".":  # "..", and what becomes of it where dots and spaces at the end are dropped
            depth -= 1
        if depth < 0:
            return True
    return False


def _has_scheme(path: str) -> bool:
    """Whether a path begins with a drive or with a scheme that something here knows; other names may have a colon."""
    found = _SCHEME.match(path)
    if found is None:
        return False
    from fsspec.registry import known_implementations

    scheme = found[0][:-1].lower()
    return len(scheme) == 1 or scheme in known_implementations


def _escape_on_disk(path: str, folder: str) -> str:
    if any(len(step.encode()) > _LONGEST_NAME for step in path.split("/")):
        return f"has a name of more than {_LONGEST_NAME} bytes in it; rename the file"
    place = folder
    if not any(os.path.islink(place := f"{place}/{step}") for step in posixpath.normpath(path).split("/")):
        return ""
    within, whole = _home_of_links(folder), os.path.realpath(os.path.join(folder, posixpath.normpath(path)))
    if os.path.commonpath([within, whole]) != within:
        return "leaves its folder through a symbolic link; copy what it leads to into the folder"
    return ""


def _home_of_links(folder: str) -> str:
    """Where the links in a folder have to lead: into itself or, in a cache of Hugging Face's hub, whose snapshots are
    links to blobs, into the cached repository."""
    place = os.path.realpath(folder)
    repository, snapshots, _ = f"{place}/".rpartition("/snapshots/")
    return repository if snapshots and os.path.isdir(f"{repository}/blobs") else place
