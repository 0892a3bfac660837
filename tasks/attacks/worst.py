"""The worst case: per sample and ε the attack that did most, of all whose images lie within ε."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from assay.data.image_schemas import Attacked
from assay.tasks.subjects.image_model import THRESHOLD

WORST = "worst-case"


def on_grid(records: pa.Table, *, grid: Sequence[float]) -> pa.Table:
    """The records of one attack at every ε of a grid: where it did not run, its best at a smaller ε.

    An image within a smaller ε is within this one too. So no attack looks better at a larger ε, and tables of attacks
    with different grids have the same rows.
    """
    found = []
    for rows in _by_sample(records):
        best = rows[0]
        at = {row["eps"]: row for row in rows}
        for eps in grid:
            if eps in at and _harm(at[eps]) >= _harm(best):
                best = at[eps]
            found.append(best | {"eps": eps})
    return pa.Table.from_pylist(found, schema=Attacked.schema)


def worst_of(*tables: pa.Table) -> pa.Table:
    """Per row the record of the attack that did most, called `worst-case`, with the name of that attack as winner.

    The attack that reached its goal wins; among several, the one that leaves the truth the smallest probability; and
    the first of equals.
    """
    rows = []
    for records in zip(*(table.to_pylist() for table in tables), strict=True):
        winner = max(records, key=_harm)
        queries = sum(record["queries"] for record in records)
        rows.append(winner | {"attack": WORST, "winner": winner["attack"], "queries": queries})
    return pa.Table.from_pylist(rows, schema=Attacked.schema)


def _by_sample(records: pa.Table) -> list[list[dict[str, Any]]]:
    """The rows of every sample, in rising ε."""
    samples: dict[str, list[dict[str, Any]]] = {}
    for row in records.to_pylist():
        samples.setdefault(row["id"], []).append(row)
    return [sorted(rows, key=lambda row: float(row["eps"])) for rows in samples.values()]


def _harm(record: dict[str, Any]) -> tuple[bool, int, float]:
    """How bad a record is for the subject: the goal reached, labels changed, and how unlikely the truth has become."""
    attacked, clean = record["attacked_probabilities"], record["clean_probabilities"]
    if record["labels"] is not None:
        pairs = zip(attacked, clean, strict=True)
        changed = sum((now >= THRESHOLD) != (before >= THRESHOLD) for now, before in pairs)
        wrong = sum(abs(p - label) for p, label in zip(attacked, record["labels"], strict=True) if label >= 0)
        return record["success"], changed, wrong
    truth = record["clean"] if record["gold"] is None else record["gold"]
    return record["success"], int(record["attacked"] != truth), -attacked[truth]
