"""Where the paths, patterns and URLs of a source lead, and what is no place for data."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from assay.infra.credentials import require_usable
from assay.infra.errors import InputError
from assay.infra.reasons import reason_of
from assay.infra.regular_files import require_regular

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

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
    reason = reason_of(error)
    return InputError(f"{pattern} ({origin}) cannot be reached: {reason}.")


def require_named_file(path: str, pattern: str, origin: str) -> None:
    """Nothing, or the sentence for what is there and no ordinary file with a name that can be written down."""
    try:
        path.encode()
    except UnicodeEncodeError as error:
        shown = path.encode(errors="replace").decode()
        raise InputError(f"The name of the file {shown} ({origin}) is not UTF-8; rename it.") from error
    if not is_remote(pattern):
        require_regular(path, f"{pattern} ({origin})")
