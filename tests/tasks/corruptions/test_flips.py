"""Eq. 5 on prediction sequences counted by hand: what is compared with what, and what it is divided by."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from assay.tasks.corruptions.choice import clean_frame, strengths, strongest_frames
from assay.tasks.corruptions.table import CORRUPTIONS, LISTED
from assay.tasks.corruptions.tallies import comparisons, count_correct, count_flips

WORDS = [one.word for one in LISTED]
NOISES = tuple(one.word for one in LISTED if one.kind == "noise")
OTHERS = tuple(name for name in WORDS if name not in NOISES)


def column(*classes):
    return np.array(classes, np.int16)[:, None]


@pytest.mark.parametrize("perturbation", OTHERS)
@pytest.mark.parametrize(
    ("said", "flips"),
    [
        (column(0, 0, 0, 0, 0), 0),
        (column(0, 1, 1, 1, 1), 1),
        (column(0, 1, 0, 1, 0), 4),
        (column(0, 1, 2, 2, 0), 3),
        (column(3, 3, 3, 3, 1), 1),
    ],
)
def test_frames_are_compared_with_the_one_before(perturbation, said, flips):
    assert count_flips(said, CORRUPTIONS.named(perturbation).kind).tolist() == [flips]
    assert comparisons(said) == 4


@pytest.mark.parametrize("perturbation", NOISES)
@pytest.mark.parametrize(
    ("said", "flips"),
    [
        (column(0, 0, 0, 0, 0), 0),
        (column(0, 1, 1, 1, 1), 4),
        (column(0, 1, 0, 1, 0), 2),
        (column(0, 1, 2, 2, 0), 3),
        (column(3, 3, 3, 3, 1), 1),
    ],
)
def test_draws_of_a_noise_are_compared_with_the_clean_frame(perturbation, said, flips):
    assert count_flips(said, CORRUPTIONS.named(perturbation).kind).tolist() == [flips]
    assert comparisons(said) == 4


def test_labels_flip_one_by_one_and_are_divided_by_labels_and_by_n_minus_1():
    first = [[1, 0, 0], [1, 1, 0], [0, 1, 0], [0, 1, 0]]
    second = [[0, 0, 1], [0, 0, 1], [0, 0, 1], [1, 1, 0]]
    said = np.array([first, second], bool).transpose(1, 0, 2)
    assert count_flips(said, CORRUPTIONS.named("snow").kind).tolist() == [2, 3]
    assert count_flips(said, CORRUPTIONS.named("shot-noise").kind).tolist() == [5, 3]
    assert comparisons(said) == 9


def test_the_authors_multi_label_script_is_nine_times_too_high():
    """14 labels, 10 frames: theirs divides the flips by the labels alone, so 38.09 % is about 4.2 %."""
    assert comparisons(np.zeros((10, 1, 14), bool)) == 9 * 14
    assert 0.3809 * 14 / comparisons(np.zeros((10, 1, 14), bool)) == pytest.approx(0.0423, abs=1e-4)


@given(st.integers(1, 15), st.sampled_from(WORDS), st.integers(0, 9))
def test_a_constant_predictor_never_flips(half, perturbation, answer):
    said = np.full((2 * half + 1, 3), answer, np.int16)
    assert count_flips(said, CORRUPTIONS.named(perturbation).kind).tolist() == [0, 0, 0]


@given(
    st.lists(st.integers(0, 3), min_size=3, max_size=31).filter(lambda said: len(said) % 2), st.permutations(range(4))
)
def test_flips_are_bounded_and_do_not_care_what_classes_are_called(said, renamed):
    for perturbation in ("tilt", "shot-noise"):
        flips = count_flips(column(*said), CORRUPTIONS.named(perturbation).kind)
        assert 0 <= flips[0] <= len(said) - 1
        assert count_flips(column(*(renamed[one] for one in said)), CORRUPTIONS.named(perturbation).kind) == flips


def test_a_sequence_backwards_flips_as_often_unless_it_is_noise():
    said = column(0, 1, 1, 2, 2, 2, 0)
    assert count_flips(said[::-1], CORRUPTIONS.named("rotate").kind) == count_flips(
        said, CORRUPTIONS.named("rotate").kind
    )


def test_accuracy_is_that_of_the_frames_at_full_strength():
    said = column(5, 5, 1, 5, 1)
    truth = np.array([5])
    assert [values.tolist() for values in count_correct(said, truth, CORRUPTIONS.named("shot-noise").kind)] == [
        [2],
        [4],
    ]
    assert [values.tolist() for values in count_correct(said, truth, CORRUPTIONS.named("snow").kind)] == [[0], [1]]
    assert [values.tolist() for values in count_correct(said, truth, CORRUPTIONS.named("rotate").kind)] == [[1], [2]]


def test_unknown_truths_are_not_judged():
    said = np.array([[[True, True]], [[True, False]], [[False, True]]])
    right, judged = count_correct(said, np.array([[1, -1]]), CORRUPTIONS.named("tilt").kind)
    assert (right.tolist(), judged.tolist()) == ([1], [2])
    assert [
        values.tolist() for values in count_correct(column(0, 1, 2), np.array([-1]), CORRUPTIONS.named("tilt").kind)
    ] == [[0], [0]]


@pytest.mark.parametrize("perturbation", WORDS)
@pytest.mark.parametrize("frames", [3, 7, 31])
def test_every_sequence_has_its_clean_frame_and_reaches_full_strength(perturbation, frames):
    shares = strengths(CORRUPTIONS.named(perturbation).kind, frames)
    assert len(shares) == frames
    assert [at for at, share in enumerate(shares) if share == 0] == [
        clean_frame(CORRUPTIONS.named(perturbation).kind, frames)
    ]
    assert max(map(abs, shares)) == 1
    assert (frames - 1) % len(strongest_frames(CORRUPTIONS.named(perturbation).kind, frames)) == 0
    if perturbation not in NOISES:
        steps = np.diff(shares)
        np.testing.assert_allclose(steps, steps[0])
