"""Where the images of a table lay, kept for whoever is handed a sample: samples hold their pixels only."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from assay.data.image_schemas import ImagePaths
from assay.infra.artifacts import Artifact
from assay.infra.partitions import map_pieces
from assay.infra.stage import say, stage, write_table
from assay.tasks.ingest.entry import ids_of
from assay.tasks.ingest.pieces import Piece, Reading, plan_pieces, read_span
from assay.tasks.ingest.reading import prepare
from assay.tasks.ingest.settings import Source
from assay.tasks.ingest.sources import ResolvedSource


def names_paths(settings: Source) -> bool:
    """Whether the source is a table with a column that may name image files."""
    return settings.image is not None and settings.images is None and settings.dataset is None


@stage(version=1, title="image paths")
def keep_paths(source: ResolvedSource, settings: Source) -> Artifact[ImagePaths]:  # noqa: ARG001 - a part of the key
    """The path of every image that the source's table names, by sample; none where it holds the images themselves."""
    reading, files = prepare(source)
    image = reading.layout.image
    if image is None or image.kind != "path":
        say("the table holds the images themselves")
        return write_table(ImagePaths.schema.empty_table(), into=ImagePaths)
    paths: Artifact[ImagePaths] = map_pieces(paths_in_piece, plan_pieces(files), into=ImagePaths, reading=reading)
    say(f"{paths.rows} image paths kept")
    return paths


def paths_in_piece(piece: Piece, reading: Reading) -> pa.Table:
    """The ids and the paths of a piece's rows, where both are there."""
    image, layout, tables = reading.layout.image, reading.layout, [ImagePaths.schema.empty_table()]
    assert image is not None
    for span in piece.spans:
        rows = read_span(span, reading, tuple(dict.fromkeys([*([layout.id] if layout.id else []), image.name])))
        table = pa.table([ids_of(rows, layout), rows.table.column(image.name)], schema=ImagePaths.schema)
        there = pc.and_(pc.is_valid(table["id"]), pc.is_valid(table["path"]))
        tables.append(table.filter(there))
    return pa.concat_tables(tables)
