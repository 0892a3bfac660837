"""A gate on change fails where the drop is shown, passes where it is excluded, and else says how many would tell."""

from __future__ import annotations

import dataclasses
import subprocess
import sys

import numpy as np
import pytest
from pydantic import ValidationError

from assay.tasks.statistics.between_runs import RunDifference, Sampled, by_intervals, difference, right_or_wrong
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.gates import USUAL_LEVEL, Look, judge, look, with_evidence
from assay.tasks.statistics.settings import Gate

FINDINGS = [
    Finding("ordering.permutation_p", of="ours", group="majority", value=0.002, n=569, verdict="adverse"),
    Finding("ordering.permutation_p", of="ours", group="snorkel", value=0.2, n=569, verdict="no trend"),
    Finding("subject.accuracy", of="gold", group="D1", subject="a", value=0.95, low=0.9, high=0.98, n=57),
    Finding("subject.accuracy", of="gold", group="D10", subject="a", value=0.81, low=0.77, high=0.84, n=569),
    Finding("subject.trend_p", of="gold", subject="a", value=None, verdict="not measured"),
]


def verdict(**gate: object) -> tuple[bool, str]:
    result = judge([Gate.model_validate(gate)], FINDINGS)[0]
    return result.passed, result.sentence


def test_a_gate_passes_within_its_bound_and_says_the_number() -> None:
    passed, sentence = verdict(finding="ordering.permutation_p", of="ours", group="majority", at_most=0.01)
    assert passed
    assert "0.002 (n = 569)" in sentence


def test_bounds_are_inclusive() -> None:
    assert verdict(finding="subject.accuracy", group="D10", at_least=0.81, at_most=0.81)[0]


def test_a_broken_bound_is_named_with_the_interval() -> None:
    passed, sentence = verdict(finding="subject.accuracy", group="D10", at_least=0.9)
    assert not passed
    assert sentence == "subject.accuracy (of gold, group D10, subject a) is 0.81 [0.77, 0.84] (n = 569), below 0.9."


def test_a_gate_without_a_group_holds_every_group_to_it() -> None:
    assert verdict(finding="subject.accuracy", at_least=0.8)[0]
    passed, sentence = verdict(finding="subject.accuracy", at_least=0.9)
    assert not passed
    assert "D10" in sentence


def test_a_gate_on_a_finding_that_does_not_exist_fails_and_says_which_do() -> None:
    passed, sentence = verdict(finding="subject.acuracy", at_least=0.5)
    assert not passed
    assert "did you mean subject.accuracy?" in sentence
    assert "ordering.permutation_p" in sentence


def test_a_gate_on_a_group_that_does_not_exist_fails_and_lists_the_groups() -> None:
    passed, sentence = verdict(finding="ordering.permutation_p", group="majorty", at_most=1)
    assert not passed
    assert "group majority" in sentence
    assert "group snorkel" in sentence


def test_a_gate_on_a_run_without_findings_fails() -> None:
    result = judge([Gate(finding="a.b", at_most=1)], [])[0]
    assert not result.passed
    assert "no findings at all" in result.sentence


@pytest.mark.parametrize("value", [None, float("nan")])
def test_what_was_not_measured_does_not_pass(value: float | None) -> None:
    result = judge([Gate(finding="a.b", at_most=1)], [Finding("a.b", value=value)])[0]
    assert not result.passed
    assert "was not measured" in result.sentence


def flags(*values: float | None) -> list[Finding]:
    """A red flag per value; one without a value had no sample to be looked for on."""
    return [
        Finding("attack.red_flag", of=f"flag-{at}", value=value, n=0 if value is None else 64)
        for at, value in enumerate(values)
    ]


def test_a_gate_on_all_flags_passes_over_those_that_had_nothing_to_be_looked_for_on() -> None:
    [result] = judge([Gate(finding="attack.red_flag", at_most=0)], flags(0, None, 0))
    assert result.passed
    assert result.sentence == (
        "attack.red_flag at most 0: all 2 findings keep to it, and 1 had nothing to be measured on."
    )
    assert not judge([Gate(finding="attack.red_flag", at_most=0)], flags(None, 1))[0].passed


def test_a_gate_on_one_flag_or_on_none_that_was_looked_for_does_not_pass() -> None:
    for gate, found in (
        (Gate(finding="attack.red_flag", of="flag-1", at_most=0), flags(0, None)),
        (Gate(finding="attack.red_flag", at_most=0), flags(None, None)),
    ):
        [result] = judge([gate], found)
        assert not result.passed
        assert "was not measured" in result.sentence


