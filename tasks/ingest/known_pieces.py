"""What a piece of a source is known by, whatever other files lie beside its own."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from dataclasses import replace

from assay.infra.constants import InexactError, fingerprint, spelt
from assay.tasks.ingest.files import SourceFiles, hash_of_file
from assay.tasks.ingest.pieces import Piece, Reading

FORMATS = frozenset({"parquet", "csv", "jsonl", "iob"})
"""Those that are read by us, so that the stage's version stands for how; readers of plug-ins do as they like."""


def content_of_pieces(
    source: SourceFiles, reading: Reading, classes: tuple[str, ...] = ()
) -> Callable[[Piece], str] | None:
    """What makes the samples of a piece, as a text: its rows' place in its files, their content, and how all are read.

    None where a piece is more than that: a table made in memory, images in files of their own, formats of plug-ins.
    """
    image = reading.layout.image
    if source.given is not None or reading.table is not None or (image is not None and image.kind == "path"):
        return None
    if not {file.format for file in source.files} <= FORMATS:
        return None
    layout = replace(reading.layout, heads={}, source=None)
    try:
        shared = fingerprint((layout, reading.convention, classes))
    except InexactError:
        return None
    urls, heads = {file.name: file.url for file in source.files}, reading.layout.heads

    def content(piece: Piece) -> str:
        spans = [
            [hash_of_file(urls[span.name]), spelt((span, heads.get(span.name), reading.shapes.get(span.name)))]
            for span in piece.spans
        ]
        return hashlib.sha256(json.dumps([shared, spans]).encode()).hexdigest()

    return content
