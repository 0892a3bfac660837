"""Images as others read them: a PNG with its path in one column, in the form that Hugging Face `datasets` shows."""

from __future__ import annotations

import json
import posixpath
from collections.abc import Mapping

import pyarrow as pa

from assay.data.images import COLUMNS, pixels_of, png
from assay.flows.report.records import tables_of
from assay.infra.manifests import RunRecord
from assay.infra.store import Store
from assay.tasks.ingest.pixels import ENDINGS

PICTURE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
"""What the column `image` holds."""

_READ_AS = json.dumps({"info": {"features": {"image": {"_type": "Image"}}}})


def original_paths(store: Store, record: RunRecord) -> dict[str, str]:
    """The paths of the images by sample, as the run's table names them; none where it held the images."""
    tables = [table for *_, table in tables_of(store, record, "ImagePaths")]
    return {row["id"]: row["path"] for table in tables for row in table.to_pylist()}


def with_pictures(table: pa.Table, paths: Mapping[str, str]) -> pa.Table:
    """The table with one column of PNG files where it had pixels and their extents; without images, as it is.

    The path is that in the table that named the image, or below its folder where samples are named so, and else the
    sample's name.
    """
    if not set(COLUMNS) <= set(table.column_names):
        return table
    cells = [
        {"bytes": png(pixels_of(table.slice(row, 1))[0]), "path": paths.get(str(name)) or _path(str(name))}
        for row, name in enumerate(table["id"].to_pylist())
    ]
    kept = table.drop_columns(list(COLUMNS)).append_column("image", pa.array(cells, PICTURE))
    return kept.replace_schema_metadata({**(table.schema.metadata or {}), "huggingface": _READ_AS})


def _path(name: str) -> str:
    """The path of an image's original, or one made of the sample's name.

    >>> _path("cat/1.jpg"), _path("table.csv:7")
    ('cat/1.jpg', 'table.csv:7.png')
    """
    return name if name.lower().endswith(ENDINGS) and not posixpath.isabs(name) else f"{name}.png"
