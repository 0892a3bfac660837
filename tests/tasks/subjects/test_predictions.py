from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch

from assay.data.schemas import Predictions
from assay.infra.errors import InputError
from assay.tasks.subjects.predictions import (
    NamedAnswers,
    checked_probabilities,
    given_predictions,
    in_the_order_of,
    predictions_table,
)

CLASSES = ["ham", "spam", "scam"]


def given(values: pa.Array) -> list[int]:
    table = pa.table({"id": [f"s{i}" for i in range(len(values))], "said": values})
    result = given_predictions(table, "said", CLASSES)
    assert result.schema == Predictions.schema
    assert result["probabilities"].null_count == len(values)
    return result["predicted"].to_pylist()


@pytest.mark.parametrize(
    "values",
    [
        pa.array(["spam", "ham", "scam", "spam"]),
        pa.array([1, 0, 2, 1]),
        pa.array([1.0, 0.0, 2.0, 1.0]),
        pa.array(["1", "0", "scam", "1"]),
        pa.array([1, 0, 2, 1], pa.uint8()),
        pa.array(["spam", "ham", "scam", "spam"]).dictionary_encode(),
    ],
    ids=str,
)
def test_names_and_codes_mean_the_same(values: pa.Array) -> None:
    assert given(values) == [1, 0, 2, 1]


def test_a_class_name_that_looks_like_a_code_is_a_name() -> None:
    table = pa.table({"id": ["a", "b"], "said": [1, 0]})
    assert given_predictions(table, "said", ["1", "0"])["predicted"].to_pylist() == [0, 1]


def test_yes_and_no_are_codes_of_two_classes() -> None:
    table = pa.table({"id": ["a", "b"], "said": [True, False]})
    assert given_predictions(table, "said", ["ill", "well"])["predicted"].to_pylist() == [1, 0]
    assert given_predictions(table, "said", ["0", "1"])["predicted"].to_pylist() == [1, 0]
    assert given_predictions(table, "said", ["1", "0"])["predicted"].to_pylist() == [0, 1]


def test_codes_of_classes_that_are_numbers_themselves_are_refused() -> None:
    table = pa.table({"id": ["a", "b", "c"], "said": [0, 1, 2]})
    with pytest.raises(InputError, match=r"Sample 'a' has the prediction 0 .* expected one of 1, 2, 3\.$"):
        given_predictions(table, "said", ["1", "2", "3"])
    assert given_predictions(table[1:], "said", ["1", "2", "3"])["predicted"].to_pylist() == [0, 1]
    assert given_predictions(table[:2], "said", ["10", "20"])["predicted"].to_pylist() == [0, 1]


@pytest.mark.parametrize(
    ("values", "said"),
    [
        (
            pa.array(["ham", "eggs"]),
            r"Sample 's1' has the prediction 'eggs' in the column 'said', expected one of ham,",
        ),
        (pa.array([0, 3]), r"Sample 's1' has the prediction 3 .* from 0 to 2"),
        (pa.array([0, -1]), "prediction -1"),
        (pa.array([0.5, 1.0]), r"Sample 's0' has the prediction 0\.5"),
        (pa.array(["ham", None]), "Sample 's1' has no prediction in the column 'said': list it under .* `required`"),
        (pa.array([1.0, float("nan")]), "prediction nan"),
    ],
)
def test_what_is_no_class_is_refused_with_sample_and_value(values: pa.Array, said: str) -> None:
    with pytest.raises(InputError, match=said):
        given(values)


def test_a_missing_column_is_refused_with_those_that_exist() -> None:
    with pytest.raises(InputError, match="no column 'sayd' with predictions: their columns are id, said"):
        given_predictions(pa.table({"id": ["a"], "said": ["ham"]}), "sayd", CLASSES)


def test_an_empty_partition_has_no_predictions() -> None:
    assert given(pa.array([], pa.string())) == []
    assert predictions_table(pa.chunked_array([pa.array([], pa.string())]), np.zeros((0, 3))).num_rows == 0


