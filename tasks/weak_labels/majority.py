"""Majority vote: every function's vote weighs one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from assay.tasks.weak_labels.models import Labeler


def majority(functions: Sequence[str]) -> Labeler:
    """The labeler of uniform weights, w_i = 1 for all i: its label weights are the votes each class gets.

    >>> majority(["a", "b"]).weights.tolist()
    [1.0, 1.0]
    """
    return Labeler(tuple(functions), np.ones(len(functions)))
