"""Which samples a person should look at."""

import numpy as np

from assay.tasks.hardness.measures import hardest_samples

IDS = [f"s{at:02d}" for at in range(20)]
RISING = np.arange(20.0)


def test_a_sample_must_be_hard_by_every_measure_it_has():
    other = np.roll(RISING, 1)  # s00 is the hardest, s19 next, then s18
    assert [one.at for one in hardest_samples({"a": RISING, "b": other}, IDS)] == [19, 18, 17, 16]
    assert hardest_samples({"a": RISING, "b": -RISING}, IDS) == []


def test_a_measure_that_says_nothing_of_a_sample_does_not_clear_it():
    silent = np.where(RISING == 19, np.nan, -RISING)
    found = hardest_samples({"a": RISING, "b": RISING, "c": silent}, IDS)
    assert [(one.at, sorted(one.harder_than)) for one in found] == [(19, ["a", "b"])]


def test_ties_at_the_border_belong_and_the_easiest_never_do():
    ties = np.array([0.0] * 12 + [1.0] * 8)
    found = hardest_samples({"a": ties, "b": RISING}, IDS)
    assert [one.at for one in found] == [19, 18, 17, 16, 15]
    never = np.array([0.0] * 19 + [1.0])
    assert [one.at for one in hardest_samples({"a": never, "b": RISING}, IDS)] == [19]


def test_one_measure_is_not_every_measure():
    assert hardest_samples({"a": RISING, "b": np.ones(20)}, IDS) == []


def test_equally_hard_samples_come_in_the_order_of_their_names():
    same = np.array([0.0] * 16 + [1.0] * 4)
    assert [one.at for one in hardest_samples({"a": same, "b": same}, IDS)] == [16, 17, 18, 19]
