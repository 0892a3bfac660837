from __future__ import annotations

import pytest

from assay.tasks.statistics.findings import Finding, findings_from, findings_table
from assay.tasks.statistics.multiplicity import COMPARED, OWN_LEVEL, adjusted, corrected, family_size


def test_holm_by_hand() -> None:
    assert adjusted([0.01, 0.005, 0.03, 0.04]) == pytest.approx([0.03, 0.02, 0.06, 0.06])


def test_no_correction_leaves_p_values_alone() -> None:
    assert adjusted([0.2, 0.01], "none") == [0.2, 0.01]
    test = Finding("a.b", p_value=0.009, verdict="adverse", unit="p")
    assert corrected([test], 0.01, "none") == [test]  # so that no page calls its p corrected


def test_one_test_is_not_corrected() -> None:
    assert adjusted([0.04]) == [0.04]


def test_only_tests_are_in_the_family() -> None:
    findings = [
        Finding("a.x", value=-0.9, p_value=0.001, unit="ρ"),
        Finding("a.p", unit="p", p_value=0.02),
        Finding("a.q", unit="p", p_value=float("nan")),
        Finding("a.r", unit="p", p_value=0.5),
    ]
    result = corrected(findings, 0.05)
    assert family_size(findings) == 2
    assert [f.p_adjusted for f in result] == [None, pytest.approx(0.04), None, 0.5]
    assert [f.metric for f in result] == ["a.x", "a.p", "a.q", "a.r"]


def test_a_verdict_lost_to_the_correction_says_so() -> None:
    findings = [
        Finding("a.p", unit="p", p_value=0.009, verdict="adverse"),
        Finding("b.p", unit="p", p_value=0.0001, verdict="adverse"),
        Finding("c.p", unit="p", p_value=0.3, verdict="no trend"),
    ]
    verdicts = [f.verdict for f in corrected(findings, 0.01)]
    assert verdicts == ["not shown: p ≤ 0.01 needed", "adverse", "no trend"]


def test_what_is_only_compared_is_corrected_by_itself_and_costs_the_run_nothing() -> None:
    tests = [Finding("a.p", unit="p", p_value=0.009, verdict="adverse")]
    compared = [Finding("a.p", of=str(at), unit=COMPARED, p_value=0.006, verdict="adverse") for at in range(2)]
    own = Finding("o.p", unit=OWN_LEVEL, p_value=0.001, verdict="overfit")
    result = corrected([*tests, *compared, own], 0.01)
    assert [f.p_adjusted for f in result] == [0.009, pytest.approx(0.012), pytest.approx(0.012), None]
    assert [f.verdict for f in result] == ["adverse", *["not shown: p ≤ 0.01 needed"] * 2, "overfit"]
    assert family_size(result) == 1


def test_correcting_twice_changes_nothing() -> None:
    findings = [Finding("a.p", unit="p", p_value=0.001), Finding("b.p", unit="p", p_value=0.04)]
    once = corrected(findings, 0.01)
    assert corrected(once, 0.01) == once


def test_findings_survive_their_table() -> None:
    findings = [
        Finding("a.p", of="ours", group="D1", subject="s", value=0.5, n=3, p_value=0.1, unit="share"),
        Finding("b.c"),
    ]
    assert findings_from(findings_table(findings)) == findings
