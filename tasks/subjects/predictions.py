"""Predictions as the table that every measurement reads, and the column in which another system left its own."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from assay.data.schemas import Predictions
from assay.infra.errors import InputError, RunError
from assay.tasks.subjects.named_answers import in_the_order_of
from assay.tasks.subjects.tables.features import Matrix

_SUM_TOLERANCE = 1e-3  # how far from 1 the probabilities of a row may add up (half precision is that coarse)


def predictions_table(ids: pa.ChunkedArray, probabilities: Matrix) -> pa.Table:
    """Predictions from probabilities [n, k]: the most probable class (the lower code of equals), and all of them."""
    n, classes = probabilities.shape
    offsets = np.arange(0, (n + 1) * classes, classes, dtype=np.int32) if n else np.zeros(1, np.int32)
    listed = pa.ListArray.from_arrays(pa.array(offsets), pa.array(probabilities.ravel()))
    predicted = probabilities.argmax(axis=1).astype(np.int16)
    return pa.table([ids, pa.array(predicted), listed], schema=Predictions.schema)


def require_same_samples(predictions: pa.Table, samples: pa.Table, name: str) -> None:
    """Raises unless the predictions are of these samples, in their order."""
    if not predictions["id"].equals(samples["id"]):
        raise RunError(
            f"The predictions of {name} are not those of these samples, row by row: partitions of them failed and were "
            "let go (compute.quarantine), or they are of other samples; run again, with --fresh if nothing failed."
        )


def checked_probabilities(output: object, ids: Sequence[str], classes: Sequence[str], who: str) -> Matrix:
    """What a model returned for these samples as float64 [n, k], or an error that says what it should have returned."""
    expected = f"one row per sample with the probability of each of the {len(classes)} classes ({', '.join(classes)})"
    try:
        values = np.asarray(in_the_order_of(classes, output, who), dtype=np.float64)
    except (TypeError, ValueError) as fault:
        raise InputError(f"{who} returned {type(output).__name__}, expected {expected}.") from fault
    if values.shape != (len(ids), len(classes)):
        raise InputError(f"{who} returned the shape {_shape(values)} for {len(ids)} samples, expected {expected}.")
    wrong = np.flatnonzero(~np.isfinite(values).all(axis=1))
    if len(wrong):
        raise InputError(
            f"{who} returned {values[wrong[0]].tolist()} for sample {ids[wrong[0]]!r}, expected finite numbers."
        )
    sums = values.sum(axis=1)
    wrong = np.flatnonzero((values < 0).any(axis=1) | (np.abs(sums - 1) > _SUM_TOLERANCE))
    if len(wrong):
        raise InputError(
            f"{who} returned {values[wrong[0]].tolist()} for sample {ids[wrong[0]]!r}: expected probabilities, "
            "none below 0 and together 1."
        )
    return values


def given_predictions(table: pa.Table, column: str, classes: Sequence[str]) -> pa.Table:
    """Predictions from a column of the samples that holds class names or class codes."""
    if column not in table.column_names:
        known = ", ".join(table.column_names)
        raise InputError(f"The samples have no column {column!r} with predictions: their columns are {known}.")
    codes = codes_of(table[column], table["id"], column, classes)
    empty = pa.nulls(table.num_rows, Predictions.schema.field("probabilities").type)
    return pa.table([table["id"], pa.array(codes), empty], schema=Predictions.schema)


def codes_of(
    values: pa.ChunkedArray, ids: pa.ChunkedArray, column: str, classes: Sequence[str]
) -> npt.NDArray[np.int16]:
    """The class code of every value: by name where the value is a class name, else by code.

    >>> given = pa.chunked_array([["ham", "spam", "1"]])
    >>> codes_of(given, pa.chunked_array([["a", "b", "c"]]), "said", ["ham", "spam"]).tolist()
    [0, 1, 1]
    """
    require_codes(values.type, column)
    encoded = values.combine_chunks().dictionary_encode()
    table = [_code(value, classes) for value in encoded.dictionary.to_pylist()]
    indices = encoded.indices.to_numpy(zero_copy_only=False)
    if encoded.null_count:
        raise _no_class(
            ids, int(np.flatnonzero(encoded.is_null().to_numpy(zero_copy_only=False))[0]), None, column, classes
        )
    bad = [position for position, code in enumerate(table) if code is None]
    if bad:
        row = int(np.flatnonzero(np.isin(indices, bad))[0])
        raise _no_class(ids, row, values[row].as_py(), column, classes)
    return np.asarray(table, dtype=np.int16)[indices] if table else np.zeros(0, dtype=np.int16)


def require_codes(dtype: pa.DataType, column: str) -> None:
    """Nothing, or the sentence for a column that holds something else than the name or the code of a class.

    >>> require_codes(pa.string(), "said")
    """
    kinds = (
        pa.types.is_string,
        pa.types.is_large_string,
        pa.types.is_integer,
        pa.types.is_floating,
        pa.types.is_boolean,
        pa.types.is_null,
    )
    plain = dtype.value_type if pa.types.is_dictionary(dtype) else dtype
    if not any(kind(plain) for kind in kinds):
        raise InputError(
            f"The column {column!r} holds {dtype}, and a prediction is the name or the code of one class; write that "
            "into a column of its own."
        )


def _code(value: object, classes: Sequence[str]) -> int | None:
    number = int(value) if isinstance(value, float) and value.is_integer() else value
    text = str(number).strip() if not isinstance(number, bool) else str(number).lower()
    if text in classes:
        return list(classes).index(text)
    if isinstance(number, bool):
        return int(number) if len(classes) == 2 else None
    return int(text) if text.isdecimal() and int(text) < len(classes) else None


def _no_class(ids: pa.ChunkedArray, row: int, value: object, column: str, classes: Sequence[str]) -> InputError:
    what = "no prediction" if value is None else f"the prediction {value!r}"
    return InputError(
        f"Sample {ids[row].as_py()!r} has {what} in the column {column!r}, expected one of {', '.join(classes)} "
        f"or a code from 0 to {len(classes) - 1}."
    )


def _shape(values: npt.NDArray[np.float64]) -> str:
    return f"[{', '.join(str(size) for size in values.shape)}]"
