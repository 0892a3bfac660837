"""The area under the ROC curve of every class on its own: which of them a mean over all hides."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from assay.tasks.statistics.auc import AUC, binary_auc
from assay.tasks.statistics.classification import Groups
from assay.tasks.statistics.classification_findings import About
from assay.tasks.statistics.findings import Finding


def class_areas(
    about: About,
    probabilities: npt.NDArray[np.float64],
    truth: npt.NDArray[np.integer],
    classes: Sequence[str],
    groups: Groups = None,
) -> list[Finding]:
    """`STAGE.class_auc` for every class against the rest, or for every label; the class is added to the group.

    `truth` holds codes [n] or labels [n, k], −1 where unknown. Of two classes that exclude each other there is one area
    only, that of `STAGE.auc`, and so nothing here.

    >>> scores = np.array([[0.9, 0.2], [0.1, 0.3], [0.8, 0.4]])
    >>> truth = np.array([[1, 1], [0, 0], [-1, 1]])
    >>> findings = class_areas(About("subject", "clean"), scores, truth, ["mass", "nodule"])
    >>> [(one.group, one.value, one.n) for one in findings]
    [('mass', 1.0, 2), ('nodule', 0.5, 3)]
    """
    if truth.ndim == 1 and len(classes) == 2:
        return []
    areas = [_area(probabilities[:, code], _of_class(truth, code), groups) for code in range(len(classes))]
    return [about.area("class_auc", area, classes, part=name) for name, area in zip(classes, areas, strict=True)]


def _of_class(truth: npt.NDArray[np.integer], code: int) -> npt.NDArray[np.int64]:
    """1 for the samples of the class, 0 for the others, −1 where nobody knows."""
    if truth.ndim == 2:
        return np.asarray(truth[:, code], dtype=np.int64)
    return np.where(truth < 0, -1, truth == code).astype(np.int64)


def _area(scores: npt.NDArray[np.float64], truth: npt.NDArray[np.int64], groups: Groups) -> AUC:
    known = truth >= 0
    positive = truth[known] == 1
    if positive.all() or not positive.any():
        return AUC(None, None, None, int(known.sum()))
    return binary_auc(scores[known], positive, groups=None if groups is None else groups[known])
