"""Every class has its own area, and their mean is the one that stands for all."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from assay.tasks.statistics.auc import macro_auc
from assay.tasks.statistics.classification_findings import About, class_areas

NAMES = ["benign", "malignant", "unclear"]


@given(st.lists(st.sampled_from([-1, 0, 1, 2]), min_size=4, max_size=40), st.integers(0, 99))
def test_the_mean_of_the_areas_is_the_macro_area(codes, seed):
    truth = np.array(codes)
    assume((truth >= 0).any())
    probabilities = np.random.default_rng(seed).dirichlet([1, 1, 1], len(codes))
    found = class_areas(About("subject", "clean"), probabilities, truth, NAMES)
    assert [one.group for one in found] == NAMES
    values = [one.value for one in found if one.value is not None]
    whole = macro_auc(probabilities, truth)
    assert len(values) == 3 - len(whole.left_out)
    if values:
        assert np.mean(values) == pytest.approx(whole.value)
        assert all(one.low <= one.value <= one.high for one in found if one.value is not None)


def test_a_class_that_nobody_has_is_not_measured():
    found = class_areas(About("subject", "clean", subject="plain"), np.full((3, 3), 1 / 3), np.array([0, 1, 1]), NAMES)
    assert [(one.metric, one.subject, one.n) for one in found] == [("subject.class_auc", "plain", 3)] * 3
    assert [one.value for one in found] == [0.5, 0.5, None]
    assert found[2].verdict == "not measured"


def test_two_classes_have_one_area():
    assert class_areas(About("subject", "clean"), np.full((2, 2), 0.5), np.array([0, 1]), NAMES[:2]) == []
