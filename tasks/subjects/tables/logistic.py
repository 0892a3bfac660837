"""Logistic regression on standardised features: fitted by scikit-learn, kept as plain numbers, predicted row by row.

Missing values are replaced by the feature's mean over the rows the model was fitted on, so a sample never tells
anything about the model that predicts it. The penalty is scikit-learn's default (L2, C = 1).
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from assay.infra.bounds import process_state
from assay.infra.errors import InputError
from assay.tasks.subjects.tables.features import Matrix

BLOCK = 1024  # rows predicted at a time; the last block is padded, so every row goes through the same shapes
_ITERATIONS = 5000

Codes = npt.NDArray[np.int16]


@dataclass(frozen=True)
class Logistic:
    """A fitted model: how features are standardised, and weights and intercept of every class it has seen."""

    features: tuple[str, ...]
    classes: int
    seen: tuple[int, ...]
    mean: tuple[float, ...]
    scale: tuple[float, ...]
    weights: tuple[tuple[float, ...], ...]  # [seen, d]
    intercepts: tuple[float, ...]  # [seen]
    rows: int
    converged: bool

    def probabilities(self, matrix: Matrix) -> Matrix:
        """The probability of every class, [n, d] → [n, k]; 0 for a class that no training row had.

        Every row is computed alone (products summed along the row, no matrix kernel), in padded blocks of one shape,
        so that the same row gives the same bits in any partition.
        """
        mean, scale, weights, intercepts = map(np.asarray, (self.mean, self.scale, self.weights, self.intercepts))
        result = np.zeros((len(matrix), self.classes))
        for start in range(0, len(matrix), BLOCK):
            rows = matrix[start : start + BLOCK]
            block = np.zeros((BLOCK, len(mean)))
            block[: len(rows)] = (np.where(np.isnan(rows), mean, rows) - mean) / scale
            logits = np.stack([(block * w).sum(axis=1) + b for w, b in zip(weights, intercepts, strict=True)], axis=1)
            powers = np.exp(logits - logits.max(axis=1, keepdims=True))
            shares = powers / powers.sum(axis=1, keepdims=True)
            result[start : start + BLOCK, list(self.seen)] = shares[: len(rows)]
        return result

    def to_json(self) -> dict[str, Any]:
        """The model as plain JSON values; every float is written so that it is read back bit for bit."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Logistic:
        """The model that `to_json` described."""
        weights = tuple(tuple(row) for row in value["weights"])
        lists = {name: tuple(value[name]) for name in ("features", "seen", "mean", "scale", "intercepts")}
        return cls(**(value | lists | {"weights": weights}))


@dataclass(frozen=True)
class CrossFitted:
    """The model of all training rows, and one per fold that has seen no row of its fold."""

    whole: Logistic
    without: tuple[Logistic, ...]

    def probabilities(self, matrix: Matrix, folds: npt.NDArray[np.int16]) -> Matrix:
        """Out-of-fold probabilities, [n, k]: each row by the model that was fitted without its fold."""
        result = np.empty((len(matrix), self.whole.classes))
        for fold, model in enumerate(self.without):
            mine = folds == fold
            result[mine] = model.probabilities(matrix[mine])
        return result

    def to_files(self) -> dict[str, bytes]:
        """The parameters as JSON files: `model.json` to hand out, `folds.json` for the audit."""
        return {
            "model.json": json.dumps(self.whole.to_json(), allow_nan=False).encode(),
            "folds.json": json.dumps([model.to_json() for model in self.without], allow_nan=False).encode(),
        }

    @classmethod
    def from_files(cls, files: dict[str, bytes]) -> CrossFitted:
        """The models that `to_files` wrote."""
        whole = Logistic.from_json(json.loads(files["model.json"]))
        return cls(whole, tuple(Logistic.from_json(value) for value in json.loads(files["folds.json"])))


def cross_fit(
    matrix: Matrix, target: Codes, folds: npt.NDArray[np.int16], *, count: int, features: Sequence[str], classes: int
) -> CrossFitted:
    """`count` models, each fitted on the rows outside its fold, and one fitted on all rows."""
    present = np.unique(target)
    if len(present) < 2:
        raise InputError(
            f"The labels the subject learns from know {'one class only' if len(present) else 'no class at all'}: "
            "a classifier needs samples of at least two."
        )
    models = []
    for fold in range(count):
        outside = folds != fold
        if not outside.any():
            raise InputError(
                f"All {len(target)} samples the subject learns from fall into one of {count} folds, so nothing is left "
                "to learn from: bring more labelled samples."
            )
        models.append(fit(matrix[outside], target[outside], features=features, classes=classes))
    return CrossFitted(fit(matrix, target, features=features, classes=classes), tuple(models))


def fit(matrix: Matrix, target: Codes, *, features: Sequence[str], classes: int) -> Logistic:
    """The logistic regression of `target` [n] on `matrix` [n, d]; a constant model where the rows know one class."""
    mean, scale = _moments(matrix)
    standard = (np.where(np.isnan(matrix), mean, matrix) - mean) / scale
    seen = np.unique(target)
    weights, intercepts, converged = np.zeros((1, len(mean))), np.zeros(1), True
    if len(seen) > 1:
        weights, intercepts, converged = _solve(standard, target)
    return Logistic(
        features=tuple(features),
        classes=classes,
        seen=tuple(int(code) for code in seen),
        mean=tuple(mean.tolist()),
        scale=tuple(scale.tolist()),
        weights=tuple(tuple(row) for row in weights.tolist()),
        intercepts=tuple(intercepts.tolist()),
        rows=len(target),
        converged=converged,
    )


def _solve(standard: Matrix, target: Codes) -> tuple[Matrix, npt.NDArray[np.float64], bool]:
    """Weights [seen, d] and intercepts [seen]; of two classes the first has weight 0, as softmax allows."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression
    from threadpoolctl import threadpool_limits

    with process_state, threadpool_limits(limits=1), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", ConvergenceWarning)
        solved = LogisticRegression(C=1.0, max_iter=_ITERATIONS).fit(standard, target)
    converged = not any(issubclass(warning.category, ConvergenceWarning) for warning in caught)
    weights, intercepts = np.asarray(solved.coef_), np.asarray(solved.intercept_)
    if len(weights) == 1:
        weights, intercepts = np.concatenate([0 * weights, weights]), np.concatenate([0 * intercepts, intercepts])
    return weights, intercepts, converged


def _moments(matrix: Matrix) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Mean and standard deviation of each feature's known values; 0 and 1 where there is nothing to go by."""
    known = ~np.isnan(matrix)
    counts = np.maximum(known.sum(axis=0), 1)
    mean = np.where(known, matrix, 0.0).sum(axis=0) / counts
    spread = np.sqrt((np.where(known, matrix - mean, 0.0) ** 2).sum(axis=0) / counts)
    return mean, np.where(spread > 1e-12 * np.maximum(1.0, np.abs(mean)), spread, 1.0)
