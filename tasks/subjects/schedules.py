"""How the step size of a training moves: a function of the step alone, so that a training can go on from any epoch."""

from __future__ import annotations

import math

from assay.tasks.subjects.settings import Training

_WARM, _START, _END = 0.3, 1 / 25, 1e-4  # of a one-cycle: share of steps going up, first and last step size


def learning_rate(options: Training, step: int, steps: int, epoch: int) -> float:
    """The step size at `step` of all `steps`: constant, a tenth every so many epochs, or up and down once.

    >>> options = Training(learning_rate=0.1)
    >>> [round(learning_rate(options, step, 101, 0), 4) for step in (0, 30, 100)]
    [0.004, 0.1, 0.0]
    >>> stepped = Training(learning_rate=0.1, schedule="step", step_epochs=10)
    >>> [round(learning_rate(stepped, 0, 1, epoch), 4) for epoch in (9, 10, 20)]
    [0.1, 0.01, 0.001]
    """
    highest = options.learning_rate
    if options.schedule == "constant":
        return highest
    if options.schedule == "step":
        return highest * 0.1 ** (epoch // options.step_epochs)
    top = max(1.0, _WARM * (steps - 1))
    if step <= top:
        return _cosine(highest * _START, highest, step / top)
    return _cosine(highest, highest * _END, (step - top) / max(1.0, steps - 1 - top))


def _cosine(start: float, end: float, way: float) -> float:
    return end + (start - end) * (1 + math.cos(math.pi * way)) / 2