def test_what_a_constant_answer_withstands_does_not_pass() -> None:
    constant = Finding(
        "subject.degenerate",
        of="clean",
        subject="mine",
        value=1.0,
        n=60,
        verdict="degenerate: every sample is called good",
    )
    rate = Finding("attack.success_rate", of="a2t", subject="mine", value=0.0, low=0.0, high=0.43, n=5)
    gate = Gate(finding="attack.success_rate", of="a2t", subject="mine", at_most=0.3)
    (passed,) = judge([gate], [rate])
    assert passed.passed
    (failed,) = judge([gate], [rate, constant])
    assert not failed.passed
    assert "says nothing: mine is degenerate: every sample is called good" in failed.sentence
    (other,) = judge([gate.model_copy(update={"subject": None})], [dataclasses.replace(rate, subject="x"), constant])
    assert other.passed


def test_a_defence_that_makes_a_model_constant_does_not_pass() -> None:
    constant = Finding(
        "subject.degenerate",
        of="clean",
        subject="mine+mpadvt",
        value=1.0,
        n=379,
        verdict="degenerate: every sample is called benign",
    )
    left = Finding("defense.accuracy", of="mpadvt", group="eps=4/255", subject="mine", value=0.802, n=379)
    gate = Gate(finding="defense.accuracy", of="mpadvt", at_least=0.5)
    assert judge([gate], [left])[0].passed
    assert not judge([gate], [left, constant])[0].passed


def test_verdict_gates_compare_word_for_word() -> None:
    assert verdict(finding="ordering.permutation_p", group="majority", verdict="adverse")[0]
    passed, sentence = verdict(finding="ordering.permutation_p", group="snorkel", verdict="adverse")
    assert not passed
    assert "'no trend', not 'adverse'" in sentence


