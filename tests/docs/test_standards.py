"""What the page on standards names as evidence is measured."""

import re

from repository import ROOT

from assay.flows.audits.table import KINDS

PAGE = (ROOT / "docs" / "standards.md").read_text(encoding="utf-8")


def test_every_finding_that_is_named_as_evidence_is_one_that_a_run_may_have() -> None:
    names = {name for kind in KINDS for measured in kind.measures for name in measured.names}
    stages = {name.partition(".")[0] for name in names}
    named = re.findall(r"`([a-z_]+)\.([a-z_]+|\*)`", PAGE)
    claimed = [(stage, name) for stage, name in named if stage not in ("findings", "environment", "code")]
    assert len(claimed) > 30
    assert [f"{stage}.{name}" for stage, name in claimed if name != "*" and f"{stage}.{name}" not in names] == []
    assert {stage for stage, _ in claimed} <= stages


def test_it_claims_evidence_and_never_compliance() -> None:
    assert "It claims evidence, never compliance" in PAGE
    assert re.findall(r"\b(compl(?:y|iant|ies)|conforms?)\b", PAGE) == ["complies"]
