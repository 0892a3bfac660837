"""Text to typed columns, a column at a time; which cells did not fit, and the types a file's own first rows suggest."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

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

_MISSING_SET = pa.array(MISSING)


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
    text = pc.if_else(pc.is_in(text, value_set=_MISSING_SET), pa.scalar(None, pa.string()), text)
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
    text = pc.utf8_trim_whitespace(column)
    filled = text.filter(pc.invert(pc.is_in(text, value_set=_MISSING_SET)))
    if not len(filled) or pc.any(pc.match_substring_regex(filled, r"^[+-]?0\d")).as_py():
        return pa.string()
    for target in (pa.int64(), pa.float64()):
        if not _fails(filled, target):
            return target
    words = pc.is_in(pc.utf8_lower(filled), value_set=pa.array(["true", "false"]))
    return pa.bool_() if pc.all(words).as_py() else pa.string()


def nearly_numbers(column: pa.Array) -> bool:
    """Whether nine in ten of the filled cells are numbers, and some are not: rather slips than text.

    >>> nearly_numbers(pa.array(["1.5"] * 19 + ["1,5"])), nearly_numbers(pa.array(["a", "1"] * 10))
    (True, False)
    """
    text = pc.utf8_trim_whitespace(column)
    filled = text.filter(pc.invert(pc.is_in(text, value_set=_MISSING_SET)))
    if not len(filled) or pc.any(pc.match_substring_regex(filled, r"^[+-]?0\d")).as_py():
        return False
    numbers = pc.sum(pc.match_substring_regex(filled, _NUMBER)).as_py()
    return bool(_MOSTLY * len(filled) <= numbers < len(filled))


def is_blank(column: pa.Array) -> bool:
    """Whether every cell looks like nothing."""
    return bool(pc.all(pc.is_in(pc.utf8_trim_whitespace(column), value_set=_MISSING_SET)).as_py())


def _fails(text: pa.Array, target: pa.DataType) -> bool:
    try:
        pc.replace_substring_regex(text, pattern=r"^\+", replacement="").cast(target)
    except pa.ArrowInvalid:
        return True
    return False


def plain_type(given: pa.DataType) -> pa.DataType:
    """The one type that stands for all of its storage forms: dictionaries decoded, long strings as strings.

    >>> str(plain_type(pa.dictionary(pa.int8(), pa.large_string()))), str(plain_type(pa.binary()))
    ('string', 'large_binary')
    """
    if isinstance(given, pa.BaseExtensionType):
        return plain_type(given.storage_type)
    if pa.types.is_dictionary(given):
        return plain_type(given.value_type)
    if pa.types.is_large_string(given) or pa.types.is_string_view(given) or pa.types.is_null(given):
        return pa.string()
    if pa.types.is_binary(given) or pa.types.is_binary_view(given):
        return pa.large_binary()
    if pa.types.is_list(given) or pa.types.is_large_list(given):
        return pa.list_(plain_type(given.value_type))
    if pa.types.is_struct(given):
        return pa.struct([pa.field(field.name, plain_type(field.type)) for field in given])
    return given


def shown(value: object) -> str:
    """A value as a reason quotes it: short, on one line.

    >>> shown("a\\nb"), shown("x" * 100)
    ("'a\\\\nb'", "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...")
    """
    text = repr(value)
    return text if len(text) <= 41 else text[:38] + "..."
