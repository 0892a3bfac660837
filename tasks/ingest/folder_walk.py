"""The files below a folder; a folder that mostly holds something else was not meant, and is not read to its end."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from fsspec.implementations.local import LocalFileSystem

from assay.infra.errors import InputError

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

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
                f"{named}/*{endings[0]}."
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
            if os.path.islink(link) and not any(_one_in_the_other(target, other) for other in seen):
                seen.append(target)
                yield from _folders_below(link, seen)


def _one_in_the_other(one: str, other: str) -> bool:
    return os.path.commonpath([one, other]) in (one, other)
