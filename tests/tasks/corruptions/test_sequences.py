"""Frames: the clean image bit for bit, values within bounds, the same whatever is beside it, stronger when severer."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from assay.infra.stages.exact import Seeds
from assay.tasks.corruptions.camera import Draws
from assay.tasks.corruptions.choice import clean_frame, sequence, strongest_frames
from assay.tasks.corruptions.table import CORRUPTIONS, LISTED

torch.set_num_threads(1)
SEEDS = Seeds(0, "corrupt_subjects")

WORDS = [made.word for made in LISTED]


def picture(height=32, width=32, channels=3, n=2, seed=0):
    """Smooth blobs, both bounds among their values."""
    coarse = torch.rand(n, channels, 5, 5, generator=torch.Generator().manual_seed(seed))
    smooth = torch.nn.functional.interpolate(coarse, (height, width), mode="bicubic")
    return ((smooth - 0.5) * 1.5 + 0.5).clamp(0, 1)


def frames_of(perturbation, severity, images, frames=31, ids=None):
    named = ids or [f"s{row}" for row in range(len(images))]
    return sequence(CORRUPTIONS.named(perturbation), severity, images, Draws(SEEDS, named), frames)


@pytest.mark.parametrize("perturbation", WORDS)
@settings(max_examples=12)
@given(
    st.integers(8, 45),
    st.integers(8, 45),
    st.sampled_from([1, 3, 4]),
    st.integers(1, 5),
    st.sampled_from([3, 5, 11]),
    st.integers(0, 9),
)
def test_one_frame_is_the_clean_image_bit_for_bit_and_all_stay_in_bounds(
    perturbation, height, width, channels, severity, frames, seed
):
    images = picture(height, width, channels, seed=seed)
    made = frames_of(perturbation, severity, images, frames)
    assert made.shape == (frames, *images.shape)
    assert torch.equal(made[clean_frame(CORRUPTIONS.named(perturbation).kind, frames)], images)
    assert torch.isfinite(made).all()
    assert made.min() >= 0
    assert made.max() <= 1


@pytest.mark.parametrize("perturbation", WORDS)
@pytest.mark.parametrize(("height", "width", "channels"), [(32, 32, 1), (19, 33, 3)])
def test_frames_of_an_image_are_the_same_bits_whatever_is_in_the_batch(perturbation, height, width, channels):
    images = picture(height, width, channels, n=5)
    together = frames_of(perturbation, 4, images, 5)
    alone = frames_of(perturbation, 4, images[3:4], 5, ids=["s3"])
    assert torch.equal(together[:, 3], alone[:, 0])


@pytest.mark.parametrize("perturbation", WORDS)
def test_a_severer_perturbation_moves_the_image_farther(perturbation):
    # Between the published sizes the least disc of defocus is smaller than a pixel.
    images = picture(*((32, 32) if perturbation == "defocus-blur" else (64, 64)), n=4)
    moved = []
    for severity in (1, 3, 5):
        made = frames_of(perturbation, severity, images, 5)
        last = made[strongest_frames(CORRUPTIONS.named(perturbation).kind, 5)[-1]]
        moved.append(float((last - images).abs().mean()))
    # Water up to severity 3 and mud beyond, large waves and then small ones, two rounds or one: not one scale.
    moved = moved[: {"spatter": 2, "elastic": 1, "glass-blur": 1}.get(perturbation, 3)]
    assert moved == sorted(moved)
    assert moved[0] > 0.001


@pytest.mark.parametrize("perturbation", [name for name in WORDS if CORRUPTIONS.named(name).kind != "noise"])
def test_neighbouring_frames_differ_less_than_the_ends(perturbation):
    made = frames_of(perturbation, 5, picture(48, 48), 31)
    steps = (made[1:] - made[:-1]).abs().flatten(1).mean(1)
    assert float(steps.max()) < 0.35 * float((made[-1] - made[0]).abs().mean())


@pytest.mark.parametrize("perturbation", ["gaussian-noise", "shot-noise", "speckle-noise"])
def test_draws_of_a_noise_are_independent_between_frames_samples_and_seeds(perturbation):
    images = torch.full((2, 1, 40, 40), 0.5)
    made = frames_of(perturbation, 5, images, 4)[1:] - 0.5
    other = (
        sequence(CORRUPTIONS.named(perturbation), 5, images, Draws(Seeds(1, "corrupt_subjects"), ["s0", "s1"]), 4)[1:]
        - 0.5
    )
    rows = np.concatenate([made.flatten(2).flatten(0, 1), other.flatten(2).flatten(0, 1)])
    correlation = np.corrcoef(rows)
    assert np.abs(correlation - np.eye(len(rows))).max() < 0.12


def test_severities_share_their_draws_so_that_they_differ_in_strength_alone():
    grey = torch.full((1, 1, 32, 32), 0.5)
    weak, strong = (frames_of("gaussian-noise", severity, grey, 3)[1:] - 0.5 for severity in (1, 5))
    torch.testing.assert_close(strong / 0.10, weak / 0.04, atol=1e-5, rtol=1e-4)


def test_a_sweep_goes_both_ways():
    images = torch.full((1, 3, 32, 32), 0.5)
    brightness = frames_of("brightness", 5, images)[:, 0, 0, 0, 0]
    np.testing.assert_allclose(brightness, 0.5 + np.linspace(-0.3, 0.3, 31), atol=1e-6)


def test_greyscale_and_equal_channels_are_treated_alike_by_everything_without_colour():
    grey = picture(channels=1, n=1)
    for perturbation in (one.word for one in LISTED if one.kind != "noise" and one.word != "spatter"):
        one, three = (frames_of(perturbation, 3, images, 5) for images in (grey, grey.expand(-1, 3, -1, -1)))
        rounding = 2 / 255 if perturbation == "jpeg" else 1e-5
        torch.testing.assert_close(three, one.expand_as(three), atol=rounding, rtol=0)
