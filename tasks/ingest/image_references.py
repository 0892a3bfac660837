"""The image files that a table names: their content belongs to the source as the table's own does."""

from __future__ import annotations

import posixpath

import pyarrow as pa

from assay.infra.errors import InputError
from assay.tasks.ingest.files import SourceFiles, hash_of_file
from assay.tasks.ingest.image_cells import address_in
from assay.tasks.ingest.layout import layout_of
from assay.tasks.ingest.pieces import Reading, index_file, plan_pieces, read_span
from assay.tasks.ingest.pixels import UnfitError


def referenced_images(source: SourceFiles) -> list[tuple[str, str, str]]:
    """Table, path and content hash of every image that the source's column of paths names; none if it holds no paths.

    A file that is missing, or that no image may be read from, counts as such: should it appear, the source is another.
    """
    layout = layout_of(source)
    if layout.image is None or layout.image.kind != "path":
        return []
    name = layout.image.name
    reading = Reading(layout, {file.name: file.url for file in source.files})
    images: set[tuple[str, str, str]] = set()
    for file in source.files:
        folder = posixpath.dirname(file.url)
        for piece in plan_pieces([index_file(file, layout)], None):
            for span in piece.spans:
                column = read_span(span, reading, (name,)).table.column(name)
                images |= {(file.name, path, _hash(folder, path)) for path in _distinct(column)}
    return sorted(images)


def _distinct(column: pa.ChunkedArray) -> list[str]:
    return [path for path in column.unique().to_pylist() if path]


def _hash(folder: str, path: str) -> str:
    try:
        return hash_of_file(address_in(folder, path))
    except (UnfitError, InputError):
        return "absent"
