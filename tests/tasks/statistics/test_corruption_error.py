"""mCE by hand."""

from __future__ import annotations

import numpy as np
import pytest

from assay.tasks.statistics.corruption_error import mean_corruption_error, relative_corruption_error


def test_mce_is_a_mean_of_ratios_and_not_a_ratio_of_means():
    whole = np.ones((1, 2))
    wrong, beside = np.array([[1.0, 30.0], [1.0, 10.0]]), np.array([[4.0, 20.0], [0.0, 20.0]])
    assert mean_corruption_error(wrong, beside)(whole)[0] == pytest.approx((2 / 4 + 40 / 40) / 2)
    clean = np.ones((2, 2))
    assert relative_corruption_error(wrong, 0 * clean, beside, clean)(whole)[0] == pytest.approx((2 / 2 + 40 / 38) / 2)
