"""What every sample adds to a finding: Σ above / Σ below over the samples is its value.

Of what is right or wrong `above` is 1 or 0 and `below` 1; of F1 they are twice the hits, and what was named with what
is there; of a flip probability the flips and the comparisons.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Sampled:
    """Per sample what it adds above and below the line, and the group that it is not independent of (None: itself)."""

    ids: npt.NDArray[np.str_]
    above: Floats
    below: Floats
    groups: npt.NDArray[np.str_] | None = field(default=None)

    @property
    def value(self) -> float:
        """What all samples together come to.

        >>> right_or_wrong(["a", "b"], np.array([True, False])).value
        0.5
        """
        return float(self.above.sum() / self.below.sum()) if self.below.sum() else float("nan")

    @property
    def binary(self) -> bool:
        """Whether every sample is simply right or wrong."""
        return bool((self.below == 1).all() and np.isin(self.above, (0, 1)).all())

    def at(self, places: npt.NDArray[np.int64]) -> Sampled:
        """Some of the samples, in that order."""
        groups = None if self.groups is None else self.groups[places]
        return Sampled(self.ids[places], self.above[places], self.below[places], groups)


def right_or_wrong(
    ids: Sequence[str], right: npt.NDArray[np.bool_], known: npt.NDArray[np.bool_] | None = None
) -> Sampled:
    """Samples that are right or wrong, without those of which nobody knows; of several labels [n, k], so many right.

    >>> right_or_wrong(["a", "b"], np.array([[True, False], [True, True]])).above.tolist()
    [1.0, 2.0]
    """
    counted = np.ones_like(right) if known is None else known
    hits, n = (right & counted).astype(np.float64), counted.astype(np.float64)
    if right.ndim == 2:
        hits, n = hits.sum(axis=1), n.sum(axis=1)
    there = n > 0
    return Sampled(np.array(ids, dtype=np.str_)[there], hits[there], n[there])
