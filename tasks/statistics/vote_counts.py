"""How often labelling functions vote together, as integers: all that pruning and Snorkel need of the rows.

The table of one-hot votes L_ind [n, m·k] enters both only through C = L_indᵀ L_ind and n. Counts of partitions add up
to the counts of the whole, exactly and in any order, so nothing here grows with n; and only pairs of votes that occur
are kept, since of many functions and many classes most never do.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from assay.data.arrays import Integers
from assay.infra.errors import InputError
from assay.infra.stages.exact import Least, SparseSum

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_BLOCK = 8192  # rows whose votes are looked at together; far below 2**24, so float32 products are exact
_MOST_CELLS = 4096  # of which a dense matrix of counts is made; beyond, only pairs that occur are
_WHOLE_CELLS = 1024  # up to so many the whole symmetric matrix is counted; beyond, its upper half alone
_CELLS = 512  # multiplied with all others at a time: a sparse product takes three times the place of a dense one
_DENSE_PER_SPARSE = 400  # products that a dense matrix product does while a sparse one does one: some 300 to 500
_SPARSE_PRODUCTS = 4e6  # of which a block of rows has no more, where only pairs that occur are kept

PATTERN_ROWS = 1 << 17
"""About so many rows at most have their whole pattern of votes counted; of more, an even share by a hash of the id."""

Votes = npt.NDArray[np.int8]


@dataclass(frozen=True)
class VotePatterns:
    """Which votes are cast together [p, m], −1 where a function abstains, and on how many rows each of these is [p]."""

    votes: Votes
    times: Integers

    @classmethod
    def of(cls, cast: Votes) -> VotePatterns:
        """The patterns of the votes on some rows, [n, m].

        >>> VotePatterns.of(np.array([[1, -1], [0, 0], [1, -1]], dtype=np.int8)).times.tolist()
        [1, 2]
        """
        votes, times = np.unique(cast, axis=0, return_counts=True)
        return cls(votes, times.astype(np.int64))


@dataclass(frozen=True)
class VoteCounts:
    """n rows of m functions and k classes, and how often two votes are cast on one row.

    The vote of function i for class y is the cell i·k + y. Of cells a ≤ b the place a·m·k + b holds on how many rows
    both are cast; so a·m·k + a holds the votes of the cell.
    """

    functions: tuple[str, ...]
    classes: int
    n: int
    pairs: SparseSum
    patterns: VotePatterns | None = None
    """What is voted together on a row, by all functions at once; counted where a labeler learns from it."""

    @classmethod
    def of_matrix(cls, functions: tuple[str, ...], classes: int, n: int, together: npt.NDArray[np.int64]) -> VoteCounts:
        """From the symmetric matrix of counts, [m·k, m·k], of which the upper half is looked at.

        >>> counts = VoteCounts.of_matrix(("f", "g"), 1, 9, np.array([[5, 2], [2, 3]]))
        >>> counts.votes.tolist(), counts.together.tolist()
        ([[5], [3]], [[5, 2], [2, 3]])
        """
        first, second = np.nonzero(np.triu(together))
        return cls(functions, classes, n, SparseSum.of(first * len(together) + second, together[first, second]))

    @property
    def cells(self) -> int:
        """How many votes there could be: m·k."""
        return len(self.functions) * self.classes

    @property
    def together(self) -> Integers:
        """C = L_indᵀ L_ind, [m·k, m·k], symmetric; large where there are many functions and classes."""
        dense: Integers = self.matrix.toarray()
        return dense

    @cached_property
    def matrix(self) -> csr_array:
        """C, of which only what is not 0 is kept."""
        from scipy.sparse import coo_array

        first, second = np.divmod(self.pairs.places, max(1, self.cells))
        other = first != second
        rows, columns = np.concatenate([first, second[other]]), np.concatenate([second, first[other]])
        values = np.concatenate([self.pairs.values, self.pairs.values[other]])
        return coo_array((values, (rows, columns)), shape=(self.cells, self.cells)).tocsr()

    @property
    def votes(self) -> Integers:
        """How often each function votes each class, [m, k]."""
        first, second = np.divmod(self.pairs.places, max(1, self.cells))
        own = first == second
        counts = np.zeros(self.cells, dtype=np.int64)
        counts[first[own]] = self.pairs.values[own]
        return counts.reshape(len(self.functions), self.classes)

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
        place = {name: position for position, name in enumerate(functions)}
        now = np.array([place.get(name, -1) for name in self.functions], dtype=np.int64)  # [m], −1 where left out
        first, second = np.divmod(self.pairs.places, max(1, self.cells))
        rows, columns = now[first // self.classes], now[second // self.classes]
        kept = (rows >= 0) & (columns >= 0)
        row_cells = rows[kept] * self.classes + first[kept] % self.classes
        column_cells = columns[kept] * self.classes + second[kept] % self.classes
        width = len(functions) * self.classes
        places = np.minimum(row_cells, column_cells) * width + np.maximum(row_cells, column_cells)
        return VoteCounts(tuple(functions), self.classes, self.n, SparseSum.of(places, self.pairs.values[kept]))


def functions_of(votes: pa.Table) -> tuple[str, ...]:
    """The names of the labelling functions that a table of votes holds, in its order."""
    return tuple(name for name in votes.column_names if name != "id")


def vote_matrix(votes: pa.Table, functions: Sequence[str] | None = None) -> Votes:
    """The votes of some functions as a matrix [n, m]; left out, of all in the table's order."""
    names = functions_of(votes) if functions is None else functions
    matrix = np.empty((votes.num_rows, len(names)), np.int8)
    for place, name in enumerate(names):
        matrix[:, place] = votes.column(name).to_numpy()
    return matrix


