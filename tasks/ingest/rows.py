"""The rows that a reader hands over and the rejects among them: text cast to typed columns, types inferred, types
that may enter.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from assay.data.schemas import Rejects
from assay.infra.errors import InputError

Positions = NDArray[np.int64]


@dataclass(frozen=True)
class Reject:
    """A row that does not enter: its line (text files) or row number (others), and why."""

    file: str
    row: int
    reason: str
    column: str | None = None
    id: str | None = None


@dataclass(frozen=True)
class Rows:
    """Rows of one file: their columns, the position of each (counted from 1), and what was already turned away."""

    file: str
    table: pa.Table
    positions: Positions
    rejects: tuple[Reject, ...] = field(default=())
    files: tuple[str, ...] | None = None
    """Where each row is a file of its own: its name."""

    def place(self, at: int) -> tuple[str, int]:
        """The file and the line (or row number) of the row at a position of the table."""
        return (self.file, int(self.positions[at])) if self.files is None else (self.files[at], 1)


def rejects_table(rejects: list[Reject]) -> pa.Table:
    """Rejects as a table, in the order of the rows."""
    ordered = sorted(rejects, key=lambda reject: (reject.file, reject.row))
    columns = {name: [getattr(reject, name) for reject in ordered] for name in Rejects.schema.names}
    return pa.table(columns, schema=Rejects.schema)


TYPES: dict[str, pa.DataType] = {
    "int": pa.int64(),
    "float": pa.float64(),
    "bool": pa.bool_(),
    "text": pa.string(),
    "time": pa.timestamp("us"),
}

NOUNS = {
    pa.int64(): "a whole number",
    pa.float64(): "a number",
    pa.bool_(): "true or false",
    pa.timestamp("us"): "a time like 2026-11-21T04:00:00",
}

MISSING = ("", "NA", "N/A", "NaN", "nan", "null", "NULL", "None")
"""What an empty cell of a number, a truth value, a time or a gold label may look like; text is taken as it is."""

NEARLY_NUMBERS = b"nearly numbers"
"""Marks a field that is text because a few of its cells are no numbers."""
_MOSTLY = 0.9
_NUMBER = r"^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$"
_MEANT = _NUMBER.replace(r"\.", "[.,]")


@cache
def _missing() -> pa.Array:
    """`MISSING` as Arrow takes it; made when first asked for, since Arrow imports pandas for it."""
    return pa.array(MISSING)


def cast_text(column: pa.Array, target: pa.DataType) -> tuple[pa.Array, NDArray[np.int64]]:
    """The column as `target`, and the positions of the cells that do not fit (null in the column).

    >>> values, bad = cast_text(pa.array(["1", " 2", "", "x"]), pa.int64())
    >>> values.to_pylist(), bad.tolist()
    ([1, 2, None, None], [3])
    """
    nothing = np.empty(0, np.int64)
    if pa.types.is_string(target):
        return column, nothing
    text = pc.utf8_trim_whitespace(column)
    text = pc.if_else(pc.is_in(text, value_set=_missing()), pa.scalar(None, pa.string()), text)
    if pa.types.is_floating(target) or pa.types.is_integer(target):
        text = pc.replace_substring_regex(text, pattern=r"^\+", replacement="")
    if pa.types.is_boolean(target):
        text = pc.utf8_lower(text)
    try:
        return text.cast(target), nothing
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        bad = np.asarray(_misfits(text, target, 0), dtype=np.int64)
    mask = np.zeros(len(text), dtype=bool)
    mask[bad] = True
    return pc.if_else(pa.array(mask), pa.scalar(None, pa.string()), text).cast(target), bad


def _misfits(text: pa.Array, target: pa.DataType, offset: int) -> list[int]:
    """Positions that do not cast, found by halving: few misfits cost few casts."""
    try:
        text.cast(target)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        if len(text) == 1:
            return [offset]
        half = len(text) // 2
        return _misfits(text.slice(0, half), target, offset) + _misfits(text.slice(half), target, offset + half)
    return []


def infer_type(column: pa.Array) -> pa.DataType:
    """The narrowest of int, float, bool and text that every cell fits; codes with leading zeros stay text.

    >>> [str(infer_type(pa.array(cells))) for cells in (["1", ""], ["1", "2.5"], ["true"], ["007"], ["", "NA"])]
    ['int64', 'double', 'bool', 'string', 'string']
    """
    filled = _filled(column)
    if not len(filled):
        return pa.string()
    unsigned = pc.replace_substring_regex(filled, pattern=r"^\+", replacement="")
    for target in (pa.int64(), pa.float64()):
        with contextlib.suppress(pa.ArrowInvalid):
            unsigned.cast(target)
            return target
    words = pc.is_in(pc.utf8_lower(filled), value_set=pa.array(["true", "false"]))
    return pa.bool_() if pc.all(words).as_py() else pa.string()


def nearly_numbers(column: pa.Array) -> bool:
    """Whether nine in ten of the filled cells are numbers, also with a comma, and some are not: slips and no text.

    >>> nearly_numbers(pa.array(["1.5"] * 19 + ["x"])), nearly_numbers(pa.array(["1,5", "2,25"]))
    (True, True)
    >>> nearly_numbers(pa.array(["a", "1"] * 10)), nearly_numbers(pa.array(["1", "2"]))
    (False, False)
    """
    filled = _filled(column)
    numbers, meant = (pc.sum(pc.match_substring_regex(filled, form)).as_py() or 0 for form in (_NUMBER, _MEANT))
    return bool(numbers < len(filled) and _MOSTLY * len(filled) <= meant)


def _filled(column: pa.Array) -> pa.Array:
    """The cells that say something, trimmed; none where one of them is a code with leading zeros."""
    text = pc.utf8_trim_whitespace(column)
    filled = text.filter(pc.invert(pc.is_in(text, value_set=_missing())))
    return filled.slice(0, 0) if pc.any(pc.match_substring_regex(filled, r"^[+-]?0\d")).as_py() else filled


def is_blank(column: pa.Array) -> bool:
    """Whether every cell looks like nothing."""
    return bool(pc.all(pc.is_in(pc.utf8_trim_whitespace(column), value_set=_missing())).as_py())


def plain_type(given: pa.DataType) -> pa.DataType:
    """The one type that stands for all of its storage forms: dictionaries decoded, long strings as strings, decimals as
    the numbers that they are (a database's whole numbers are often exported as such).

    >>> str(plain_type(pa.dictionary(pa.int8(), pa.large_string()))), str(plain_type(pa.binary()))
    ('string', 'large_binary')
    >>> str(plain_type(pa.decimal128(10, 2))), str(plain_type(pa.decimal128(38, 0)))
    ('double', 'int64')
    """
    if isinstance(given, pa.BaseExtensionType):
        return plain_type(given.storage_type)
    if pa.types.is_dictionary(given):
        return plain_type(given.value_type)
    if pa.types.is_large_string(given) or pa.types.is_string_view(given) or pa.types.is_null(given):
        return pa.string()
    if pa.types.is_binary(given) or pa.types.is_binary_view(given):
        return pa.large_binary()
    if pa.types.is_decimal(given):
        return pa.float64() if given.scale > 0 else pa.int64()
    if pa.types.is_list(given) or pa.types.is_large_list(given):
        return pa.list_(plain_type(given.value_type))
    if pa.types.is_struct(given):
        return pa.struct([pa.field(field.name, plain_type(field.type)) for field in given])
    return given


def is_list(dtype: pa.DataType) -> bool:
    """Whether cells of this type are lists, however Arrow stores them."""
    return bool(pa.types.is_list(dtype) or pa.types.is_large_list(dtype) or pa.types.is_fixed_size_list(dtype))


def shown(value: object) -> str:
    """A value as a reason quotes it: short, on one line.

    >>> shown("a\\nb"), shown("x" * 100)
    ("'a\\\\nb'", "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...")
    """
    text = repr(value)
    return text if len(text) <= 41 else text[:38] + "..."


MOST_DEPTH = 8
"""Lists and structs of a column stand at most so deep in each other."""

_PLAIN = (
    *("boolean", "integer", "floating", "decimal", "string", "large_string", "binary", "large_binary"),
    *("fixed_size_binary", "date", "timestamp", "time", "duration", "null"),
)
"""The types of single values that every stage can count, hash, compare and show, as Arrow calls them."""
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
            raise InputError(
                f"{file} has {dtype} in label column {label!r}; a class is a name or a whole number (or see `tags`)."
            )
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
    if is_list(dtype):
        return _is_known(dtype.value_type, depth + 1)
    if pa.types.is_struct(dtype):
        return dtype.num_fields > 0 and all(_is_known(field.type, depth + 1) for field in dtype)
    return any(getattr(pa.types, f"is_{kind}")(dtype) for kind in _PLAIN)


def out_of_calendar(column: pa.Array) -> NDArray[np.int64]:
    """The positions of times outside the years 1 to 9999, which no calendar here can show.

    >>> out_of_calendar(pa.array([0, 2**62], pa.timestamp("us"))).tolist()
    [1]
    """
    kind, days = column.type, {pa.date32(): 0, pa.date64(): 1000}
    unit = _SECONDS[kind.unit] if pa.types.is_timestamp(kind) else days.get(kind)
    if unit is None or unit == 10**9:  # nanoseconds in 64 bits reach the years 1677 to 2262
        return np.empty(0, np.int64)
    numbers = column.view(pa.int32() if unit == 0 else pa.int64())
    low, high = (_FIRST // 86_400, _LAST // 86_400) if unit == 0 else (_FIRST * unit, _LAST * unit)
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
