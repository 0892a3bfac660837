"""What goes into a model and what comes out: features as a matrix, gold classes as codes, predictions as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from assay.data.schemas import Predictions
from assay.infra.errors import InputError, RunError, first_named
from assay.tasks.statistics.classification import Groups, Truth
from assay.tasks.statistics.classification_findings import About, clean_findings
from assay.tasks.statistics.findings import Finding

RESERVED = ("id", "gold")  # never features: one names the sample, the other is the answer
Matrix = npt.NDArray[np.float64]  # [n, d]


def is_numeric(dtype: pa.DataType) -> bool:
    """Whether a column of this type can stand in a matrix: whole numbers, floats, decimals, and yes/no as 1/0."""
    tests = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_boolean)
    return any(test(dtype) for test in tests)


def require_number(dtype: pa.DataType, column: str) -> None:
    """Raises unless a column of this type holds numbers."""
    if not is_numeric(dtype) or pa.types.is_boolean(dtype):
        raise InputError(f"The column {column!r} holds {dtype}, and a regression is of numbers: name another one.")


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
    require_numbers(schema, wanted, "The subject")
    return list(wanted)


def require_numbers(schema: pa.Schema, features: Sequence[str], who: str) -> None:
    """Raises unless all these columns exist, may be seen by a model, and hold numbers."""
    for name in features:
        require_feature(schema, name)
        if not is_numeric(schema.field(name).type):
            raise InputError(
                f"{who} takes numbers, and the feature {name!r} holds {schema.field(name).type}: leave it out of "
                "`features`, or declare it a number under the source's `columns`."
            )


def require_feature(schema: pa.Schema, name: str) -> None:
    """Raises unless the column exists and may be seen by a model."""
    if name in RESERVED:
        raise InputError(
            f"The column {name!r} cannot be a feature: it is the sample's {'name' if name == 'id' else 'answer'}."
        )
    if name not in schema.names:
        raise InputError(f"The samples have no feature {name!r}: their columns are {_listed(schema.names)}.")


LARGEST = float(np.finfo(np.float32).max)


def feature_matrix(table: pa.Table, features: Sequence[str]) -> Matrix:
    """The features of every row as float64 [n, d]; NaN where a value is missing, an error where one is infinite, or so
    large that single precision, or the square of it, is."""
    matrix = np.empty((table.num_rows, len(features)))
    for position, name in enumerate(features):
        column = table[name].combine_chunks()
        if pa.types.is_boolean(column.type):
            column = column.cast(pa.uint8())
        matrix[:, position] = pc.fill_null(column.cast(pa.float64(), safe=False), np.nan).to_numpy(zero_copy_only=False)
    for row, position in np.argwhere(np.abs(matrix) > LARGEST)[:1]:
        value = matrix[row, position]
        raise InputError(
            f"The feature {features[position]!r} of sample {table['id'][int(row)].as_py()!r} is "
            f"{'infinite' if np.isinf(value) else f'{value:g}'}; "
            f"the subject needs numbers within ±{LARGEST:.1e}, or missing ones: mend it, or leave it out of `features`."
        )
    return matrix


def _listed(names: Sequence[str]) -> str:
    return first_named([name for name in names if name not in RESERVED], 12) or "only id and gold"


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
    require_numbers(table.schema, features, who)
    return feature_matrix(table, features)


@dataclass(frozen=True)
class NamedAnswers:
    """Probabilities [n, k], a column for each of these classes: by name, or by code."""

    classes: tuple[Any, ...]
    values: npt.NDArray[Any]


@dataclass(frozen=True)
class LabelledAnswers:
    """Probabilities [n, k] whose columns have no names, beside the class that the model names for each row [n]."""

    labels: npt.NDArray[Any]
    values: npt.NDArray[Any]

    def named(self, classes: Sequence[str]) -> NamedAnswers:
        """The columns named as the audit orders its classes, or sorted, as scikit-learn does: in whichever order the
        likeliest class is the one that is named more often.

        >>> answers = LabelledAnswers(np.array(["ham"]), np.array([[0.9, 0.1]]))
        >>> answers.named(["spam", "ham"]).classes
        ('ham', 'spam')
        """
        orders, most = (list(classes), sorted(classes)), self.values.argmax(axis=1)
        hits = [int((np.array(order)[most] == self.labels).sum()) for order in orders]
        return NamedAnswers(tuple(orders[hits.index(max(hits))]), self.values)


def in_the_order_of(classes: Sequence[str], answers: object, who: str) -> object:
    """The answers as the audit orders its classes; those whose columns are not named after them, as they come.

    >>> import numpy as np
    >>> in_the_order_of(["ham", "spam"], NamedAnswers(("spam", "ham"), np.array([[0.1, 0.9]])), "It").tolist()
    [[0.9, 0.1]]
    >>> in_the_order_of(["ham", "spam"], NamedAnswers((False, True), np.array([[0.1, 0.9]])), "It").tolist()
    [[0.1, 0.9]]
    """
    if isinstance(answers, LabelledAnswers):
        answers = answers.named(classes) if answers.values.shape[1:] == (len(classes),) else answers.values
    if not isinstance(answers, NamedAnswers):
        listed = list(getattr(answers, "column_names", getattr(answers, "columns", ())))  # of a table, of a data frame
        if listed == list(range(len(listed))) or all(_place(name, classes) is None for name in listed):
            return answers
        answers = NamedAnswers(tuple(listed), np.asarray(answers))
    for names in (classes, [str(code) for code in range(len(classes))]):
        places = [_place(name, names) for name in answers.classes]
        if len(places) == len(classes) and set(places) == set(range(len(classes))):
            return answers.values[:, [places.index(code) for code in range(len(classes))]]
    named = [str(name) for name in answers.classes]
    raise InputError(
        f"{who} tells apart {', '.join(named)}, and the classes of the samples are {', '.join(classes)}: name them "
        "alike, with source.classes or when the model is trained."
    )


def codes_known(samples: pa.Table, classes: Sequence[str]) -> npt.NDArray[np.int64]:
    """The class code of every sample, −1 where it is unknown.

    >>> codes_known(pa.table({"id": ["a", "b"], "gold": [1, None]}), ["no", "yes"]).tolist()
    [1, -1]
    """
    codes: npt.NDArray[np.int64] = pc.fill_null(samples["gold"], -1).to_numpy().astype(np.int64)
    wrong = np.flatnonzero((codes < -1) | (codes >= len(classes)))
    if len(wrong):
        raise InputError(
            f"Sample {samples['id'][int(wrong[0])].as_py()!r} has the class code {codes[wrong[0]]}, expected 0 to "
            f"{len(classes) - 1} ({', '.join(classes)})."
        )
    return codes


THRESHOLD = 0.5
"""From this probability on, a label counts as said."""
SUM_TOLERANCE = 1e-3
"""How far from 1 the probabilities of a row may add up: half precision is that coarse."""
ROUNDING = 1e-4
"""How far outside 0 to 1 a probability may come out where it is added up in single precision, as of many trees."""


def predictions_table(ids: pa.ChunkedArray, probabilities: Matrix, *, chances: bool = True) -> pa.Table:
    """Predictions from probabilities [n, k]: the most probable class (the lower code of equals), and all of them, but
    where they are no chances."""
    n, classes = probabilities.shape
    offsets = np.arange(0, (n + 1) * classes, classes, dtype=np.int32) if n else np.zeros(1, np.int32)
    listed = pa.ListArray.from_arrays(pa.array(offsets), pa.array(probabilities.ravel()))
    if not chances:
        listed = pa.nulls(n, listed.type)
    predicted = pa.array(answered_classes(probabilities).astype(np.int16))
    return pa.table([ids, predicted, listed], schema=Predictions.schema)


def answered_classes(probabilities: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """The most probable class of each row of [n, k], the lower code of equals; k, which is no class and so never right,
    where no class has any chance: an answer in words that names none.

    >>> answered_classes(np.array([[0.2, 0.8], [0.0, 0.0]])).tolist()
    [1, 2]
    """
    most = probabilities.argmax(axis=-1)
    return np.asarray(np.where(probabilities.any(axis=-1), most, probabilities.shape[-1]), dtype=np.int64)


def truth_in_words(row: Mapping[str, Any], classes: Sequence[str]) -> str:
    """What a sample is, by its `gold` class or its `labels`.

    >>> truth_in_words({"labels": None, "gold": 1}, ["cat", "dog"]), truth_in_words({"labels": [0, 1]}, ["cat", "dog"])
    ('is dog', 'is dog')
    """
    if row["labels"] is not None:
        there = [name for name, label in zip(classes, row["labels"], strict=True) if label == 1]
        return f"is {', '.join(there)}" if there else "is none of them"
    return "class unknown" if row["gold"] is None else f"is {classes[row['gold']]}"


def class_label(code: int, classes: Sequence[str]) -> str:
    """The name of a class; of an answer that names none, that.

    >>> class_label(1, ["ham", "spam"]), class_label(2, ["ham", "spam"])
    ('spam', 'no class')
    """
    return classes[code] if code < len(classes) else "no class"


def probabilities_of(predictions: pa.Table, classes: int, column: str = "probabilities") -> Matrix:
    """The probability of every class in a table of predictions [n, k]; they all have to be there."""
    flat = predictions[column].combine_chunks().flatten().to_numpy(zero_copy_only=False)
    return np.asarray(flat, dtype=np.float64).reshape(predictions.num_rows, classes)


def require_same_samples(predictions: pa.Table, samples: pa.Table, name: str) -> None:
    """Raises unless the predictions are of these samples, in their order."""
    if not predictions["id"].equals(samples["id"]):
        raise RunError(
            f"The predictions of {name} are not those of these samples, row by row: partitions of them failed and were "
            "let go (compute.quarantine), or they are of other samples; run again, with --fresh if nothing failed."
        )


def answers_in(predictions: pa.Table, classes: Sequence[str], several: bool) -> npt.NDArray[Any]:
    """What a table of predictions answers: classes [n], or which of several labels hold [n, k]."""
    if several:
        return np.asarray(probabilities_of(predictions, len(classes)) >= THRESHOLD)
    return np.asarray(predictions["predicted"].to_numpy(), dtype=np.int64)


def answer_findings(
    predictions: pa.Table, samples: pa.Table, truth: Truth, classes: Sequence[str], name: str, groups: Groups = None
) -> list[Finding]:
    """How good a subject is on samples as they are, whose `truth` is known or not, and whether it says more than one
    thing; of answers without probabilities neither AUC nor calibration."""
    require_same_samples(predictions, samples, name)
    answers, about = answers_in(predictions, classes, truth.ndim == 2), About("subject", "clean", subject=name)
    probabilities = None if predictions["probabilities"].null_count else probabilities_of(predictions, len(classes))
    return clean_findings(about, answers, probabilities, truth, classes, groups)


def as_numbers(output: object, who: str, expected: str) -> npt.NDArray[np.float64]:
    """What a model returned as numbers, or the sentence for what is none."""
    detach = getattr(output, "detach", None)  # a tensor, perhaps with a gradient or on a GPU
    try:
        return np.asarray(output if detach is None else detach().cpu(), dtype=np.float64)
    except (TypeError, ValueError) as fault:
        raise InputError(f"{who} returned {type(output).__name__}, expected {expected}.") from fault


_OF_ONE = " Of two classes give both; what predicts a number is a function with `predicts` (docs/regression.md)."


def checked_probabilities(output: object, ids: Sequence[str], classes: Sequence[str], who: str) -> Matrix:
    """What a model returned for these samples as float64 [n, k], or an error that says what it should have returned."""
    expected = f"one row per sample with the probability of each of the {len(classes)} classes ({', '.join(classes)})"
    values = as_numbers(in_the_order_of(classes, output, who), who, expected)
    if values.shape != (len(ids), len(classes)):
        more = _OF_ONE if values.shape in ((len(ids),), (len(ids), 1)) else ""
        shape = f"the shape {list(values.shape)} for {len(ids)} samples"
        raise InputError(f"{who} returned {shape}, expected {expected}.{more}")
    right = (values >= -ROUNDING).all(axis=1) & (np.abs(values.sum(axis=1) - 1) <= SUM_TOLERANCE)  # no NaN is
    if not right.all():
        first = int(right.argmin())
        raise InputError(
            f"{who} returned {values[first].tolist()} for sample {ids[first]!r}: expected probabilities, finite, "
            "none below 0 and together 1."
        )
    return np.maximum(values, 0)


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
    names, labels = (classes, _unambiguous_codes(classes)), encoded.dictionary.to_pylist()
    table = [next((at for each in names if (at := _place(label, each)) is not None), None) for label in labels]
    indices = encoded.indices.to_numpy(zero_copy_only=False)
    if encoded.null_count:
        first = int(encoded.is_null().to_numpy(zero_copy_only=False).argmax())
        raise InputError(
            f"Sample {ids[first].as_py()!r} has no prediction in the column {column!r}: list it under the source's "
            "`required`, which rejects rows without one, or fill it in before."
        )
    bad = [position for position, code in enumerate(table) if code is None]
    if bad:
        row = int(np.flatnonzero(np.isin(indices, bad))[0])
        code = f" or a code from 0 to {len(classes) - 1}" if _unambiguous_codes(classes) else ""
        raise InputError(
            f"Sample {ids[row].as_py()!r} has the prediction {values[row].as_py()!r} in the column {column!r}, "
            f"expected one of {', '.join(classes)}{code}."
        )
    return np.asarray(table, dtype=np.int16)[indices] if table else np.zeros(0, dtype=np.int16)


def require_codes(dtype: pa.DataType, column: str) -> None:
    """Nothing, or the sentence for a column that holds something else than the name or the code of a class.

    >>> require_codes(pa.string(), "said")
    """
    plain = dtype.value_type if pa.types.is_dictionary(dtype) else dtype
    named = pa.types.is_string(plain) or pa.types.is_large_string(plain) or pa.types.is_null(plain)
    if not named and (not is_numeric(plain) or pa.types.is_decimal(plain)):
        raise InputError(
            f"The column {column!r} holds {dtype}, and a prediction is the name or the code of one class; write that "
            "into a column of its own."
        )


def _place(label: object, names: Sequence[str]) -> int | None:
    """Which of the names a label is; yes and no are true and false, or 1 and 0.

    >>> _place("spam ", ["ham", "spam"]), _place(1.0, ["0", "1"]), _place(True, ["0", "1"]), _place(2, ["0", "1"])
    (1, 1, 1, None)
    """
    if isinstance(label, bool):
        word = str(label).lower()
        label = word if word in names or len(names) != 2 else int(label)
    text = str(int(label) if isinstance(label, float) and label.is_integer() else label).strip()
    text = str(int(text)) if text.isdecimal() and text not in names else text
    return list(names).index(text) if text in names else None


def _unambiguous_codes(classes: Sequence[str]) -> list[str]:
    """The codes, where they can be told from the names of classes: of the classes 1, 2 and 3, those from 0 to 2 cannot.

    >>> _unambiguous_codes(["ham", "spam"]), _unambiguous_codes(["1", "2", "3"])
    (['0', '1'], [])
    """
    codes = [str(code) for code in range(len(classes))]
    return codes if set(codes).isdisjoint(classes) else []