def count_partition(votes: pa.Table, classes: int) -> dict[str, object]:
    """What `vote_counts` needs of one partition of votes, ready to be merged with the others'.

    >>> table = pa.table({"id": ["a", "b"], "f": pa.array([0, 1], pa.int8()), "g": pa.array([-1, 1], pa.int8())})
    >>> vote_counts(count_partition(table, 2), 2).together.tolist()
    [[1, 0, 0, 0], [0, 1, 0, 1], [0, 0, 0, 0], [0, 1, 0, 1]]
    """
    names = functions_of(votes)
    columns = [votes.column(name).to_numpy().astype(np.int8, copy=False) for name in names]
    for name, column in zip(names, columns, strict=True):
        _require_classes(name, column, classes, votes)
    return {"functions": Least(names), "n": votes.num_rows, "pairs": _count(columns, classes, votes.num_rows)}


def vote_counts(merged: Mapping[str, object], classes: int) -> VoteCounts:
    """The counts of the whole, once those of `count_partition` are merged."""
    functions, n, pairs = merged["functions"], merged["n"], merged["pairs"]
    assert isinstance(functions, Least)
    assert isinstance(n, int)
    names = tuple(functions.value)
    if isinstance(pairs, np.ndarray):
        whole = pairs
        if pairs.ndim == 1:
            upper = _upper(len(names) * classes)
            whole = np.zeros(upper.shape, dtype=np.int64)
            whole[upper] = pairs
        return VoteCounts.of_matrix(names, classes, n, whole)
    assert isinstance(pairs, SparseSum)
    return VoteCounts(names, classes, n, pairs)


def count_patterns(votes: pa.Table, functions: Sequence[str], one_in: int) -> dict[str, object]:
    """How often each pattern of votes stands in a partition, by the pattern's bytes; of one in so many of its rows.

    >>> table = pa.table({"id": ["a", "b"], "f": pa.array([1, 1], pa.int8()), "g": pa.array([-1, -1], pa.int8())})
    >>> count_patterns(table, ["f", "g"], 1)
    {'01ff': 2}
    """
    cast = vote_matrix(votes, functions)
    if one_in > 1:
        drawn = (blake2b(sample.encode(), digest_size=8).digest() for sample in votes.column("id").to_pylist())
        cast = cast[[int.from_bytes(digest) % one_in == 0 for digest in drawn]]
    patterns = VotePatterns.of(cast)
    return {row.tobytes().hex(): times for row, times in zip(patterns.votes, patterns.times.tolist(), strict=True)}


