"""The noise floor: the text is what is independent, and an attack is credited with what goes beyond it."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import ttest_1samp

from assay.data.images import image_columns
from assay.flows.report.sentences import _fallen
from assay.tasks.attacks.chance.flips import (
    MORE,
    NO_MORE,
    above_chance,
    attacked_images_as_samples,
    changed_shares,
    corruptions_above_chance,
    findings_above_chance,
    mean_share,
)
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
        ends.append(sentence.partition(" of the texts it attacks")[2].replace("\N{NO-BREAK SPACE}", " "))
    assert ends[0] == ", not shown to be more than chance."
    assert ends[1].endswith(" beyond what chat changes by itself.")


def test_attacked_images_are_held_against_themselves_under_each_eps() -> None:
    made = {"id": ["a", "b", "a", "b", "a"], "eps": [0.0, 0.5, 0.5, 2.0, 2.0]}
    images = pa.table({**made, **image_columns(np.zeros((5, 1, 8, 8), np.float32))})
    asked, clean = attacked_images_as_samples(images, norm="l2"), (np.array([0, 1]), [np.array([0, 0])])
    assert asked["id"].to_pylist() == ["b+l2=0.5", "a+l2=0.5", "b+l2=2", "a+l2=2"]
    found = findings_above_chance(asked, [np.array([0, 1, 1, 0])], clean, ["a", "b"], None, ABOUT, 0.05)
    assert [(each.group, each.value, each.n) for each in found] == [("l2=0.5", 0.5, 2), ("l2=2", -0.5, 2)]


@pytest.mark.parametrize("groups", [np.zeros(4, int), np.array([0, 0, 1, 1])])
def test_of_groups_that_do_not_vary_no_test_is_made(groups: np.ndarray) -> None:
    found = mean_share(ABOUT, np.array([1.0, 0.0, 1.0, 0.0]), groups)
    assert found.p_value is None
    assert found.low is not None
    assert found.low < 0


def test_one_text_that_falls_is_no_more_than_chance() -> None:
    assert above_chance(ABOUT, np.ones(1), np.zeros(1), None, 0.05).verdict == NO_MORE
    assert above_chance(ABOUT, np.ones(50), np.zeros(50), None, 0.05).verdict == MORE


def corrupted_answers(rng: np.random.Generator, n: int, flips: float, more: float) -> Finding:
    """`corruption.above_chance` of a model that flips by itself, and whose truth flips in so many frames more."""
    drawn = [rng.random(n) < flips for _ in range(4)]
    first, again = drawn[0].astype(np.int64), [each.astype(np.int64) for each in drawn[1:]]
    frames = (rng.random((n, 9)) < flips) ^ (rng.random((n, 9)) < more)
    counted = (frames[:, 1:] != frames[:, :-1]).sum(axis=1)
    ids = [f"p{at}" for at in range(n)]
    table = pa.table({"id": ids, "perturbation": ["fog"] * n, "flips": counted, "comparisons": [8] * n})
    floor, about = changed_shares(first, again), Finding("", subject="seer")
    mean, fog = corruptions_above_chance(table, pa.chunked_array([ids]), floor, None, about, 0.05)
    assert (mean.metric, mean.of, fog.of, mean.value) == ("corruption.above_chance", "mean", "fog", fog.value)
    return fog


def test_flips_from_frame_to_frame_count_beyond_those_that_come_by_chance() -> None:
    rng = np.random.default_rng(0)
    by_chance = [corrupted_answers(rng, 100, 0.05, 0.0) for _ in range(100)]
    assert sum(each.verdict == MORE for each in by_chance) <= 7  # of 100, at a level of one in forty
    covered = [corrupted_answers(rng, 100, 0.05, 0.12) for _ in range(100)]
    either = 0.05 * 0.88 + 0.95 * 0.12  # how often a frame is answered otherwise
    truth = 2 * either * (1 - either) - 2 * 0.05 * 0.95
    assert sum((each.low or 0) <= truth <= (each.high or 0) for each in covered) >= 90
    assert all(each.verdict == MORE for each in covered)
    still = corrupted_answers(rng, 50, 0.0, 0.0)
    assert (still.value, still.verdict) == (0.0, "no more than chance")
