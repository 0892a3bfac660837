"""The adversarial order and the curated sets D1 ⊂ D2 ⊂ … ⊂ DN that are cut from it."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Protocol

import numpy as np
import numpy.typing as npt

from assay.infra.errors import InputError


class _Ids(Protocol):
    def to_pylist(self) -> Sequence[str]: ...


def tie_breaks(ids: _Ids) -> npt.NDArray[np.int64]:
    """A stable 64-bit hash (BLAKE2b) of each sample id: who comes first among equals, on any machine and any day.

    >>> import pyarrow as pa
    >>> tie_breaks(pa.array(["a", "b"])).tolist()
    [4681665781835383343, -8902839231844102283]
    """
    digests = b"".join(blake2b(sample.encode(), digest_size=8).digest() for sample in ids.to_pylist())
    return np.frombuffer(digests, dtype=">i8").astype(np.int64)


def adversarial_order(scores: npt.NDArray[np.float64], ties: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """The positions of the samples, easiest first: by score (θ_L) descending, equal scores by `ties` ascending.

    >>> adversarial_order(np.array([0.1, 0.9, 0.1]), np.array([7, 8, 3])).tolist()
    [1, 2, 0]
    """
    order: npt.NDArray[np.int64] = np.lexsort((ties, -scores))
    return order


def cut_points(samples: int, datasets: int) -> npt.NDArray[np.int64]:
    """How many of the ordered samples D_1, …, D_N hold: round(i/N · n), halves to even; an error if n < N.

    >>> cut_points(569, 10).tolist()
    [57, 114, 171, 228, 284, 341, 398, 455, 512, 569]
    """
    if samples < datasets:
        raise InputError(
            f"{samples} samples cannot be cut into {datasets} data sets; lower ordering.datasets to {max(samples, 3)} "
            "or fewer, or bring more samples."
            if samples >= 3
            else f"{samples} samples are too few to order; bring at least {datasets}."
        )
    return np.array([round(i * samples / datasets) for i in range(1, datasets + 1)], dtype=np.int64)


def dataset_of_rank(ranks: npt.NDArray[np.int64], cuts: npt.NDArray[np.int64]) -> npt.NDArray[np.int32]:
    """The number d of the first curated set D_d that holds each rank (0 is the easiest sample).

    >>> dataset_of_rank(np.array([0, 56, 57, 568]), cut_points(569, 10)).tolist()
    [1, 1, 2, 10]
    """
    return (np.searchsorted(cuts, ranks, side="right") + 1).astype(np.int32)


def tie_starts(ordered_scores: npt.NDArray[np.float64]) -> npt.NDArray[np.int64]:
    """Where each group of equal scores begins in the order, and at the end its length.

    >>> tie_starts(np.array([0.9, 0.5, 0.5, 0.1])).tolist()
    [0, 1, 3, 4]
    """
    n = len(ordered_scores)
    new = np.flatnonzero(ordered_scores[1:] != ordered_scores[:-1]) + 1
    return np.concatenate([[0], new, [n]]).astype(np.int64) if n else np.zeros(1, dtype=np.int64)


def largest_tie(ordered_scores: npt.NDArray[np.float64]) -> int:
    """The size of the largest group of samples that no score tells apart.

    >>> largest_tie(np.array([0.9, 0.5, 0.5, 0.1]))
    2
    """
    return int(np.diff(tie_starts(ordered_scores)).max(initial=0))
