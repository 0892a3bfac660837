"""Several classes per sample: columns of 1, 0 and -1, or one column that lists names, become `labels: list<int8>`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from assay.infra.errors import InputError
from assay.tasks.ingest.casting import MISSING, shown
from assay.tasks.ingest.classes import MOST_CLASSES

Marks = npt.NDArray[np.int8]  # [n, k]: 1 has the class, 0 has it not, -1 unknown
Whole = npt.NDArray[np.int64]


@dataclass(frozen=True)
class LabelColumns:
    """Where a sample's labels stand: a column per class, one column of names, or one column of marks per class."""

    names: tuple[str, ...]
    kind: Literal["columns", "names", "marks"]


@dataclass(frozen=True)
class Labelled:
    """The marks of each row, and for each row with a label that is none: its position, the reason, the column."""

    marks: Marks
    faults: tuple[tuple[int, str, str], ...] = ()


def label_columns(names: tuple[str, ...], types: pa.Schema, file: str) -> LabelColumns:
    """How these columns say labels, by their types."""
    dtype = types.field(names[0]).type
    if len(names) == 1 and (pa.types.is_string(dtype) or _is_list_of(dtype, pa.types.is_string)):
        return LabelColumns(names, "names")
    if len(names) == 1 and (_is_list_of(dtype, pa.types.is_integer) or _is_list_of(dtype, pa.types.is_boolean)):
        return LabelColumns(names, "marks")
    if len(names) == 1:
        raise InputError(
            f"{file} has {dtype} in column {names[0]!r}, the only one of `labels`; a list of names is expected there, "
            "or several columns. Say `label` where a sample has one class."
        )
    for name in names:
        kind = types.field(name).type
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
            raise InputError(
                f"{file} has {kind} in column {name!r} of `labels`; 1, 0 and -1 (unknown) are expected there."
            )
    return LabelColumns(names, "columns")


def _is_list_of(given: pa.DataType, test: Callable[[pa.DataType], bool]) -> bool:
    lists = pa.types.is_list(given) or pa.types.is_large_list(given) or pa.types.is_fixed_size_list(given)
    return bool(lists and test(given.value_type))


def named_labels(column: pa.Array) -> frozenset[str]:
    """All names that a column of lists, or of text with bars between names, holds."""
    return frozenset(name for name in _name_lists(column).flatten().unique().drop_null().to_pylist() if name)


def settle_labels(
    columns: LabelColumns, given: tuple[str, ...] | None, names: frozenset[str], source: str
) -> tuple[str, ...]:
    """The classes in order: as given, else the columns' names, else the names found, sorted.

    >>> settle_labels(LabelColumns(("findings",), "names"), None, frozenset({"oedema", "effusion"}), "a.csv")
    ('effusion', 'oedema')
    """
    if columns.kind == "columns":
        if given is not None and len(given) != len(columns.names):
            raise InputError(f"{source} has {len(columns.names)} columns of labels and {len(given)} `classes`.")
        return given or columns.names
    if given is not None:
        return given
    if columns.kind == "marks":
        raise InputError(f"The labels of {source} are lists of 1, 0 and -1; give `classes`, their names in order.")
    if not 2 <= len(names) <= MOST_CLASSES:
        raise InputError(
            f"The labels of {source} have {len(names)} different names, and 2 to {MOST_CLASSES} are expected; give "
            "`classes` to say what there can be."
        )
    return tuple(sorted(names))


def marked(columns: LabelColumns, arrays: list[pa.Array], classes: tuple[str, ...]) -> Labelled:
    """The marks of all rows.

    >>> marked(LabelColumns(("f",), "names"), [pa.array(["b|a", "", "c"])], ("a", "b")).marks.tolist()
    [[1, 1], [-1, -1], [-1, -1]]
    """
    if columns.kind == "columns":
        return _of_columns(columns.names, arrays)
    return (
        _of_names(columns.names[0], arrays[0], classes)
        if columns.kind == "names"
        else _of_marks(columns.names[0], arrays[0], len(classes))
    )


