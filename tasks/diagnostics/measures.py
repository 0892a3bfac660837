"""Tables and findings of diagnostics: places in the plane, agreement of neighbours, labels named together."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from assay.data.image_schemas import CoOccurrence, LayerPoints
from assay.tasks.diagnostics.cooccurrence import Counts
from assay.tasks.diagnostics.embedding import embed
from assay.tasks.diagnostics.looking import CLEAN, TRAIN, Truth
from assay.tasks.diagnostics.neighbours import Targets, agreement
from assay.tasks.diagnostics.settings import Diagnostics
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.proportions import share
from assay.tasks.subjects.eps import eps_name

_Z = 1.959963984540054  # of a 95 % interval


def layer_points(
    features: pa.Table,
    truths: Mapping[str, Mapping[str, Truth]],
    subject: str,
    eps: Mapping[str, float],
    settings: Diagnostics,
    seed: int,
) -> pa.Table:
    """The points of one layer, from its features in all circumstances; neighbours are sought in the features."""
    ids, shown = features["id"].to_pylist(), features["shown"].to_pylist()
    matrix = np.stack(features["features"].to_numpy(zero_copy_only=False)).astype(np.float32)
    places = embed(matrix, settings.perplexity, seed)
    known = [truths[TRAIN if where == TRAIN else CLEAN][one] for one, where in zip(ids, shown, strict=True)]
    targets = _targets(known)
    where = np.array(shown)
    train = where == TRAIN
    agrees = np.full(len(ids), np.nan)
    for circumstance in dict.fromkeys(shown):
        rows = where == circumstance
        agrees[rows] = agreement(
            matrix[train],
            targets[train],
            matrix[rows],
            targets[rows],
            settings.neighbours,
            themselves=circumstance == TRAIN,
        )
    columns: dict[str, Any] = {
        "id": ids,
        "subject": [subject] * len(ids),
        "shown": shown,
        "eps": [eps.get(one, 0.0) for one in shown],
        "layer": features["layer"].to_pylist(),
        "x": places[:, 0],
        "y": places[:, 1],
        "code": [truth.code for truth in known],
        "agrees": pa.array(agrees, mask=np.isnan(agrees)),
    }
    return pa.table(columns, schema=LayerPoints.schema)


def agreement_findings(points: pa.Table, subject: str, *, several: bool) -> list[Finding]:
    """`diagnostics.knn_agreement` of each layer: the share of samples whose nearest training samples bear their class.

    The group is `train`, `clean`, or an attack with its ε. Of several labels it is the mean share of labels, with the
    normal interval of a mean; else Wilson's.
    """
    scores: dict[tuple[str, str], list[float]] = {}
    for row in points.select(["layer", "shown", "eps", "agrees"]).to_pylist():
        group = row["shown"] if row["shown"] in (TRAIN, CLEAN) else f"{row['shown']}, {eps_name(row['eps'])}"
        of_group = scores.setdefault((row["layer"], group), [])
        if row["agrees"] is not None:
            of_group.append(row["agrees"])
    return [_agreement(layer, group, values, subject, several) for (layer, group), values in scores.items()]


def pair_findings(counts: Mapping[str, Counts], subject: str, attack: str, eps: float) -> list[Finding]:
    """`diagnostics.pairs_named`: pairs of labels named together per image, and `diagnostics.labels_named`: labels.

    The group is `clean`, or the ε; none where images are of one class.
    """
    images = int(counts["images"][0])
    if images == 0 or counts["moved"].any():
        return []
    findings = []
    for side, group in (("clean", CLEAN), ("attacked", eps_name(eps))):
        matrix = counts[side]
        totals = {"labels_named": int(matrix.trace()), "pairs_named": int(np.triu(matrix, 1).sum())}
        findings += [
            Finding(
                f"diagnostics.{metric}",
                of=attack,
                group=group,
                subject=subject,
                value=total / images,
                n=images,
                unit="per image",
            )
            for metric, total in totals.items()
        ]
    return findings


def co_occurrence_table(counts: Mapping[str, Counts], subject: str, attack: str, eps: float) -> pa.Table:
    """The counts as rows: what was named together clean and attacked, or what became of every class."""
    images = int(counts["images"][0])
    sides = ("moved",) if counts["moved"].any() else ("clean", "attacked")
    rows = [
        {
            "subject": subject,
            "attack": attack,
            "eps": eps,
            "side": side,
            "first": first,
            "second": second,
            "count": int(count),
            "images": images,
            "alone": int(counts[f"{side} alone"][first]) if side != "moved" and first == second else None,
        }
        for side in sides
        for (first, second), count in np.ndenumerate(counts[side])
    ]
    return pa.Table.from_pylist(rows, schema=CoOccurrence.schema)


def _targets(truths: list[Truth]) -> Targets:
    if any(truth.labels is not None for truth in truths):
        return np.array([truth.labels for truth in truths], dtype=np.int64)
    return np.array([truth.gold for truth in truths], dtype=np.int64)


def _agreement(layer: str, group: str, values: list[float], subject: str, several: bool) -> Finding:
    metric = "diagnostics.knn_agreement"
    if not several or not values:
        return share(metric, int(sum(values)), len(values), of=layer, group=group, subject=subject)
    scores: npt.NDArray[np.float64] = np.array(values)
    mean = float(scores.mean())
    half = _Z * float(scores.std(ddof=1)) / len(scores) ** 0.5 if len(scores) > 1 else 1.0
    low, high = max(0.0, mean - half), min(1.0, mean + half)
    return Finding(
        metric, of=layer, group=group, subject=subject, value=mean, low=low, high=high, n=len(scores), unit="share"
    )
