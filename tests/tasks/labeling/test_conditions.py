from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.infra.errors import InputError
from assay.tasks.labeling.conditions import Signals, Vital, when
from assay.tasks.labeling.rulebook_source import refer_to_rulebook
from assay.tasks.labeling.voting import apply_rules
from assay.tasks.statistics.vote_counts import vote_matrix

heart, pulse = Vital("heart_rate"), Vital("pulse_rate")
soon = heart.between(0, 6)


def signals(*series, alarm=None, **others):
    """Each series is one patient's heart rate; the alarm goes off in its first second unless said otherwise."""
    columns = {"id": [str(row) for row in range(len(series))], "alarm_second": alarm or [0] * len(series)}
    columns["heart_rate"] = pa.array([list(one) for one in series], pa.list_(pa.float32()))
    for name, values in others.items():
        columns[name] = pa.array([list(one) for one in values], pa.list_(pa.float32()))
    return Signals(pa.table(columns))


def verdicts(condition, data):
    """True, False, or None where it is not known."""
    holds, fails = condition.test(data)
    assert not (holds & fails).any()
    return [True if yes else False if no else None for yes, no in zip(holds, fails, strict=True)]


NA = None


def test_above_counts_seconds_without_a_break():
    data = signals([9, 9, 9, 1, 9, 9], [9, 9, NA, 9, 9, 1], [1, 1, 1, 1, 1, 1])
    assert verdicts(soon.above(5), data) == [True, True, False]
    assert verdicts(soon.above(5, longer_than=2), data) == [True, False, False]
    assert verdicts(soon.above(5, longer_than=3), data) == [False, False, False]


def test_above_and_below_are_strict():
    data = signals([5, 5, 5, 5, 5, 5])
    assert verdicts(soon.above(5), data) == [False]
    assert verdicts(soon.below(5), data) == [False]
    assert verdicts(soon.below(5.5, longer_than=5), data) == [True]


def test_little_measured_means_not_known_rather_than_no():
    data = signals([9, 9, NA, NA, NA, NA], [9, 9, 9, NA, NA, NA], [NA] * 6)
    assert verdicts(soon.above(5), data) == [None, True, None]
    assert verdicts(soon.above(10), data) == [None, False, None]


def test_staying_above_is_about_every_measured_second():
    data = signals([6, 7, NA, 8, 9, 9], [6, 7, 8, 5, 9, 9])
    assert verdicts(soon.stays_above(5), data) == [True, False]
    assert verdicts(soon.stays_below(9), data) == [False, False]


def test_missing_counts_only_recorded_seconds():
    data = signals([1, NA, NA, 1, NA, 1], [1, 1], [], alarm=[0, 0, 0])
    assert verdicts(soon.missing(longer_than=1), data) == [True, False, None]
    assert verdicts(soon.missing(longer_than=2), data) == [False, False, None]


def test_usual_is_the_median_of_the_minute_before_the_alarm():
    data = signals([100, 104, 102, 80, 80, 80], [80, 80, 80, 80, 80, 80], alarm=[3, 3])
    after = heart.between(0, 3)
    assert verdicts(after.falls_by(21, longer_than=2), data) == [True, False]
    assert verdicts(after.falls_by(22), data) == [False, False]
    assert verdicts(after.rises_by(1), data) == [False, False]


def test_without_a_minute_before_nothing_is_usual():
    assert verdicts(soon.falls_by(1), signals([9, 1, 1, 1, 1, 1])) == [None]


def test_slope_is_per_minute():
    data = signals([0, 1, 2, NA, 4, 5], [5, 5, 5, 5, 5, 5], [5, 4, 3, 2, 1, 0])
    assert verdicts(soon.slope_above(59), data) == [True, False, False]
    assert verdicts(soon.slope_above(60.5), data) == [False, False, False]


def test_variability_is_the_standard_deviation():
    data = signals([1, 3, 1, 3, 1, 3], [2, 2, 2, 2, 2, 2])
    assert verdicts(soon.varies_more_than(0.99), data) == [True, False]
    assert verdicts(soon.varies_more_than(1.01), data) == [False, False]


def test_a_jump_is_between_neighbouring_measured_seconds():
    data = signals([1, 1, 9, 9, 9, 9], [1, 1, 1, NA, 9, 9])
    assert verdicts(soon.jumps_by(7), data) == [True, False]


def test_two_signals_agree_where_both_were_measured():
    ten = [100.0] * 12
    data = signals(ten, ten, ten, pulse_rate=[[103.0] * 12, [120.0] * 12, [103.0] * 5 + [NA] * 7])
    window, other = heart.between(0, 12), pulse.between(0, 12)
    assert verdicts(window.agrees_with(other, within=3), data) == [True, False, None]


