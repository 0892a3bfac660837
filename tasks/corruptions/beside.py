"""A subject beside a reference, corruption by corruption: relative flips, and the corruption errors of Hendrycks.

Means over corruptions are means of ratios, each corruption counting the same: a ratio of sums is that of the few under
which both flip most (translation alone is a third of all flips). Errors are those of Hendrycks and Dietterich (2019),
§4.3: wrong answers added over severities, divided by the reference's; the relative one is of what corruption adds to
the wrong answers on clean samples. A corruption under which the reference has nothing to divide by is left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from assay.tasks.corruptions.tallies import Tally
from assay.tasks.statistics.resampling import Array, Statistic, mean_of_ratios, ratio_of

Answers = npt.NDArray[np.int64] | npt.NDArray[np.bool_]
Errors = npt.NDArray[np.int64]
"""Wrong answers per block of a tally, [G]."""


class Beside(NamedTuple):
    """The counts of a subject and of the reference in each block and under each corruption, [G, p]."""

    above: Array
    below: Array

    def ratio(self, perturbations: Sequence[int]) -> Statistic:
        """The mean of the ratios under these corruptions; of one it is its ratio."""
        if len(perturbations) == 1:
            return ratio_of(self.above[:, perturbations[0]], self.below[:, perturbations[0]])
        return mean_of_ratios(self.above[:, perturbations], self.below[:, perturbations])


def flips_beside(tally: Tally, own: int, reference: int, severities: Sequence[int]) -> Beside:
    """How often both flip; both see the same frames, so that counts divide as shares do.

    The mean of their ratios is mFR, the RFP of Xu et al.
    """
    return Beside(*(tally.counted(at, "flips", severities)[..., 0].astype(np.float64) for at in (own, reference)))


def errors_beside(tally: Tally, own: int, reference: int) -> Beside:
    """Wrong answers at full strength, added over severities: their ratios are CE, and the mean of these mCE."""
    return Beside(*(_wrong(tally, at) for at in (own, reference)))


def added_errors_beside(tally: Tally, own: int, reference: int, clean: Mapping[str, Errors]) -> Beside:
    """Wrong answers beyond those of each subject on `clean` samples: their ratios are the relative CE."""
    return Beside(*(_wrong(tally, at) - tally.answers * clean[tally.subjects[at]][:, None] for at in (own, reference)))


def clean_errors(answers: Answers, truth: Answers, blocks: npt.NDArray[np.int64]) -> Errors:
    """How many answers to clean samples are wrong in each block [G]; of several labels, each is an answer.

    >>> clean_errors(np.array([0, 1, 1]), np.array([0, 0, -1]), np.array([0, 1, 1])).tolist()
    [0, 1]
    """
    wrong = (answers != truth) & (truth >= 0)
    return np.bincount(blocks, wrong.reshape(len(truth), -1).sum(axis=1)).astype(np.int64)


def _wrong(tally: Tally, subject: int) -> Array:
    every = range(len(tally.severities))
    return tally.counted(subject, "wrong", every)[..., 0].astype(np.float64)
