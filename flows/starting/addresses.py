"""From the place where data lies to the kind of source it is, by its name and by what is there."""

from __future__ import annotations

import glob
import os
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from assay.infra.errors import InputError
from assay.tasks.ingest.addresses import is_remote
from assay.tasks.ingest.pixels import ENDINGS

Origin = Literal["csv", "parquet", "jsonl", "images"]

_TABLES: dict[str, Origin] = {
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
}
_PACKED = (".gz", ".bz2", ".xz", ".zst", ".zip")
_BETWEEN_CELLS = (",", ";", "\t", "|")


@dataclass(frozen=True)
class Address:
    """Where data lies, as `source` says it: the kind of source, the path or pattern, and what stands between cells."""

    origin: Origin
    path: str
    delimiter: str = ","

    @property
    def settings(self) -> dict[str, object]:
        """What a source says of it."""
        apart = {"delimiter": self.delimiter} if self.delimiter != "," else {}
        return {self.origin: (self.path,), **apart}


def address_of(data: str, base: Path) -> Address:
    """What a path, a pattern, a folder or a URL is, paths counted from `base`; a sentence where that cannot be told."""
    if not data.strip():
        raise InputError("Where the data lies is empty: give a file, a folder, a pattern or a URL with --data PATH.")
    place = base / Path(data).expanduser()
    if not is_remote(data) and place.is_dir():
        return _in_folder(data, place)
    origin = _by_ending(data)
    if origin is None:
        raise InputError(
            f"What {data} is cannot be told from its name: give a file or a pattern that ends in "
            f"{', '.join(_TABLES)}, or a folder of images in folders of classes, with --data PATH."
        )
    files = [] if is_remote(data) else [Path(one) for one in sorted(glob.glob(str(place)))] or [place]
    return Address(origin, data, _delimiter(files) if origin == "csv" else ",")


def _in_folder(data: str, place: Path) -> Address:
    """A folder holds images in folders of classes, or tables of one kind."""
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

    >>> _by_ending("day/*.csv.gz"), _by_ending("s3://bucket/day.parquet"), _by_ending("notes.docx")
    ('csv', 'parquet', None)
    """
    name = data.rpartition("/")[2].lower()
    for packed in _PACKED:
        name = name.removesuffix(packed)
    return next((origin for ending, origin in _TABLES.items() if name.endswith(ending)), None)


def _delimiter(files: list[Path]) -> str:
    """What stands between the cells of a header: of the usual characters, the one there are most of; a comma where the
    file is packed or cannot be looked at."""
    try:
        with files[0].open(encoding="utf-8-sig") as file:
            header = file.readline(1 << 20)
    except (OSError, UnicodeDecodeError, IndexError):
        return ","
    return max(_BETWEEN_CELLS, key=header.count)
