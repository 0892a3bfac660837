"""What changes under other thresholds: the oracle asked again with one setting moved and all else as it was."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from assay.tasks.trust.labelling import Names, elect_all, oracle_of, toki_labels
from assay.tasks.trust.measures import confusion, g_mean
from assay.tasks.trust.pools import Pool
from assay.tasks.trust.settings import Trust
from assay.tasks.trust.spaces import Space

THETA_DIST = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9)
THETA_RELATE = (-0.2, -0.1, -0.05, 0.0, 0.05, 0.1, 0.2)
"""Added to each provider's θ_relate."""
AGREE = (0.0, 0.25, 0.5, 0.75, 0.99)
"""The share of providers that a keyword needs more than."""


@dataclass(frozen=True)
class Asked:
    """One way of asking: which setting was moved, to which value, and whether that is the value in use."""

    setting: str
    value: float
    used: bool
    theta_dist: float
    shift: float
    agree: float


def ways(settings: Trust) -> Iterator[Asked]:
    """Every way of asking."""
    dist = settings.theta_dist
    for value in sorted({*THETA_DIST, dist}):
        yield Asked("theta_dist", value, value == dist, value, 0.0, 0.5)
    for shift in THETA_RELATE:
        yield Asked("theta_relate", shift, shift == 0, dist, shift, 0.5)
    for agree in AGREE:
        yield Asked("vote", agree, agree == 0.5, dist, 0.0, agree)


def sensitivity_rows(
    pools: Sequence[Pool], spaces: Sequence[Space], names: Names,
    explained: tuple[Sequence[str], Sequence[tuple[int, Mapping[str, float]]]],
    truth: Mapping[str, str | None], settings: Trust, explainer: str,
) -> list[dict[str, Any]]:  # fmt: skip
    """One row of `TrustSettings` per way of asking."""
    ids, predictions = explained
    rows = []
    for asked in ways(settings):
        moved = [replace(space, theta=space.theta + asked.shift) for space in spaces]
        elections = elect_all(pools, names, moved, asked.theta_dist, asked.agree)
        labels = toki_labels(predictions, oracle_of(pools, elections, moved, names, settings))
        found = confusion(labels, [truth.get(sample) for sample in ids])
        cells = np.array([found.tp, found.fp, found.fn, found.tn], dtype=np.float64)
        value = float(g_mean(cells)) if found.n else float("nan")
        rows.append({
            "explainer": explainer, "setting": asked.setting, "value": asked.value, "used": asked.used,
            "n": len(labels), "trustworthy": labels.count("trustworthy"), "undecided": labels.count("undecided"),
            "known": found.n, "g_mean": None if np.isnan(value) else value,
        })  # fmt: skip
    return rows
