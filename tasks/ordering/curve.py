"""The accuracy curve of D1 … DN: Figure 2 as a table, with Wilson's interval and disjoint strata."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from assay.data.schemas import OrderingCurve
from assay.tasks.ordering.validity import Ordered, tie_free_accuracy
from assay.tasks.statistics.proportions import normal_band, wilson


def ordering_curve(ordered: Ordered, approach: str, labeler: str) -> pa.Table:
    """The OrderingCurve of one order: one row per D_i; accuracies are null where a D_i holds no sample with gold."""
    hits, known = ordered.hits, ordered.known
    won, n = np.cumsum(hits), np.cumsum(known)
    datasets = len(ordered.cuts)
    band, wide = normal_band(won, n), wilson(won, n)
    unknown, empty = n == 0, known == 0
    return pa.table(
        {
            "approach": [approach] * datasets,
            "labeler": [labeler] * datasets,
            "dataset": np.arange(1, datasets + 1, dtype=np.int32),
            "size": ordered.cuts,
            "n": n,
            "accuracy": pa.array(won / np.maximum(n, 1), mask=unknown),
            "band_low": pa.array(band.low, mask=unknown),
            "band_high": pa.array(band.high, mask=unknown),
            "wilson_low": pa.array(wide.low, mask=unknown),
            "wilson_high": pa.array(wide.high, mask=unknown),
            "tie_free_accuracy": [None if a is None else float(a) for a in tie_free_accuracy(ordered)],
            "stratum_n": known,
            "stratum_accuracy": pa.array(hits / np.maximum(known, 1), mask=empty),
        },
        schema=OrderingCurve.schema,
    )
