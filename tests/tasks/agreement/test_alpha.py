"""Krippendorff's α against his own worked example, and its bounds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from assay.tasks.agreement.alpha import alpha_interval, krippendorff_alpha, label_counts

WORKED = (
    np.array(
        [  # Krippendorff 2011, C: four observers, twelve units; 0 stands for "not given"
            [1, 2, 3, 3, 2, 1, 4, 1, 2, 0, 0, 0],
            [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, 0, 3],
            [0, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, 0],
            [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, 0],
        ]
    ).T
    - 1
)


def test_the_worked_example():
    assert krippendorff_alpha(label_counts(WORKED, 5)) == pytest.approx(0.743, abs=5e-4)


def test_full_agreement_is_1_and_one_class_says_nothing():
    assert krippendorff_alpha([[3, 0], [0, 3]]) == 1
    assert krippendorff_alpha([[3, 0], [2, 0]]) is None
    assert krippendorff_alpha([[1, 0], [0, 1]]) is None


@given(arrays.arrays(np.int64, (15, 3), elements=st.integers(-1, 2)), st.permutations(range(3)))
@settings(max_examples=60, deadline=None)
def test_names_of_classes_and_order_of_people_do_not_matter(labels, renamed):
    counts = label_counts(labels, 3)
    value = krippendorff_alpha(counts)
    assert value == krippendorff_alpha(counts[:, renamed]) == krippendorff_alpha(label_counts(labels[:, ::-1], 3)[::-1])
    assert value is None or value <= 1


def test_the_interval_holds_the_value():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 3, 80)
    labels = np.where(rng.random((80, 3)) < 0.8, truth[:, None], rng.integers(0, 3, (80, 3)))
    found = alpha_interval(label_counts(labels, 3), rng)
    assert found.low < found.value < found.high
    assert found.high - found.low < 0.3
