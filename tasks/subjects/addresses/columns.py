"""Which columns a model at an address reads, and their numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa

from assay.infra.errors import InputError
from assay.tasks.subjects.tables.features import Matrix, feature_matrix, is_numeric, require_feature


def require_named(features: Sequence[str] | None, who: str) -> tuple[str, ...]:
    """The columns that the settings name; raises where they name none: nothing leaves, or is guessed, unnamed."""
    if features is None:
        raise InputError(
            f"{who} needs `features`: the columns it reads, in its order; of images, name it as `network`."
        )
    return tuple(features)


def columns_of(table: pa.Table, features: Sequence[str]) -> pa.Table:
    """The columns, in their order; raises where one is not there."""
    for name in features:
        require_feature(table.schema, name)
    return table.select(list(features))


def numbers_of(table: pa.Table, features: Sequence[str], who: str) -> Matrix:
    """The columns as numbers [n, d], NaN where one is missing; raises where a column holds something else."""
    for name in features:
        require_feature(table.schema, name)
        if not is_numeric(table.schema.field(name).type):
            raise InputError(
                f"{who} takes numbers, and the column {name!r} holds {table.schema.field(name).type}: leave it out of "
                "`features`, or declare it a number under the source's `columns`."
            )
    return np.asarray(feature_matrix(table, features), dtype=np.float64)
