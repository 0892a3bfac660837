from __future__ import annotations

import json

import numpy as np
import numpy.typing as npt
import pytest
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from assay.infra.errors import InputError
from assay.tasks.subjects.holding_out import fold_of
from assay.tasks.subjects.tables.logistic import BLOCK, CrossFitted, cross_fit, fit

Data = tuple[npt.NDArray[np.float64], npt.NDArray[np.int16]]


def data(name: str) -> Data:
    matrix, target = (load_breast_cancer if name == "breast" else load_wine)(return_X_y=True)
    return matrix, target.astype(np.int16)


def names(matrix: npt.NDArray[np.float64]) -> list[str]:
    return [f"x{i}" for i in range(matrix.shape[1])]


def fitted(matrix: npt.NDArray[np.float64], target: npt.NDArray[np.int16], folds: int = 5) -> CrossFitted:
    classes = int(target.max()) + 1
    where = fold_of([f"s{i}" for i in range(len(target))], folds)
    return cross_fit(matrix, target, where, count=folds, features=names(matrix), classes=classes)


@pytest.mark.parametrize("name", ["breast", "wine"])
def test_probabilities_are_scikit_learns(name: str) -> None:
    matrix, target = data(name)
    ours = fit(matrix, target, features=names(matrix), classes=int(target.max()) + 1).probabilities(matrix)
    theirs = (
        make_pipeline(StandardScaler(), LogisticRegression(max_iter=5000)).fit(matrix, target).predict_proba(matrix)
    )
    np.testing.assert_allclose(ours, theirs, atol=1e-9)


def test_no_sample_is_predicted_by_a_model_that_has_seen_it() -> None:
    """Turning the label of one sample around changes the models of all other folds, and not its own."""
    matrix, target = data("breast")
    folds = fold_of([f"s{i}" for i in range(len(target))], 5)
    turned = target.copy()
    turned[0] = 1 - turned[0]
    before, after = fitted(matrix, target), fitted(matrix, turned)
    same = [a == b for a, b in zip(before.without, after.without, strict=True)]
    assert same == [fold == folds[0] for fold in range(5)]
    assert (before.probabilities(matrix, folds)[0] == after.probabilities(matrix, folds)[0]).all()


def test_breast_cancer_is_learned_out_of_fold() -> None:
    matrix, target = data("breast")
    folds = fold_of([f"s{i}" for i in range(len(target))], 5)
    accuracy = (fitted(matrix, target).probabilities(matrix, folds).argmax(axis=1) == target).mean()
    assert 0.965 <= accuracy <= 0.99


@pytest.mark.parametrize("size", [1, 7, BLOCK, BLOCK + 1])
def test_a_row_has_the_same_bits_wherever_it_stands(size: int) -> None:
    matrix, target = data("wine")
    model = fit(matrix, target, features=names(matrix), classes=3)
    many = np.tile(matrix, (8, 1))
    whole = model.probabilities(many)
    pieces = np.concatenate([model.probabilities(many[at : at + size]) for at in range(0, len(many), size)])
    assert (whole == pieces).all()
    assert (whole[:178] == whole[178:356]).all()


def test_missing_values_count_as_the_training_mean() -> None:
    matrix, target = data("breast")
    model = fit(matrix, target, features=names(matrix), classes=2)
    holed, filled = matrix.copy(), matrix.copy()
    holed[:50, 3], filled[:50, 3] = np.nan, matrix[:, 3].mean()
    np.testing.assert_allclose(model.probabilities(holed), model.probabilities(filled), atol=1e-12)


def test_missing_values_in_training_neither_move_the_mean_nor_break_the_fit() -> None:
    matrix, target = data("breast")
    holed = matrix.copy()
    holed[::7, 2] = np.nan
    model = fit(holed, target, features=names(matrix), classes=2)
    assert model.mean[2] == pytest.approx(np.nanmean(holed[:, 2]))
    assert model.scale[2] == pytest.approx(np.nanstd(holed[:, 2]))
    assert (model.probabilities(holed).argmax(axis=1) == target).mean() > 0.97


def test_constant_and_empty_features_change_nothing() -> None:
    matrix, target = data("wine")
    plain = fit(matrix, target, features=names(matrix), classes=3).probabilities(matrix)
    padded = np.column_stack([matrix, np.full(len(matrix), 3.3), np.full(len(matrix), np.nan)])
    model = fit(padded, target, features=names(padded), classes=3)
    np.testing.assert_allclose(model.probabilities(padded), plain, atol=1e-6)


def test_a_class_that_no_row_has_gets_probability_zero() -> None:
    matrix, target = data("breast")
    probabilities = fit(matrix, target * 2, features=names(matrix), classes=4).probabilities(matrix)
    assert probabilities.shape == (569, 4)
    assert (probabilities[:, [1, 3]] == 0).all()
    np.testing.assert_allclose(probabilities.sum(axis=1), 1)


def test_a_fold_whose_rest_knows_one_class_predicts_that_class() -> None:
    matrix = np.array([[0.0], [1.0], [2.0], [3.0]])
    target, folds = np.array([0, 0, 0, 1], np.int16), np.array([0, 0, 1, 1], np.int16)
    models = cross_fit(matrix, target, folds, count=2, features=["x"], classes=2)
    assert models.without[1].probabilities(matrix).tolist() == [[1.0, 0.0]] * 4


def test_models_survive_their_files_bit_for_bit() -> None:
    matrix, target = data("wine")
    models = fitted(matrix, target)
    files = models.to_files()
    assert CrossFitted.from_files(files) == models
    assert set(files) == {"model.json", "folds.json"}
    assert json.loads(files["model.json"])["rows"] == 178


def test_one_class_cannot_be_learned() -> None:
    with pytest.raises(InputError, match="one class only"):
        fitted(np.ones((10, 1)), np.zeros(10, np.int16))


def test_too_few_rows_for_the_folds_are_refused() -> None:
    folds = np.zeros(2, np.int16)
    with pytest.raises(InputError, match="fall into one of 5 folds"):
        cross_fit(np.ones((2, 1)), np.array([0, 1], np.int16), folds, count=5, features=["x"], classes=2)
