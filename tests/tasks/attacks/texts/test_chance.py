"""The noise floor: the text is what is independent, and an attack is credited with what goes beyond it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import ttest_1samp

from assay.flows.report.sentences import _fallen
from assay.tasks.attacks.texts.chance import above_chance, changed_shares, findings_above_chance, mean_share
from assay.tasks.attacks.texts.settings import MORE, NO_MORE
from assay.tasks.statistics.findings import Finding, FindingIndex

ABOUT = Finding("", of="attack")


def test_without_groups_the_interval_and_the_test_are_student_s() -> None:
    shares = np.random.default_rng(0).choice([0.0, 0.5, 1.0], 40)
    found, theirs = mean_share(ABOUT, shares, None), ttest_1samp(shares, 0)
    # The variance of the clusters is that of samples with n in the place of n - 1, put right.
    assert found.p_value is not None
    assert np.isclose(found.p_value, theirs.pvalue)
    assert np.allclose([found.low, found.high], theirs.confidence_interval())


def test_groups_that_go_together_are_one_text_each() -> None:
    shares = np.repeat(np.random.default_rng(1).random(10), 4)
    alone = mean_share(ABOUT, shares[::4], None)
    together = mean_share(ABOUT, shares, np.repeat(np.arange(10), 4))
    assert np.allclose([alone.low, alone.high, alone.p_value], [together.low, together.high, together.p_value])


def test_a_model_that_never_changes_its_mind_has_a_floor_of_nothing_with_an_upper_end() -> None:
    floor = mean_share(ABOUT, changed_shares(np.zeros(50, int), [np.zeros(50, int)]), None)
    assert floor.value == 0
    assert floor.high is not None
    assert 0.05 < floor.high < 0.1


def test_an_attack_that_does_nothing_is_seldom_above_chance_and_one_that_works_is() -> None:
    draw, found = np.random.default_rng(2), []
    for worked in (0.0, 0.3):
        times = 0
        for _ in range(200):
            asked = draw.random((3, 150)) < 0.095
            attacked = draw.random(150) < worked
            times += (
                above_chance(ABOUT, np.maximum(attacked, asked[2]), asked[:2].mean(axis=0), None, 0.05).verdict
                == "more than chance"
            )
        found.append(times / 200)
    assert found[0] < 0.06
    assert found[1] > 0.95


def test_texts_are_held_against_themselves_by_id() -> None:
    asked = pa.table({"id": ["x", "y"], "noise_of": ["b", "a"], "noise_kind": ["", ""], "noise_severity": [0, 0]})
    clean = (np.array([0, 1, 1]), [np.array([0, 0, 1])])
    (found,) = findings_above_chance(asked, [np.array([0, 1])], clean, ["a", "b", "c"], None, ABOUT, 0.05)
    assert found.value == 0.5  # b: changed once, and once by itself; a: changed, and never by itself
    assert found.n == 2


def test_the_head_of_a_page_says_where_an_attack_does_no_more_than_asking_again() -> None:
    share = {"of": "injection", "subject": "chat", "n": 100, "unit": "share"}
    findings = [
        Finding("subject.accuracy", value=0.9, low=0.8, high=1.0, **share | {"of": "clean"}),
        Finding("attack.accuracy", value=0.7, low=0.6, high=0.8, **share),
        Finding("attack.success_rate", value=0.2, low=0.1, high=0.3, **share),
    ]
    ends = []
    for verdict in (NO_MORE, ""):
        floor = Finding("attack.above_chance", value=0.0, low=-0.1, high=0.1, verdict=verdict, **share)
        ((sentence, _),) = _fallen(FindingIndex([*findings, floor]), "chat")
        ends.append(sentence.partition(" of the texts it attacks")[2])
    assert ends == [", not shown to be more than chance.", "."]


@pytest.mark.parametrize("groups", [np.zeros(4, int), np.array([0, 0, 1, 1])])
def test_of_groups_that_do_not_vary_no_test_is_made(groups: np.ndarray) -> None:
    found = mean_share(ABOUT, np.array([1.0, 0.0, 1.0, 0.0]), groups)
    assert found.p_value is None
    assert found.low is not None
    assert found.low < 0


def test_one_text_that_falls_is_no_more_than_chance() -> None:
    assert above_chance(ABOUT, np.ones(1), np.zeros(1), None, 0.05).verdict == NO_MORE
    assert above_chance(ABOUT, np.ones(50), np.zeros(50), None, 0.05).verdict == MORE
