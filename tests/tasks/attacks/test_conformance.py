"""An attack is tried before it is believed: ours keep what they promise, and what is broken is said in a sentence."""

import re
from dataclasses import replace
from typing import Literal

import pytest
import torch

from assay.infra.errors import InputError
from assay.infra.user_code.choices import check_plugin
from assay.tasks.attacks.batch import Ball, Ledger
from assay.tasks.attacks.choice import AttackChoice, GeneratorTraining, ImageAttackChoice
from assay.tasks.attacks.pgd import FGSM
from assay.tasks.attacks.settings import ImageAttack
from assay.tasks.attacks.table import IMAGE_ATTACKS

torch.set_num_threads(1)


class Nudge(ImageAttack):
    """Every pixel a little brighter."""

    attack: Literal["nudge"] = "nudge"
    """Which attack it is."""


class Undocumented(ImageAttack):
    """An attack with an option that no document explains."""

    attack: Literal["undocumented"] = "undocumented"
    """Which attack it is."""
    size: int


def ledger(batch, images, lie=False):
    book = Ledger(batch, steps=1, last=True)
    book.look(images, torch.full_like(batch.clean_harm, 9) if lie else batch.criterion.harm(batch.ask(images)), 1)
    book.settle()
    return book


def clipped(batch, images):
    return ledger(batch, batch.ball.clip(images))


def too_far(settings, batch):
    return ledger(batch, Ball(batch.images * 0, batch.images * 0 + 1).clip(batch.images + 2 * batch.eps))


def out_of_bounds(settings, batch):
    return ledger(batch, batch.images + batch.eps)


def reshaped(settings, batch):
    book = clipped(batch, batch.images)
    book.images = book.images[..., :-1]
    return book


def unseeded(settings, batch):
    return clipped(batch, batch.images + batch.eps * torch.rand(batch.images.shape))


def seeded_by_itself(settings, batch):
    generator = torch.Generator().manual_seed(0)
    return clipped(batch, batch.images + batch.eps * torch.rand(batch.images.shape, generator=generator))


def centred(settings, batch):
    return clipped(batch, batch.images + batch.images.mean(dim=0, keepdim=True) - 0.5)


def in_place(settings, batch):
    batch.images.clamp_(0.1, 0.9)
    return clipped(batch, batch.images)


def boasting(settings, batch):
    return ledger(batch, batch.images, lie=True)


def raising(settings, batch):
    raise KeyError("sox")


def honest(settings, batch):
    return clipped(batch, batch.images + batch.eps)


@pytest.mark.parametrize("choice", IMAGE_ATTACKS.all, ids=lambda choice: choice.word)
def test_every_attack_of_ours_keeps_what_attacks_promise(choice):
    assert check_plugin(choice) == []


def test_one_that_keeps_it_all_passes():
    assert check_plugin(ImageAttackChoice(Nudge, honest)) == []


@pytest.mark.parametrize(
    ("run", "said"),
    [
        (too_far, "At ε = 1/255 a pixel moves by 0.00784, farther than ε"),
        (out_of_bounds, r"At ε = 1/255 pixels leave \[0, 1\]"),
        (reshaped, r"it makes torch.float32 \[6, 3, 16, 15\] of images torch.float32 \[6, 3, 16, 16\]"),
        (unseeded, "the same draws give other images"),
        (seeded_by_itself, "depends on the others in its batch"),
        (centred, "depends on the others in its batch"),
        (in_place, "changes the images that it is handed: work on a copy"),
        (boasting, "claims a success on an image that the network still gets right"),
        (raising, "it raised KeyError: 'sox'"),
        (lambda settings, batch: batch.images, "The attack nudge returns a Tensor: an attack returns its Ledger"),
    ],
)
def test_what_an_attack_breaks_is_said(run, said):
    sentence = " ".join(check_plugin(ImageAttackChoice(Nudge, run)))
    assert re.search(said, sentence), sentence


def test_a_generator_that_is_not_seeded_is_said():
    gap = IMAGE_ATTACKS.named("gap")
    assert gap.generator is not None
    trained = iter(range(99))
    forgetful = GeneratorTraining(lambda *_: {"made": bytes([next(trained)])}, gap.generator.load)
    [sentence] = check_plugin(replace(gap, generator=forgetful))
    assert "the same seeds train another generator" in sentence


def test_settings_are_documented_and_have_defaults():
    said = check_plugin(ImageAttackChoice(Undocumented, honest))
    assert said == [
        "`size` of Undocumented has no sentence: write one in a docstring under it; the documents show it.",
        "Undocumented has no default for size: a pipeline may name it by its word alone.",
    ]


def test_what_an_attack_breaks_is_said_also_where_a_sentence_is_missing():
    class Mute(ImageAttack):
        attack: Literal["mute"] = "mute"

    missing, broken = check_plugin(ImageAttackChoice(Mute, raising))
    assert "`attack` of Mute has no sentence" in missing
    assert "it raised KeyError: 'sox'" in broken


def test_a_choice_that_is_none_is_refused_when_it_is_made():
    with pytest.raises(InputError, match="is given by its function `run`, or by its `generator`"):
        ImageAttackChoice(Nudge)
    with pytest.raises(InputError, match="attacks on images, on texts or on terms: make it one of those"):
        AttackChoice(Nudge)
    assert check_plugin("pgd") == ["It is of the type str, and a plug-in is a choice, such as an ImageAttackChoice."]


def test_what_flags_know_of_an_attack_is_what_its_value_says():
    known = {one.word: (one.follows_gradients, one.black_box, one.drops_fallen) for one in IMAGE_ATTACKS}
    assert known == {
        "pgd": (True, False, False),
        "fgsm": (True, False, False),
        "momentum-pgd": (True, False, False),
        "apgd": (True, False, False),
        "apgd-t": (True, False, False),
        "fab-t": (True, False, True),
        "ddn": (True, False, False),
        "fmn": (True, False, False),
        "autoattack": (True, False, True),
        "square": (False, True, True),
        "sparse-rs": (False, True, True),
        "hopskipjump": (False, True, True),
        "gap": (False, False, False),
    }
    assert IMAGE_ATTACKS.named("fgsm").steps(FGSM()) == 1
