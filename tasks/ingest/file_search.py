"""The files that paths, patterns, URLs and folders lead to: image folders with a class each, and Delta tables in
their latest version.
"""

from __future__ import annotations

import contextlib
import glob
import json
import os
import posixpath
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.parquet as pq
from fsspec import AbstractFileSystem
from fsspec.implementations.local import LocalFileSystem

from assay.infra.errors import InputError, reason_of, require_library
from assay.infra.storage.folders import contained, escape_of, require_regular
from assay.infra.storage.network import require_usable
from assay.tasks.ingest.image_pixels import ENDINGS
from assay.tasks.ingest.record_scanner import MOST_DEPTH, is_too_deep

LONGEST = 4096
"""No path is longer."""


def file_system(pattern: str, base_dir: str | Path, origin: str) -> tuple[AbstractFileSystem, str]:
    """The file system that a pattern is about, and the path in it; paths start beside pipelines.yaml."""
    import fsspec

    if "::" in pattern or "\0" in pattern or len(pattern) > LONGEST:  # fsspec would read a chain of systems out of ::
        raise InputError(
            f"{pattern[:60]!r} ({origin}) is no path: it has `::` or a NUL in it, or more than {LONGEST} letters; "
            "rename the file, and correct it here."
        )
    url = pattern if "://" in pattern else str(Path(base_dir, pattern).absolute())
    require_usable(url)
    try:
        filesystem, path = fsspec.core.url_to_fs(url)
    except Exception as error:
        # Every cloud's library has faults of its own (no credentials, no such option) that share no base but this one.
        raise unreachable(pattern, origin, error) from error
    return filesystem, str(path)


def is_remote(pattern: str) -> bool:
    """Whether a pattern is about files that lie elsewhere than in this machine's folders."""
    return "://" in pattern and not pattern.startswith(("file:", "local:"))


def unreachable(pattern: str, origin: str, error: Exception) -> InputError:
    """The sentence for an address behind which nothing answers."""
    return InputError(f"{pattern} ({origin}) cannot be reached: {reason_of(error)}.")


@contextlib.contextmanager
def reaching(pattern: str, origin: str) -> Iterator[None]:
    """Within the block, whatever a cloud's library raises is an address that cannot be reached.

    Every library has faults of its own (no credentials, no such bucket) that share no base but `Exception`.
    """
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        if not is_remote(pattern) and not isinstance(error, ImportError | ValueError | OSError):
            raise
        raise unreachable(pattern, origin, error) from error


def require_named_file(path: str, pattern: str, origin: str) -> None:
    """Nothing, or the sentence for what is there and no ordinary file with a name that can be written down."""
    try:
        path.encode()
    except UnicodeEncodeError as error:
        shown = path.encode(errors="replace").decode()
        raise InputError(f"The name of the file {shown} ({origin}) is not UTF-8; rename it.") from error
    if not is_remote(pattern):
        require_regular(path, f"{pattern} ({origin})")


MOST_OTHERS = 50_000


def files_below(filesystem: AbstractFileSystem, folder: str, endings: tuple[str, ...], named: str) -> list[str]:
    """All files below a folder, in order, hidden folders aside; `named` is how a person named the folder.

    On this machine it refuses a folder with tens of thousands of files that end otherwise: the root of a disk, say.
    """
    if not isinstance(filesystem, LocalFileSystem):
        return list(filesystem.find(folder))
    names, others = list[str](), 0
    for place, files in _folders_below(folder, [os.path.realpath(folder)]):
        names += [os.path.join(place, name) for name in files]
        others += sum(not name.lower().endswith(endings) for name in files)
        if others > MOST_OTHERS:
            raise InputError(
                f"{named} is a folder with more than {MOST_OTHERS:,} files below it that do not end in "
                f"{' or '.join(endings[:2])}; name the folder that holds the data alone, or a pattern such as "
                f"{folder.rstrip('/')}/*{endings[0]}."
            )
    return sorted(names)


