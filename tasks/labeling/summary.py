"""The table of labelling functions and the findings about them, from exact counts: how often each votes, agrees,
conflicts and is right.

Every count is an integer that adds up over partitions, so the table needs no two partitions in one place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from assay.data.arrays import Counts
from assay.data.schemas import LabelingTable
from assay.tasks.labeling.rules import ABSTAIN
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.proportions import share
from assay.tasks.statistics.vote_counts import vote_matrix


@dataclass(frozen=True)
class LabelingCounts:
    """What is counted about m labelling functions with k classes on n samples.

    `votes` [m, k] counts each function's votes per class; `overlaps` and `conflicts` [m] those of its votes that lie
    on samples where another function votes, or votes otherwise; `gold_votes` and `gold_hits` [m] those on samples
    with gold, and those that match it. `covered`, `overlapped` and `conflicted` count samples.
    """

    functions: tuple[str, ...]
    samples: int
    covered: int
    overlapped: int
    conflicted: int
    votes: Counts
    overlaps: Counts
    conflicts: Counts
    gold_votes: Counts
    gold_hits: Counts


def count_votes(votes: pa.Table, gold: pa.ChunkedArray | None, classes: int) -> dict[str, int | Counts]:
    """The counts of one partition, as a dictionary whose values add up over partitions.

    >>> votes = pa.table({"id": ["a", "b"], "f": pa.array([1, -1], pa.int8()), "g": pa.array([0, 0], pa.int8())})
    >>> counts = count_votes(votes, pa.chunked_array([pa.array([1, None], pa.int16())]), 2)
    >>> counts["votes"].tolist(), counts["conflicts"].tolist(), counts["gold_hits"].tolist()
    ([[0, 1], [2, 0]], [1, 1], [1, 0])
    """
    matrix = vote_matrix(votes)  # [n, m]
    voted = matrix != ABSTAIN
    cast = voted.sum(axis=1)
    highest = matrix.max(axis=1, initial=ABSTAIN)
    lowest = np.where(voted, matrix, np.int8(127)).min(axis=1, initial=127)
    overlapped, conflicted = cast > 1, (cast > 1) & (highest > lowest)
    truth = _truth(gold, votes.num_rows)
    known = voted & (truth >= 0)[:, None]
    return {
        "samples": votes.num_rows,
        "covered": int((cast > 0).sum()),
        "overlapped": int(overlapped.sum()),
        "conflicted": int(conflicted.sum()),
        "votes": np.stack([(matrix == label).sum(axis=0) for label in range(classes)], axis=1).astype(np.int64),
        "overlaps": voted[overlapped].sum(axis=0).astype(np.int64),
        "conflicts": voted[conflicted].sum(axis=0).astype(np.int64),
        "gold_votes": known.sum(axis=0).astype(np.int64),
        "gold_hits": (known & (matrix == truth[:, None])).sum(axis=0).astype(np.int64),
    }


def labeling_counts(functions: Sequence[str], merged: Mapping[str, Any]) -> LabelingCounts:
    """The merged counts of all partitions, with the names of the functions they are about."""
    return LabelingCounts(tuple(functions), **merged)


def labeling_table(
    counts: LabelingCounts, classes: Sequence[str], faults: Mapping[str, tuple[int, str]] | None = None
) -> pa.Table:
    """One row per labelling function: polarity, coverage, overlaps, conflicts, accuracy against gold, faults.

    `faults` holds, per function that raised, how often it did and one example. Every share is of all the samples,
    as in Snorkel's `LFAnalysis`; accuracy is of the votes on samples with gold, and null where there are none.
    """
    n, m = counts.samples, len(counts.functions)
    cast = counts.votes.sum(axis=1)
    by_gold = zip(counts.gold_hits.tolist(), counts.gold_votes.tolist(), strict=True)
    raised = [(faults or {}).get(name, (0, None)) for name in counts.functions]
    columns = {
        "function": list(counts.functions),
        "position": list(range(m)),
        "polarity": [
            ", ".join(name for name, voted in zip(classes, row, strict=True) if voted) for row in counts.votes
        ],
        "coverage": _shares(cast, n),
        "overlaps": _shares(counts.overlaps, n),
        "conflicts": _shares(counts.conflicts, n),
        "votes": cast.tolist(),
        "gold_votes": counts.gold_votes.tolist(),
        "gold_hits": counts.gold_hits.tolist(),
        "empirical_accuracy": [hits / votes if votes else None for hits, votes in by_gold],
        "faults": [count for count, _ in raised],
        "fault_example": [example for _, example in raised],
        "samples": [n] * m,
    }
    return pa.table(columns, schema=LabelingTable.schema)


def _shares(counts: Counts, n: int) -> list[float]:
    return [int(count) / n if n else 0.0 for count in counts]


def _truth(gold: pa.ChunkedArray | None, rows: int) -> npt.NDArray[np.int16]:
    """Gold classes as integers, -1 where there is none."""
    if gold is None:
        return np.full(rows, ABSTAIN, np.int16)
    return np.asarray(gold.fill_null(ABSTAIN).to_numpy().astype(np.int16))


def labeling_findings(counts: LabelingCounts, faults: int = 0) -> list[Finding]:
    """How much of the data the rulebook labels, with Wilson intervals; `of` names a function where it is about one.

    `labeling.coverage` is the share of samples with a vote, `labeling.overlaps` with several, `labeling.conflicts`
    with votes for different classes, `labeling.faults` the share of answers that failed; `labeling.accuracy` the
    share of a function's votes that match gold. All are about the rulebook where `of` is empty.
    """
    n, m = counts.samples, len(counts.functions)
    cast = counts.votes.sum(axis=1)
    gold_votes, gold_hits = counts.gold_votes.tolist(), counts.gold_hits.tolist()
    findings = [
        Finding("labeling.functions", value=m, n=m),
        share("labeling.coverage", counts.covered, n),
        share("labeling.overlaps", counts.overlapped, n),
        share("labeling.conflicts", counts.conflicted, n),
        share("labeling.faults", faults, n * m),
    ]
    for place, name in enumerate(counts.functions):
        findings.append(share("labeling.coverage", int(cast[place]), n, of=name))
        if gold_votes[place]:
            findings.append(share("labeling.accuracy", gold_hits[place], gold_votes[place], of=name))
    return findings
