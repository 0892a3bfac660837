"""Flip probability, Eq. 5 of Xu et al.: how often a prediction changes along a sequence of frames.

As printed, Eq. 5 compares every frame with the one before it; the sentence below it, and Hendrycks' code, compare the
independent draws of a noise with the clean frame. That is the rule here. Where samples bear several labels, flips are
counted per label, and the sum is divided by the labels and by n - 1 (the authors' script forgot the n - 1).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from assay.tasks.corruptions.kinds import Kind, clean_frame, strongest_frames

FrameAnswers = npt.NDArray[np.int16] | npt.NDArray[np.bool_]
"""[frames, n] classes, or [frames, n, k] whether a label holds."""
Counts = npt.NDArray[np.int64]  # [n]


def count_flips(answers: FrameAnswers, kind: Kind) -> Counts:
    """How often each sample's prediction flips along its sequence, summed over labels where there are several, [n].

    >>> answers = np.array([[1, 1], [2, 1], [2, 1], [1, 1]], np.int16)
    >>> count_flips(answers, "ramp").tolist(), count_flips(answers, "noise").tolist()
    ([2, 0], [2, 0])
    >>> count_flips(answers[:, :1][[0, 1, 0, 1]], "ramp").tolist(), count_flips(answers[[0, 1, 0, 1]], "noise").tolist()
    ([3], [2, 0])
    """
    if kind == "noise":
        changed = np.delete(answers, clean_frame(kind, len(answers)), axis=0) != answers[:1]
    else:
        changed = answers[1:] != answers[:-1]
    return _per_sample(changed)


def comparisons(answers: FrameAnswers) -> int:
    """Into how many comparisons one sample's flips are divided: n - 1 pairs of frames, times the labels.

    >>> comparisons(np.zeros((31, 4), np.int16)), comparisons(np.zeros((31, 4, 14), bool))
    (30, 420)
    """
    return (len(answers) - 1) * (answers.shape[2] if answers.ndim == 3 else 1)


def count_correct(answers: FrameAnswers, truth: npt.NDArray[np.int64], kind: Kind) -> tuple[Counts, Counts]:
    """How many predictions of the strongest frames are right, and of how many with a known truth, [n] each.

    `truth` is the class [n], or 1 and 0 per label [n, k]; -1 is unknown. The strongest frames bear the severity's full
    constant, so this is the accuracy that the -C benchmarks mean: all draws of a noise, the end of a ramp, both ends
    of a sweep.
    """
    strongest = answers[strongest_frames(kind, len(answers))]
    known = np.broadcast_to(truth >= 0, strongest.shape)
    return _per_sample((strongest == truth) & known), _per_sample(known)


def _per_sample(values: npt.NDArray[np.bool_]) -> Counts:
    """Counted over frames, and labels where there are any."""
    counted: Counts = values.sum(axis=(0, *range(2, values.ndim)), dtype=np.int64)
    return counted
