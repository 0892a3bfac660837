"""The images of a column, cell by cell (a path, the bytes of a file, an array, raw pixels), and the hash of every
image file that a table names.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from assay.data.images import COLUMNS
from assay.infra.errors import InputError, reason_of
from assay.infra.storage.folders import escape_of
from assay.tasks.ingest.dicom import dicom_picture, is_dicom
from assay.tasks.ingest.image_pixels import (
    Picture,
    UnfitError,
    array_picture,
    bytes_at,
    decoded,
    form_of,
    in_channels,
    raw_picture,
    require_extent,
    require_form,
    shaped,
)
from assay.tasks.ingest.layout import index_file, layout_of, plan_pieces, read_span
from assay.tasks.ingest.reader_choice import FileIndex, ImageColumn, Reading
from assay.tasks.ingest.rows import Rows, shown
from assay.tasks.ingest.source_files import SourceFiles, hash_of_file

MOST_BYTES = 256 << 20
"""An image file beyond this is refused unread."""

_LOOKED_AT = 64


def pictures(
    rows: Rows, image: ImageColumn, reading: Reading, closed: np.ndarray[tuple[int], np.dtype[np.bool_]]
) -> Iterator[tuple[int, Picture | UnfitError]]:
    """Each open row's position with its picture in the form that all share, or with the reason why it has none."""
    column = rows.table.column(image.name).combine_chunks()
    if pa.types.is_struct(column.type):  # as Hugging Face writes images
        column = pc.struct_field(column, "bytes")
    read = _reader(rows, image, reading)
    for at in np.flatnonzero(~closed).tolist():
        try:
            if not column[at].is_valid:
                raise UnfitError("there is no image")
            picture = read(at, column[at])
            require_extent(*picture.shape[1:])
            if image.form is not None:
                require_form(picture, image.form)
            yield at, picture
        except UnfitError as reason:
            yield at, reason


def _reader(rows: Rows, image: ImageColumn, reading: Reading) -> Callable[[int, pa.Scalar], Picture]:
    """What turns a cell into a picture of the right channels and size."""
    settings = image.pixels
    channels = settings.channels if settings is not None else None
    shape = settings.shape if settings is not None else None
    if image.kind == "raw":
        extents = [rows.table.column(name).to_pylist() for name in ("channels", "height", "width")]

        def raw(at: int, cell: pa.Scalar) -> Picture:
            content = raw_picture(cell.as_py(), *(values[at] for values in extents))
            return shaped(in_channels(content, channels), settings)

        return raw
    if image.kind == "array":
        return lambda _, cell: shaped(in_channels(array_picture(cell, shape), channels), settings)
    if image.kind == "bytes":
        return lambda _, cell: shaped(_picture_in(cell.as_py(), channels), settings)
    folder = reading.folder or posixpath.dirname(reading.urls[rows.file])
    return lambda _, cell: shaped(_picture_in(_content_of(address_in(folder, _path_in(cell))), channels), settings)


def _path_in(cell: pa.Scalar) -> str:
    """The path in a cell; a Parquet file may hold text that is none."""
    try:
        return str(cell.as_py())
    except UnicodeDecodeError:
        raise UnfitError("the path of its image is no UTF-8 text") from None


def _picture_in(content: bytes, channels: int | None) -> Picture:
    """The pixels of an image file, or of a DICOM file with one frame."""
    return in_channels(dicom_picture(content), channels) if is_dicom(content) else decoded(content, channels)


def address_in(folder: str, path: str) -> str:
    """Where a path of a cell leads, never out of the table's folder.

    >>> address_in("/data", "scans/../a.png")
    '/data/a.png'
    """
    if not path.strip():
        raise UnfitError("there is no image")
    if reason := escape_of(path, folder):
        raise UnfitError(f"the path {shown(path)} {reason}")
    return posixpath.join(folder, posixpath.normpath(path))


def _content_of(url: str) -> bytes:
    try:
        return bytes_at(url, MOST_BYTES)
    except FileNotFoundError as error:
        raise UnfitError("there is no such file") from error
    except (InputError, OSError, ValueError) as error:
        raise UnfitError(f"the file cannot be read ({reason_of(error)})") from error


def with_form(reading: Reading, files: list[FileIndex], source: str) -> tuple[Reading, list[FileIndex]]:
    """The reading with the form that all images share, read off the first that enters; and what the rows then take."""
    image = reading.layout.image
    if image is None:
        return reading, files
    wanted = (image.name, *(COLUMNS[1:] if image.kind == "raw" else ()))
    reason = ""
    for file in files:
        for start in range(0, file.rows, _LOOKED_AT):
            span = file.span(start, min(start + _LOOKED_AT, file.rows))
            rows = read_span(span, reading, wanted) if span is not None else None
            if rows is None:
                continue
            for at, picture in pictures(rows, image, reading, np.zeros(len(rows.positions), np.bool_)):
                if isinstance(picture, UnfitError):
                    reason = reason or f"the first is {_image_address(rows, at, image, reading)}: {picture}"
                    continue
                form = form_of(picture, image.pixels)
                layout = replace(reading.layout, image=replace(image, form=form))
                sized = [replace(index, bytes=index.rows * form.bytes) for index in files]
                return replace(reading, layout=layout), sized
    way_out = "; paths in a table start from the folder that the table lies in" if "no such file" in reason else ""
    images = source if reading.folder else f"images of {source}"
    raise InputError(f"None of the {images} can be read ({reason or 'there are no rows'}){way_out}.")


def _image_address(rows: Rows, at: int, image: ImageColumn, reading: Reading) -> str:
    """Which image a row holds: its path, or the row, with the address where a table's image was looked for."""
    file, row = rows.place(at)
    if rows.files is not None:
        return file
    if image.kind != "path":
        return f"{file} row {row}"
    folder, cell = posixpath.dirname(reading.urls.get(rows.file, "")), rows.table.column(image.name)[at]
    try:
        return f"{file} row {row}, looked for at {address_in(folder, _path_in(cell) if cell.is_valid else '')}"
    except UnfitError:
        return f"{file} row {row}"


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
                paths = filter(None, column.unique().to_pylist())
                images |= {(file.name, path, _hash(folder, path)) for path in paths}
    return sorted(images)


def _hash(folder: str, path: str) -> str:
    try:
        return hash_of_file(address_in(folder, path))
    except (UnfitError, InputError):
        return "absent"
