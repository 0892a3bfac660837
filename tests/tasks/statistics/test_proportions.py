from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.tasks.statistics.proportions import normal_band, share, wilson


@given(st.integers(1, 5000).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
@settings(max_examples=60, deadline=None)
def test_wilson_is_the_root_of_the_score_test(case: tuple[int, int]) -> None:
    """(p̂ − p)² = z² p(1 − p)/n holds at both ends."""
    hits, n = case
    z2 = 1.959963984540054**2
    for end in (ends := wilson([hits], [n])):
        assert (hits / n - end[0]) ** 2 == pytest.approx(z2 * end[0] * (1 - end[0]) / n, abs=1e-9)
    assert 0 <= ends.low[0] <= hits / n <= ends.high[0] <= 1


def test_wilson_of_newcombes_published_case() -> None:
    low, high = wilson([81], [263])
    assert (low[0], high[0]) == pytest.approx((0.2553, 0.3662), abs=5e-5)


def test_interval_is_vacuous_without_samples() -> None:
    for function in (wilson, normal_band):
        low, high = function([0, 3], [0, 4])
        assert (low[0], high[0]) == (0.0, 1.0)
        assert high[1] - low[1] < 1


def test_normal_band_is_the_papers_formula_within_zero_and_one() -> None:
    low, high = normal_band([90, 1, 5], [100, 2, 5])
    assert low[0] == pytest.approx(0.9 - 1.64 * np.sqrt(0.09 / 100), abs=1e-15)
    assert (low[1], high[1]) == (0.0, 1.0)
    assert (low[2], high[2]) == (1.0, 1.0)


def test_share_carries_its_n_and_its_interval() -> None:
    finding = share("subject.accuracy", 30, 40, of="gold", group="D3", subject="mine")
    assert (finding.value, finding.n, finding.unit) == (0.75, 40, "share")
    assert finding.low is not None
    assert finding.high is not None
    assert finding.low < 0.75 < finding.high


def test_share_of_nothing_is_not_measured() -> None:
    finding = share("subject.accuracy", 0, 0)
    assert (finding.value, finding.low, finding.n, finding.verdict) == (None, None, 0, "not measured")


def test_more_hits_than_trials_are_refused() -> None:
    with pytest.raises(ValueError, match="more than it has trials"):
        wilson([5], [4])
