"""Votes of labelling functions on samples with a hidden class, made partition by partition."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa

PARTITION = 32_768


def vote_matrices(rows: int, functions: int = 60, classes: int = 2) -> Iterator[npt.NDArray[np.int8]]:
    """Matrices of int8 votes, at most `PARTITION` rows each; functions are right 55 to 90 % of the time they vote."""
    of_functions = np.random.default_rng(0)
    accuracy = of_functions.uniform(0.55, 0.9, functions).astype(np.float32)
    coverage = of_functions.uniform(0.1, 0.6, functions).astype(np.float32)
    for start in range(0, rows, PARTITION):
        generator = np.random.default_rng([1, start])
        size = min(PARTITION, rows - start)
        truth = generator.integers(0, classes, size, np.int8)[:, None]
        wrong = (truth + generator.integers(1, classes, (size, functions), np.int8)) % np.int8(classes)
        said = np.where(generator.random((size, functions), np.float32) < accuracy, truth, wrong)
        yield np.where(generator.random((size, functions), np.float32) < coverage, said, np.int8(-1))


def vote_tables(rows: int, functions: int = 60, classes: int = 2) -> Iterator[pa.Table]:
    """The same votes as tables, one int8 column per function."""
    start = 0
    for votes in vote_matrices(rows, functions, classes):
        columns = {f"f{i}": pa.array(np.ascontiguousarray(votes[:, i])) for i in range(functions)}
        ids = pa.array(np.arange(start, start + len(votes))).cast(pa.string())
        yield pa.table({"id": ids, **columns})
        start += len(votes)
