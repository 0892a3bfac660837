"""Which predictions are explained: all, or a sample that has as many of every class as there are."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from assay.tasks.subjects.holding_out import draw_evenly


def chosen_predictions(
    ids: Sequence[str],
    gold: Sequence[int | None],
    predicted: Sequence[int],
    *,
    correct: bool,
    limit: int | None = None,
    repeat: int = 0,
) -> npt.NDArray[np.bool_]:
    """Which predictions to explain, [n]: the correct ones or all, at most `limit`, evenly over the predicted classes.

    Drawn by a hash of the id, so neither the order nor what else there is matters within a class; another `repeat`
    draws others. Without a class (-1, several labels) there is nothing to explain.

    >>> chosen_predictions(["a", "b", "c", "d"], [0, 0, 1, None], [0, 1, 1, 1], correct=True).tolist()
    [True, False, True, False]
    >>> int(chosen_predictions(["a", "b", "c", "d"], [0, 0, 0, 1], [0, 0, 0, 1], correct=True, limit=2)[3])
    1
    """
    explainable = [code >= 0 and (not correct or code == truth) for code, truth in zip(predicted, gold, strict=True)]
    chosen = np.array(explainable, dtype=np.bool_)
    if limit is None or int(chosen.sum()) <= limit:
        return chosen
    rows = np.flatnonzero(chosen).tolist()
    place = {f"{repeat}/{ids[row]}": row for row in rows}
    drawn = draw_evenly(place, (predicted[row] for row in rows), limit)
    few = np.zeros(len(chosen), dtype=np.bool_)
    few[[place[name] for name in drawn]] = True
    return few
