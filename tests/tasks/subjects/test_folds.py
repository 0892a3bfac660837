from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.tasks.subjects.holding_out import drawn, fold_of

IDS = [f"patient-{i}" for i in range(5000)]


def test_folds_are_the_same_for_ever() -> None:
    """Golden values: a change here would silently change every model that was ever handed out."""
    assert fold_of(["a", "b", "c", "patient-1", "ä"], 5).tolist() == [4, 2, 1, 1, 3]


@given(st.lists(st.text(max_size=8), unique=True, max_size=30), st.integers(2, 10), st.integers(0, 30))
@settings(max_examples=40, deadline=None)
def test_folds_depend_on_nothing_but_the_id(ids: list[str], folds: int, cut: int) -> None:
    whole = fold_of(ids, folds)
    parts = np.concatenate([fold_of(ids[:cut], folds), fold_of(ids[cut:], folds)])
    np.testing.assert_array_equal(whole, parts)
    np.testing.assert_array_equal(fold_of(ids[::-1], folds), whole[::-1])


def test_folds_are_about_equal() -> None:
    counts = np.bincount(fold_of(IDS, 5))
    assert counts.sum() == 5000
    assert (np.abs(counts - 1000) < 120).all()


def test_a_drawn_sample_is_about_its_share_and_does_not_favour_a_fold() -> None:
    chosen = drawn(IDS, 0.3, "7")
    assert abs(chosen.mean() - 0.3) < 0.03
    by_fold = [chosen[fold_of(IDS, 5) == fold].mean() for fold in range(5)]
    assert max(by_fold) - min(by_fold) < 0.1


def test_another_seed_draws_another_sample_and_a_larger_share_keeps_the_smaller() -> None:
    assert (drawn(IDS, 0.3, "7") != drawn(IDS, 0.3, "8")).mean() > 0.3
    assert not (drawn(IDS, 0.3, "7") & ~drawn(IDS, 0.5, "7")).any()


def test_nothing_and_everything_can_be_drawn() -> None:
    assert not drawn(IDS, 0.0, "7").any()
    assert drawn(IDS, 1.0, "7").all()
    assert len(fold_of([], 5)) == 0
