"""Files that somebody names: only ordinary ones of a bearable size are read."""

from __future__ import annotations

from pathlib import Path

from assay.infra.errors import InputError
from assay.infra.ingredients import note_file
from assay.infra.regular_files import require_regular

MOST_BYTES = 16 << 30
"""What is read whole into memory, such as weights and word lists, has at most so many bytes."""


def content_of(path: Path, called: str = "", most: int = MOST_BYTES) -> bytes:
    """The bytes of an ordinary file; raises `OSError` where there is none, `InputError` where it must not be read."""
    require_regular(path, called)
    size = path.stat().st_size
    if size > most:
        raise InputError(f"{called or path} has {size:,} bytes, and at most {most:,} are read; give a smaller file.")
    with path.open("rb") as file:
        content = file.read(size + 1)
    if len(content) > size:  # some files of the kernel say that they are empty, and never end
        raise InputError(f"{called or path} has more bytes than its size says; copy it, and name the copy.")
    note_file(path)
    return content