def marks_column(marks: Marks) -> pa.Array:
    """Marks as a column of lists."""
    n, classes = marks.shape
    offsets = pa.array(np.arange(n + 1, dtype=np.int32) * classes)
    return pa.ListArray.from_arrays(offsets, pa.array(np.ascontiguousarray(marks).ravel(), pa.int8()))


def _of_columns(names: tuple[str, ...], arrays: list[pa.Array]) -> Labelled:
    marks = np.full((len(arrays[0]), len(names)), -1, np.int8)
    faults: list[tuple[int, str, str]] = []
    for at, (name, array) in enumerate(zip(names, arrays, strict=True)):
        values = pc.fill_null(array.cast(pa.float64()), -1.0).to_numpy(zero_copy_only=False)
        values = np.where(np.isnan(values), -1.0, values)
        good = np.isin(values, (-1.0, 0.0, 1.0))
        marks[good, at] = values[good]
        faults += [(int(row), _mark_reason(array[int(row)].as_py()), name) for row in np.flatnonzero(~good)]
    return Labelled(marks, tuple(faults))


def _of_names(name: str, array: pa.Array, classes: tuple[str, ...]) -> Labelled:
    lists = _name_lists(array)
    marks = np.where(lists.is_valid().to_numpy(zero_copy_only=False)[:, None], 0, -1).astype(np.int8)
    marks = np.broadcast_to(marks, (len(array), len(classes))).copy()
    rows = pc.list_parent_indices(lists).to_numpy(zero_copy_only=False)
    given = lists.flatten()
    codes = pc.index_in(given, value_set=pa.array(classes, pa.string()))
    known = codes.is_valid().to_numpy(zero_copy_only=False)
    marks[rows[known], codes.drop_null().to_numpy()] = 1
    unknown = np.flatnonzero(~known & pc.fill_null(pc.not_equal(given, ""), False).to_numpy(zero_copy_only=False))
    marks[rows[unknown]] = -1
    listed = ", ".join(classes[:10]) + (", ..." if len(classes) > 10 else "")
    faults = ((int(rows[i]), f"label {shown(given[int(i)].as_py())} is none of {listed}", name) for i in unknown)
    return Labelled(marks, tuple(faults))


def _of_marks(name: str, array: pa.Array, classes: int) -> Labelled:
    marks = np.full((len(array), classes), -1, np.int8)
    faults: list[tuple[int, str, str]] = []
    for row, values in enumerate(array.to_pylist()):
        if values is None:
            continue
        if len(values) != classes:
            faults.append((row, f"{len(values)} labels where there are {classes} classes", name))
            continue
        numbers = [-1 if value is None else int(value) for value in values]
        strange = [value for value in numbers if value not in (-1, 0, 1)]
        if strange:
            faults.append((row, _mark_reason(strange[0]), name))
        else:
            marks[row] = numbers
    return Labelled(marks, tuple(faults))


def _mark_reason(value: object) -> str:
    return f"label {shown(value)} is none of 1, 0 and -1 (unknown)"


def _name_lists(column: pa.Array) -> pa.Array:
    """Lists of trimmed names; text is cut at its bars, and a cell that looks like nothing is unknown."""
    if pa.types.is_string(column.type):
        text = pc.utf8_trim_whitespace(column)
        missing = pc.is_in(text, value_set=pa.array(MISSING, pa.string()))
        column = pc.split_pattern(pc.if_else(missing, pa.scalar(None, pa.string()), text), "|")
    lists = column.cast(pa.list_(pa.string()))
    trimmed = pc.utf8_trim_whitespace(lists.flatten())
    lengths = pc.fill_null(pc.list_value_length(lists), 0).to_numpy(zero_copy_only=False)
    offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32))
    return pa.ListArray.from_arrays(offsets, trimmed, mask=pc.is_null(lists))
