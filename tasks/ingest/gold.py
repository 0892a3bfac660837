"""Gold of every kind, checked and coded: one class per sample, several classes, a tag per word, a score."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from assay.data.schemas import WORDS
from assay.infra.errors import InputError
from assay.infra.stages.exact import Greatest
from assay.tasks.ingest.iob import IOB2, TagError, as_iob2, letters_of
from assay.tasks.ingest.reader_choice import LabelColumns
from assay.tasks.ingest.rows import MISSING, is_list, shown

MOST_CLASSES = 1000
"""A label with more distinct values than this is a measurement, not a class."""

FEW = 20
"""With fewer samples nothing is concluded from how often a class stands there."""

Faults = list[tuple[int, str]]
"""The positions of the rows whose truth is none, each with the reason."""


def gold_names(column: pa.Array) -> frozenset[str]:
    """The distinct labels of a column as text, missing ones left out; whole numbers without a sign or a point."""
    return frozenset(_as_text(column).unique().drop_null().to_pylist())


def settle_classes(values: frozenset[str], numeric: bool, top_vote: int | None, source: str) -> tuple[str, ...]:
    """The classes that labels and votes show, in the order of their codes: whole numbers 0 to the largest, else sorted.

    >>> settle_classes(frozenset({"ham", "spam"}), False, None, "a.csv"), settle_classes(
    ...     frozenset({"0", "2"}), True, None, "a.csv")
    (('ham', 'spam'), ('0', '1', '2'))
    """
    numbers = [int(value) for value in values if _is_number(value)]
    if values and (not numeric or len(numbers) < len(values)) and values != {"true", "false"}:
        if top_vote is not None:
            raise InputError(f"The gold labels of {source} are names and its votes are codes; give `classes` in order.")
        if len(values) > MOST_CLASSES:
            raise InputError(f"The label of {source} has {len(values)} different values, too many for classes.")
        if len(values) < 2:
            raise InputError(
                f"All gold labels of {source} are {min(values)!r}; give `classes` to say what else there could be."
            )
        return tuple(sorted(values))
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


def gold_codes(column: pa.Array, classes: tuple[str, ...]) -> tuple[pa.Array, Faults]:
    """The code of every label (null where unlabelled), and the labels that are no class.

    A code is the position of a name among the classes, or the code itself where names are words.

    >>> codes, faults = gold_codes(pa.array(["ham", "", "eggs"]), ("ham", "spam"))
    >>> codes.to_pylist(), faults
    ([0, None, None], [(2, "gold label 'eggs' is none of the classes ham, spam")])
    """
    text = _as_text(column, classes)
    codes = pc.index_in(text, value_set=pa.array(classes, pa.string()))
    if not any(_is_number(name) for name in classes):
        digits = pa.array([str(code) for code in range(len(classes))], pa.string())
        codes = pc.coalesce(codes, pc.index_in(text, value_set=digits))
    bad = np.flatnonzero(pc.and_(pc.is_valid(text), pc.is_null(codes)).to_numpy(zero_copy_only=False))
    names = listed(classes)
    labels = zip(bad.tolist(), text.take(pa.array(bad)).to_pylist(), strict=True)
    faults = [(at, f"gold label {shown(label)} is none of the classes {names}") for at, label in labels]
    return codes.cast(pa.int16()), faults


def listed(classes: Sequence[str]) -> str:
    """The first ten classes, as a reason names them."""
    return ", ".join(classes[:10]) + (", ..." if len(classes) > 10 else "")


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


Marks = npt.NDArray[np.int8]  # [n, k]: 1 has the class, 0 has it not, -1 unknown


Labelled = tuple[Marks, list[tuple[int, str, str]]]
"""The marks of each row, and for each row with a label that is none: its position, the reason, the column."""


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
    return is_list(given) and test(given.value_type)


def named_labels(column: pa.Array) -> frozenset[str]:
    """All names that a column of lists, or of text with bars between names, holds."""
    return frozenset(name for name in _name_lists(column).flatten().unique().drop_null().to_pylist() if name)


def classes_of_columns(columns: LabelColumns, given: tuple[str, ...] | None, source: str) -> tuple[str, ...]:
    """The classes that marks are of, in order: as given, else the names of the columns, if there is one per class.

    >>> classes_of_columns(LabelColumns(("effusion", "oedema"), "columns"), None, "a.csv")
    ('effusion', 'oedema')
    """
    if columns.kind == "columns":
        if given is not None and len(given) != len(columns.names):
            raise InputError(f"{source} has {len(columns.names)} columns of labels and {len(given)} `classes`.")
        return given or columns.names
    if given is None:
        raise InputError(f"The labels of {source} are lists of 1, 0 and -1; give `classes`, their names in order.")
    return given


def classes_of_lists(names: frozenset[str], source: str) -> tuple[str, ...]:
    """The classes that lists of names hold, sorted.

    >>> classes_of_lists(frozenset({"oedema", "effusion"}), "a.csv")
    ('effusion', 'oedema')
    """
    if not 2 <= len(names) <= MOST_CLASSES:
        raise InputError(
            f"The labels of {source} have {len(names)} different names, and 2 to {MOST_CLASSES} are expected; give "
            "`classes` to say what there can be."
        )
    return tuple(sorted(names))


def marked(columns: LabelColumns, arrays: list[pa.Array], classes: tuple[str, ...]) -> Labelled:
    """The marks of all rows.

    >>> marked(LabelColumns(("f",), "names"), [pa.array(["b|a", "", "c"])], ("a", "b"))[0].tolist()
    [[1, 1], [-1, -1], [-1, -1]]
    """
    match columns.kind:
        case "columns":
            return _of_columns(columns.names, arrays)
        case "names":
            return _of_names(columns.names[0], arrays[0], classes)
        case "marks":
            return _of_marks(columns.names[0], arrays[0], len(classes))


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
    return marks, faults


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
    names = listed(classes)
    faults = [(int(rows[i]), f"label {shown(given[int(i)].as_py())} is none of {names}", name) for i in unknown]
    return marks, faults


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
    return marks, faults


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


LONG = 1000
"""A sentence of more words is rather a document of which the ends of sentences are lost; models cut it."""


def checked_tags(tokens: pa.Array, tags: pa.Array) -> tuple[pa.Array, Faults]:
    """The tags in IOB2, and the reason of each row that has none that fit its words.

    >>> words = pa.array([["a", "drug"], ["a"]])
    >>> checked_tags(words, pa.array([["O", "S-Drug"], ["I-Drug"]]))[1]
    [(1, "tag 1: 'I-Drug' goes on from the beginning of the sentence: an entity begins with 'B-Drug'")]
    """
    checked: list[list[str] | None] = []
    faults: Faults = []
    for position, (words, given) in enumerate(zip(tokens.to_pylist(), tags.to_pylist(), strict=True)):
        checked.append(None)
        if words is None or None in words:
            faults.append((position, "a word is missing"))
        elif given is None:
            continue
        elif None in given or len(given) != len(words):
            there = sum(tag is not None for tag in given)
            faults.append((position, f"{there} tags for {len(words)} words, and every word has one"))
        else:
            try:
                checked[-1] = as_iob2(letters_of(given), IOB2)
            except TagError as fault:
                faults.append((position, f"tag {fault.place + 1}: {fault}"))
    return pa.array(checked, WORDS), faults


def long_sentences(samples: pa.Table, *, tokens: str) -> dict[str, object]:
    """How many sentences of a partition have more than `LONG` words, and the longest of them with its id."""
    lengths = pc.fill_null(pc.list_value_length(samples[tokens]), 0).to_numpy()
    long = [(int(lengths[place]), samples["id"][int(place)].as_py()) for place in np.flatnonzero(lengths > LONG)]
    return {"long": len(long), **({"longest": Greatest(max(long))} if long else {})}


def checked_scores(scores: pa.Array) -> tuple[pa.Array, Faults]:
    """The scores as numbers, null where there is none, and those that are infinite or too large to be squared.

    >>> checked_scores(pa.array([1.5, float("nan"), None]))[0].to_pylist()
    [1.5, None, None]
    """
    values = scores.cast(pa.float64(), safe=False)  # above 2⁵³ to the nearest number there is
    values = pc.if_else(pc.is_nan(values), pa.scalar(None, pa.float64()), values)
    sizes = pc.fill_null(pc.abs(values), 0.0).to_numpy(zero_copy_only=False)
    wrong = np.flatnonzero(sizes > np.finfo(np.float32).max).tolist()
    return values, [(at, "an infinite score" if np.isinf(sizes[at]) else "a score beyond ±3.4e+38") for at in wrong]
