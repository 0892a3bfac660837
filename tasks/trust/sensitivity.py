"""What changes under other thresholds: the oracle asked again with one setting moved and all else as it was."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from assay.data.text_schemas import TrustSettings
from assay.tasks.language.anchors import Anchors
from assay.tasks.language.spaces import Space
from assay.tasks.trust.keywords import election, opinions_of
from assay.tasks.trust.labelling import Names, oracle_of, toki_labels
from assay.tasks.trust.measures import confusion, g_mean
from assay.tasks.trust.pools import Pool
from assay.tasks.trust.settings import Asking

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
    shift: float = 0.0
    agree: float = 0.5


@dataclass(frozen=True)
class Cut:
    """The ways of asking that cluster words alike: one piece of work, for clustering is what takes long."""

    theta_dist: float
    used: bool

    @property
    def asked(self) -> list[Asked]:
        """The ways: at the θ_dist in use, all other settings are moved too."""
        moved = [Asked("theta_dist", self.theta_dist, self.used)]
        if self.used:
            moved += [Asked("theta_relate", shift, shift == 0, shift=shift) for shift in THETA_RELATE]
            moved += [Asked("vote", agree, agree == 0.5, agree=agree) for agree in AGREE]
        return moved


def cuts(used: float) -> list[Cut]:
    """All ways of asking, where θ_dist is `used`.

    >>> sum(len(cut.asked) for cut in cuts(0.3))
    21
    """
    return [Cut(value, value == used) for value in sorted({*THETA_DIST, used})]


@dataclass(frozen=True)
class Question:
    """What is asked again and again: the words that speak for each correct prediction, and what its label should be."""

    explainer: str
    predictions: tuple[tuple[int, Mapping[str, float]], ...]
    truth: tuple[str | None, ...]


def cut_rows(
    cut: Cut, *, pools: Sequence[Pool], spaces: Sequence[Space], names: Names, question: Question, settings: Asking
) -> pa.Table:
    """One row of `TrustSettings` per way of asking."""
    opinions = [opinions_of(pool, name, spaces, cut.theta_dist) for pool, name in zip(pools, names, strict=True)]
    rows = []
    for asked in cut.asked:
        moved = [replace(space, theta=space.theta + asked.shift) for space in spaces]
        thetas = [space.theta for space in moved]
        anchors = [
            Anchors(pool.words, election(one, thetas, asked.agree).keyword)
            for pool, one in zip(pools, opinions, strict=True)
        ]
        labels = toki_labels(question.predictions, oracle_of(anchors, moved, names, settings))
        rows.append(_row(asked, question, labels))
    return pa.Table.from_pylist(rows, schema=TrustSettings.schema)


def _row(asked: Asked, question: Question, labels: Sequence[str]) -> dict[str, Any]:
    counts = confusion(labels, question.truth)
    value = float(g_mean(np.array([counts.tp, counts.fp, counts.fn, counts.tn], dtype=np.float64)))
    return {
        "explainer": question.explainer,
        "setting": asked.setting,
        "value": asked.value,
        "used": asked.used,
        "n": len(labels),
        "trustworthy": labels.count("trustworthy"),
        "undecided": labels.count("undecided"),
        "known": counts.n,
        "g_mean": None if np.isnan(value) else value,
    }
