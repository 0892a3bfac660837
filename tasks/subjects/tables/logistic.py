"""Logistic regression on standardised features: the rows it learns from, its fit, and its predictions row by row.

scikit-learn fits it, with its default penalty (L2, C = 1); it is kept as plain numbers. Missing values are replaced by
the feature's mean over the rows the model was fitted on, so a sample never tells anything about the model that predicts
it.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from pydantic import TypeAdapter

from assay.data.schemas import ListedTable
from assay.infra.engines.calls import process_state
from assay.infra.errors import InputError, RunError
from assay.tasks.statistics.groups import named_groups
from assay.tasks.subjects.holding_out import drawn, fold_of
from assay.tasks.subjects.predictions import Matrix, choose_features, feature_matrix

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


@dataclass(frozen=True)
class CrossFitted:
    """The model of all training rows, and one per fold that has seen no row of its fold."""

    whole: Logistic
    without: tuple[Logistic, ...]

    def probabilities(self, matrix: Matrix, folds: npt.NDArray[np.int16]) -> Matrix:
        """Out-of-fold probabilities, [n, k]: each row by the model that was fitted without its fold."""
        result = np.empty((len(matrix), self.whole.classes))
        for fold, model in enumerate(self.without):
            of_fold = folds == fold
            result[of_fold] = model.probabilities(matrix[of_fold])
        return result

    def to_files(self) -> dict[str, bytes]:
        """The parameters as JSON files: `model.json` to hand out, `folds.json` for the audit. Every float is written so
        that it is read back bit for bit."""
        return {
            "model.json": json.dumps(asdict(self.whole), allow_nan=False).encode(),
            "folds.json": json.dumps([asdict(model) for model in self.without], allow_nan=False).encode(),
        }

    @classmethod
    def from_files(cls, files: dict[str, bytes]) -> CrossFitted:
        """The models that `to_files` wrote."""
        whole = TypeAdapter(Logistic).validate_python(json.loads(files["model.json"]))
        return cls(whole, TypeAdapter(tuple[Logistic, ...]).validate_python(json.loads(files["folds.json"])))


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


MOST_ROWS = 1_000_000  # beyond this many labelled rows, a seeded sample of about this size is learned from

Teacher = Literal["gold", "weak"]


class TrainingRows(ListedTable):
    """The rows a subject learns from: the class to learn, the fold whose model may not see it, and its features."""

    extras = pa.float64()


def feature_column(name: str) -> str:
    """The name of a feature's column among the training rows; no feature can be mistaken for `target` or `fold`."""
    return f"feature:{name}"


def survey(
    samples: pa.Table, labels: pa.Table | None = None, *, classes: int, features: Sequence[str] | None
) -> dict[str, npt.NDArray[np.int64] | frozenset[tuple[str, ...]]]:
    """What a partition has to learn from: the labelled rows of each class, and the columns that can be features."""
    target = _target(samples, labels)
    counts = np.bincount(target[target >= 0], minlength=classes).astype(np.int64)
    return {"targets": counts, "features": frozenset({tuple(choose_features(samples.schema, features))})}


def training_rows(
    samples: pa.Table, labels: pa.Table | None = None, *, features: Sequence[str], folds: int, share: float, seed: str
) -> pa.Table:
    """The `TrainingRows` of a partition: labelled rows, of which about `share` are drawn by the hash of their id."""
    target = _target(samples, labels)
    chosen = np.flatnonzero((target >= 0) & drawn(samples["id"].to_pylist(), share, seed))
    rows = samples.take(pa.array(chosen))
    matrix = feature_matrix(rows, features)
    fold = pa.array(fold_of(named_groups(rows), folds))
    columns = {"id": rows["id"], "target": pa.array(target[chosen]), "fold": fold}
    return pa.table(columns | {feature_column(name): matrix[:, at] for at, name in enumerate(features)})


def learn(rows: pa.Table, *, features: Sequence[str], folds: int, classes: int) -> CrossFitted:
    """The models fitted on the training rows, in the order of their ids, so that no order of files shows in them."""
    rows = rows.take(pc.sort_indices(rows, sort_keys=[("id", "ascending")]))
    matrix = np.stack([rows[feature_column(name)].to_numpy() for name in features], axis=1)
    target, fold = (rows[name].to_numpy() for name in ("target", "fold"))
    return cross_fit(matrix, target, fold, count=folds, features=features, classes=classes)


def require_teachable(targets: npt.NDArray[np.int64], train_on: Teacher, classes: Sequence[str]) -> None:
    """Raises where there is nothing to learn: no label at all, or one class only."""
    known = np.flatnonzero(targets)
    if len(known) == 0:
        what, instead = ("gold label", "weak") if train_on == "gold" else ("decided weak label", "gold")
        raise InputError(
            f"The subject is to learn from {train_on} labels and no sample has a {what}: set `train_on: {instead}`, or "
            "bring a model that is already trained."
        )
    if len(known) == 1:
        raise InputError(
            f"All {targets.sum()} {train_on} labels the subject learns from say {classes[known[0]]!r}: a classifier "
            "needs samples of at least two classes."
        )


def _target(samples: pa.Table, labels: pa.Table | None) -> npt.NDArray[np.int16]:
    """The class each row teaches, −1 where none: gold, or the weak label where the vote was decided."""
    if labels is None:
        known = pc.fill_null(samples["gold"], -1)
    elif not labels["id"].equals(samples["id"]):
        raise RunError("The weak labels are not those of these samples, row by row; run again with --fresh.")
    else:
        known = pc.if_else(labels["undecided"], pa.scalar(-1, pa.int16()), labels["label"])
    return np.asarray(known.to_numpy(), dtype=np.int16)
