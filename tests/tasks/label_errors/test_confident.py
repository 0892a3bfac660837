"""Confident learning flags what cleanlab flags, finds what was planted, and ignores the order of the samples."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny_subjects import tiny_classes, tiny_samples

from assay.data.schemas import LabelDoubts
from assay.infra.errors import InputError
from assay.tasks.label_errors.confident import (
    LabelErrors,
    confident_learning,
    doubt_labels,
    flipped,
    label_error_findings,
)
from assay.tasks.label_errors.page import page
from assay.tasks.statistics.findings import FindingIndex

# The data of cleanlab's own tests: three clouds of points, 33 of 160 labels noisy.
MEANS, SIZES = [[3, 2], [7, 7], [0, 8]], [80, 40, 40]
SPREADS = [[[5, -1.5], [-1.5, 1]], [[1, 0.5], [0.5, 4]], [[5, 1], [1, 5]]]
NOISY = (
    "00200000002000000000100000020002110000022000011000000001001100001011002000001211"
    "11101111111111111111111112111111111011112220222222211202222221222222220022222220"
)
# As cleanlab 2.9 says: find_label_issues(filter_by="confident_learning"), and compute_confident_joint.
FLAGGED = [
    *(2, 10, 20, 27, 31, 32, 33, 39, 40, 45, 46, 55, 58, 59, 64, 66, 67, 70, 77, 78, 79),
    *(83, 105, 115, 123, 131, 132, 134, 141, 151, 159),
]
JOINT = [[56, 3, 6], [14, 37, 3], [9, 1, 31]]


@pytest.fixture(scope="module")
def clouds():
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import cross_val_predict

    draws = np.random.RandomState(1)
    points = [draws.multivariate_normal(*cloud) for cloud in zip(MEANS, SPREADS, SIZES, strict=True)]
    labels = np.array([int(digit) for digit in NOISY])
    return labels, cross_val_predict(LogisticRegression(), np.vstack(points), labels, cv=5, method="predict_proba")


def test_flags_and_count_matrix_are_cleanlabs_on_its_own_data(clouds):
    doubted = confident_learning(*clouds)
    assert np.flatnonzero(doubted.doubtful).tolist() == FLAGGED
    assert np.abs(doubted.joint - JOINT).max() < 1  # cleanlab rounds to whole samples
    assert doubted.joint.sum(axis=1) == pytest.approx([65, 54, 41])


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.integers(2, 5))
def test_the_order_of_the_samples_changes_nothing(seed, classes):
    rng = np.random.default_rng(seed)
    labels, chances = rng.integers(0, classes, 60), rng.dirichlet(np.ones(classes), 60)
    order = rng.permutation(60)
    assert (
        confident_learning(labels, chances).doubtful[order] == confident_learning(labels[order], chances[order])[0]
    ).all()


def test_a_class_that_no_label_has_has_no_row_in_the_count_matrix():
    doubted = confident_learning(np.array([0, 0, 1, 1]), np.array([[0.9, 0.05, 0.05]] * 2 + [[0.1, 0.8, 0.1]] * 2))
    assert doubted.joint.tolist() == [[2, 0, 0], [0, 2, 0], [0, 0, 0]]


def found(labels, chances, planted):
    names = [f"class {code}" for code in range(chances.shape[1])]
    doubted, findings = label_error_findings(labels, chances, names, planted, None, "net")
    return doubted, FindingIndex(findings)


def test_labels_flipped_at_ten_percent_are_found_and_little_else(clouds):
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 3, 2000)
    chances = rng.dirichlet(np.ones(3), 2000) + 4 * np.eye(3)[truth]
    chances /= chances.sum(axis=1, keepdims=True)
    _, findings = found(truth, chances, flipped(truth, 0.1, 3, rng))
    recall, precision = (findings.get(f"label_errors.{name}", "net") for name in ("recall", "precision"))
    assert findings.get("label_errors.doubtful", "net").value == 0
    assert recall.n == pytest.approx(200, abs=30)
    assert (recall.low, precision.low) > (0.9, 0.9)
    assert findings.select("label_errors.taken_for") == []


def test_the_page_names_the_least_likely_label_first_and_says_how_many_planted_errors_were_found(clouds):
    labels, chances = clouds
    doubted, findings = found(labels, chances, flipped(labels, 0.1, 3, np.random.default_rng(0)))
    own = chances[np.arange(len(labels)), labels]
    rows = [[str(at) for at in range(len(labels))], labels, doubted.likely, own, doubted.doubtful]
    doubts = pa.table([["net"] * len(labels), *rows], schema=LabelDoubts.schema)
    part = page(findings, doubts, ["a", "b", "c"], 3, ["net came trained."])
    assert part.sentence.replace("\u202f", " ").startswith("By net 19.4 % [")
    assert "that were flipped on purpose it doubts" in part.sentence
    assert part.sentence.endswith("net came trained.")
    pairs, samples = part.blocks
    assert pairs.rows[0][:2] == ["class 1", "class 0"]
    assert [sample.id for sample in samples.samples] == [str(at) for at in sorted(FLAGGED, key=lambda at: own[at])[:3]]


def test_where_there_is_one_class_no_label_can_be_wrong(run):
    with pytest.raises(InputError, match=r"All gold labels are .*, and none can be wrong where there is one class"):
        doubt_labels(tiny_samples([4]), {}, tiny_classes(1), LabelErrors())
