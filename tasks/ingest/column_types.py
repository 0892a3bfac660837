"""Which types of columns may enter: those that every later stage can count, hash, compare and show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from assay.infra.errors import InputError

MOST_DEPTH = 8
"""Lists and structs of a column stand at most so deep in each other."""

_SECONDS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_FIRST, _LAST = -62_135_596_800, 253_402_300_799
"""The seconds from 1970 to the beginning of the year 1 and to the end of the year 9999."""


def require_enterable(types: pa.Schema, read: Sequence[str], file: str) -> None:
    """Nothing, or the sentence for a column that is read and of a type that nothing here understands.

    >>> require_enterable(pa.schema([("x", pa.float32()), ("y", pa.list_(pa.string()))]), ["x", "y"], "a.parquet")
    """
    for name in read:
        dtype = types.field(name).type
        if not _is_known(dtype, 0):
            shown = str(dtype) if len(str(dtype)) < 60 else str(dtype)[:57] + "..."
            raise InputError(
                f"{file} has {shown} in column {name!r}, which no stage reads; make it text, a number or a list, or "
                "leave it out by listing the columns to keep under `features`."
            )


def require_roles(
    types: pa.Schema, identity: str | None, label: str | None, parts: Mapping[str, str | None], file: str
) -> None:
    """Nothing, or the sentence for a column that is of no type for what it is to say of the samples.

    `parts` are the columns whose values part the samples, by what asks for them (`split`, `group`).
    """
    if identity is not None:
        dtype = types.field(identity).type
        if not (pa.types.is_integer(dtype) or pa.types.is_string(dtype)):
            raise InputError(f"{file} has {dtype} in id column {identity!r}; ids are text or whole numbers.")
    if label is not None:
        dtype = types.field(label).type
        known = pa.types.is_integer(dtype) or pa.types.is_floating(dtype) or pa.types.is_boolean(dtype)
        if not (known or pa.types.is_string(dtype)):
            raise InputError(f"{file} has {dtype} in label column {label!r}; a class is a name or a whole number.")
    for setting, column in parts.items():
        if column is not None and column in types.names:
            require_parting(types, column, setting, file)


def require_parting(types: pa.Schema, column: str, setting: str, file: str) -> None:
    """Nothing, or the sentence for a column whose values are no names of parts: lists, bytes, things within things.

    >>> require_parting(pa.schema([("part", pa.list_(pa.string()))]), "part", "split", "a.parquet")
    Traceback (most recent call last):
    assay.infra.errors.InputError: a.parquet has list<item: string> in column 'part', ...
    """
    dtype = types.field(column).type
    if pa.types.is_nested(dtype) or pa.types.is_large_binary(dtype) or pa.types.is_fixed_size_binary(dtype):
        raise InputError(
            f"{file} has {dtype} in column {column!r}, and `{setting}` parts the samples by its values: make it text, "
            "a number, true or false, or a time."
        )


def _is_known(dtype: pa.DataType, depth: int) -> bool:
    if depth > MOST_DEPTH:
        return False
    if pa.types.is_list(dtype) or pa.types.is_large_list(dtype) or pa.types.is_fixed_size_list(dtype):
        return _is_known(dtype.value_type, depth + 1)
    if pa.types.is_struct(dtype):
        return dtype.num_fields > 0 and all(_is_known(field.type, depth + 1) for field in dtype)
    kinds = (
        pa.types.is_boolean,
        pa.types.is_integer,
        pa.types.is_floating,
        pa.types.is_string,
        pa.types.is_large_string,
        pa.types.is_binary,
        pa.types.is_large_binary,
        pa.types.is_fixed_size_binary,
        pa.types.is_decimal,
        pa.types.is_date,
        pa.types.is_timestamp,
        pa.types.is_time,
        pa.types.is_duration,
        pa.types.is_null,
    )
    return any(kind(dtype) for kind in kinds)


def out_of_calendar(column: pa.Array) -> NDArray[np.int64]:
    """The positions of times outside the years 1 to 9999, which no calendar here can show.

    >>> out_of_calendar(pa.array([0, 2**62], pa.timestamp("us"))).tolist()
    [1]
    """
    if pa.types.is_timestamp(column.type):
        unit = _SECONDS[column.type.unit]
    elif pa.types.is_date32(column.type):
        unit = 0
    elif pa.types.is_date64(column.type):
        unit = 1000
    else:
        return np.empty(0, np.int64)
    numbers = column.view(pa.int32() if unit == 0 else pa.int64())
    low, high = (_FIRST // 86_400, _LAST // 86_400) if unit == 0 else (_FIRST * unit, _LAST * unit)
    if unit == 10**9:  # nanoseconds in 64 bits reach the years 1677 to 2262
        return np.empty(0, np.int64)
    outside = pc.or_(pc.less(numbers, pa.scalar(low, numbers.type)), pc.greater(numbers, pa.scalar(high, numbers.type)))
    return np.flatnonzero(pc.fill_null(outside, False).to_numpy(zero_copy_only=False)).astype(np.int64)


def require_known_zones(types: pa.Schema, read: Sequence[str], file: str) -> None:
    """Nothing, or the sentence for times in a zone that this machine's tables of zones have not."""
    from zoneinfo import ZoneInfo

    for name in read:
        dtype = types.field(name).type
        if not pa.types.is_timestamp(dtype) or not dtype.tz or dtype.tz[0] in "+-":
            continue
        try:
            ZoneInfo(dtype.tz)
        except (KeyError, ValueError, OSError) as error:
            raise InputError(
                f"{file} has times of the zone {dtype.tz!r} in column {name!r}, which is not known; write them in UTC."
            ) from error
