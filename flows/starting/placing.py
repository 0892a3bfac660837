"""Writing the files of a first audit: all or none of them, and never over what is there."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from assay.flows.starting.pages import NAMES
from assay.infra.errors import InputError


def require_free(folder: Path, keep: bool = False) -> None:
    """Nothing, or the sentence for files that would be overwritten; with `keep` they stay, the others are written."""
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file: name a folder, as in assay init audits.")
    there = [name for name in NAMES if (folder / name).exists()]
    if there and not (keep and len(there) < len(NAMES)):
        way_out = "" if len(there) == len(NAMES) else ", or write only the others with --keep"
        raise InputError(
            f"{folder} has {', '.join(there)} already, and nothing is overwritten: name another folder, as in "
            f"assay init audits{way_out}."
        )


def place(files: Mapping[str, str], folder: Path) -> list[str]:
    """The names of the files that were written: those that were not there. Where one cannot be, none is."""
    written: list[Path] = []
    try:
        for name, text in files.items():
            path = folder / name
            if path.exists():
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            with path.open("x", encoding="utf-8") as file:
                written.append(path)
                file.write(text)
    except OSError as error:
        for path in written:
            with suppress(OSError):
                path.unlink()
        raise InputError(
            f"{error.filename or folder} cannot be written ({error.strerror or error}): name another folder."
        ) from error
    return [str(path.relative_to(folder)) for path in written]
