"""The rows a subject learns from: those with a label, with their fold, and no more of them than fit in one process."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from assay.infra.artifacts import Table
from assay.infra.errors import InputError, RunError
from assay.tasks.statistics.groups import named_groups
from assay.tasks.subjects.folds import drawn, fold_of
from assay.tasks.subjects.tables.features import choose_features, feature_matrix
from assay.tasks.subjects.tables.logistic import CrossFitted, cross_fit

MOST_ROWS = 1_000_000  # beyond this many labelled rows, a seeded sample of about this size is learned from

Teacher = Literal["gold", "weak"]


class TrainingRows(Table):
    """The rows a subject learns from: the class to learn, the fold whose model may not see it, and its features."""

    schema = pa.schema(
        [
            pa.field("id", pa.string(), nullable=False),
            pa.field("target", pa.int16(), nullable=False),
            pa.field("fold", pa.int16(), nullable=False),
        ]
    )
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
    ids = samples["id"].to_pylist()
    chosen = np.flatnonzero((target >= 0) & drawn(ids, share, seed))
    rows = samples.take(pa.array(chosen))
    matrix = feature_matrix(rows, features)
    columns = {
        "id": rows["id"],
        "target": pa.array(target[chosen]),
        "fold": pa.array(fold_of(named_groups(rows), folds)),
    }
    return pa.table(columns | {feature_column(name): matrix[:, at] for at, name in enumerate(features)})


def learn(rows: pa.Table, *, features: Sequence[str], folds: int, classes: int) -> CrossFitted:
    """The models fitted on the training rows, in the order of their ids, so that no order of files shows in them."""
    rows = rows.take(pc.sort_indices(rows, sort_keys=[("id", "ascending")]))
    matrix = np.stack([rows[feature_column(name)].to_numpy() for name in features], axis=1)
    return cross_fit(
        matrix, rows["target"].to_numpy(), rows["fold"].to_numpy(), count=folds, features=features, classes=classes
    )


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