def with_patterns(counts: VoteCounts, merged: Mapping[str, int]) -> VoteCounts:
    """The counts, and beside them the patterns of the same functions that `count_patterns` counted."""
    votes = np.frombuffer(bytes.fromhex("".join(sorted(merged))), dtype=np.int8).reshape(-1, len(counts.functions))
    times = np.array([merged[pattern] for pattern in sorted(merged)], dtype=np.int64)
    return replace(counts, patterns=VotePatterns(votes, times))


def _count(columns: Sequence[Votes], classes: int, rows: int) -> Integers | SparseSum:
    """The whole matrix of counts, or, where there are many cells, the pairs that occur."""
    cells, often = len(columns) * classes, _products_per_row(columns)
    if cells > _MOST_CELLS:
        block = int(np.clip(_SPARSE_PRODUCTS / max(often, 1.0), 1, _BLOCK))
        return _pairs_that_occur(columns, classes, rows, block)
    products = _from_vote_to_vote if _DENSE_PER_SPARSE * often < cells**2 else _from_cell_to_cell
    together = np.zeros((cells, cells), dtype=np.int64 if rows >= 2**31 else np.int32)
    for start in range(0, rows, _BLOCK):
        together += products([column[start : start + _BLOCK] for column in columns], classes)
    return (together if cells <= _WHOLE_CELLS else together[_upper(cells)]).astype(np.int64)


def _upper(cells: int) -> npt.NDArray[np.bool_]:
    """Where a symmetric matrix of counts is read: on the diagonal and above it, row by row."""
    return np.triu(np.ones((cells, cells), dtype=np.bool_))


def _products_per_row(columns: Sequence[Votes]) -> float:
    """How many pairs of votes there are on a row, by the first rows."""
    if not columns or not len(columns[0]):
        return 0.0
    cast = np.add.reduce([column[:_BLOCK] >= 0 for column in columns], axis=0, dtype=np.int64)
    return float((cast**2).mean())


def _from_cell_to_cell(columns: Sequence[Votes], classes: int) -> npt.NDArray[np.int32]:
    voted = np.empty((len(columns) * classes, len(columns[0]) if columns else 0), dtype=np.float32)  # L_indᵀ
    for position, column in enumerate(columns):
        for y in range(classes):
            np.equal(column, y, out=voted[position * classes + y], casting="unsafe")
    return (voted @ voted.T).astype(np.int32)


def _from_vote_to_vote(columns: Sequence[Votes], classes: int) -> npt.NDArray[np.int32]:
    voted = _one_hot(columns, classes)
    by_cell, cells = voted.T.tocsr(), voted.shape[1]
    products = np.empty((cells, cells), dtype=np.int32)
    for start in range(0, cells, _CELLS):
        products[start : start + _CELLS] = (by_cell[start : start + _CELLS] @ voted).toarray()
    return products


def _pairs_that_occur(columns: Sequence[Votes], classes: int, rows: int, block: int) -> SparseSum:
    cells, total = len(columns) * classes, SparseSum.of(np.zeros(0, np.int64), np.zeros(0, np.int64))
    for start in range(0, rows, block):
        voted = _one_hot([column[start : start + block] for column in columns], classes)
        products = (voted.T @ voted).tocoo()
        upper = products.row <= products.col
        places = products.row[upper].astype(np.int64) * cells + products.col[upper]
        total += SparseSum.of(places, products.data[upper])
    return total


def _one_hot(columns: Sequence[Votes], classes: int) -> csr_array:
    """L_ind, of which only the votes that are cast are kept."""
    from scipy.sparse import csr_array

    votes = np.stack(columns, axis=1)  # [rows, m]
    row, function = np.nonzero(votes >= 0)
    cast = np.ones(len(row), np.int32), (row, function * classes + votes[row, function])
    return csr_array(cast, shape=(len(votes), len(columns) * classes))


def _require_classes(name: str, column: Votes, classes: int, votes: pa.Table) -> None:
    wrong = np.flatnonzero((column < -1) | (column >= classes))
    if len(wrong):
        row = int(wrong[0])
        raise InputError(
            f"{name} votes {int(column[row])} for sample {votes.column('id')[row].as_py()!r}, but the classes are "
            f"0 to {classes - 1}, and -1 abstains; make the function return one of these."
        )
