"""Gold labels and the classes they name: which classes there are, and each label's code."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from assay.infra.errors import InputError
from assay.tasks.ingest.casting import MISSING, shown

MOST_CLASSES = 1000
"""A label with more distinct values than this is a measurement, not a class."""

FEW = 20
"""With fewer samples nothing is concluded from how often a class stands there."""

Found = dict[str, frozenset[str]]


@dataclass(frozen=True)
class Coded:
    """Class codes (null where unlabelled) and, for each row that has no valid label, the label as it was given."""

    codes: pa.Array
    bad: NDArray[np.int64]
    values: tuple[object, ...]


def gold_names(column: pa.Array) -> frozenset[str]:
    """The distinct labels of a column as text, missing ones left out; whole numbers without a sign or a point."""
    text = _as_text(column)
    return frozenset(text.unique().drop_null().to_pylist())


def settle_classes(
    given: tuple[str, ...] | None, values: frozenset[str], numeric: bool, top_vote: int | None, source: str
) -> tuple[str, ...]:
    """The classes by name, in the order of their codes: as given, else whole numbers 0 to the largest, else sorted.

    >>> settle_classes(None, frozenset({"ham", "spam"}), False, None, "a.csv"), settle_classes(
    ...     None, frozenset({"0", "2"}), True, None, "a.csv")
    (('ham', 'spam'), ('0', '1', '2'))
    """
    if given is not None:
        return given
    numbers = [int(value) for value in values if _is_number(value)]
    if values and (not numeric or len(numbers) < len(values)) and values != {"true", "false"}:
        if top_vote is not None:
            raise InputError(f"The gold labels of {source} are names and its votes are codes; give `classes` in order.")
        if len(values) > MOST_CLASSES:
            raise InputError(f"The label of {source} has {len(values)} different values, too many for classes.")
        return _at_least_two(sorted(values), source)
    if values == {"true", "false"}:
        return ("false", "true")
    top = max([*numbers, -1 if top_vote is None else top_vote])
    if top < 0:
        raise InputError(
            f"{source} has no gold labels to read the classes off; give `classes` in the source (or say which column "
            "has the `tags` or the `score`, if that is what is true of a sample)."
        )
    if top >= MOST_CLASSES:
        raise InputError(f"The largest class of {source} is {top}; classes are 0, 1, ... below {MOST_CLASSES}.")
    return tuple(str(code) for code in range(max(top + 1, 2)))


def require_repeated(names: Collection[str], rows: int, source: str) -> None:
    """Nothing, or the sentence for labels that are names of samples rather than classes: most stand there once.

    >>> require_repeated({"a", "b"}, 3, "a.csv")
    """
    if rows >= FEW and len(names) > rows / 2:
        shown_names = ", ".join(sorted(names)[:3])
        raise InputError(
            f"{source} has {len(names)} different classes ({shown_names}, …) for {rows} samples: these are names of "
            "samples, or measurements, not classes. Name the column, or the folder, that says what a sample is."
        )


def gold_codes(column: pa.Array, classes: tuple[str, ...]) -> Coded:
    """The code of every label: the position of its name among the classes, or the code itself where names are words.

    >>> coded = gold_codes(pa.array(["ham", "", "eggs"]), ("ham", "spam"))
    >>> coded.codes.to_pylist(), coded.bad.tolist(), coded.values
    ([0, None, None], [2], ('eggs',))
    """
    text = _as_text(column, classes)
    codes = pc.index_in(text, value_set=pa.array(classes, pa.string()))
    if not any(_is_number(name) for name in classes):
        digits = pa.array([str(code) for code in range(len(classes))], pa.string())
        codes = pc.coalesce(codes, pc.index_in(text, value_set=digits))
    bad = np.flatnonzero(pc.and_(pc.is_valid(text), pc.is_null(codes)).to_numpy(zero_copy_only=False))
    return Coded(codes.cast(pa.int16()), bad.astype(np.int64), tuple(text.take(pa.array(bad)).to_pylist()))


def not_a_class(value: object, classes: tuple[str, ...]) -> str:
    """The reason of a label that is none of the classes."""
    names = ", ".join(classes[:10]) + (", ..." if len(classes) > 10 else "")
    return f"gold label {shown(value)} is none of the classes {names}"


def _as_text(column: pa.Array, classes: tuple[str, ...] = ()) -> pa.Array:
    """Labels as text, null where missing: null, NaN, -1 among whole numbers, the usual words for nothing in text."""
    if pa.types.is_boolean(column.type):
        return column.cast(pa.string())
    if pa.types.is_floating(column.type):
        values = column.to_numpy(zero_copy_only=False).astype(np.float64)
        whole = np.isfinite(values) & (values == np.floor(values)) & (np.abs(values) < 2**53)
        numbers = pa.array(np.where(whole, values, 0).astype(np.int64), mask=~whole)
        others = pa.array(values, mask=np.isnan(values), from_pandas=True).cast(pa.string())
        return pc.if_else(
            pc.fill_null(pc.equal(numbers, -1), False), None, pc.coalesce(numbers.cast(pa.string()), others)
        )
    if pa.types.is_integer(column.type):
        codes = column.cast(pa.string())
        return pc.if_else(pc.equal(codes, "-1"), None, codes)
    text = pc.utf8_trim_whitespace(column)
    missing = pa.array([word for word in MISSING if word not in classes], pa.string())
    return pc.if_else(pc.is_in(text, value_set=missing), pa.scalar(None, pa.string()), text)


def _is_number(value: str) -> bool:
    return value.isascii() and value.isdigit()


def _at_least_two(names: list[str], source: str) -> tuple[str, ...]:
    if len(names) < 2:
        raise InputError(
            f"All gold labels of {source} are {names[0]!r}; give `classes` to say what else there could be."
        )
    return tuple(names)