def test_two_signals_move_together():
    up, flat = [float(value) for value in range(12)], [5.0] * 12
    data = signals(up, up, up, pulse_rate=[[2 * value for value in up], up[::-1], flat])
    window, other = heart.between(0, 12), pulse.between(0, 12)
    assert verdicts(window.moves_with(other, 0.9), data) == [True, False, None]


def test_conditions_combine_with_three_truth_values():
    data = signals([9] * 6, [1] * 6, [NA] * 6, pulse_rate=[[9] * 6] * 3)
    high, sure = soon.above(5), pulse.between(0, 6).above(5)
    assert verdicts(high, data) == [True, False, None]
    assert verdicts(~high, data) == [False, True, None]
    assert verdicts(high & sure, data) == [True, False, None]
    assert verdicts(high & ~sure, data) == [False, False, False]
    assert verdicts(high | sure, data) == [True, True, True]
    assert verdicts(high | ~sure, data) == [True, False, None]


def test_conditions_cannot_be_combined_with_words():
    with pytest.raises(TypeError, match=r"combined with &, \| and ~"):
        _ = soon.above(5) and soon.below(9)


def test_a_condition_reads_like_a_sentence():
    high, low = heart.after_alarm.above(220, longer_than=10), heart.between(-60, 0).below(60)
    assert high.text == "heart rate above 220 for over 10 s after the alarm"
    assert (high & low & ~high).text == f"{high.text} and {low.text} and not {high.text}"
    assert (~(high | low) & low).text == f"not ({high.text} or {low.text}) and {low.text}"
    assert Vital("spo2").between(-10, 20).missing(5).text == "SpO2 missing for over 5 s from -10 s to +20 s"
    assert (high & low).called("all is well").text == "all is well"


def test_a_rule_votes_only_where_its_condition_holds():
    rule = when(soon.above(5), 1)
    assert rule.function(signals([9] * 6, [1] * 6, [NA] * 6)).tolist() == [1, -1, -1]
    assert (rule.name, when(soon.above(5), 1, name="fast").name) == (soon.above(5).text, "fast")


def test_windows_are_aligned_at_the_alarm():
    data = signals([1, 2, 3, 4], [7, 8], alarm=[2, 0])
    window = data.window("heart_rate", -1, 3)
    np.testing.assert_array_equal(window.values, [[2, 3, 4, np.nan], [np.nan, 7, 8, np.nan]])
    np.testing.assert_array_equal(window.recorded, [[True, True, True, False], [False, True, True, False]])


def test_a_vital_sign_that_was_never_recorded_is_not_known():
    table = pa.table(
        {
            "id": ["a", "b"],
            "alarm_second": [0, 0],
            "heart_rate": pa.array([None, [9.0] * 6], pa.list_(pa.float64())),
            "pulse_rate": pa.array([[9.0] * 6, None], pa.list_(pa.float64())),
        }
    )
    assert verdicts(soon.above(5), Signals(table)) == [None, True]
    assert verdicts(soon.missing(longer_than=5), Signals(table)) == [True, False]


def test_samples_without_series_are_explained():
    with pytest.raises(InputError, match="no column alarm_second"):
        Signals(pa.table({"id": ["a"]}))
    with pytest.raises(InputError, match=r"no series 'spo2'.*they have heart_rate"):
        Vital("spo2").after_alarm.above(1).test(signals([1.0]))


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**31), st.lists(st.integers(0, 12), max_size=3))
def test_the_verdict_on_a_sample_ignores_its_neighbours(seed, cuts):
    rng = np.random.default_rng(seed)
    n = 12
    lengths, book = rng.integers(0, 130, n), refer_to_rulebook("alarms").load()
    columns = {"id": [str(row) for row in range(n)], "alarm_second": rng.integers(0, 70, n)}
    for name in ("heart_rate", "respiratory_rate", "spo2", "pulse_rate", "pulse_quality"):
        series = [np.where(rng.random(length) < 0.2, np.nan, rng.normal(90, 40, length)) for length in lengths]
        columns[name] = pa.array(series, pa.list_(pa.float64()))
    table = pa.table(columns)
    whole = vote_matrix(apply_rules(table, book)[0])
    edges = [0, *sorted(cuts), n]
    parts = [vote_matrix(apply_rules(table.slice(start, stop - start), book)[0]) for start, stop in pairwise(edges)]
    np.testing.assert_array_equal(np.concatenate(parts), whole)
