"""What the sources of pipelines hold, looked at before anything is read for good: files, columns and their types."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from assay.flows.pipeline import Pipeline, Project
from assay.infra.errors import AssayError

MOST_COLUMNS = 8


def found_rows(project: Project) -> Iterator[list[object]]:
    """Each pipeline with a source of its own: what its address leads to, and the columns there. What cannot be had is
    told among the mistakes."""
    for name, pipeline in project.pipelines.items():
        if pipeline.source.dataset is not None or pipeline.source.images is not None:
            continue
        try:
            yield [name, *_found(pipeline, project.folder)]
        except AssayError:
            continue


def _found(pipeline: Pipeline, folder: Path) -> tuple[str, str]:
    from assay.tasks.ingest.layout import layout_of
    from assay.tasks.ingest.readers import found_by
    from assay.tasks.ingest.sources import resolve

    source = resolve(pipeline.source, folder)
    return found_by(source.files, source.settings) or source.label, columns_in_words(layout_of(source).types)


def columns_in_words(types: pa.Schema) -> str:
    """The columns that are read, with their types.

    >>> columns_in_words(pa.schema([("id", pa.string()), ("age", pa.int64())]))
    'id (string), age (int64)'
    """
    shown = [f"{field.name} ({_type(field.type)})" for field in list(types)[:MOST_COLUMNS]]
    return ", ".join(shown) + (f" and {len(types) - MOST_COLUMNS} more" if len(types) > MOST_COLUMNS else "")


def _type(type_: pa.DataType) -> str:
    return "list" if pa.types.is_nested(type_) else str(type_)
