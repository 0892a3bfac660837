"""Every two defences are compared on the same attacked samples."""

from dataclasses import replace

import numpy as np
import pytest

from assay.tasks.defenses.comparison import Answers, best_findings, between_findings
from assay.tasks.statistics.classification import accuracy
from assay.tasks.statistics.multiplicity import family_size

NEEDED = "not shown: p ≤ 0.01 needed"

IDS = np.array([f"s{i:02}" for i in range(40)])


def answers(right: int) -> Answers:
    """The first so many of forty samples are right; the truth of the last is not known."""
    truth = np.where(np.arange(40) < 39, 0, -1)
    return Answers("pgd", "eps=0.1", IDS, np.where(np.arange(40) < right, 0, 1), truth)


def test_every_pair_has_its_test_and_the_verdict_goes_the_right_way():
    found = between_findings({"a": answers(12), "b": answers(30), "c": answers(31)}, "plain", 0.01)
    assert [(one.of, one.verdict, one.n) for one in found] == [
        ("a - b", "worse", 39),
        ("a - c", "worse", 39),
        ("b - c", NEEDED, 39),
    ]
    assert found[0].value == pytest.approx(0.5**18)  # eighteen samples differ, all one way: mid-p
    assert {one.group for one in found} == {"eps=0.1, pgd"}


def test_defences_that_met_different_attacks_are_not_compared():
    other = replace(answers(30), attack="worst-case")
    assert between_findings({"a": answers(12), "b": other}, "plain", 0.01) == []


def test_these_tests_cost_the_runs_own_nothing():
    assert family_size(between_findings({"a": answers(12), "b": answers(30)}, "plain", 0.01)) == 0


def test_the_best_of_several_is_named_with_an_interval_that_allows_for_that():
    # Two that are right on different samples: whichever of them had come out best would have been named.
    first, best = answers(25), replace(answers(0), predicted=np.where(np.arange(40) >= 10, 0, 1))
    (found,) = best_findings({"a": first, "b": best}, "plain", 2)
    plain = accuracy(best.predicted, best.truth)
    assert (found.metric, found.verdict, found.group) == ("defense.best_accuracy", "b", "eps=0.1")
    assert (found.value, found.n) == (29 / 39, 39)
    assert found.low < plain.low
    assert found.high > plain.high
    (alone,) = best_findings({"b": best}, "plain", 2)
    assert (alone.low, alone.high) == (plain.low, plain.high)  # nothing was chosen


def test_a_defence_that_always_says_the_same_is_not_the_best():
    constant = replace(answers(40), truth=np.where(np.arange(40) < 36, 0, 1))
    sound = replace(constant, predicted=np.where(np.arange(40) % 2, 1, 0))
    assert best_findings({"flat": constant, "sound": sound}, "plain", 2)[0].verdict == "sound"
    assert best_findings({"flat": constant}, "plain", 2) == []
