"""Fetching a data set of the catalogue: from a mirror or its address, whole and checked, or not at all."""

from __future__ import annotations

import gzip
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

from assay.data.catalog import (
    MIRROR,
    CatalogEntry,
    CatalogFile,
    content_is_right,
    data_folder,
    entry_of,
    is_right,
    nothing_to_get,
    sha256_of,
    to_bring,
)
from assay.infra.contained_paths import contained
from assay.infra.errors import InputError


def get(name: str, into: str | Path | None = None, environment: Mapping[str, str] | None = None) -> Path:
    """The folder in which all files of a data set now lie, each with the hash the catalogue gives.

    Files come from the mirror that `ASSAY_MIRROR` names, else from their URL; a file that is there already and right is
    left alone. A file appears under its name only when it is whole and checked.
    """
    environment = os.environ if environment is None else environment
    entry = entry_of(name)
    if not entry.files:
        raise InputError(nothing_to_get(name, entry))
    folder = Path(into) if into is not None else data_folder(environment) / (entry.folder or name)
    mirror = Path(environment[MIRROR]) if environment.get(MIRROR) else None
    for file in entry.files:
        _get_file(name, entry, file, folder, mirror)
    return folder


def _get_file(name: str, entry: CatalogEntry, file: CatalogFile, folder: Path, mirror: Path | None) -> None:
    target = Path(contained(folder, file.name, f"The catalogue's entry {name}"))
    if target.exists() and is_right(file, target):
        return
    mirrored = mirror / (entry.folder or name) / file.name if mirror is not None else None
    if mirrored is not None and mirrored.exists():
        content = mirrored.read_bytes()
        origin = str(mirrored)
    elif file.url is not None:
        content, origin = _download(name, file), file.url
        if file.unpacked_sha256 is not None and sha256_of(content) == file.unpacked_sha256:
            content = gzip.compress(content, mtime=0)
    else:
        raise InputError(to_bring(name, entry, file, folder))
    if not content_is_right(file, content):
        raise InputError(
            f"{origin} is not the {file.name} that the catalogue knows (its sha256 is {sha256_of(content)[:12]}..., "
            f"{file.sha256[:12]}... was expected); nothing was kept."
        )
    _write_whole(target, content)


def _download(name: str, file: CatalogFile) -> bytes:
    """The bytes at a file's URL, never more than it should have (and some for packing)."""
    import urllib.error
    import urllib.request

    assert file.url is not None
    if not file.url.startswith(("https://", "http://127.0.0.1")):
        raise InputError(f"The address of {file.name} ({name}) is not https: {file.url}.")
    try:
        with urllib.request.urlopen(file.url, timeout=60) as answer:
            content: bytes = answer.read(max(file.bytes * 20, 1 << 20))
    except (urllib.error.URLError, OSError) as error:
        raise InputError(
            f"{file.name} of {name} could not be fetched from {file.url} ({error}); try again, or set {MIRROR}."
        ) from error
    return content


def _write_whole(target: Path, content: bytes) -> None:
    """The file under its name, all of it or nothing."""
    target.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=target.parent, prefix=".incomplete-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.chmod(temporary, 0o644)
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
