"""The area under the ROC curve against scikit-learn, DeLong's variance against the sum over all pairs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm, t
from sklearn.metrics import roc_auc_score

from assay.tasks.statistics.auc import area_by_sample, auc_finding, binary_auc, label_auc, macro_auc
from assay.tasks.statistics.between_runs import difference
from assay.tasks.statistics.order_test import area_difference, area_interval, area_sums

Case = tuple[list[int], list[bool]]


@st.composite
def ranked(draw: st.DrawFn) -> Case:
    """Scores with many ties, and at least two positives and two negatives among them."""
    truth = draw(st.permutations([True, True, False, False, *draw(st.lists(st.booleans(), max_size=40))]))
    top = draw(st.sampled_from([3, 10, 1000]))
    return draw(st.lists(st.integers(0, top), min_size=len(truth), max_size=len(truth))), list(truth)


def delong(scores: np.ndarray, positive: np.ndarray) -> tuple[float, float]:
    """The area and its variance by comparing every pair, as DeLong, DeLong and Clarke-Pearson (1988) write it."""
    x, y = scores[positive], scores[~positive]
    psi = np.where(x[:, None] > y, 1.0, np.where(x[:, None] == y, 0.5, 0.0))
    v10, v01 = psi.mean(axis=1), psi.mean(axis=0)
    return float(psi.mean()), float(v10.var(ddof=1) / len(x) + v01.var(ddof=1) / len(y))


@given(ranked())
@settings(max_examples=100, deadline=None)
def test_area_is_that_of_scikit_learn(case: Case) -> None:
    scores, truth = case
    assert binary_auc(scores, truth).value == pytest.approx(roc_auc_score(truth, scores), abs=1e-14)


@given(ranked())
@settings(max_examples=100, deadline=None)
def test_interval_has_the_variance_of_delong_on_the_logit_scale_and_students_t(case: Case) -> None:
    scores, truth = np.array(case[0]), np.array(case[1])
    area, variance = delong(scores, truth)
    found = binary_auc(scores, truth)
    assert found.low is not None
    assert found.high is not None
    if not 0 < area < 1 or variance < 1e-12:
        return
    logits = [np.log(end / (1 - end)) for end in (found.low, found.high)]
    rarer = int(min(truth.sum(), len(truth) - truth.sum()))
    half = t.ppf(0.975, rarer - 1) * np.sqrt(variance) / (area * (1 - area))
    assert logits[1] - logits[0] == pytest.approx(2 * half, rel=1e-6)
    assert found.low < area < found.high


def test_interval_of_a_macro_mean_covers_the_truth_as_often_as_it_says() -> None:
    rng, covered, nights = np.random.default_rng(0), 0, 300
    shifts = np.array([1.0, 0.8, 1.2])
    truth = float(norm.cdf(shifts / np.sqrt(2)).mean())
    for _ in range(nights):
        labels = (rng.random((120, 1)) < [0.3, 0.5, 0.6]).astype(int)  # findings that come together
        noise = 0.7 * rng.normal(size=(120, 1)) + np.sqrt(0.51) * rng.normal(size=(120, 3))
        found = label_auc(labels * shifts + noise, labels)
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= truth <= found.high
    assert 0.92 <= covered / nights <= 0.98


@pytest.mark.parametrize("areas", [(0.99, 0.98, 0.95), (0.999, 0.999, 0.9)])
def test_interval_of_a_macro_mean_knows_how_little_is_known_of_a_rare_label(areas: tuple[float, ...]) -> None:
    """Labels of a half, a third and a twentieth of 150 samples: .94 to .96 of 400 draws hold the truth (.85 and .86
    where a label that no sample moves was taken for certain, and all samples counted for the rare one's spread)."""
    rng, covered, nights = np.random.default_rng(3), 0, 300
    for _ in range(nights):
        labels = (rng.random((150, 3)) < [0.5, 0.3, 0.05]).astype(int)
        found = label_auc(rng.normal(size=(150, 3)) + labels * norm.ppf(areas) * np.sqrt(2), labels)
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= np.mean(areas) <= found.high
    assert 0.92 <= covered / nights <= 0.98


def test_a_mean_of_areas_that_no_sample_moves_is_no_more_certain_than_they_are() -> None:
    labels = np.stack([np.arange(60) >= 30, np.arange(60) >= 56], axis=1).astype(int)
    often, rare = (binary_auc(labels[:, at], labels[:, at]) for at in (0, 1))
    found = label_auc(labels, labels)
    assert (found.value, found.high) == (1.0, 1.0)
    assert found.low is not None
    assert often.low is not None
    assert rare.low is not None
    assert (often.low + rare.low) / 2 <= found.low <= 1 - (1 - rare.low) / 2


def test_macro_means_are_those_of_scikit_learn() -> None:
    rng = np.random.default_rng(1)
    probabilities = rng.dirichlet(np.ones(4), 90)
    gold = rng.integers(0, 4, 90)
    expected = roc_auc_score(gold, probabilities, multi_class="ovr", average="macro")
    assert macro_auc(probabilities, gold).value == pytest.approx(expected, abs=1e-14)
    labels = rng.integers(0, 2, (90, 4))
    expected = roc_auc_score(labels, probabilities, average="macro")
    assert label_auc(probabilities, labels).value == pytest.approx(expected, abs=1e-14)


def test_a_label_with_one_class_only_is_left_out_and_named() -> None:
    labels = np.array([[1, 0, -1], [0, 0, 1], [1, 0, 1], [0, 0, -1]])
    found = label_auc(np.array([[0.9, 0.1, 0.5], [0.2, 0.3, 0.5], [0.8, 0.2, 0.5], [0.1, 0.9, 0.1]]), labels)
    assert (found.value, found.left_out, found.n) == (1.0, (1, 2), 4)
    said = auc_finding("subject.auc", found, ["mass", "nodule", "edema"])
    assert said.verdict == "without nodule, edema: only one kind of sample"


def test_without_two_classes_nothing_is_measured() -> None:
    found = macro_auc(np.full((5, 2), 0.5), np.ones(5, int))
    assert found.value is None
    assert auc_finding("subject.auc", found, ["benign", "malignant"]).verdict == "not measured"


def test_perfect_separation_of_few_samples_is_not_certain() -> None:
    few, many = (binary_auc(np.arange(2 * n), np.arange(2 * n) >= n) for n in (5, 500))
    assert (few.value, many.value) == (1.0, 1.0)
    assert few.low == pytest.approx(0.566, abs=1e-3)  # Wilson's for five wins in five disjoint pairs
    assert many.low == pytest.approx(0.992, abs=1e-3)


def test_one_positive_sample_gives_a_wide_interval() -> None:
    found = binary_auc(np.arange(50), np.arange(50) == 30)
    assert found.low is not None
    assert found.high is not None
    assert found.high - found.low > 0.8


def test_an_area_of_ten_samples_of_one_kind_is_as_uncertain_as_ten_are() -> None:
    """An area of .95: .95 of 3,000 draws hold it (.91, and .83 beside a thousand, where all 110 samples counted for
    the spread of the ten)."""
    rng, positive, covered = np.random.default_rng(4), np.arange(110) < 10, 0
    for _ in range(500):
        found = binary_auc(rng.normal(size=110) + positive * norm.ppf(0.95) * np.sqrt(2), positive)
        assert found.low is not None
        assert found.high is not None
        covered += found.low <= 0.95 <= found.high
    assert covered / 500 >= 0.93


@pytest.mark.parametrize("errors", [1, 2, 3, 5])
def test_areas_of_few_errors_and_their_differences_are_covered(errors: int) -> None:
    """Two scores that tell nothing, and a few errors among 100 samples: .97 to 1.00 of 2,000 draws hold ½, and .95 to
    1.00 no difference (.22, .74, .83 and .89 where all samples counted for the spread of so few errors)."""
    rng, right, areas, differences = np.random.default_rng(1), np.arange(100) >= errors, 0, 0
    for _ in range(300):
        first, second = (area_sums(rng.normal(size=100), right, np.arange(100)) for _ in range(2))
        low, high = area_interval(first)[1:]
        areas += low <= 0.5 <= high
        low, high = area_difference(first, second)[1:]
        differences += low <= 0 <= high
    assert min(areas, differences) / 300 >= 0.92


def test_a_perfect_order_of_few_errors_is_not_certainly_better_than_none() -> None:
    right = [1, 1, 0, 0, 0]
    perfect, none = (area_sums(scores, right, np.arange(5)) for scores in ([5, 4, 3, 2, 1], [1] * 5))
    gain = area_difference(perfect, none)
    assert gain.value == 0.5
    assert gain.low < 0


def test_scores_that_are_not_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="cannot be ranked"):
        binary_auc([0.1, float("nan")], [True, False])


