"""Learning curves: what every epoch of a training came to, and the same as a table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import pyarrow as pa

from assay.data.image_schemas import TrainingCurve


@dataclass(frozen=True)
class Epoch:
    """What an epoch came to; shares are None where there is nothing to measure them on."""

    epoch: int
    loss: float
    train_accuracy: float | None
    validation_accuracy: float | None


def curve_table(curve: Sequence[Epoch]) -> pa.Table:
    """The curve as a table; no rows for what came trained.

    >>> curve_table([Epoch(1, 0.5, 0.9, None)]).to_pylist()
    [{'epoch': 1, 'loss': 0.5, 'train_accuracy': 0.9, 'validation_accuracy': None}]
    """
    return pa.Table.from_pylist([asdict(one) for one in curve], schema=TrainingCurve.schema)
