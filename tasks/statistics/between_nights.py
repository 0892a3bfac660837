"""What moved between two nights: a finding's difference with its interval."""

from __future__ import annotations

import math
from dataclasses import dataclass

from assay.tasks.statistics.findings import Finding


@dataclass(frozen=True)
class Difference:
    """How much a finding moved, and between what, where both nights gave intervals."""

    value: float
    low: float | None = None
    high: float | None = None

    @property
    def shown(self) -> bool:
        """Whether the interval leaves 0 out."""
        return self.low is not None and self.high is not None and not self.low <= 0 <= self.high


def difference(before: Finding, after: Finding) -> Difference | None:
    """The later value less the earlier, with the interval that the two intervals give; None where one has no value.

    The distances of value and limit are squared and added (Newcombe 1998, method 10; Zou and Donner 2008), as for two
    independent sets of samples: where both nights looked at the same samples it is wider than it need be.

    >>> yesterday = Finding("subject.accuracy", value=0.8, low=0.74, high=0.86)
    >>> moved = difference(yesterday, Finding("subject.accuracy", value=0.5, low=0.42, high=0.58))
    >>> round(moved.value, 3), round(moved.low, 3), round(moved.high, 3), moved.shown
    (-0.3, -0.4, -0.2, True)
    """
    if before.value is None or after.value is None:
        return None
    moved = after.value - before.value
    if before.low is None or before.high is None or after.low is None or after.high is None:
        return Difference(moved)
    down = math.hypot(after.value - after.low, before.high - before.value)
    up = math.hypot(after.high - after.value, before.value - before.low)
    return Difference(moved, moved - down, moved + up)
