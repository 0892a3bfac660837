"""The worst case: per sample and ε the attack that did most, of all whose images lie within ε."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from assay.data.image_schemas import Attacked
from assay.tasks.subjects.images.model import THRESHOLD

WORST = "worst-case"


def on_grid(records: pa.Table, *, grid: Sequence[float], known: Sequence[int] = ()) -> pa.Table:
    """The records of one attack at every ε of a grid: where it did not run, its best at a smaller ε.

    An image within a smaller ε is within this one too. So no attack looks better at a larger ε, and tables of attacks
    with different grids have the same rows. `known` as in `worst_of`.
    """
    filled = []
    for rows in _by_sample(records):
        best = rows[0]
        at = {row["eps"]: row for row in rows}
        for eps in grid:
            if eps in at and _harm(at[eps], known) >= _harm(best, known):
                best = at[eps]
            filled.append(best | {"eps": eps})
    return pa.Table.from_pylist(filled, schema=Attacked.schema)


def worst_of(*tables: pa.Table, known: Sequence[int] = ()) -> pa.Table:
    """Per row the record of the attack that did most, called `worst-case`, with the name of that attack as winner.

    The one that leaves a wrong answer wins (with several labels, the most wrong ones), so that no attack alone leaves
    a lower accuracy; then one that reached its goal; among several, the one that leaves the truth the smallest
    probability; and the first of equals. The worst case is a success where any of the attacks was one.

    `known` are the samples, over all partitions, of which each label is known: the accuracy of several labels is the
    mean over the labels, so a label that few samples have weighs more in each of them.
    """
    rows = []
    for records in zip(*(table.to_pylist() for table in tables), strict=True):
        winner = max(records, key=lambda record: _harm(record, known))
        queries, success = sum(record["queries"] for record in records), any(record["success"] for record in records)
        rows.append(winner | {"attack": WORST, "winner": winner["attack"], "queries": queries, "success": success})
    return pa.Table.from_pylist(rows, schema=Attacked.schema)


def _by_sample(records: pa.Table) -> list[list[dict[str, Any]]]:
    """The rows of every sample, in rising ε."""
    samples: dict[str, list[dict[str, Any]]] = {}
    for row in records.to_pylist():
        samples.setdefault(row["id"], []).append(row)
    return [sorted(rows, key=lambda row: float(row["eps"])) for rows in samples.values()]


def _harm(record: dict[str, Any], known: Sequence[int]) -> tuple[float, bool, float]:
    """How bad a record is for the subject: what is wrong, whether the goal is reached, how unlikely the truth is."""
    attacked = record["attacked_probabilities"]
    if record["labels"] is None:
        truth = record["clean"] if record["gold"] is None else record["gold"]
        return float(record["attacked"] != truth), record["success"], -attacked[truth]
    predicted = [int(p >= THRESHOLD) for p in record["clean_probabilities"]]
    truths = record["labels"] if any(label >= 0 for label in record["labels"]) else predicted
    weights = [1 / (known[at] or 1) if known else 1.0 for at in range(len(truths))]
    wrong = [
        w for w, p, label in zip(weights, attacked, truths, strict=True) if label >= 0 and (p >= THRESHOLD) != label
    ]
    lost = [w * abs(p - label) for w, p, label in zip(weights, attacked, truths, strict=True) if label >= 0]
    return math.fsum(wrong), record["success"], math.fsum(lost)