def _folders_below(folder: str, seen: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Each folder with its files. A link to a folder elsewhere is followed, as data sets are put together by them; one
    to a folder that is looked at anyway, or that holds this one, would bring everything twice or for ever."""
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        yield place, files
        for name in folders:
            link = os.path.join(place, name)
            target = os.path.realpath(link)
            if os.path.islink(link) and not any(
                os.path.commonpath([target, other]) in (target, other) for other in seen
            ):
                seen.append(target)
                yield from _folders_below(link, seen)


LOG = "_delta_log"
_REWRITTEN = {
    "deletionVectors": "deletion vectors, so rows that were deleted stand in its files",
    "columnMapping": "mapped columns, whose names are not those in its files",
}
"""What a reader of the files alone would get wrong, by the name of the table's feature."""


def delta_files(folder: str, named: str) -> list[str]:
    """The Parquet files that make up the latest version of the table in a folder on this machine, in order.

    `named` is how a person named it. What a table says beyond its files (rows deleted by vector, other names of
    columns) is refused: reading past it would be another table.
    """
    require_library("deltalake", f"{named} is a Delta table, and deltalake, which reads it (extra `delta`),", "delta")
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError

    _require_own_log(folder, named)
    _require_flat_log(folder, named)
    try:
        for name in _sidecars(folder):
            contained(os.path.join(folder, LOG, "_sidecars"), unquote(name), f"The checkpoint of {named}")
        table = DeltaTable(folder)
        names = pa.table(table.get_add_actions(flatten=True))["path"].to_pylist()
    except (DeltaError, OSError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise InputError(
            f"{named} is a Delta table whose log cannot be read ({reason_of(error)[:200]}); mend it, or write "
            "what it holds to Parquet, and name that."
        ) from error
    features = set(table.protocol().reader_features or ())
    if table.metadata().configuration.get("delta.columnMapping.mode", "none") != "none":
        features.add("columnMapping")
    for feature, why in _REWRITTEN.items():
        if feature in features:
            raise InputError(f"{named} is a Delta table with {why}; write what it holds now to Parquet, and name that.")
    if not names:
        raise InputError(f"{named} is a Delta table without a row in its latest version ({table.version()}).")
    return sorted(_file(folder, name, f"The log of {named}") for name in names)


def _file(folder: str, name: str, log: str) -> str:
    """Where a file of the table lies. Paths are written as addresses are: what a folder's name holds besides letters is
    in percents, decoded once; some writers left that out, and their names are those on the disk."""
    decoded = contained(folder, unquote(name), log)
    return decoded if os.path.exists(decoded) else contained(folder, name, log)


def _require_own_log(folder: str, named: str) -> None:
    """Nothing, or the sentence for a log whose files are links to elsewhere, or pipes that are never read to their
    end."""
    for place, folders, files in os.walk(os.path.join(folder, LOG)):
        for name in (*folders, *files):
            path = os.path.join(place, name)
            if reason := escape_of(os.path.relpath(path, folder), folder):
                raise InputError(f"{named} is a Delta table with {name!r} in its log, which {reason}.")
            if name in files:
                require_regular(path, f"{name!r} in the log of {named}")


def _require_flat_log(folder: str, named: str) -> None:
    """Nothing, or the sentence for an action that is nested deeper than Delta's library bears, which crashes on it, or
    that names rows deleted by vector, whether the table says that it has such rows or not."""
    for path in glob.glob(os.path.join(glob.escape(folder), LOG, "*.json")):
        with open(path, "rb") as lines:
            for number, line in enumerate(lines, start=1):
                where = f"{named} is a Delta table whose log has in {os.path.basename(path)}, line {number},"
                if is_too_deep(line):
                    raise InputError(f"{where} values nested more than {MOST_DEPTH} deep; write its log again.")
                with contextlib.suppress(ValueError, AttributeError):  # what is no action is for Delta's library to say
                    added = json.loads(line).get("add") or {}
                    if is_too_deep(str(added.get("stats")).encode()):
                        raise InputError(f"{where} statistics nested more than {MOST_DEPTH} deep; write its log again.")
                    if added.get("deletionVector"):
                        raise InputError(f"{where} {_REWRITTEN['deletionVectors']}; write what it holds to Parquet.")


def _sidecars(folder: str) -> Iterator[str]:
    """The files that the checkpoints of a log name: parts of the checkpoint, read by Delta's library on its own."""
    for path in glob.glob(os.path.join(glob.escape(folder), LOG, "*.checkpoint*")):
        if path.endswith(".json"):
            with open(path, encoding="utf-8") as lines:
                actions = [json.loads(line).get("sidecar") for line in lines if line.strip()]
        elif path.endswith(".parquet"):
            with pq.ParquetFile(path) as file:
                actions = file.read(["sidecar"]).to_pydict().get("sidecar", [])
        else:
            continue
        yield from (str(action["path"]) for action in actions if action)


PATH, CLASS, SPLIT = "path", "class", "split"
"""The columns of the table: the file below the folder that all share, its class, and its part if folders say so."""

SPLITS = {
    **dict.fromkeys(("train", "training"), "train"),
    **dict.fromkeys(("val", "valid", "validation", "dev"), "valid"),
    **dict.fromkeys(("test", "testing"), "test"),
}
"""The part of the data that a folder above the classes is, by its name."""

_MASKS = {"mask", "masks", "segmentation", "segmentations", "annotation", "annotations"}


def image_files(patterns: Sequence[str], base_dir: str | Path) -> list[str]:
    """The addresses of all images that the patterns find, in order; a folder stands for every image below it."""
    return sorted({url for pattern in patterns for url in _image_files(pattern, base_dir)})


def _image_files(pattern: str, base_dir: str | Path) -> list[str]:
    filesystem, path = file_system(pattern, base_dir, "images")
    names: list[str] = []
    with reaching(pattern, "images"):
        if glob.has_magic(path):
            names = [name for name in filesystem.glob(path) if _is_visible(name) and not filesystem.isdir(name)]
        elif filesystem.isdir(path):
            below = files_below(filesystem, path, ENDINGS, f"{pattern} (images)")
            names = [name for name in below if name.lower().endswith(ENDINGS) and _is_visible(name[len(path) :])]
            folder = path.rstrip("/")
            if stray := next((name for name in names if posixpath.dirname(name) == folder), None):
                raise InputError(
                    f"{stray} lies in no folder of a class; put it into a folder named after its class, below {folder}."
                )
        elif filesystem.exists(path):
            raise InputError(f"{pattern} (images) is a file; name the folder it lies in, for example scans/*/*.png.")
        for name in names:
            require_named_file(name, pattern, "images")
    if not names:
        raise InputError(f"No image is found under {pattern} (images); it was looked for at {path}.")
    return [filesystem.unstrip_protocol(name) if is_remote(pattern) else name for name in names]


def _is_visible(name: str) -> bool:
    return not any(part.startswith(".") for part in name.split("/")[-2:])


def names_below(urls: Sequence[str]) -> list[str]:
    """The path of each image below the folder that all share, its class folder always in it, and its split folder.

    >>> names_below(["/a/b/cat/1.png", "/a/b/cat/2.png"])
    ['cat/1.png', 'cat/2.png']
    >>> names_below(["/a/train/cat/1.png", "/a/test/cat/1.png"])
    ['train/cat/1.png', 'test/cat/1.png']
    """
    paths = [url.partition("://")[2] or url for url in urls]
    stem = posixpath.commonpath({posixpath.dirname(posixpath.dirname(path)) for path in paths})
    return [path[len(stem) :].lstrip("/") for path in paths]


def folder_of(url: str, name: str) -> str:
    """The folder that names are below, from one image's address and its name."""
    return url[: len(url) - len(name)].rstrip("/") or "/"


def listing(names: Sequence[str]) -> pa.Table:
    """The table of images: path, class and, where the folders above the classes say so, split.

    >>> listing(["train/cat/1.png", "val/cat/2.png"])["split"].to_pylist()
    ['train', 'valid']
    """
    classes = [posixpath.basename(posixpath.dirname(name)) for name in names]
    _require_no_masks(names, classes)
    columns = {PATH: pa.array(names, pa.string()), CLASS: pa.array(classes, pa.string())}
    if (splits := _splits(names)) is not None:
        columns[SPLIT] = pa.array(splits, pa.string())
    return pa.table(columns)


def _require_no_masks(names: Sequence[str], classes: Sequence[str]) -> None:
    """Nothing, or the sentence for pictures that mark something in other pictures: they are no images of a class."""
    for name, folder in zip(names, classes, strict=True):
        stem = posixpath.splitext(posixpath.basename(name))[0].lower()
        if folder.lower() in _MASKS or stem.endswith(("_mask", "-mask", "_segmentation")):
            raise InputError(
                f"{name} is a mask, by its name, and folders are taken for classes: leave masks out, with a pattern "
                "that finds the images only (scans/*/*.jpg)."
            )


def _splits(names: Sequence[str]) -> list[str] | None:
    """The part of each image, or None where no folder names one; where only some folders do, they clash."""
    above = [posixpath.basename(posixpath.dirname(posixpath.dirname(name))) for name in names]
    known = {folder for folder in above if folder.lower() in SPLITS}
    if not known:
        return None
    others = [(folder, name) for folder, name in zip(above, names, strict=True) if folder not in known]
    if others:
        raise InputError(
            f"The folder {min(known)} is a part of the data, and {others[0][1]} lies in none; name the folders above "
            "the classes train, valid and test, or give one of them at a time."
        )
    return [SPLITS[folder.lower()] for folder in above]