@pytest.mark.parametrize(
    ("gate", "said"),
    [
        ({"finding": "a.b"}, "sets no bound"),
        ({"finding": "a.b", "at_most": 1, "at_least": 2}, "can never pass"),
        ({"finding": "accuracy", "at_most": 1}, "pattern"),
        ({"finding": "a.b", "at_most": float("nan")}, "finite"),
        ({"finding": "a.b", "at_mst": 1}, "not permitted"),
    ],
)
def test_impossible_gates_are_refused(gate: dict[str, object], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        Gate.model_validate(gate)


def test_settings_import_nothing_heavy() -> None:
    code = (
        "import sys, assay.tasks.statistics.gates, assay.tasks.statistics.settings\n"
        "print([m for m in ('numpy', 'pyarrow', 'pandas', 'torch', 'scipy', 'sklearn') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


NOW = Finding("attack.accuracy", of="worst-case", group="eps=0.1", value=0.8, low=0.78, high=0.82, n=1000)


def gate(**settings: object) -> Gate:
    return Gate.model_validate(
        {"finding": "attack.accuracy", "against": "last-passed", "drop_at_most": 0.02} | settings
    )


def looked(n: int, lost: int, gained: int = 0, bound: float = 0.02, level: float = USUAL_LEVEL) -> Look:
    """Of n samples that were right but for a tenth, so many are lost and so many gained."""
    before = np.arange(n) % 10 > 0
    after = before.copy()
    after[np.flatnonzero(before)[:lost]] = False
    after[np.flatnonzero(~before)[:gained]] = True
    sides = [right_or_wrong([f"s{number}" for number in range(n)], one) for one in (before, after)]
    usual, strict = (difference(*sides, np.random.default_rng(0), one) for one in (0.95, 1 - 2 * level))
    assert usual is not None
    assert strict is not None
    return look(gate(drop_at_most=bound), NOW, usual, strict, "run r1", level)


def test_a_drop_that_is_shown_fails_and_one_that_is_excluded_passes() -> None:
    assert looked(1000, 60).raw == "failed"
    assert "fell by 0.06" in looked(1000, 60).sentence
    assert "paired on 1000 samples" in looked(1000, 60).sentence
    assert looked(1000, 5).raw == "passed"


def test_too_few_samples_say_how_many_would_tell() -> None:
    seen = looked(100, 3)
    assert seen.raw == "inconclusive"
    assert "too few samples to tell whether by more than 0.02" in seen.sentence
    assert "would" in seen.sentence.rpartition(";")[2]
    wanted = int(seen.sentence.rpartition("about ")[2].split()[0].replace(",", ""))
    assert looked(2 * wanted, 6 * wanted // 100).raw == "failed"  # as many in a hundred, of more


def test_identical_outcomes_pass_whatever_the_bound() -> None:
    seen = looked(20, 0, bound=0.0)
    assert (seen.raw, seen.identical) == ("passed", True)


@pytest.mark.parametrize("scored", [False, True])
@pytest.mark.parametrize("level", [USUAL_LEVEL, 1e-4])
def test_a_hundred_nights_of_the_same_outcomes_in_any_order_raise_no_alarm(scored: bool, level: float) -> None:
    draw = np.random.default_rng(9)
    for _ in range(100):
        n = int(draw.integers(5, 60))
        above = draw.random(n) if scored else draw.integers(0, 2, n).astype(np.float64)
        groups = draw.integers(0, 8, n).astype(np.str_) if draw.random() < 0.5 else None
        one = Sampled(np.arange(n).astype(np.str_), above, np.ones(n), groups)
        sides = one, one.at(draw.permutation(n))
        usual, strict = (difference(*sides, draw, width) for width in (0.95, 1 - 2 * level))
        assert usual is not None
        assert strict is not None
        assert look(gate(drop_at_most=0.0), NOW, usual, strict, "run r1", level).raw == "passed"


def test_a_stricter_level_alarms_less_and_detects_less() -> None:
    strict = looked(1000, 34, level=1e-4)
    assert (looked(1000, 34).raw, strict.raw) == ("failed", "inconclusive")
    assert strict.detectable > looked(1000, 34).detectable > 0.02


@pytest.mark.parametrize(("n", "bound", "level"), [(500, 0.0, 1e-3), (500, 0.02, 1e-3), (2000, 0.0, USUAL_LEVEL)])
def test_a_drop_that_it_says_it_detects_raises_an_alarm_in_eight_of_ten_nights(
    n: int, bound: float, level: float
) -> None:
    draw = np.random.default_rng(5)
    seen = looked(n, n // 100, n // 100, bound, level).detectable
    lost = draw.binomial(n, 0.01 + seen, 200)
    alarms = [looked(n, int(one), int(draw.binomial(n, 0.01)), bound, level).raw == "failed" for one in lost]
    assert 0.75 < np.mean(alarms) < 0.95


def test_what_should_not_rise_is_judged_the_other_way() -> None:
    one, two = (
        Finding("attack.success_rate", value=value, low=value - 0.02, high=value + 0.02, n=900) for value in (0.2, 0.4)
    )
    rises = Gate(finding="attack.success_rate", against="accepted", rise_at_most=0.05)
    apart = by_intervals(one, two)
    assert apart is not None
    seen = look(rises, two, apart, apart, "run r1", USUAL_LEVEL)
    assert seen.raw == "failed"
    assert "single outcomes are not kept" in seen.sentence


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"for": "5 of 3"}, "5 of 3 cannot be"),
        ({"for": "often"}, "expected so many of the latest nights"),
        ({"drop_at_most": None}, "bounds no change"),
        ({"against": None}, "names no run"),
        ({"at_least": 0.5}, "sets several bounds"),
    ],
)
def test_a_gate_on_change_that_cannot_be_is_refused(settings: dict[str, object], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        gate(**settings)


def test_constant_bounds_can_be_asked_of_the_interval() -> None:
    least = {"finding": "attack.accuracy", "at_least": 0.79}
    assert judge([Gate.model_validate(least)], [NOW])[0].passed
    (result,) = judge([Gate.model_validate(least | {"on": "interval"})], [NOW])
    assert not result.passed
    assert "its interval reaches below 0.79" in result.sentence
    assert not judge([Gate(finding="attack.accuracy", at_most=0.81, on="interval")], [NOW])[0].passed
    (bare,) = judge([Gate(finding="a.b", at_most=1, on="interval")], [Finding("a.b", value=0.5)])
    assert "has no interval" in bare.sentence


def test_a_night_that_only_the_nights_before_fail_is_told_from_one_that_fell():
    gate = Gate(finding="a.b", against="accepted", drop_at_most=0.02)
    level = RunDifference(0.0, -0.06, 0.06, 1.0, 300, "other samples")
    far = RunDifference(-0.2, -0.25, -0.15, 0.001, 300, "other samples")
    recovered, fallen = (look(gate, Finding("a.b", value=0.8), each, each, "run r1", 0.025) for each in (level, far))
    told = with_evidence(recovered, 889.0, 40.0, decides=True)
    assert told.raw == "failed"
    assert "fell by 0 [" in told.sentence
    assert told.sentence.endswith("not by this one; assay accept, or a new period, begins them anew.")
    assert "not by this one" not in with_evidence(fallen, 889.0, 40.0, decides=True).sentence
