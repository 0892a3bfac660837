"""Two nights are told apart by a shift that was planted, and seldom where there is none."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ks_2samp

from assay.tasks.drift.compare import drift_findings, stability_index, told_apart


def names(night: str, n: int) -> list[str]:
    return [f"{night}{at}" for at in range(n)]


def test_a_shift_of_one_column_is_found_and_named() -> None:
    rng = np.random.default_rng(0)
    before, tonight = rng.normal(size=(2, 200, 4))
    tonight[:, 2] += 0.8
    found = drift_findings(before, tonight, [*names("a", 200), *names("b", 200)], "inputs", ["p", "q", "r", "s"])
    assert found[0].metric == "drift.auc"
    assert found[0].low > 0.5
    columns = {each.group: each for each in found if each.metric == "drift.feature_auc"}
    parting = [name for name, each in columns.items() if not (each.low or 0) <= 0.5 <= (each.high or 1)]
    assert parting == ["r"]
    # A normal shift by 0.8 has an area of Φ(0.8/√2) = 0.714.
    assert columns["r"].low < 0.714 < columns["r"].high


def test_a_shift_of_spread_or_of_what_is_missing_is_found() -> None:
    rng = np.random.default_rng(1)
    before, wider = rng.normal(size=(300, 1)), 2 * rng.normal(size=(300, 1))
    groups = [*names("a", 300), *names("b", 300)]
    assert told_apart(before, wider, groups).low > 0.5
    gaps = np.where(rng.random((300, 1)) < 0.2, np.nan, rng.normal(size=(300, 1)))
    assert told_apart(before, gaps, groups).low > 0.5


def test_columns_that_neither_night_fills_in_tell_nothing() -> None:
    empty, groups = np.full((20, 2), np.nan), [*names("a", 20), *names("b", 20)]
    assert drift_findings(empty, empty, groups, "inputs", ["p", "q"]) == []


def test_the_same_samples_are_exactly_at_chance() -> None:
    rows = np.random.default_rng(2).normal(size=(100, 3))
    area = told_apart(rows, rows, names("a", 100) * 2)
    assert area.value == 0.5
    assert area.low < 0.5 < area.high


def test_a_group_in_one_night_is_not_drift() -> None:
    """Five looks at each of twelve patients: by row they part the nights, by patient they do not."""
    rng = np.random.default_rng(3)
    patients = np.repeat(rng.normal(size=(2, 12, 6)), 5, axis=1) + 0.01 * rng.normal(size=(2, 60, 6))
    by_patient = [f"{night}{at // 5}" for night in "ab" for at in range(60)]
    by_row = [*names("a", 60), *names("b", 60)]
    assert told_apart(*patients, by_row).low > 0.5
    assert not told_apart(*patients, by_patient).low > 0.5


@pytest.mark.slow
def test_without_a_shift_few_nights_are_told_apart() -> None:
    rng = np.random.default_rng(4)
    groups = [*names("a", 100), *names("b", 100)]
    above = [told_apart(*rng.normal(size=(2, 100, 4)), groups).low > 0.5 for _ in range(200)]
    assert np.mean(above) <= 0.05


def test_distances_are_those_of_the_books() -> None:
    rng = np.random.default_rng(5)
    before, tonight = rng.normal(size=60).round(1), rng.normal(0.3, 1, 80).round(1)
    compared = drift_findings(before[:, None], tonight[:, None], names("a", 140), "inputs", ["age"])
    (ks,) = (finding.value for finding in compared if finding.metric == "drift.ks")
    assert ks == pytest.approx(ks_2samp(before, tonight).statistic)
    before, tonight = np.repeat([0.0, 1.0], [600, 400]), np.repeat([0.0, 1.0], [500, 500])
    by_hand = (0.5 - 0.6) * np.log(0.5 / 0.6) + (0.5 - 0.4) * np.log(0.5 / 0.4)
    assert stability_index(before, tonight) == pytest.approx(by_hand, rel=0.02)
