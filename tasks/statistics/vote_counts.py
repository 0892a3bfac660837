"""How often labelling functions vote together, as integers: all that pruning and Snorkel need of the rows.

The table of one-hot votes L_ind [n, m·k] enters both only through C = L_indᵀ L_ind and n. Counts of partitions add up
to the counts of the whole, exactly and in any order, so nothing here grows with n.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from assay.infra.errors import InputError
from assay.infra.exact import Least

_BLOCK = 8192  # rows whose one-hot votes are in memory at a time; far below 2**24, so float32 products are exact


@dataclass(frozen=True)
class VoteCounts:
    """n rows of m functions and k classes; `together[i·k + y, j·k + z]` of them have i voting y and j voting z."""

    functions: tuple[str, ...]
    classes: int
    n: int
    together: npt.NDArray[np.int64]  # [m·k, m·k], symmetric

    @property
    def votes(self) -> npt.NDArray[np.int64]:
        """How often each function votes each class, [m, k]."""
        counts: npt.NDArray[np.int64] = np.diagonal(self.together).reshape(len(self.functions), self.classes).copy()
        return counts

    @property
    def coverage(self) -> npt.NDArray[np.float64]:
        """The share of samples on which each function does not abstain, [m]; 0 where there are no samples."""
        share: npt.NDArray[np.float64] = self.votes.sum(axis=1) / max(self.n, 1)
        return share

    @property
    def constant(self) -> npt.NDArray[np.bool_]:
        """Whether each function says the same (a class, or nothing) of every sample, [m]."""
        votes = self.votes
        steady: npt.NDArray[np.bool_] = (votes.sum(axis=1) == 0) | (votes.max(axis=1, initial=0) == self.n)
        return steady

    def of(self, functions: Sequence[str]) -> VoteCounts:
        """The counts of some of the functions, in the order given."""
        missing = sorted(set(functions) - set(self.functions))
        if missing:
            raise InputError(f"There are no votes of {missing[0]}; the functions that voted are {self.functions}.")
        where = np.array([self.functions.index(name) for name in functions], dtype=np.int64)
        cells = (where[:, None] * self.classes + np.arange(self.classes)).ravel()
        return VoteCounts(tuple(functions), self.classes, self.n, self.together[np.ix_(cells, cells)])


def functions_of(votes: pa.Table) -> tuple[str, ...]:
    """The names of the labelling functions that a table of votes holds, in its order."""
    return tuple(name for name in votes.column_names if name != "id")


def count_votes(votes: pa.Table, classes: int) -> dict[str, int | npt.NDArray[np.int64]]:
    """n and the co-occurrences C = L_indᵀ L_ind of one partition of votes, to be added up over partitions.

    >>> table = pa.table({"id": ["a", "b"], "f": pa.array([0, 1], pa.int8()), "g": pa.array([-1, 1], pa.int8())})
    >>> count_votes(table, classes=2)["together"].tolist()
    [[1, 0, 0, 0], [0, 1, 0, 1], [0, 0, 0, 0], [0, 1, 0, 1]]
    """
    names = functions_of(votes)
    columns = [votes.column(name).to_numpy().astype(np.int8, copy=False) for name in names]
    for name, column in zip(names, columns, strict=True):
        _require_classes(name, column, classes, votes)
    width = len(names) * classes
    together = np.zeros((width, width), dtype=np.int64)
    for start in range(0, votes.num_rows, _BLOCK):
        size = min(_BLOCK, votes.num_rows - start)
        voted = np.empty((width, size), dtype=np.float32)  # L_indᵀ
        for position, column in enumerate(columns):
            for y in range(classes):
                np.equal(column[start : start + size], y, out=voted[position * classes + y], casting="unsafe")
        together += (voted @ voted.T).astype(np.int64)
    return {"n": votes.num_rows, "together": together}


def count_partition(votes: pa.Table, classes: int) -> dict[str, object]:
    """What `vote_counts` needs of one partition of votes, ready to be merged with the others'."""
    return {"functions": Least(functions_of(votes)), **count_votes(votes, classes)}


def vote_counts(merged: Mapping[str, object], classes: int) -> VoteCounts:
    """The counts of the whole, once those of `count_partition` are merged."""
    functions, n, together = merged["functions"], merged["n"], merged["together"]
    assert isinstance(functions, Least)
    assert isinstance(n, int)
    assert isinstance(together, np.ndarray)
    return VoteCounts(tuple(functions.value), classes, n, together)


def _require_classes(name: str, column: npt.NDArray[np.int8], classes: int, votes: pa.Table) -> None:
    wrong = np.flatnonzero((column < -1) | (column >= classes))
    if len(wrong):
        row = int(wrong[0])
        raise InputError(
            f"{name} votes {int(column[row])} for sample {votes.column('id')[row].as_py()!r}, but the classes are "
            f"0 to {classes - 1}, and -1 abstains; make the function return one of these."
        )
