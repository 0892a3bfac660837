"""What each audit's table says of how hard a sample is: always higher for the harder one."""

import numpy as np
import pyarrow as pa
import pytest

from assay.data.schemas import Attacked, AttackedTexts, FrameFlips, Intervals, Predictions, TrustLabels
from assay.tasks.hardness.measures import hardness_rows, rows_with_several

FILLED = {pa.string(): "", pa.bool_(): False}


def table(kind, **columns):
    """A table of a kind of which only some columns matter."""
    n = len(next(iter(columns.values())))
    blank = {one.name: [[] if pa.types.is_list(one.type) else FILLED.get(one.type, 0)] * n for one in kind.schema}
    full = {one.name: pa.array(columns.get(one.name, blank[one.name]), one.type) for one in kind.schema}
    return pa.table(full, schema=kind.schema)


def told(rows):
    return dict(zip(rows["id"].to_pylist(), rows["value"].to_pylist(), strict=True))


def test_a_label_by_default_is_doubted_by_nobody():
    rows = table(Intervals, id=["a", "b", "c"], lower=[0.9, 0.2, 0.5], undecided=[False, False, True])
    assert told(hardness_rows(rows, measure="theta_l", subject="")) == {"a": -0.9, "b": -0.2}


def test_confidence_and_margin_need_probabilities():
    rows = table(Predictions, id=["a", "b"], predicted=[0, 1], probabilities=[[0.7, 0.2, 0.1], None])
    assert told(hardness_rows(rows, measure="confidence", subject="s")) == {"a": pytest.approx(0.3)}
    assert told(hardness_rows(rows, measure="margin", subject="s")) == {"a": pytest.approx(0.5)}


def test_of_several_labels_the_least_sure_one_speaks():
    rows = table(Predictions, id=["a", "b"], predicted=[0, 0], probabilities=[[0.9, 0.4, 0.05], [0.99, 0.98, 0.1]])
    assert rows_with_several(rows) == {"rows": 2}
    assert told(hardness_rows(rows, measure="confidence", subject="s", several=True)) == pytest.approx(
        {"a": 0.4, "b": 0.1}
    )


def test_the_smallest_eps_counts_and_what_is_wrong_anyway_was_not_broken():
    rows = table(
        Attacked,
        id=["a"] * 3 + ["b"] * 3 + ["c"] * 3,
        eps=[0.0, 0.1, 0.2] * 3,
        gold=[0] * 6 + [1] * 3,
        clean=[0] * 9,
        success=[False, False, True, False, False, False, True, True, True],
    )
    assert told(hardness_rows(rows, measure="eps", subject="s")) == {"a": -0.2, "b": -np.inf}


def test_images_of_several_labels_have_no_one_eps():
    rows = table(Attacked, id=["a"], eps=[0.1], gold=[None], clean=[-1], success=[True])
    assert told(hardness_rows(rows, measure="eps", subject="s")) == {}


def test_flips_are_those_of_the_subject_over_all_perturbations():
    rows = table(FrameFlips, id=["a", "a", "a"], subject=["s", "s", "t"], flips=[1, 2, 9], comparisons=[10, 10, 10])
    assert told(hardness_rows(rows, measure="flips", subject="s")) == {"a": pytest.approx(0.15)}


def test_fewer_words_are_harder_and_a_failed_attack_is_easiest():
    rows = table(
        AttackedTexts, id=["a", "b", "c", "d"], status=["success", "success", "failed", "skipped"], changed=[1, 3, 0, 0]
    )
    assert told(hardness_rows(rows, measure="words", subject="s")) == {"a": -1.0, "b": -3.0, "c": -np.inf}


def test_only_what_the_oracle_judged_counts():
    rows = table(
        TrustLabels,
        id=["a", "a", "b", "c"],
        oracle=["toki", "naive", "toki", "toki"],
        label=["untrustworthy", "trustworthy", "undecided", "trustworthy"],
        unrelated_mass=[0.6, 0.1, 0.5, 0.1],
        related_mass=[0.2, 0.1, 0.5, 0.3],
    )
    assert told(hardness_rows(rows, measure="trust", subject="s")) == pytest.approx({"a": 0.75, "c": 0.25})