@pytest.mark.parametrize("classes", [2, 3])
def test_what_samples_add_to_an_area_has_its_mean_and_the_variance_of_delong(classes: int) -> None:
    rng = np.random.default_rng(classes)
    gold = rng.integers(0, classes, 120)
    probabilities = rng.dirichlet(np.ones(classes), 120) + 0.5 * np.eye(classes)[gold]
    sampled = area_by_sample([str(at) for at in range(120)], probabilities, np.where(np.arange(120) < 100, gold, -1))
    assert sampled is not None
    assert len(sampled.ids) == 100
    assert sampled.value == pytest.approx(macro_auc(probabilities[:100], gold[:100]).value)
    if classes == 2:
        variance = delong(probabilities[:100, 1], gold[:100] == 1)[1]
        assert ((sampled.above - sampled.value) ** 2).sum() / 100**2 == pytest.approx(variance)


def test_samples_that_score_as_before_are_not_said_to_have_lost_area_to_new_ones_beside_them() -> None:
    rng = np.random.default_rng(0)
    gold = rng.integers(0, 2, 1200)
    scores = 1.6 * gold + rng.normal(size=1200) + np.where(np.arange(1200) < 600, 0, 3)  # the new ones all lie higher
    ids, both = [str(at) for at in range(1200)], np.stack([-scores, scores], axis=1)
    before, after = (area_by_sample(ids[:n], both[:n], gold[:n]) for n in (600, 1200))
    assert before is not None
    assert after is not None
    whole = difference(before, after, rng)
    assert whole is not None
    assert whole.value == pytest.approx(after.value - before.value)
    assert (whole.shared, whole.new) == (None, None)
    assert difference(before, after, rng, on="shared") is None  # it was 15 points, p < .001
    assert difference(before, after, rng, on="new") is None
    same = difference(before, before, rng, on="shared")
    assert same is not None
    assert same.identical


def test_a_perfect_area_is_no_count_of_right_answers() -> None:
    perfect = area_by_sample(
        ["a", "b", "c", "d"], [[0.9, 0.1], [0.8, 0.2], [0.2, 0.8], [0.1, 0.9]], np.array([0, 0, 1, 1])
    )
    assert perfect is not None
    assert perfect.value == 1
    assert not perfect.binary
