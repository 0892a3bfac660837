"""The classes of a pipeline, read off their table."""

from __future__ import annotations

import pyarrow as pa


def class_names(classes: pa.Table) -> list[str]:
    """The names of the classes, in the order of their codes.

    >>> class_names(pa.table({"code": [1, 0], "name": ["malignant", "benign"]}))
    ['benign', 'malignant']
    """
    return [str(name) for name in classes.sort_by("code").column("name").to_pylist()]
