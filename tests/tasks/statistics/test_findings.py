"""Findings are looked up by what they are about, and their groups are read into fields once."""

import pytest

from assay.tasks.statistics.findings import Finding, FindingIndex, Slice, highest, lowest, slice_of

FOUND = FindingIndex(
    [
        Finding("attack.accuracy", "pgd", "eps=0.1", "plain", 0.4),
        Finding("attack.accuracy", "gap", "eps=0.1", "plain", 0.2),
        Finding("attack.accuracy", "gap", "eps=0.2", "plain", verdict="not measured"),
        Finding("corruption.accuracy", "mean", "all", "robust", 0.9),
    ]
)


@pytest.mark.parametrize(
    ("group", "fields"),
    [
        ("", Slice()),
        ("eps=8/255", Slice(eps=8 / 255, eps_text="8/255")),
        ("eps=0.1, training, melanoma", Slice("melanoma", eps=0.1, eps_text="0.1", split="training")),
        ("eps=0.1, made for small, wide", Slice("wide", eps=0.1, eps_text="0.1", made_for="small")),
        ("typos, severity=3", Slice("typos", severity=3)),
        ("share=0.5, changes=2, type=Disease", Slice("type=Disease", share=0.5, changes=2)),
        ("radius=0.25", Slice(radius=0.25)),
        ("eps=2, N=10", Slice(eps=2.0, eps_text="2", models=10)),
        ("eps=wide", Slice("eps=wide")),
        ("eps=1/0, severity=high", Slice("eps=1/0, severity=high")),
        ("lung, left, eps", Slice("lung, left, eps")),
    ],
)
def test_a_group_is_read_into_fields_and_what_is_no_field_is_its_name(group, fields):
    assert slice_of(group) == fields


@pytest.mark.parametrize(
    ("group", "dataset", "stratum"), [("D10", 10, None), ("stratum 2", None, 2), ("Dx", None, None)]
)
def test_curated_data_sets_and_strata_are_numbered(group, dataset, stratum):
    assert (slice_of(group).dataset, slice_of(group).stratum) == (dataset, stratum)


def test_metrics_are_selected_exactly_or_by_their_stage_in_the_order_of_the_findings():
    assert FOUND.select("attack") == list(FOUND[:3])
    assert [one.of for one in FOUND.select("attack.accuracy", group="eps=0.1")] == ["pgd", "gap"]
    assert FOUND.distinct("subject") == ["plain", "robust"]
    assert FOUND.select("attack.auc") == []


def test_what_was_not_measured_has_an_entry_and_no_value():
    about = ("attack.accuracy", "plain", "gap", "eps=0.2")
    assert FOUND.get(*about) is None
    assert FOUND.entry(*about).verdict == "not measured"


def test_extremes_pass_over_what_was_not_measured():
    attacks = FOUND.select("attack")
    assert (lowest([None, *attacks]).of, highest(attacks).of) == ("gap", "pgd")
    assert lowest([None]) is None
