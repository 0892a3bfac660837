"""A gate on a finding that no stage can measure is refused at the door; no room measures what is not known there."""

import re

import pytest
from repository import ROOT

from assay.flows.audits.table import KINDS
from assay.flows.configuration.loading import load_project, stages_of, unknown_metric
from assay.infra.errors import InputError

ROOMS = ROOT / "tasks"
LITERAL = re.compile(rf'(?:Finding|share|_share|tell)\(\s*"(({"|".join(stages_of(KINDS))})\.([a-z0-9_]+))"')


def test_every_metric_that_a_room_writes_down_is_known():
    named = {found[1] for file in ROOMS.rglob("*.py") for found in LITERAL.finditer(file.read_text(encoding="utf-8"))}
    assert len(named) > 20
    assert [one for one in sorted(named) if unknown_metric(one, KINDS)] == []


@pytest.mark.parametrize(
    ("finding", "meant"),
    [("attack.acuracy", "attack.accuracy"), ("corruption.flips", ""), ("overfitting.pvalue", "overfitting.p_value")],
)
def test_a_gate_on_what_no_stage_measures_is_refused_with_its_line(tmp_path, finding, meant):
    (tmp_path / "pipelines.yaml").write_text(
        "pipelines:\n  p:\n    source: {dataset: sample/digits}\n"
        "    subject: {network: small-cnn, train: {epochs: 1}}\n    attacks: [pgd]\n    corruptions: {}\n"
        f"    gates:\n      - {{finding: {finding}, at_least: 0.5}}\n"
    )
    with pytest.raises(InputError, match=rf"pipelines.yaml:8: .*no stage measures {finding}") as refused:
        load_project(tmp_path / "pipelines.yaml")
    assert meant in str(refused.value)


@pytest.mark.parametrize("bound", ["at_least: 80", "at_most: 1.5", "{against: accepted, drop_at_most: 5}"])
def test_a_share_is_not_held_against_per_cent(tmp_path, bound):
    (tmp_path / "pipelines.yaml").write_text(
        "pipelines:\n  p:\n    source: {dataset: sample/digits}\n"
        "    subject: {network: small-cnn, train: {epochs: 1}}\n"
        f"    gates:\n      - {{finding: subject.accuracy, {bound.strip('{}')}}}\n"
    )
    said = r"pipelines.yaml:6: .*subject.accuracy is a share, at most 1: write 0?.\S+ for \S+ %"
    with pytest.raises(InputError, match=said):
        load_project(tmp_path / "pipelines.yaml")


def test_every_metric_says_its_unit_as_findings_write_it_and_which_way_is_better():
    known = {metric.name: metric for measured in stages_of(KINDS).values() for metric in measured.metrics}
    assert (known["attack.accuracy"].unit, known["attack.accuracy"].better) == ("share", "more")
    flips = known["corruption.flip_probability"]
    assert (flips.unit, flips.better) == ("share", "less")
    assert known["ordering.trend_p"].unit == "p"


def test_the_spread_of_repeats_can_be_gated():
    assert unknown_metric("trust.g_mean_spread", KINDS) == ""
