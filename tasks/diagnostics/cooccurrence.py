"""Which labels a subject names together, before and after an attack (Xu et al., component 4, figure 8)."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from assay.tasks.subjects.images.model import THRESHOLD

Counts = npt.NDArray[np.int64]  # [k, k]


def count_answers(attacked: pa.Table, *, eps: float, classes: int) -> dict[str, Counts]:
    """What the subject said of a partition, counted at one ε.

    Of several labels: `clean` and `attacked` [k, k], how many images are said to bear both (on the diagonal: to bear
    that one), and `clean alone`, `attacked alone` [k], how many bear nothing else. Of one class: `moved` [k, k], how
    many images said to be of the one are said to be of the other afterwards. `images` is how many there were.
    """
    rows = attacked.filter(pc.equal(attacked["eps"], eps))
    several = rows.filter(pc.equal(rows["clean"], -1))
    single = rows.filter(pc.not_equal(rows["clean"], -1))
    counts: dict[str, Counts] = {"images": np.array([rows.num_rows], np.int64)}
    for side in ("clean", "attacked"):
        named = _named(several, side, classes)
        counts[side] = co_occurrence(named)
        counts[f"{side} alone"] = named[named.sum(axis=1) == 1].sum(axis=0).astype(np.int64)
    counts["moved"] = np.zeros((classes, classes), np.int64)
    before, after = (single[side].to_numpy().astype(np.int64) for side in ("clean", "attacked"))
    np.add.at(counts["moved"], (before, after), 1)
    return counts


def co_occurrence(named: npt.NDArray[np.bool_]) -> Counts:
    """How many images bear both labels [k, k], from which labels each bears [n, k].

    >>> co_occurrence(np.array([[True, True, False], [True, False, False]])).tolist()
    [[2, 1, 0], [1, 1, 0], [0, 0, 0]]
    """
    whole = named.astype(np.int64)
    return np.asarray(whole.T @ whole)


def _named(rows: pa.Table, side: str, classes: int) -> npt.NDArray[np.bool_]:
    flat = rows[f"{side}_probabilities"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
    return np.asarray(np.asarray(flat, np.float64).reshape(rows.num_rows, classes) >= THRESHOLD)
