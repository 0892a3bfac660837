"""One attack at one ε on one subject, as arrays: what the table of attacked samples says, ready to be counted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from assay.tasks.attacks.settings import Goal, eps_name
from assay.tasks.statistics.classification import Said, Truth
from assay.tasks.subjects.images.model import said

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Trial:
    """What became of every sample, in the order of the ids."""

    subject: str
    attack: str
    eps: float
    ids: npt.NDArray[np.str_]  # [n], sorted
    truth: Truth  # [n] codes or [n, k] labels; −1 where unknown
    clean: Said  # [n] codes or [n, k] bool
    attacked: Said
    probabilities: Floats  # [n, k], of the attacked images
    success: Bools  # [n]
    measured: dict[str, Floats]  # distance, distance_l2, steps, queries: each [n]
    winner: npt.NDArray[np.str_] | None  # [n], in a table of the worst case

    def answered(self) -> Trial:
        """The trial without what only its own measures are taken of; flags that compare attacks read answers alone.

        Probabilities [n, k] of every attack and ε are most of an audit's records; nobody needs two of them at a time.
        """
        return replace(self, probabilities=np.empty((0, self.probabilities.shape[1])), measured={})

    @property
    def group(self) -> str:
        """How findings call its ε."""
        return eps_name(self.eps)

    @property
    def robust(self) -> Said:
        """The answers that robust accuracy and recall are taken of: an image that was wrong before has fallen.

        With several labels those to the attacked images, since every label is attacked.
        """
        if self.truth.ndim == 2:
            return self.attacked
        lost = (self.truth >= 0) & (self.clean != self.truth)
        answers: Said = np.where(lost, self.clean, self.attacked)
        return answers

    def harm(self, goal: Goal, ids: npt.NDArray[np.str_]) -> npt.NDArray[np.int64]:
        """How much was done to some of the samples in the order given: 1 for a success.

        With several labels the number of known ones that are wrong, or that flipped where all were to flip: attacks
        climb a loss over all labels, so whether any one of them gave way says little about which attack is stronger.
        """
        at = np.searchsorted(self.ids, ids)
        if self.truth.ndim == 1 or goal == "targeted":
            return self.success[at].astype(np.int64)
        flipped = (self.attacked != self.clean)[at].sum(axis=1)
        known = (self.truth >= 0)[at]
        wrong = ((self.attacked != self.truth)[at] & known).sum(axis=1)
        counted: npt.NDArray[np.int64] = np.where(known.any(axis=1) & (goal == "untargeted"), wrong, flipped)
        return counted


MEASURED = ("distance", "distance_l2", "steps", "queries")
COLUMNS = (
    "id",
    "subject",
    "attack",
    "eps",
    "gold",
    "labels",
    "clean",
    "attacked",
    "clean_probabilities",
    "attacked_probabilities",
    "success",
    *MEASURED,
    "winner",
)
"""What `trials` reads of a table of attacked samples."""


def trials(tables: Iterable[pa.Table]) -> list[Trial]:
    """The trials that tables of attacked samples hold, by subject, attack and ε; ε = 0 is the clean image."""
    return list(trials_one_by_one(tables))


def trials_one_by_one(tables: Iterable[pa.Table]) -> Iterator[Trial]:
    """The same, one after the other: neither the next table nor the next trial is there before it is asked for."""
    for table in tables:
        yield from _trials_of(table)


def _trials_of(table: pa.Table) -> Iterator[Trial]:
    keys = table.select(["subject", "attack", "eps"]).group_by(["subject", "attack", "eps"]).aggregate([])
    for key in sorted(keys.to_pylist(), key=lambda key: (key["subject"], key["attack"], key["eps"])):
        where = pc.and_(pc.equal(table["subject"], key["subject"]), pc.equal(table["attack"], key["attack"]))
        rows = table.filter(pc.and_(where, pc.equal(table["eps"], key["eps"])))
        yield _trial(rows.sort_by("id"), **key)


def _trial(rows: pa.Table, subject: str, attack: str, eps: float) -> Trial:
    probabilities = matrix(rows["attacked_probabilities"], np.float64)
    if rows["labels"].null_count == rows.num_rows:
        truth = pc.fill_null(rows["gold"], -1).to_numpy()
        clean, attacked = rows["clean"].to_numpy(), rows["attacked"].to_numpy()
    else:
        truth = matrix(rows["labels"], np.int8)
        clean = said(matrix(rows["clean_probabilities"], np.float64), multilabel=True)
        attacked = said(probabilities, multilabel=True)
    winner = rows["winner"]
    return Trial(
        subject,
        attack,
        eps,
        np.array(rows["id"].to_pylist(), dtype=np.str_),
        truth,
        clean,
        attacked,
        probabilities,
        rows["success"].to_numpy(),
        {name: rows[name].to_numpy().astype(np.float64) for name in MEASURED},
        None if winner.null_count == len(winner) else np.array(winner.to_pylist(), dtype=np.str_),
    )


def matrix(column: pa.ChunkedArray, dtype: Any) -> npt.NDArray[Any]:
    """A column of lists of one length as [n, k].

    >>> matrix(pa.chunked_array([[[0.5, 0.5], [1.0, 0.0]]]), np.float64).tolist()
    [[0.5, 0.5], [1.0, 0.0]]
    """
    values: npt.NDArray[Any] = pc.list_flatten(column).to_numpy().astype(dtype)
    return values.reshape(len(column), -1) if len(column) else values.reshape(0, 0)
