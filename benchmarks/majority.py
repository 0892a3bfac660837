"""Majority votes with their probabilities: vectorised counts, beside Snorkel's `MajorityLabelVoter`."""

from __future__ import annotations

import numpy as np
from side_by_side import Stopwatch, compare
from simulated_votes import vote_matrices, vote_tables


def ours(rows: int, stopwatch: Stopwatch) -> None:
    from assay.tasks.weak_labels.labelers import majority, weak_labels

    labeler = majority([f"f{i}" for i in range(60)])
    for table in vote_tables(rows):
        with stopwatch:
            weak_labels(table, labeler, 2, default=0)


def peer(rows: int, stopwatch: Stopwatch) -> None:
    from snorkel.labeling.model import MajorityLabelVoter

    votes = np.concatenate(list(vote_matrices(rows)))
    with stopwatch:
        MajorityLabelVoter(cardinality=2).predict_proba(votes)


if __name__ == "__main__":
    compare({"majority vote, 60 functions": (ours, peer)}, rows=1_000_000)
