"""A defence is tried before it is believed: ours keep what they promise, and what is broken is said."""

import re
from dataclasses import replace

import pytest
import torch

from assay.infra.user_code.choices import check_plugin
from assay.tasks.defenses.table import IMAGE_DEFENCES
from assay.tasks.subjects.images.training import Descent, plainly

torch.set_num_threads(1)
STANDARD = IMAGE_DEFENCES.named("standard")


@pytest.mark.parametrize("choice", IMAGE_DEFENCES.all, ids=lambda choice: choice.word)
def test_every_defence_of_ours_keeps_what_they_promise(choice):
    assert check_plugin(choice) == []


def unseeded(batch):
    plain = plainly(batch)
    return Descent(plain.loss + torch.rand(()), plain.logits)


@pytest.mark.parametrize(
    ("hook", "said"),
    [
        (unseeded, "As standard the same seeds give another loss"),
        (lambda batch: plainly(batch).loss, "it returns a Tensor: a hook returns a Descent"),
        (lambda batch: Descent(plainly(batch).loss.detach(), plainly(batch).logits), "no single finite number with a"),
        (lambda batch: Descent(plainly(batch).loss, plainly(batch).logits[:2]), r"its logits are \[2, 3\]"),
        (lambda batch: batch.fog, "it raised AttributeError"),
    ],
)
def test_what_a_defence_breaks_is_said(hook, said):
    sentence = " ".join(check_plugin(replace(STANDARD, hook=lambda settings, seeds: hook)))
    assert re.search(said, sentence), sentence
