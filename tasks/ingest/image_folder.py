"""A folder of images as a table: one row per file, its class the name of the folder it lies in."""

from __future__ import annotations

import glob
import posixpath
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from assay.infra.errors import InputError
from assay.tasks.ingest.addresses import file_system, is_remote, require_named_file, unreachable
from assay.tasks.ingest.folder_walk import files_below
from assay.tasks.ingest.pixels import ENDINGS

PATH, CLASS, SPLIT = "path", "class", "split"
"""The columns of the table: the file below the folder that all share, its class, and its part if folders say so."""

SPLITS = {
    "train": "train",
    "training": "train",
    "val": "valid",
    "valid": "valid",
    "validation": "valid",
    "dev": "valid",
    "test": "test",
    "testing": "test",
}


_MARKS = {"mask", "masks", "segmentation", "segmentations", "annotation", "annotations"}


def image_files(patterns: Sequence[str], base_dir: str | Path) -> list[str]:
    """The addresses of all images that the patterns find, in order; a folder stands for every image below it."""
    urls = [url for pattern in patterns for url in _image_files(pattern, base_dir)]
    return sorted(dict.fromkeys(urls))


def _image_files(pattern: str, base_dir: str | Path) -> list[str]:
    filesystem, path = file_system(pattern, base_dir, "images")
    remote = is_remote(pattern)
    try:
        if glob.has_magic(path):
            names = [name for name in filesystem.glob(path) if _is_visible(name) and not filesystem.isdir(name)]
        elif filesystem.isdir(path):
            below = files_below(filesystem, path, ENDINGS, f"{pattern} (images)")
            names = [name for name in below if _is_image(name) and _is_visible(name[len(path) :])]
            _require_class_folders(names, path.rstrip("/"))
        elif filesystem.exists(path):
            raise InputError(f"{pattern} (images) is a file; name the folder it lies in, for example scans/*/*.png.")
        else:
            names = []
        for name in names:
            require_named_file(name, pattern, "images")
    except InputError:
        raise
    except Exception as error:
        # As for tables: what clouds' libraries raise shares no base but this one.
        if not remote and not isinstance(error, ImportError | ValueError | OSError):
            raise
        raise unreachable(pattern, "images", error) from error
    if not names:
        raise InputError(f"No image is found under {pattern} (images); it was looked for at {path}.")
    return [filesystem.unstrip_protocol(name) if remote else name for name in names]


def _is_image(name: str) -> bool:
    return name.lower().endswith(ENDINGS)


def _is_visible(name: str) -> bool:
    return not any(part.startswith(".") for part in name.split("/")[-2:])


def _require_class_folders(files: Sequence[str], folder: str) -> None:
    for name in files:
        if posixpath.dirname(name) == folder:
            raise InputError(
                f"{name} lies in no folder of a class; put it into a folder named after its class, below {folder}."
            )


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
    splits = _splits(names)
    if splits is not None:
        columns[SPLIT] = pa.array(splits, pa.string())
    return pa.table(columns)


def _require_no_masks(names: Sequence[str], classes: Sequence[str]) -> None:
    """Nothing, or the sentence for pictures that mark something in other pictures: they are no images of a class."""
    for name, folder in zip(names, classes, strict=True):
        stem = posixpath.splitext(posixpath.basename(name))[0].lower()
        if folder.lower() in _MARKS or stem.endswith(("_mask", "-mask", "_segmentation")):
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
            f"{others[0][1]} lies beside the folder {min(known)}, and {others[0][0] or 'its folder'!r} is no part of "
            "the data; name the folders above the classes train, valid and test, or give one of them at a time."
        )
    return [SPLITS[folder.lower()] for folder in above]
