"""Verdicts: what a rejection allows one to say, what controls take back, and what each look at a test set costs."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.tasks.overfitting import independence
from assay.tasks.overfitting.independence import Record, pairwise_test
from assay.tasks.overfitting.page import page
from assay.tasks.overfitting.settings import Overfitting, Synthetic, Translations
from assay.tasks.overfitting.verdicts import (
    group_of,
    judge,
    judged_findings,
    look_up,
    needed,
    numbered,
    spent_level,
    verdict,
)
from assay.tasks.reporting.numerals import p_equals
from assay.tasks.statistics.findings import FindingIndex

OPTIONS = Overfitting(translations=Translations(), gap=0.05)


def values(gap: float, n: int = 5000) -> np.ndarray:
    """Values of mean `gap`: a share of samples moves at h = 1/2, a tenth is wrong already and stays so at h = 1."""
    moved = round(2 * gap * n)
    return np.repeat([0.5, -0.1, 0.1, 0.0], [moved, n // 10, n // 10, n - moved - n // 5])


def outcome(gap: float, n: int = 5000, **options: object) -> independence.Tested:
    return pairwise_test(values(gap, n), 1.5, **options)


def row(gap: float, subject: str = "m", n: int = 5000, **options: object) -> Record:
    found = outcome(gap, n)
    return Record(subject, "strongest", found, 0.1, 0.1 + gap, "the set", f"{subject} {gap} {n}", **options)


def test_a_gap_on_the_test_set_and_none_on_fresh_samples_is_overfitting():
    assert verdict(outcome(0.05), 0.05, 0.05, fresh=outcome(0.0), fresh_needed=True).name == "overfit"


def test_fresh_samples_that_are_rejected_too_take_the_verdict_back():
    said = verdict(outcome(0.05), 0.05, 0.05, fresh=outcome(0.05), fresh_needed=True)
    assert said.name == "inconclusive"
    assert "symmetry" in said.why


def test_without_fresh_samples_a_rejection_proves_nothing_where_the_symmetry_is_assumed():
    assert verdict(outcome(0.05), 0.05, 0.05, fresh_needed=True).name == "inconclusive"
    assert verdict(outcome(0.05), 0.05, 0.05).name == "overfit"


def test_fresh_samples_that_are_too_few_cannot_clear():
    said = verdict(outcome(0.05), 0.05, 0.05, fresh=outcome(0.0, 100), fresh_needed=True)
    assert said.name == "inconclusive"
    assert "too few" in said.why


def test_a_test_of_several_models_is_held_against_fresh_samples_with_as_many():
    records = [row(0.05, models=3), row(0.0, role="fresh")]
    assert [one.verdict.name for one in judge(records, OPTIONS, {}) if one.verdict] == ["inconclusive"]
    records += [row(0.0, role="fresh", models=3)]
    (said,) = [one for one in judge(records, OPTIONS, {}) if one.verdict]
    assert said.verdict.name == "overfit"
    assert judge([row(0.05), row(0.05, role="fresh")], OPTIONS, {})[0].counts is None  # rejected too: nothing does
    assert said.counts == said.record.tested.minimum_gap  # so many fresh samples leave it to the test set's own
    few = row(0.0, n=500, role="fresh", models=3)
    scarce = judge([records[0], few], OPTIONS, {})[0]
    assert scarce.counts == pytest.approx(pairwise_test(values(0, 500), 1.5, alpha=0.025).minimum_gap)


def test_training_samples_that_are_not_rejected_show_nothing_and_a_copy_that_is_does():
    honest = pairwise_test(values(0.01) - values(0.01).mean(), 1.5)
    test = replace(row(0.0), tested=honest)
    unseen = "nothing here shows that the test could find memory"
    for more, silent in (
        ([], True),
        ([row(0.0, role="training")], True),
        ([row(0.1, role="training")], False),
        ([row(0.0, role="training"), row(0.1, role="dishonest")], False),
    ):
        (said,) = [one.verdict for one in judge([test, *more], OPTIONS, {}) if one.verdict]
        assert (said.name, unseen in said.why) == ("no evidence", silent)


def test_a_gap_below_zero_is_not_overfitting():
    found = pairwise_test(-values(0.05), 1.5)
    assert found.p < 0.001
    assert verdict(found, 0.05, 0.05).name == "inconclusive"


def test_an_honest_model_on_enough_samples_gives_no_evidence_and_the_gap_that_would_have_shown():
    found = pairwise_test(values(0.01) - values(0.01).mean(), 1.5)
    said = verdict(found, 0.05, 0.05)
    assert said.name == "no evidence"
    assert f"observed gap from {found.minimum_gap:.4f} on" in said.why
    assert "not by how much the score is too good" in said.why


def test_too_few_samples_are_underpowered_and_the_number_needed_finds_such_a_gap_nine_times_out_of_ten():
    found = outcome(0.02, 300)
    said = verdict(found, 0.02, 0.05)
    enough = needed(found, 0.02, 0.05)
    assert said.name == "underpowered"
    assert enough is not None
    assert str(enough) in said.why
    drawn = np.random.default_rng(0).choice(values(0.02, 300), (200, enough))
    assert 0.84 <= np.mean([pairwise_test(one, 1.5).p <= 0.05 for one in drawn]) <= 0.96


def test_where_too_few_turn_wrong_more_samples_are_asked_for_than_there_are_or_none():
    few = pairwise_test(np.repeat([0.5, -0.05, 0.0], [20, 40, 4940]), 1.5)
    assert verdict(few, 0.05, 0.05).name == "underpowered"
    asked = needed(few, 0.05, 0.05)
    assert asked is not None
    assert asked > 5000
    assert needed(pairwise_test(np.zeros(900), 1.5), 0.05, 0.05) is None


def test_two_sets_with_the_same_gap_tell_nothing_whichever_is_rejected():
    """An honest model where moved samples are less likely: test and fresh samples are rejected by turns."""
    lucky, unlucky = outcome(0.008, alpha=0.025), outcome(0.007, alpha=0.025)
    assert lucky.p <= 0.025 < unlucky.p
    assert verdict(lucky, 0.05, 0.025, fresh=unlucky, fresh_needed=True).name == "inconclusive"


def test_an_honest_model_where_the_symmetry_fails_is_hardly_ever_found_guilty():
    rng, names = np.random.default_rng(0), []
    for _ in range(300):
        drawn = (np.repeat([0.5, -0.02, 0.0], rng.multinomial(5000, [0.02, 0.05, 0.93])) for _ in range(2))
        test, fresh = (pairwise_test(one, 1.5, alpha=0.025) for one in drawn)
        names.append(verdict(test, 0.05, 0.025, fresh=fresh, fresh_needed=True).name)
    assert names.count("inconclusive") > 60
    assert names.count("overfit") <= 3


@pytest.mark.parametrize("bound", ["maurer-pontil", "paper", "betting"])
def test_a_single_sample_is_judged_like_any_other_number(bound):
    found = pairwise_test(np.zeros(1), 1.5, bound)
    one = Record("m", "strongest", found, 0, 0, "s", "x", bound=bound)
    judged = judge([one], Overfitting(translations=Translations(), bound=bound), {})
    assert [row.verdict.name for row in judged if row.verdict is not None] == ["underpowered"]
    floors = [finding.value for finding in judged_findings(judged) if finding.metric == "overfitting.minimum_gap"]
    assert all(floor is None or np.isfinite(floor) for floor in floors)
    assert page(FindingIndex(), judged).blocks


def test_nothing_that_could_be_moved_is_underpowered_however_many_samples():
    said = verdict(pairwise_test(np.zeros(100_000), 1.5), 0.05, 0.05)
    assert said.name == "underpowered"
    assert "turn wrong" in said.why


@given(st.floats(0.001, 0.5))
def test_all_looks_together_keep_the_level(alpha):
    levels = [spent_level(alpha, look) for look in range(1, 200)]
    assert sum(levels) < alpha
    assert all(later < earlier for earlier, later in pairwise(levels))


@given(st.lists(st.sampled_from("abcdef"), max_size=8), st.lists(st.sampled_from("abcdef"), max_size=8))
@settings(max_examples=50)
def test_a_look_keeps_its_number_and_no_two_share_one(first_night, second_night):
    first = numbered(first_night, {})
    second = numbered(second_night, first)
    both = {**first, **second}
    assert sorted(both.values()) == list(range(1, len(both) + 1))
    assert all(second[one] == first[one] for one in set(first) & set(second))


def test_counting_goes_on_where_early_runs_were_forgotten():
    assert numbered(["new"], {"z": 7}) == {"new": 8}


def test_what_is_asked_in_another_order_is_the_same_look_up():
    assert look_up("s", ["a", "b"]) == look_up("s", ["b", "a"]) != look_up("t", ["a", "b"])


def test_the_same_model_asked_again_spends_nothing_and_another_model_does():
    first = judge([row(0.05)], OPTIONS, {})
    history = {"the set": {first[0].look_up: first[0].look}}
    again, other = judge([row(0.05)], OPTIONS, history), judge([row(0.04)], OPTIONS, history)
    assert [(one[0].look, one[0].level) for one in (first, again, other)] == [(1, 0.025), (1, 0.025), (2, 0.05 / 6)]
    elsewhere = judge([replace(row(0.04), test_set="another")], OPTIONS, history)
    assert elsewhere[0].look == 1


def test_counting_goes_on_where_one_sample_was_mended_or_the_file_has_another_name():
    first = judge([row(0.05)], OPTIONS, {}, "csv a.csv, split test")[0]
    history = {name: {first.look_up: first.look} for name in ("csv a.csv, split test", "the set")}
    mended = judge([replace(row(0.04), test_set="one label mended")], OPTIONS, history, "csv a.csv, split test")[0]
    renamed = judge([row(0.04)], OPTIONS, history, "csv b.csv, split test")[0]
    another = judge([replace(row(0.04), test_set="others")], OPTIONS, history, "csv b.csv, split test")[0]
    same = judge([row(0.05)], OPTIONS, history, "csv b.csv, split test")[0]
    assert (mended.look, renamed.look, another.look, same.look) == (2, 2, 1, 1)


def test_a_model_that_is_found_out_tonight_may_pass_after_a_hundred_looks():
    gap = 0.03
    early = judge([row(gap), row(0.0, role="fresh")], OPTIONS, {})[0]
    late = judge([row(gap), row(0.0, role="fresh")], OPTIONS, {"the set": {"x": 5000}})[0]
    assert early.verdict is not None
    assert late.verdict is not None
    assert early.verdict.name == "overfit" != late.verdict.name
    assert late.record.tested.minimum_gap > early.record.tested.minimum_gap


def test_two_generators_of_one_subject_are_one_look_up_and_corrected():
    records = [row(0.05), replace(row(0.05), generator="nearest")]
    judged = judge(records, OPTIONS, {})
    assert [one.look for one in judged] == [1, 1]
    assert [one.p_adjusted for one in judged] == pytest.approx([2 * records[0].tested.p] * 2)


def test_a_look_up_of_two_generators_is_said_once_and_its_p_by_both_names():
    judged = judge([row(0.05), replace(row(0.05), generator="nearest")], OPTIONS, {})
    found = judged_findings(judged)
    assert [one.metric for one in found].count("overfitting.look_up") == 1
    plain, corrected = judged[0].record.tested.p, judged[0].p_adjusted
    assert f"{p_equals(plain, corrected)}, at level 0.025" in page(FindingIndex(), judged).sentence
    alone = judge([row(0.05)], OPTIONS, {})
    assert "Holm" not in page(FindingIndex(), alone).sentence


def test_two_subjects_are_two_look_ups_and_controls_are_only_shown():
    judged = judge([row(0.05, "a"), row(0.04, "b"), row(0.2, "a", role="training")], OPTIONS, {})
    assert [(one.record.subject, one.record.role, one.look) for one in judged] == [
        ("a", "test", 1),
        ("a", "training", 1),
        ("b", "test", 2),
    ]
    assert [one.verdict is None for one in judged] == [False, True, False]


def test_findings_carry_the_gap_that_would_show_beside_p_and_the_look_up():
    judged = judge([row(0.0, n=500), row(0.0, n=500, role="fresh")], Overfitting(translations={}, gap=0.01), {})
    found = {(one.metric, one.group): one for one in judged_findings(judged)}
    p, floor, needed_ = (found[f"overfitting.{name}", ""] for name in ("p_value", "minimum_gap", "samples_needed"))
    assert (p.value, p.verdict, p.n) == (1.0, "underpowered", 500)
    assert floor.value is not None
    assert needed_.value is not None
    assert floor.value > 0.01
    assert needed_.value > 500
    assert found["overfitting.level", ""].n == 1
    assert found["overfitting.look_up", judged[0].look_up].of == "the set"
    assert ("overfitting.p_value", "fresh") in found


def test_a_slice_is_named_by_what_is_unusual_about_it():
    assert group_of(row(0.0)) == ""
    assert group_of(row(0.0, role="fresh", models=3)) == "fresh, N=3"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"runs": 10, "models": [3]}, "bins of 3"),
        ({"eps": [1, 1], "models": [1]}, "stands twice"),
        ({"eps": [0], "models": [1]}, "above zero"),
        ({"runs": 10, "models": [2, 2]}, "2 stands twice"),
    ],
)
def test_settings_that_cannot_be_are_refused_in_words(wrong, said):
    with pytest.raises(ValueError, match=said):
        Synthetic(**wrong)


def test_a_generator_that_stands_twice_would_be_corrected_for_twice():
    with pytest.raises(ValueError, match="nearest stands twice"):
        Translations(generators=("nearest", "nearest"))


def test_an_inequality_that_nothing_is_tested_by_is_refused():
    with pytest.raises(ValueError, match="`bound: betting` does nothing"):
        Overfitting(synthetic=Synthetic(), bound="betting")


def test_every_test_is_drawn_with_the_smallest_gap_that_would_have_shown():
    judged = judge([row(0.05), row(0.0, role="fresh")], OPTIONS, {})
    gaps = page(FindingIndex(), judged).blocks[0]
    assert gaps.names == ["test set, strongest", "fresh samples, strongest"]
    assert gaps.values == [0.05, 0.0]
    floor = judged[0].record.tested.minimum_gap
    assert (gaps.low[0], gaps.high[0]) == (pytest.approx(0.05 - floor), pytest.approx(0.05 + floor))


def test_the_errors_of_fresh_samples_are_not_on_the_page():
    fresh = replace(row(0.0, role="fresh"), error=0.1234, adversarial_error=0.4321)
    drawn = str(page(FindingIndex(), judge([row(0.0), fresh], OPTIONS, {})))
    assert "0.1234" not in drawn
    assert "0.4321" not in drawn
