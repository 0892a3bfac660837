"""A file that a subject names beside pipelines.yaml: its content, read as data."""

from __future__ import annotations

from pathlib import Path

from assay.infra.errors import InputError
from assay.infra.given_files import content_of
from assay.infra.regular_files import require_regular


def content_at(written: str, beside: Path, what: str) -> bytes:
    """The content of the file at a path that starts beside pipelines.yaml; `what` is how a sentence calls it."""
    path = beside / written
    require_regular(path, what)
    if not path.is_file():
        raise InputError(f'There is no file "{path}"; paths start beside pipelines.yaml.')
    return content_of(path)
