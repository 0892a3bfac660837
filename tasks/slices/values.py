"""The values of a column as slices: words as they are, numbers of many values in quarters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.types as kinds

from assay.infra.errors import InputError

MANY = 12
"""Numbers of more values than that are cut into quarters."""
TOO_MANY = 100
"""Words of more values than that are no slices: nearly every sample would be one."""


def slice_values(column: pa.ChunkedArray, name: str) -> list[str | None]:
    """The slice of each sample by one column; None where the cell is empty.

    >>> slice_values(pa.chunked_array([["a", " ", None]]), "site"), slice_values(pa.chunked_array([[1, 2]]), "ward")
    (['a', None, None], ['1', '2'])
    """
    values = column.combine_chunks()
    numeric = kinds.is_integer(values.type) or kinds.is_floating(values.type) or kinds.is_decimal(values.type)
    if numeric and pc.count_distinct(values).as_py() > MANY:
        return _quarters(values.cast(pa.float64()).to_numpy(zero_copy_only=False))
    try:
        words = pc.utf8_trim_whitespace(values.cast(pa.string()))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as fault:
        raise InputError(f"The column {name!r} holds {values.type}, which are no slices: name another.") from fault
    if pc.count_distinct(words).as_py() > TOO_MANY:
        raise InputError(
            f"The column {name!r} has {pc.count_distinct(words).as_py()} values, and slices want at most {TOO_MANY}: "
            "name a column of fewer, or make one that puts them together."
        )
    return [word or None for word in words.to_pylist()]


def _quarters(numbers: np.ndarray) -> list[str | None]:
    """The quarter of each number, named by its ends; equal numbers are never parted."""
    known = np.isfinite(numbers)
    cuts = np.unique(np.quantile(numbers[known], [0.25, 0.5, 0.75], method="inverted_cdf"))
    places = np.searchsorted(cuts, numbers)  # a number at a cut belongs below it
    names = [_range(numbers[known & (places == place)]) for place in range(len(cuts) + 1)]
    return [names[place] if there else None for place, there in zip(places.tolist(), known.tolist(), strict=True)]


def _range(numbers: Sequence[float] | np.ndarray) -> str:
    return f"{np.min(numbers):g} to {np.max(numbers):g}" if len(numbers) else ""
