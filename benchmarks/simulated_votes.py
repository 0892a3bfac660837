"""Votes of labelling functions on samples with a hidden class, made partition by partition."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa

PARTITION = 65_536


def vote_matrices(rows: int, functions: int = 60, classes: int = 2) -> Iterator[npt.NDArray[np.int8]]:
    """Matrices of int8 votes, at most `PARTITION` rows each; functions are right 55 to 90 % of the time they vote."""
    of_functions = np.random.default_rng(0)
    accuracy, coverage = of_functions.uniform(0.55, 0.9, functions), of_functions.uniform(0.1, 0.6, functions)
    for start in range(0, rows, PARTITION):
        generator = np.random.default_rng([1, start])
        size = min(PARTITION, rows - start)
        truth = generator.integers(0, classes, size)[:, None]
        wrong = (truth + generator.integers(1, classes, (size, functions))) % classes
        said = np.where(generator.random((size, functions)) < accuracy, truth, wrong)
        yield np.where(generator.random((size, functions)) < coverage, said, -1).astype(np.int8)


def vote_tables(rows: int, functions: int = 60, classes: int = 2) -> Iterator[pa.Table]:
    """The same votes as tables, one int8 column per function."""
    start = 0
    for votes in vote_matrices(rows, functions, classes):
        columns = {f"f{i}": pa.array(np.ascontiguousarray(votes[:, i])) for i in range(functions)}
        ids = pa.array(np.arange(start, start + len(votes))).cast(pa.string())
        yield pa.table({"id": ids, **columns})
        start += len(votes)
