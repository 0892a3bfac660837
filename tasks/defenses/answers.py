"""What one model says of the audited samples, clean or under one attack: the rows that a comparison pairs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from assay.tasks.attacks.trials import trials_one_by_one
from assay.tasks.statistics.classification import Groups, Said, Truth
from assay.tasks.subjects.images.measures import probabilities_of
from assay.tasks.subjects.images.model import said

CLEAN = "clean"


@dataclass(frozen=True)
class Answers:
    """What a model says and what is true, in the order of the sorted ids; `attack` and `group` (its ε) say of what."""

    attack: str  # empty for clean samples
    group: str  # `clean`, or ε by name
    ids: npt.NDArray[np.str_]  # [n]
    predicted: Said  # [n] codes, or [n, k] bool
    truth: Truth  # [n], or [n, k]; -1 where unknown
    groups: Groups = None  # [n], or None where samples are independent

    def grouped(self, of_id: Mapping[str, int] | None) -> Answers:
        """The same with the group of each sample, where they have some."""
        return self if of_id is None else replace(self, groups=np.array([of_id[one] for one in self.ids.tolist()]))

    @property
    def label(self) -> str:
        """The group of a finding on these answers and no others: `clean`, or ε and the attack."""
        return f"{self.group}, {self.attack}" if self.attack else self.group

    def right(self) -> npt.NDArray[np.float64]:
        """Per sample whether it is right, 1 or 0; of several labels the share that is; NaN where nobody knows."""
        hits, known = self.predicted == self.truth, self.truth >= 0
        if self.truth.ndim == 1:
            return np.where(known, hits.astype(np.float64), np.nan)
        counted = known.sum(axis=1)
        return np.where(counted > 0, (hits & known).sum(axis=1) / np.maximum(counted, 1), np.nan)


def clean_answers(predictions: pa.Table, truth: Truth, classes: int) -> Answers:
    """The answers to clean samples, out of a table of predictions and the truth in its order."""
    ids = np.array(predictions["id"].to_pylist(), dtype=np.str_)
    order = np.argsort(ids)
    answers = said(probabilities_of(predictions, classes), multilabel=truth.ndim == 2)
    return Answers("", CLEAN, ids[order], answers[order], truth[order])


def attacked_answers(tables: Iterable[pa.Table]) -> Iterator[Answers]:
    """The answers that robust accuracy is taken of, under every attack and ε above 0."""
    for trial in trials_one_by_one(tables):
        if trial.eps > 0:
            yield Answers(trial.attack, trial.group, trial.ids, trial.robust, trial.truth)


def by_label(answers: Sequence[Answers]) -> dict[str, Answers]:
    """The answers by attack and ε."""
    return {one.label: one for one in answers}
