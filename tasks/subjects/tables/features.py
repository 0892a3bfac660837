"""Feature columns as a matrix: which columns a model can learn from, and their numbers, NaN where one is missing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from assay.infra.errors import InputError

RESERVED = ("id", "gold")  # never features: one names the sample, the other is the answer
Matrix = npt.NDArray[np.float64]  # [n, d]


def is_numeric(dtype: pa.DataType) -> bool:
    """Whether a column of this type can stand in a matrix: whole numbers, floats, decimals, and yes/no as 1/0."""
    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_boolean)
    return any(test(dtype) for test in tests)


def choose_features(schema: pa.Schema, wanted: Sequence[str] | None) -> list[str]:
    """The feature columns in the order the model sees them: those wanted, or else every numeric one.

    >>> choose_features(pa.schema({"id": pa.string(), "age": pa.int64(), "note": pa.string()}), None)
    ['age']
    """
    if wanted is None:
        numeric = [field.name for field in schema if field.name not in RESERVED and is_numeric(field.type)]
        if not numeric:
            raise InputError(
                "The samples have no numeric column for the subject to learn from: their columns are "
                f"{_listed(schema.names)}; bring a model of your own (`model: file.py:object`) for other kinds of data."
            )
        return numeric
    for name in wanted:
        require_feature(schema, name)
        if not is_numeric(schema.field(name).type):
            raise InputError(
                f"The feature {name!r} holds {schema.field(name).type} and the subject needs numbers: leave it out of "
                "`features`, or declare it a number under the source's `columns`."
            )
    return list(wanted)


def require_feature(schema: pa.Schema, name: str) -> None:
    """Raises unless the column exists and may be seen by a model."""
    if name in RESERVED:
        raise InputError(
            f"The column {name!r} cannot be a feature: it is the sample's {'name' if name == 'id' else 'answer'}."
        )
    if name not in schema.names:
        raise InputError(f"The samples have no feature {name!r}: their columns are {_listed(schema.names)}.")


def feature_matrix(table: pa.Table, features: Sequence[str]) -> Matrix:
    """The features of every row as float64 [n, d]; NaN where a value is missing, an error where one is infinite."""
    matrix = np.empty((table.num_rows, len(features)))
    for position, name in enumerate(features):
        column = table[name].combine_chunks()
        if pa.types.is_boolean(column.type):
            column = column.cast(pa.uint8())
        matrix[:, position] = pc.fill_null(column.cast(pa.float64(), safe=False), np.nan).to_numpy(zero_copy_only=False)
    infinite = np.argwhere(np.isinf(matrix))
    if len(infinite):
        row, position = infinite[0]
        raise InputError(
            f"The feature {features[position]!r} of sample {table['id'][int(row)].as_py()!r} is infinite; "
            "the subject needs finite numbers or missing ones."
        )
    return matrix


def _listed(names: Sequence[str]) -> str:
    shown = [name for name in names if name not in RESERVED]
    return (
        ", ".join(shown[:12]) + (f" and {len(shown) - 12} more" if len(shown) > 12 else "")
        if shown
        else "only id and gold"
    )