def test_equal_probabilities_go_to_the_lower_code() -> None:
    table = predictions_table(pa.chunked_array([["a", "b"]]), np.array([[0.4, 0.4, 0.2], [0.1, 0.2, 0.7]]))
    assert table["predicted"].to_pylist() == [0, 2]
    assert table["probabilities"].to_pylist() == [[0.4, 0.4, 0.2], [0.1, 0.2, 0.7]]


def test_a_tensor_with_a_gradient_is_a_row_of_numbers_too() -> None:
    answered = torch.tensor([[0.5, 0.25, 0.25]], requires_grad=True)
    assert checked_probabilities(answered, ["a"], CLASSES, "The model").tolist() == [[0.5, 0.25, 0.25]]


@pytest.mark.parametrize("table", [pd.DataFrame, pa.table], ids=["pandas", "Arrow"])
def test_columns_named_after_the_classes_are_read_by_name(table: Callable[[dict[str, list[float]]], object]) -> None:
    answered = table({"spam": [0.7], "scam": [0.1], "ham": [0.2]})
    assert checked_probabilities(answered, ["a"], CLASSES, "The model").tolist() == [[0.2, 0.7, 0.1]]
    by_place = table({"p0": [0.7], "p1": [0.1], "p2": [0.2]})
    assert checked_probabilities(by_place, ["a"], CLASSES, "The model").tolist() == [[0.7, 0.1, 0.2]]
    partly = table({"spam": [0.7], "scam": [0.1], "other": [0.2]})
    with pytest.raises(InputError, match="The model tells apart spam, scam, other, and the classes of the samples are"):
        checked_probabilities(partly, ["a"], CLASSES, "The model")


def test_columns_that_are_only_counted_are_read_by_place() -> None:
    answered = pd.DataFrame([[0.7, 0.3]])
    assert checked_probabilities(answered, ["a"], ["1", "0"], "The model").tolist() == [[0.7, 0.3]]


@pytest.mark.parametrize(
    ("names", "classes"), [((False, True), ["true", "false"]), ((0.0, 1.0), ["1", "0"]), (("no", "yes"), ["yes", "no"])]
)
def test_classes_of_a_model_are_matched_as_labels_are_read(names: tuple[object, ...], classes: list[str]) -> None:
    answered = NamedAnswers(names, np.array([[0.9, 0.1]]))
    assert in_the_order_of(classes, answered, "The model").tolist() == [[0.1, 0.9]]


def test_a_probability_a_rounding_below_0_is_0() -> None:
    answered = [[-1.2e-7, 1.0000001, 0.0]]
    assert checked_probabilities(answered, ["a"], CLASSES, "The model").tolist() == [[0.0, 1.0000001, 0.0]]


@pytest.mark.parametrize(
    ("output", "said"),
    [
        ([[0.5, 0.5], [0.5, 0.5]], r"shape \[2, 2\] for 2 samples, expected one row per sample"),
        ([0.1, 0.9], r"shape \[2\].*what predicts a number is a function with `predicts`"),
        ([[0.1], [0.9]], r"shape \[2, 1\].*Of two classes give both"),
        ([[1.0, 0.0, 0.0]], r"shape \[1, 3\] for 2 samples"),
        ([[1, 0, 0], [0, float("nan"), 1]], "for sample 'b': expected probabilities, finite"),
        ([[1, 0, 0], [0.5, 0.1, 0.1]], "for sample 'b': expected probabilities"),
        ([[1, 0, 0], [-0.5, 1.5, 0]], "for sample 'b': expected probabilities"),
        ([["x", "y", "z"]] * 2, "returned list, expected"),
        (None, "returned "),
    ],
)
def test_what_is_no_probability_is_refused(output: object, said: str) -> None:
    with pytest.raises(InputError, match=said):
        checked_probabilities(output, ["a", "b"], CLASSES, "The model")
