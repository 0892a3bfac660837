"""Croissant 1.0 metadata (JSON-LD) of an exported folder, with fields of its RAI extension, so that data set search
engines and loaders understand it.
"""

from __future__ import annotations

import itertools
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from assay.data.templates import filled

CONTEXT: dict[str, Any] = json.loads(filled("croissant_context.json"))
"""The context that the Croissant 1.0 specification asks every file to carry, word for word."""

_TYPES = (
    (pa.types.is_boolean, "Boolean"),
    (pa.types.is_integer, "Integer"),
    (pa.types.is_floating, "Float"),
    (pa.types.is_decimal, "Float"),
    (pa.types.is_date, "Date"),
    (pa.types.is_struct, "ImageObject"),
    (pa.types.is_timestamp, "DateTime"),
)
CITE_AS = "S. Pugh et al., Curating Naturally Adversarial Datasets for Trustworthy AI in Healthcare"


@dataclass(frozen=True)
class ExportedFile:
    """One file of an export: its path in the folder, what is in it, its checksum and size."""

    path: str
    about: str
    sha256: str
    bytes: int


def croissant(
    described: Mapping[str, Any], files: Sequence[ExportedFile], schema: pa.Schema, about: dict[str, str]
) -> dict[str, Any]:
    """The metadata of a folder whose Parquet files share one schema: a record set for each.

    How it is `described` (name, licence, who made it, …) stands in the words of schema.org.
    """
    return {
        "@context": CONTEXT,
        "@type": "sc:Dataset",
        "conformsTo": ["http://mlcommons.org/croissant/1.0", "http://mlcommons.org/croissant/RAI/1.0"],
        **described,
        "citeAs": CITE_AS,
        "distribution": [_file_object(file) for file in files],
        "recordSet": [_record_set(file, schema, about) for file in files],
    }


def data_type(dtype: pa.DataType) -> str:
    """The schema.org type of an Arrow type.

    >>> data_type(pa.int16()), data_type(pa.string())
    ('sc:Integer', 'sc:Text')
    """
    return next((f"sc:{name}" for is_of_type, name in _TYPES if is_of_type(dtype)), "sc:Text")


def _file_object(file: ExportedFile) -> dict[str, Any]:
    return {
        "@type": "cr:FileObject",
        "@id": file.path,
        "name": file.path.rsplit("/", 1)[-1],
        "description": file.about,
        "contentUrl": file.path,
        "contentSize": f"{file.bytes} B",
        "encodingFormat": "application/x-parquet",
        "sha256": file.sha256,
    }


def _record_set(file: ExportedFile, schema: pa.Schema, about: dict[str, str]) -> dict[str, Any]:
    name = file.path.rsplit("/", 1)[-1].removesuffix(".parquet")
    return {
        "@type": "cr:RecordSet",
        "@id": name,
        "name": name,
        "description": file.about,
        "key": {"@id": f"{name}/id"},
        "field": [
            _field(f"{name}/{identifier}", file, column, about.get(column.name, "a column of the samples"))
            for identifier, column in zip(identifiers(schema.names), schema, strict=True)
        ],
    }


def identifiers(names: Sequence[str]) -> list[str]:
    """Names as identifiers: without spaces or signs, which loaders refuse, and no two the same.

    >>> identifiers(["mean area", "mean-area", "mean_area", "ρ"])
    ['mean_area', 'mean-area', 'mean_area_2', '_']
    """
    unique: list[str] = []
    for name in names:
        plain = re.sub(r"[^A-Za-z0-9_.-]", "_", name)
        repeats = itertools.chain([plain], (f"{plain}_{number}" for number in itertools.count(2)))
        unique.append(next(name_ for name_ in repeats if name_ not in unique))
    return unique


def _field(identifier: str, file: ExportedFile, column: pa.Field, about: str) -> dict[str, Any]:
    listed = (
        pa.types.is_list(column.type) or pa.types.is_large_list(column.type) or pa.types.is_fixed_size_list(column.type)
    )
    field = {
        "@type": "cr:Field",
        "@id": identifier,
        "name": column.name,
        "description": about,
        "dataType": data_type(column.type.value_type if listed else column.type),
        "source": {"fileObject": {"@id": file.path}, "extract": {"column": column.name}},
    }
    return {**field, "repeated": True} if listed else field
