"""The table of what is measured: every line can be read, and what is followed is something that a finding is `of`."""

from __future__ import annotations

import pytest
from repository import ROOT
from ruamel.yaml import YAML

from assay.flows.audits.table import KINDS
from assay.flows.audits.terms import TERMS
from assay.tasks.agreement.drawn_labels import PPI
from assay.tasks.statistics.metrics import Metric, metrics_of

LISTED = YAML(typ="safe").load((ROOT / "data/metrics.yaml").read_text(encoding="utf-8"))
METRICS = [metric for stage in LISTED for metric in metrics_of(stage)]


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
def test_every_line_says_what_gates_and_trends_can_use(metric: Metric) -> None:
    assert metric.better in ("more", "less", None)
    assert metric.title
    assert metric.name.partition(".")[2].replace("_", "").isalnum()
    assert metric.followed in (True, False, "", "clean", "ours", PPI)
    assert isinstance(metric.unit, str)


def test_every_stage_of_the_table_is_measured_by_a_kind_of_audit() -> None:
    measured = {metric.name for kind in KINDS for metric in kind.metrics}
    assert {metric.name for metric in METRICS} <= measured


def test_what_taggers_and_scorers_gain_goes_by_the_same_names() -> None:
    ner, sts = ({metric.name.partition(".")[2] for metric in measured.metrics} for measured in TERMS.measures)
    assert {"gain", "gain_over_control", "own_gain", "drop", "drop_p", "cut"} <= ner & sts
