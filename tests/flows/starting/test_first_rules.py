"""Which conditions part the classes: against scikit-learn's ROC curve, and as properties."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.metrics import roc_curve

from assay.flows.starting.first_rules import (
    LEAST,
    best_of,
    joined,
    plain_between,
    quantile_bounds,
    telling_words,
    thresholds,
    values_of_words,
)


@pytest.mark.parametrize("seed", range(8))
def test_the_best_threshold_is_that_of_the_roc_curve(seed: int) -> None:
    draw = np.random.default_rng(seed)
    gold = draw.integers(0, 2, 200)
    values = draw.normal(gold * draw.uniform(-2, 2), 1)
    found = {one.class_code: one for one in thresholds("x", values, gold, 2)}
    for code, sign in ((1, 1), (1, -1)):
        false, true, cuts = roc_curve(gold == code, sign * values, drop_intermediate=False)
        inside = [LEAST <= (sign * values >= cut).sum() <= 200 - LEAST for cut in cuts]
        assert found[code].youden >= (true - false)[inside].max() - 1e-6
    (when,) = found[1].when
    holds = values > when.above if when.above is not None else values < float(str(when.below))
    measured = holds[gold == 1].mean() - holds[gold == 0].mean()
    assert measured == pytest.approx(found[1].youden, abs=1e-6)


def test_missing_values_and_missing_gold_are_left_out() -> None:
    values = np.concatenate([np.arange(12.0), [np.nan] * 5, np.arange(100.0, 105.0)])
    gold = np.concatenate([np.repeat([0, 1], 6), [0] * 5, [-1] * 5])
    assert [one.youden for one in thresholds("x", values, gold, 2)] == [1.0, 1.0]


def test_a_column_that_does_not_vary_parts_nothing() -> None:
    assert thresholds("x", np.ones(40), np.arange(40) % 2, 2) == []
    assert values_of_words("x", ["a"] * 40, np.arange(40) % 2, 2) == []
    assert quantile_bounds({"x": np.ones(40)}) == []


@given(st.floats(-1e6, 1e6), st.floats(1e-9, 1e6))
def test_a_plain_number_lies_between(low: float, width: float) -> None:
    high = low + width
    assume(low < (low + high) / 2 < high)
    assert low < plain_between(low, high) < high


def test_words_that_both_say_or_hardly_any_are_no_rules() -> None:
    texts = ["the song is nice"] * 20 + ["the offer is nice"] * 20 + ["rare offer"] * (LEAST - 1)
    gold = np.repeat([0, 1, 1], [20, 20, LEAST - 1])
    found = telling_words(texts, gold, ["the", "is"])
    assert {one.word: one.class_code for one in found} == {"song": 0, "offer": 1}
    assert "rare" not in {one.word for one in found}


def test_every_class_is_spoken_for_before_one_has_two_rules() -> None:
    draw = np.random.default_rng(3)
    gold = np.repeat([0, 1, 2], 40)
    columns = {name: draw.normal(gold == code, 0.5) for name, code in (("a", 0), ("b", 1), ("c", 2))}
    found = [one for name, values in columns.items() for one in thresholds(name, values, gold, 3)]
    chosen = best_of(found, 3)
    assert sorted((one.looks_at, one.class_code) for one in chosen) == [("a", 0), ("b", 1), ("c", 2)]


def test_a_rare_class_is_spoken_for_by_conditions_that_hold_together() -> None:
    draw = np.random.default_rng(4)
    tenure, charge = draw.integers(1, 72, 4000).astype(float), draw.normal(65, 30, 4000)
    contract = draw.choice(["monthly", "yearly"], 4000)
    leaves = draw.random(4000) < np.where((tenure < 20) & (charge > 70) & (contract == "monthly"), 0.8, 0.05)
    columns: dict[str, Any] = {"tenure": tenure, "contract": contract.tolist(), "charge": charge}
    columns["noise"] = draw.normal(size=4000)
    found = joined(columns, leaves.astype(np.int64), 1)
    assert found is not None
    assert set(found.looks_at.split(", ")) == {"tenure", "contract", "charge"}
    assert joined(columns, leaves.astype(np.int64), 0) is None  # one condition is enough for what most are
    assert joined(columns, draw.permutation(leaves).astype(np.int64), 1) is None
