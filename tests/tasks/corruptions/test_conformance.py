"""A perturbation is tried before it is believed: ours keep what they promise, and what is broken is said."""

import re
from dataclasses import replace

import pytest
import torch

from assay.infra.errors import InputError
from assay.infra.stages.exact import Seeds
from assay.infra.user_code.choices import check_plugin
from assay.tasks.corruptions.camera import Draws
from assay.tasks.corruptions.choice import Corruption, Levels, each, require_bounds, sequence, shares
from assay.tasks.corruptions.table import LISTED

torch.set_num_threads(1)


def fading(at, images, draws, strengths):
    return each(images, strengths, lambda share: images * (1 - share * at["share"]))


FADE = Corruption("fade", "ramp", fading, shares("share", 0.5, 0.5))


def unseeded(at, images, draws, strengths):
    return each(images, strengths, lambda share: (images + share * torch.rand(images.shape)).clamp(0, 1))


def over_the_top(at, images, draws, strengths):
    return each(images, strengths, lambda share: images + share)


def of_the_others(at, images, draws, strengths):
    return each(images, strengths, lambda share: (1 - share) * images + share * images.mean(dim=0, keepdim=True))


def from_the_start(at, images, draws, strengths):
    return torch.stack([images * 0.5 for _ in strengths])


def in_place(at, images, draws, strengths):
    return torch.stack([images.mul_(0.9).clone() for _ in strengths])


@pytest.mark.parametrize("corruption", LISTED, ids=lambda corruption: corruption.word)
def test_every_perturbation_of_ours_keeps_what_they_promise(corruption):
    assert check_plugin(corruption) == []


def test_one_that_keeps_it_all_passes():
    assert check_plugin(FADE) == []


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"make": unseeded}, "At severity 1, on images of 32×32 with 3 channels, the same draws give other frames"),
        ({"make": over_the_top}, r"The perturbation fade makes pixels that leave \[0, 1\]"),
        ({"make": of_the_others}, "the frames of an image depend on the other images"),
        ({"make": from_the_start}, r"at a strength of 0 a pixel moves by 0\.\d+: nothing may happen there"),
        ({"make": in_place}, "changes the images that it is handed"),
        ({"make": lambda at, images, draws, strengths: images}, r"fade makes torch.float32 \[4, 3, 32, 32\]: a fr"),
        ({"make": lambda at, images, draws, strengths: each(images, strengths, lambda _: images)}, "no frame differs"),
        ({"make": lambda at, images, draws, strengths: at["fog"]}, "it raised KeyError: 'fog'"),
        ({"levels": Levels(("share",), ((0.1,),) * 4, ((0.1,),) * 5)}, "five rows of share for each of the two sizes"),
    ],
)
def test_what_a_perturbation_breaks_is_said(changed, said):
    sentence = " ".join(check_plugin(replace(FADE, **changed)))
    assert re.search(said, sentence), sentence


def frames_of(make, images):
    draws = Draws(Seeds(0, "corrupt_subjects"), ["a", "b"])
    frames = sequence(replace(FADE, make=make), 3, images, draws, 3)
    require_bounds(frames, FADE.word)  # as a run does of plug-ins
    return frames


def test_one_that_works_in_place_changes_nothing_for_those_after_it():
    images = torch.full((2, 1, 8, 8), 0.5)
    frames = frames_of(in_place, images)
    assert torch.equal(images, torch.full((2, 1, 8, 8), 0.5))
    assert torch.equal(frames[0], images)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (over_the_top, r"The perturbation fade makes pixels that leave \[0, 1\]"),
        (lambda at, images, draws, strengths: each(images, strengths, lambda _: images * torch.nan), "that leave"),
        (lambda at, images, draws, strengths: images[None], r"fade makes torch.float32 \[1, 2, 1, 8, 8\]"),
    ],
)
def test_a_run_too_refuses_frames_that_are_none(make, said):
    with pytest.raises(InputError, match=said):
        frames_of(make, torch.full((2, 1, 8, 8), 0.9))
