"""Slices by hand: values of columns, the worst of them, and the correction over all subjects."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import hypergeom

from assay.infra.errors import InputError
from assay.tasks.reporting.parts import BarPlot, Paragraph
from assay.tasks.slices.page import page
from assay.tasks.slices.search import (
    SlicedAnswers,
    Slices,
    confirmed_findings,
    slice_findings,
    slice_values,
    worst_slices,
)
from assay.tasks.statistics.classification import proportion
from assay.tasks.statistics.findings import Finding, FindingIndex
from assay.tasks.statistics.multiplicity import not_shown
from assay.tasks.statistics.proportions import wilson_of

SITES = ["A"] * 60 + ["B"] * 40
RIGHT = np.array([True] * 57 + [False] * 3 + [True] * 20 + [False] * 20)


def test_every_value_is_counted_and_the_worst_is_named_with_a_wider_interval():
    found = slice_findings(SlicedAnswers(RIGHT, {"site": SITES, "sex": ["f", "m"] * 50}), "net")
    by_name = {(one.metric, one.of, one.group): one for one in found}
    assert by_name["slices.accuracy", "site", "A"].value == 57 / 60
    assert by_name["slices.accuracy", "site", "B"].n == 40
    worst = by_name["slices.worst_accuracy", "", ""]
    plain = proportion(RIGHT[60:])
    assert (worst.value, worst.n, worst.verdict) == (0.5, 40, "site = B")
    assert worst.low < plain.low < plain.high < worst.high


def test_the_correction_is_over_the_slices_of_all_subjects():
    judged = SlicedAnswers(np.tile(RIGHT, 4), {"site": SITES * 4})
    alone = {"net": worst_slices(judged, Slices(columns=("site",)), np.random.default_rng(0))}
    (p,) = [one.value for one in confirmed_findings(alone, 0.01) if one.metric == "slices.worse_p"]
    twice = confirmed_findings(alone | {"twin": alone["net"]}, 0.01)
    assert [one.value for one in twice if one.metric == "slices.worse_p"] == pytest.approx([2 * p, 2 * p])
    assert {one.verdict for one in twice if one.metric == "slices.worse_p"} == {"worse"}


def test_the_page_says_which_slice_is_worse_and_by_how_much():
    judged = SlicedAnswers(np.tile(RIGHT, 4), {"site": SITES * 4})
    found = slice_findings(judged, "net")
    searched = worst_slices(judged, Slices(columns=("site",)), np.random.default_rng(0))
    index = FindingIndex([*found, *confirmed_findings({"net": searched}, 0.01)])
    part = page(index)
    assert (part.verdict, part.judged) == ("bad", "1 worse")
    assert "Net is least right where site = B: 50.0" in part.sentence
    assert ", the rest 93.2\u202f%, p < 0.001 after Holm)." in part.sentence
    assert [type(block) for block in part.blocks] == [BarPlot, Paragraph]


def test_where_nothing_is_shown_the_page_does_not_call_slices_alike():
    judged = SlicedAnswers(np.array([True, False] * 100), {"site": (["A"] * 2 + ["B"] * 2) * 50})
    searched = worst_slices(judged, Slices(columns=("site",)), np.random.default_rng(1))
    index = FindingIndex([*slice_findings(judged, "net"), *confirmed_findings({"net": searched}, 0.01)])
    assert "no difference" not in page(index).sentence
    assert page(index).verdict == "neutral"


def test_ten_images_of_each_patient_show_a_fall_no_sooner_than_patients_do():
    right = np.random.default_rng(0).random(120) < 0.8
    sites, fall = (["A"] * 2 + ["B"] * 2) * 30, []
    for copies in (1, 10):
        groups = np.repeat(np.arange(120), copies)
        judged = SlicedAnswers(np.repeat(right, copies), {"site": np.repeat(sites, copies).tolist()}, groups)
        searched = worst_slices(judged, Slices(columns=("site",)), np.random.default_rng(1))
        (said,) = re.findall(
            r"(\d+) points less", page(FindingIndex(confirmed_findings({"net": searched}, 0.01))).sentence
        )
        fall.append(int(said))
    assert fall[1] >= fall[0] - 1


def test_the_fall_that_would_have_been_seen_is_seen_four_times_in_five():
    """At the level of the first of five tests: what a single test would have seen was seen in 65 of 100."""
    slices = [Finding("slices.worse_p", of=name, subject="net", n=60, value=0.9, p_value=0.9) for name in "abcde"]
    slices = [replace(each, verdict=not_shown(0.01)) for each in slices]
    low, high = wilson_of(48, 60)
    right = Finding("slices.confirmed_accuracy", of="a", subject="net", value=0.8, low=low, high=high, n=60)
    rest = Finding("slices.rest_accuracy", of="a", subject="net", value=0.8, n=300)
    (points,) = re.findall(r"(\d+) points less", page(FindingIndex([*slices, right, rest])).sentence)
    draws = np.random.default_rng(0)
    inside, beside = draws.binomial(60, 0.9 - int(points) / 100, 2000), draws.binomial(300, 0.9, 2000)
    seen = hypergeom.cdf(inside, 360, inside + beside, 60) * 5 <= 0.01
    assert 0.7 <= seen.mean() <= 0.9


def test_numbers_of_many_values_are_cut_into_quarters():
    ages = slice_values(pa.chunked_array([[*range(20, 60), None]]), "age")
    assert ages[-1] is None
    assert list(dict.fromkeys(ages[:-1])) == ["20 to 29", "30 to 39", "40 to 49", "50 to 59"]
    assert slice_values(pa.chunked_array([[True, False]]), "smoker") == ["true", "false"]


def test_a_cell_that_holds_no_number_is_in_no_slice():
    grades = pa.chunked_array([[1.0, float("nan"), None, 2.5]])
    assert slice_values(grades, "grade") == ["1", None, None, "2.5"]


def test_a_column_of_too_many_words_is_refused_by_name():
    with pytest.raises(InputError, match=r"'note' has 101 values.*at most 100"):
        slice_values(pa.chunked_array([[f"w{at}" for at in range(101)]]), "note")


def test_a_list_of_columns_is_the_short_form():
    assert Slices.model_validate(["site", "sex"]) == Slices(columns=("site", "sex"))
    with pytest.raises(ValueError, match="site stands twice"):
        Slices.model_validate(["site", "site"])
