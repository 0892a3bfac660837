"""569 real patients, thirty rules of one measurement each: the numbers that curation must give."""

import numpy as np
import pyarrow as pa
import pytest
from sklearn.datasets import load_breast_cancer

from assay.tasks.ordering.datasets import cut_points
from assay.tasks.ordering.intervals import interval_table
from assay.tasks.ordering.validity import Ordered, ordering_curve, ordering_findings, validity
from assay.tasks.pruning.panel import panel
from assay.tasks.pruning.settings import Pruning
from assay.tasks.statistics.vote_counts import count_partition, vote_counts
from assay.tasks.weak_labels.labelers import majority, weak_labels
from tests.tasks.ordering.in_one_place import adversarial_order, counted_at_once

MALIGNANT, BENIGN, ABSTAIN = 0, 1, -1


@pytest.fixture(scope="module")
def patients() -> tuple[pa.Table, np.ndarray]:
    """The votes of the tertile rules, and what the patients really have."""
    data = load_breast_cancer()
    assert list(data.target_names) == ["malignant", "benign"]
    low, high = np.quantile(data.data, [0.33, 0.67], axis=0)
    votes = np.select([data.data < low, data.data > high], [BENIGN, MALIGNANT], ABSTAIN).astype(np.int8)
    columns = {name: pa.array(votes[:, i].copy()) for i, name in enumerate(data.feature_names)}
    return pa.table({"id": [f"patient-{i}" for i in range(len(votes))], **columns}), data.target


@pytest.fixture(scope="module")
def kept(patients) -> list[str]:
    votes, _ = patients
    table = panel(vote_counts(count_partition(votes, 2), 2), Pruning(correlation=0.5))
    return [row["function"] for row in table.to_pylist() if row["kept"]]


@pytest.fixture(scope="module")
def ours(patients, kept) -> Ordered:
    votes, gold = patients
    intervals = interval_table(weak_labels(votes, majority(kept), 2, default=MALIGNANT), alpha=0.05)
    order = adversarial_order(intervals["lower"].to_numpy(), intervals["tie_break"].to_numpy())
    right = (intervals["label"].to_numpy() == gold).astype(np.int8)
    return counted_at_once(intervals["lower"].to_numpy()[order], right[order], cut_points(len(order), 10))


def test_seven_of_thirty_rules_are_kept(kept):
    assert kept == [
        "mean texture",
        "mean concave points",
        "mean symmetry",
        "texture error",
        "smoothness error",
        "symmetry error",
        "worst fractal dimension",
    ]


def test_accuracy_falls_along_every_set_once_ties_are_averaged(ours):
    tested = validity(ours, 2000, np.random.default_rng(0))
    assert tested.tie_free.rho == -1.0
    assert tested.permutation.p_adverse <= 0.01


def test_the_findings_say_so_by_their_fixed_names(ours):
    tested = validity(ours, 2000, np.random.default_rng(0))
    findings = {one.metric: one for one in ordering_findings(ours, tested, 0.01, "ours", "majority")}
    assert findings["ordering.permutation_p"].value <= 0.01
    assert findings["ordering.permutation_p"].p_value is None  # described; what is concluded rests on the trend
    assert findings["ordering.spearman_tie_free"].value == -1.0
    assert -1 <= findings["ordering.spearman_tie_free"].low <= findings["ordering.spearman_tie_free"].high <= 1
    assert findings["ordering.spearman"].p_value < 0.01
    assert findings["ordering.accuracy_easiest"].value > findings["ordering.accuracy_hardest"].value
    assert findings["ordering.largest_tie"].value > 20
    assert findings["ordering.largest_tie"].n == 569
    assert all((one.of, one.group) == ("ours", "majority") for one in findings.values())


def test_the_curve_ends_at_the_accuracy_of_all_weak_labels(ours):
    curve = ordering_curve(ours, "ours", "majority").to_pylist()
    assert [row["size"] for row in curve] == [57, 114, 171, 228, 284, 341, 398, 455, 512, 569]
    assert curve[-1]["accuracy"] == curve[-1]["tie_free_accuracy"] == ours.hits.sum() / 569
    falling = [row["tie_free_accuracy"] for row in curve]
    assert falling == sorted(falling, reverse=True)
    assert sum(row["stratum_accuracy"] * row["stratum_n"] for row in curve) == pytest.approx(ours.hits.sum())
    for row in curve:
        half = 1.64 * np.sqrt(row["accuracy"] * (1 - row["accuracy"]) / row["n"])
        assert row["band_low"] == pytest.approx(row["accuracy"] - half)
        assert row["wilson_low"] < row["accuracy"] < row["wilson_high"]
