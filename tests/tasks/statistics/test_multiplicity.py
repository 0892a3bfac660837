from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from assay.tasks.statistics.findings import Finding, findings_from, findings_table
from assay.tasks.statistics.multiplicity import COMPARED, OWN_LEVEL, PRIMARY, adjusted, corrected, family_size
from assay.tasks.statistics.settings import Claim


def test_holm_by_hand() -> None:
    assert adjusted([0.01, 0.005, 0.03, 0.04]) == pytest.approx([0.03, 0.02, 0.06, 0.06])


def test_no_correction_leaves_p_values_alone() -> None:
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


def claims_on(*metrics: str) -> list[Claim]:
    return [Claim(finding=metric, verdict="better") for metric in metrics]


def test_primary_claims_are_tested_in_their_order_each_at_the_whole_level() -> None:
    side = [Finding("s.p", of=str(at), unit="p", p_value=0.4) for at in range(10)]
    first, second = (Finding(f"{name}.p", unit="p", p_value=0.009, verdict="better") for name in "ab")
    result = corrected([*side, second, first], 0.01, claims=claims_on("a.p", "b.p", "never.p"))
    assert [(one.unit, one.p_adjusted, one.verdict) for one in result[-2:]] == [(PRIMARY, None, "better")] * 2
    assert all(one.unit == "p" and one.p_adjusted == 1.0 for one in result[:-2])
    assert corrected(result, 0.01, claims=claims_on("a.p", "b.p")) == result


def test_behind_a_claim_that_is_not_shown_the_others_are_judged_with_all_tests() -> None:
    unsure, strong = Finding("a.p", unit="p", p_value=0.02, verdict="better"), Finding("b.p", unit="p", p_value=0.001)
    weak = Finding("b.p", of="weak", unit="p", p_value=0.009, verdict="better")
    result = corrected([unsure, replace(strong, verdict="better"), weak], 0.01, claims=claims_on("a.p", "b.p"))
    assert [one.unit for one in result] == ["p"] * 3
    assert [one.p_adjusted for one in result] == pytest.approx([0.02, 0.003, 0.018])
    assert [one.verdict for one in result] == ["not shown: p ≤ 0.01 needed", "better", "not shown: p ≤ 0.01 needed"]


def test_a_claim_that_is_shown_the_other_way_round_ends_the_sequence() -> None:
    worse, after = (Finding(f"{name}.p", unit="p", p_value=0.001, verdict="worse") for name in "ab")
    result = corrected([worse, replace(after, verdict="better")], 0.01, claims=claims_on("a.p", "b.p"))
    assert [(one.unit, one.verdict) for one in result] == [("p", "worse"), ("p", "better")]


def test_claims_keep_the_chance_of_a_false_one_at_the_level_whatever_stands_beside_them() -> None:
    draws, wrong = np.random.default_rng(0), 0
    for _ in range(600):
        tests = [Finding(f"{name}.p", unit="p", p_value=float(draws.random()), verdict="better") for name in "abc"]
        wrong += any(one.unit == PRIMARY for one in corrected(tests, 0.05, claims=claims_on("a.p", "b.p", "c.p")))
    assert wrong / 600 <= 0.05 + 3 * (0.05 * 0.95 / 600) ** 0.5


def test_a_direction_that_was_named_without_the_level_is_not_shown_above_it() -> None:
    tests = [
        Finding("s.above_constant_p", of=of, unit="p", p_value=p, verdict="better")
        for of, p in (("a", 0.02), ("b", 0.001))
    ]
    for correction in ("holm", "none"):
        assert [one.verdict for one in corrected(tests, 0.01, correction)] == ["not shown: p ≤ 0.01 needed", "better"]
