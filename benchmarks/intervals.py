"""Clopper-Pearson intervals of weak labels, beside statsmodels: a loop over rows, and its vectorised form."""

from __future__ import annotations

import numpy as np
from side_by_side import Stopwatch, compare

FUNCTIONS = 60


def real_valued(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Votes cast and won as a learned labeler gives them: hardly two samples alike."""
    generator = np.random.default_rng(0)
    cast = generator.binomial(FUNCTIONS, 0.35, rows)
    return cast, cast * generator.beta(8, 2, rows)


def of_majority(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Votes cast and won as majority gives them: n · softmax of the votes per class."""
    generator = np.random.default_rng(0)
    cast = generator.binomial(FUNCTIONS, 0.35, rows)
    lead = 2 * generator.binomial(cast, 0.7) - cast
    return cast, cast / (1 + np.exp(-np.abs(lead.astype(float))))


def ours(make):
    def work(rows: int, stopwatch: Stopwatch) -> None:
        from assay.tasks.ordering.intervals import clopper_pearson

        cast, won = make(rows)
        with stopwatch:
            clopper_pearson(cast, won, 0.05)

    return work


def vectorised(make):
    def work(rows: int, stopwatch: Stopwatch) -> None:
        from statsmodels.stats.proportion import proportion_confint

        cast, won = make(rows)
        with stopwatch:
            proportion_confint(won, cast, alpha=0.05, method="beta")

    return work


def row_by_row(make):
    def work(rows: int, stopwatch: Stopwatch) -> None:
        from statsmodels.stats.proportion import proportion_confint

        cast, won = make(rows)
        with stopwatch:
            for n, s in zip(cast, won, strict=True):
                proportion_confint(s, n, alpha=0.05, method="beta")

    return work


if __name__ == "__main__":
    compare(
        {
            "intervals, real-valued, against vectorised statsmodels": (ours(real_valued), vectorised(real_valued)),
            "intervals, majority, against vectorised statsmodels": (ours(of_majority), vectorised(of_majority)),
            "intervals, real-valued, against a loop of statsmodels": (ours(real_valued), row_by_row(real_valued)),
        },
        rows=1_000_000,
        peer_rows={"intervals, real-valued, against a loop of statsmodels": 10_000},
    )
