"""Snorkel's label model, trained and applied: from counts of partitions, beside `LabelModel` on the whole matrix."""

from __future__ import annotations

import functools

import numpy as np
from side_by_side import Stopwatch, compare
from simulated_votes import vote_matrices, vote_tables

EPOCHS = 100  # Snorkel's default, for both


def ours(rows: int, stopwatch: Stopwatch) -> None:
    from assay.infra.stages.exact import merge
    from assay.tasks.statistics.vote_counts import count_partition, vote_counts
    from assay.tasks.weak_labels.labelers import weak_labels
    from assay.tasks.weak_labels.snorkel import snorkel
    from assay.tasks.weak_labels.table import WeakLabelling

    def counted(table):
        with stopwatch:
            return count_partition(table, 2)

    merged = functools.reduce(merge, map(counted, vote_tables(rows)))
    with stopwatch:
        labeler = snorkel(vote_counts(merged, 2), WeakLabelling(epochs=EPOCHS))
    for table in vote_tables(rows):
        with stopwatch:
            weak_labels(table, labeler, 2, default=0)


def peer(rows: int, stopwatch: Stopwatch) -> None:
    import torch
    from snorkel.labeling.model import LabelModel

    torch.set_num_threads(1)
    votes = np.concatenate(list(vote_matrices(rows)))
    with stopwatch:
        model = LabelModel(cardinality=2, verbose=False)
        model.fit(votes, n_epochs=EPOCHS, seed=0, progress_bar=False)
        model.predict_proba(votes)


if __name__ == "__main__":
    compare({"label model, 60 functions": (ours, peer)}, rows=1_000_000)
