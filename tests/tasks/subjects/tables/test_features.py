from __future__ import annotations

import re
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest

from assay.infra.errors import InputError
from assay.tasks.subjects.predictions import choose_features, feature_matrix

TABLE = pa.table(
    {
        "id": ["a", "b"],
        "gold": pa.array([0, None], pa.int16()),
        "age": [40, None],
        "smokes": [True, False],
        "dose": pa.array([Decimal("1.5"), Decimal("2.0")]),
        "note": ["x", "y"],
        "weight": [0.5, float("nan")],
    }
)


def test_every_numeric_column_is_a_feature_but_never_the_answer() -> None:
    assert choose_features(TABLE.schema, None) == ["age", "smokes", "dose", "weight"]


def test_wanted_features_keep_their_order() -> None:
    assert choose_features(TABLE.schema, ("weight", "age")) == ["weight", "age"]


def test_missing_values_of_every_spelling_are_nan() -> None:
    matrix = feature_matrix(TABLE, ["age", "smokes", "dose", "weight"])
    np.testing.assert_array_equal(matrix, [[40, 1, 1.5, 0.5], [np.nan, 0, 2.0, np.nan]])


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        (("hight",), r"no feature 'hight': their columns are age, smokes, dose, note, weight\."),
        (("note",), "feature 'note' holds string"),
        (("gold",), "'gold' cannot be a feature"),
        (("id",), "'id' cannot be a feature"),
    ],
)
def test_impossible_features_are_refused_by_name(wanted: tuple[str, ...], said: str) -> None:
    with pytest.raises(InputError, match=said):
        choose_features(TABLE.schema, wanted)


def test_samples_without_numbers_are_refused_with_a_way_out() -> None:
    with pytest.raises(InputError, match=r"no numeric column .* bring a model of your own"):
        choose_features(pa.schema({"id": pa.string(), "text": pa.string()}), None)


def test_an_infinite_feature_is_named_with_its_sample() -> None:
    table = pa.table({"id": ["a", "b"], "x": [1.0, float("inf")]})
    with pytest.raises(InputError, match="'x' of sample 'b' is infinite"):
        feature_matrix(table, ["x"])


@pytest.mark.parametrize("value", [1e308, -3.5e38, 1e155])
def test_a_feature_that_single_precision_or_a_square_cannot_hold_is_named_with_its_sample(value: float) -> None:
    table = pa.table({"id": ["a", "b"], "x": [value, value], "y": [1.0, float(np.finfo(np.float32).min)]})
    with pytest.raises(
        InputError, match=re.escape(f"'x' of sample 'a' is {value:g}; the subject needs numbers within")
    ):
        feature_matrix(table, ["y", "x"])
    assert np.isfinite(feature_matrix(table, ["y"]).astype(np.float32)).all()
