"""Tables and findings of diagnostics: layers in the plane by t-SNE (van der Maaten and Hinton 2008; Xu et al., figure
7), whether a sample's nearest training samples bear its class, and which labels are named together before and after
an attack (Xu et al., component 4, figure 8).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from assay.data.schemas import CoOccurrence, LayerPoints
from assay.tasks.diagnostics.inspection import CLEAN, TRAIN, Truth
from assay.tasks.diagnostics.settings import Diagnostics
from assay.tasks.statistics.clusters import mean_within
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.proportions import share
from assay.tasks.subjects.predictions import THRESHOLD, probabilities_of
from assay.tasks.subjects.settings import eps_name

if TYPE_CHECKING:
    from assay.tasks.diagnostics.maps import Features

Places = npt.NDArray[np.float64]  # [n, 2]

_ROUNDS = 500  # half of what scikit-learn takes by default: enough for some hundred points, in half the time


def embed(features: Features, perplexity: float, seed: int) -> Places:
    """A place in the plane for every row, near those it is like [n, 2]; the same for the same seed.

    Columns that never vary are left out; where nothing varies, or with fewer than five rows, all lie at the origin.
    """
    from sklearn.manifold import TSNE

    varying = features[:, features.std(axis=0) > 0].astype(np.float64)
    n = len(features)
    if n < 5 or varying.shape[1] == 0:
        return np.zeros((n, 2))
    scale = float(varying.std(axis=0).max())
    near, init = min(perplexity, (n - 1) / 3), "pca" if varying.shape[1] > 1 else "random"
    method = TSNE(perplexity=near, init=init, learning_rate="auto", random_state=seed, max_iter=_ROUNDS, n_jobs=1)
    return np.asarray(method.fit_transform(varying / scale), dtype=np.float64)


Targets = npt.NDArray[np.int64]  # [n] class codes, or [n, k] labels; −1 where unknown
Scores = npt.NDArray[np.float64]  # [n]; NaN where a sample's truth is unknown


def agreement(
    known: Features, truths: Targets, asked: Features, targets: Targets, neighbours: int, *, themselves: bool = False
) -> Scores:
    """Per sample, whether the vote of its nearest `known` samples is its class; of several labels, the share of them.

    With `themselves`, `asked` are the known samples, and none of them votes on itself. A vote that is a draw goes to
    the class of the nearest; a label that half of the votes name holds.

    >>> line = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]], np.float32)
    >>> classes = np.array([0, 0, 0, 1, 1, 1])
    >>> agreement(line, classes, np.array([[1.5], [9.0]], np.float32), np.array([0, 0]), 3).tolist()
    [1.0, 0.0]
    """
    nearest = _nearest(known, asked, neighbours, themselves)
    if targets.ndim == 2:
        votes = truths[nearest]  # [n, neighbours, k]
        counted = (votes >= 0).sum(axis=1)
        voted = 2 * (votes == 1).sum(axis=1) >= np.maximum(counted, 1)
        judged = (targets >= 0) & (counted > 0)
        hits = ((voted == (targets == 1)) & judged).sum(axis=1)
        return np.where(judged.any(axis=1), hits / np.maximum(judged.sum(axis=1), 1), np.nan)
    voted = np.array([_vote(truths[row]) for row in nearest], dtype=np.int64).reshape(len(asked))
    return np.where((targets >= 0) & (voted >= 0), voted == targets, np.nan)


def _nearest(known: Features, asked: Features, neighbours: int, themselves: bool) -> npt.NDArray[np.int64]:
    """The rows of the nearest known samples [n, neighbours], the nearest first, ties in their order."""
    a, b = asked.astype(np.float64), known.astype(np.float64)
    middle = b.mean(axis=0)
    a, b = a - middle, b - middle  # far from the origin the differences would drown in rounding
    distances = (a**2).sum(axis=1)[:, None] + (b**2).sum(axis=1) - 2 * a @ b.T
    if themselves:
        np.fill_diagonal(distances, np.inf)
    most = min(neighbours, len(known) - themselves)
    return np.asarray(distances.argsort(axis=1, kind="stable")[:, :most], dtype=np.int64)


def _vote(classes: Targets) -> int:
    """The class that most name, of several the one named first (the nearest); −1 where nobody knows."""
    votes = Counter(code for code in classes.tolist() if code >= 0)
    return votes.most_common(1)[0][0] if votes else -1


Counts = npt.NDArray[np.int64]  # [k, k]


def count_answers(attacked: pa.Table, *, eps: float, classes: int) -> dict[str, Counts]:
    """What the subject said of a partition, counted at one ε.

    Of several labels: `clean` and `attacked` [k, k], how many images are said to bear both (on the diagonal: to bear
    that one), and `clean alone`, `attacked alone` [k], how many bear nothing else. Of one class: `moved` [k, k], how
    many images said to be of the one are said to be of the other afterwards. `images` is how many there were.
    """
    rows = attacked.filter(pc.equal(attacked["eps"], eps))
    several = rows.filter(pc.equal(rows["clean"], -1))
    single = rows.filter(pc.not_equal(rows["clean"], -1))
    counts: dict[str, Counts] = {"images": np.array([rows.num_rows], np.int64)}
    for side in ("clean", "attacked"):
        named = probabilities_of(several, classes, f"{side}_probabilities") >= THRESHOLD
        counts[side] = co_occurrence(named)
        counts[f"{side} alone"] = named[named.sum(axis=1) == 1].sum(axis=0).astype(np.int64)
    counts["moved"] = np.zeros((classes, classes), np.int64)
    before, after = (single[side].to_numpy().astype(np.int64) for side in ("clean", "attacked"))
    np.add.at(counts["moved"], (before, after), 1)
    return counts


def co_occurrence(named: npt.NDArray[np.bool_]) -> Counts:
    """How many images bear both labels [k, k], from which labels each bears [n, k].

    >>> co_occurrence(np.array([[True, True, False], [True, False, False]])).tolist()
    [[2, 1, 0], [1, 1, 0], [0, 0, 0]]
    """
    whole = named.astype(np.int64)
    return np.asarray(whole.T @ whole)


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
    known = [truths[TRAIN if where == TRAIN else CLEAN][sample] for sample, where in zip(ids, shown, strict=True)]
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
        "eps": [eps.get(circumstance, 0.0) for circumstance in shown],
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
    interval of a mean by Student's t; else Wilson's.
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
            Finding(f"diagnostics.{metric}", attack, group, subject, total / images, n=images, unit="per image")
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
    return Finding(metric, layer, group, subject, n=len(values), unit="share").estimated(mean_within(np.array(values)))
