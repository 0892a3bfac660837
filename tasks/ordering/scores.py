"""Other scores that samples can be ordered by than the lower end of the confidence's interval, and which of them tells
right from wrong labels best.

A score is at its highest where a label is least in doubt. Where one of them orders, it stands at both ends of a
sample's interval, which it has none of.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from assay.data.arrays import Floats
from assay.data.schemas import Intervals
from assay.infra.stages.exact import Smallest
from assay.tasks.ordering.order_test import OrderCounts, area_gain
from assay.tasks.ordering.settings import Score
from assay.tasks.ordering.sorting import known_of
from assay.tasks.ordering.validity import RIGHT, UNKNOWN
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.order_test import FEWEST_CLUSTERS, gain_finding

Lines = Floats  # [folds, d + 1]: weights and offset of a line through what is known of all other folds
_FOLDS, _MOST = 5, 20_000


def folds_of(clusters: pa.Table) -> npt.NDArray[np.int64]:
    """The fold of each sample [n]: the samples of one group, else of one pattern of votes, share it, so that none is
    scored by what is known of its like, and a pattern has one score, over which scores are permuted."""
    return np.asarray(pc.coalesce(clusters["pattern"], clusters["cluster"]).to_numpy() % _FOLDS)


def vote_entropy(votes: npt.NDArray[np.int8], classes: int) -> Floats:
    """How far functions disagree over each sample [n], of votes [n, m] with −1 for none: −Σ p_c·log p_c of the shares
    of votes for each class over its most, log k (Dagan and Engelson 1995); 1 where nobody votes.

    >>> vote_entropy(np.array([[1, 1, -1], [0, 1, -1], [-1, -1, -1]], np.int8), 2).tolist()
    [0.0, 1.0, 1.0]
    """
    counts = np.stack([(votes == code).sum(axis=1) for code in range(classes)], axis=1)
    cast = counts.sum(axis=1)
    share = counts / np.maximum(cast, 1)[:, None]
    entropy = -(share * np.log(np.where(share > 0, share, 1))).sum(axis=1) / np.log(classes)
    return np.where(cast > 0, np.abs(entropy), 1.0)


def features_of(intervals: pa.Table, votes: pa.Table, functions: Sequence[str], classes: int) -> Floats:
    """What a label's chance to be right is learned from [n, d]: both scores, the entropy, the votes cast, and whether
    each function votes for the label, against it, or not."""
    matrix = np.stack([votes[name].to_numpy() for name in functions], axis=1)
    label = intervals["label"].to_numpy()[:, None]
    agree = np.where(matrix < 0, 0, np.where(matrix == label, 1, -1))
    columns = [intervals[name].to_numpy() for name in ("lower", "confidence", "votes_cast")]
    return np.column_stack([*columns, vote_entropy(matrix, classes), agree]).astype(np.float64)


def known_rows(
    intervals: pa.Table, votes: pa.Table, clusters: pa.Table, samples: pa.Table, functions: Sequence[str], classes: int
) -> Smallest:
    """Of a partition the decided samples with gold: tie break, fold, whether the label is right, and the features; of
    very many those with the smallest tie breaks, which are hashes."""
    outcomes = known_of(intervals, samples)
    rows = np.flatnonzero((outcomes != UNKNOWN) & ~intervals["undecided"].to_numpy())
    features = features_of(intervals, votes, functions, classes)[rows]
    ties, folds = intervals["tie_break"].to_numpy()[rows], folds_of(clusters)[rows]
    known = zip(ties.tolist(), folds.tolist(), (outcomes[rows] == RIGHT).tolist(), features, strict=True)
    return Smallest.of(((tie, fold, right, row.tobytes()) for tie, fold, right, row in known), _MOST)


def learned_lines(rows: Sequence[tuple[int, int, bool, bytes]]) -> Lines | None:
    """By fold the logistic regression (L2, C = 1) of rightness on the known samples of the other folds; None where
    these have fewer than ten right, or ten wrong, labels."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.preprocessing import StandardScaler
    from threadpoolctl import threadpool_limits

    lines = []
    for fold in range(_FOLDS):
        others = [(right, np.frombuffer(row)) for _, other, right, row in rows if other != fold]
        right = np.array([each for each, _ in others], dtype=np.bool_)
        if min(right.sum(), (~right).sum()) < FEWEST_CLUSTERS:
            return None
        matrix = np.stack([row for _, row in others])
        with threadpool_limits(limits=1):
            scaler = StandardScaler().fit(matrix)
            fitted = LogisticRegression(max_iter=5000).fit(scaler.transform(matrix), right)
        weights = fitted.coef_[0] / scaler.scale_
        lines.append(np.append(weights, fitted.intercept_[0] - (weights * scaler.mean_).sum()))
    return np.stack(lines)


def scored_rows(
    intervals: pa.Table,
    votes: pa.Table,
    clusters: pa.Table,
    by: Score,
    functions: Sequence[str],
    classes: int,
    lines: Lines | None,
) -> pa.Table:
    """The Intervals of a partition with a score at both ends, 0 where no class wins; as they are, for the bound."""
    if by == "bound":
        return intervals
    features = features_of(intervals, votes, functions, classes)
    score = features[:, 1] if by == "confidence" else 1 - features[:, 3]
    if by == "learned" and lines is not None:
        weights = lines[folds_of(clusters)]  # [n, d + 1]: of the line that has not seen the sample's like
        score = 1 / (1 + np.exp(-(features * weights[:, :-1]).sum(axis=1) - weights[:, -1]))
    score = np.where(intervals["undecided"].to_numpy(), 0.0, score)
    made = {"lower": score, "upper": score}
    columns = {name: made.get(name, intervals[name]) for name in Intervals.schema.names}
    return pa.table(columns, schema=Intervals.schema)


def rival_findings(ours: OrderCounts, rivals: Mapping[Score, OrderCounts], labeler: str) -> list[Finding]:
    """`ordering.by_gain` of every other score: how much oftener a right label outranks a wrong one by it, paired, with
    intervals that hold together: the best of several is not better by having been chosen."""
    gains = {by: area_gain(counts, ours, level=1 - 0.05 / len(rivals)) for by, counts in rivals.items()}
    found = {by: gain_finding("ordering.by_gain", gain, ours.area.n) for by, gain in gains.items()}
    return [replace(finding, of=by, group=labeler) for by, finding in found.items()]
