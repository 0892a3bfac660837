"""A gate on change fails where the drop is shown, passes where it is excluded, and else says how many would tell."""

import numpy as np
import pytest
from pydantic import ValidationError

from assay.tasks.statistics.between_runs import Sampled, by_intervals, difference, right_or_wrong
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.gates import USUAL_LEVEL, Compared, Look, judge, look
from assay.tasks.statistics.settings import Gate

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
    return look(gate(drop_at_most=bound), Compared(NOW, usual, strict), "run r1", level)


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
        assert look(gate(drop_at_most=0.0), Compared(NOW, usual, strict), "run r1", level).raw == "passed"


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
    seen = look(rises, Compared(two, apart, apart), "run r1", USUAL_LEVEL)
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
