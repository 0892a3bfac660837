"""Varied images stay images, are varied one by one, and the same draws give the same images."""

import numpy as np
import pytest
import torch

from assay.tasks.subjects.images.training import CROP, augment

EVERY = ("flip-horizontal", "flip-vertical", "shift", "rotate", "crop")


def images(n: int = 64, size: int = 16) -> torch.Tensor:
    return torch.rand(n, 2, size, size, generator=torch.Generator().manual_seed(0))


def varied(how: tuple[str, ...], given: torch.Tensor, seed: int = 0) -> torch.Tensor:
    return augment(given, how, np.random.default_rng(seed))


def test_nothing_asked_for_changes_nothing():
    assert varied((), images()) is not None
    assert torch.equal(varied((), images()), images())


@pytest.mark.parametrize("how", [(one,) for one in EVERY] + [EVERY])
def test_varied_images_are_images_and_the_same_for_the_same_draws(how):
    once, again, other = varied(how, images()), varied(how, images()), varied(how, images(), seed=1)
    assert once.shape == images().shape
    assert once.min() >= 0
    assert once.max() <= 1
    assert torch.equal(once, again)
    assert not torch.equal(once, other)
    assert not torch.equal(once, images())


@pytest.mark.parametrize(("how", "axis"), [("flip-horizontal", 3), ("flip-vertical", 2)])
def test_a_flip_is_exact_and_takes_about_every_second_image(how, axis):
    given, once = images(200), varied((how,), images(200))
    flipped = [torch.equal(one, two.flip(axis - 1)) for one, two in zip(once, given, strict=True)]
    same = [torch.equal(one, two) for one, two in zip(once, given, strict=True)]
    assert all(a != b for a, b in zip(flipped, same, strict=True))
    assert 70 <= sum(flipped) <= 130


def test_a_turn_leaves_the_middle_where_it_is():
    spot = torch.zeros(32, 1, 17, 17)
    spot[:, :, 8, 8] = 1.0
    turned = varied(("rotate",), spot)
    assert (turned[:, 0, 8, 8] > 0.99).all()


def test_a_turn_does_not_squeeze_images_that_are_wider_than_high():
    wide = torch.zeros(64, 1, 9, 33)
    wide[:, :, 4, 8:25] = 1.0  # a bar of 17 pixels
    turned = varied(("rotate",), wide)
    assert turned.sum(dim=(1, 2, 3)).sub(17).abs().max() < 1.0


def test_a_crop_enlarges_and_shows_only_what_was_there():
    ramp = torch.linspace(0, 1, 32).expand(64, 1, 32, 32)
    cropped = varied(("crop",), ramp)
    slopes = (cropped[:, 0, 16, 20] - cropped[:, 0, 16, 12]) / (ramp[0, 0, 16, 20] - ramp[0, 0, 16, 12])
    assert slopes.min() >= CROP - 1e-4
    assert slopes.max() <= 1 + 1e-4


def test_a_shift_moves_by_a_tenth_at_most():
    ramp = torch.linspace(0, 1, 21).expand(200, 1, 21, 21)
    moved = (varied(("shift",), ramp)[:, 0, 10, 10] - 0.5) * 20  # in pixels
    assert 1.8 < moved.abs().max() <= 2.1 + 1e-4


def test_a_window_is_a_piece_of_its_image_and_may_lie_anywhere():
    given = torch.arange(64 * 36, dtype=torch.float32).reshape(64, 1, 6, 6) / (64 * 36)
    cut = augment(given, ("window",), np.random.default_rng(0), 4)
    places = set()
    for window, image in zip(cut, given, strict=True):
        top, left = divmod(int((image.flatten() == window[0, 0, 0]).nonzero()[0, 0]), 6)
        assert torch.equal(window, image[:, top : top + 4, left : left + 4])
        places.add((top, left))
    assert places == {(top, left) for top in range(3) for left in range(3)}


def test_a_window_as_large_as_the_image_is_the_image():
    assert torch.equal(augment(images(), ("window",), np.random.default_rng(0), 16), images())
