"""A defence is tried before it is believed: ours keep what they promise, and what is broken is said."""

import re
from dataclasses import replace
from types import SimpleNamespace

import pytest
import torch
from pydantic import TypeAdapter

from assay.infra.errors import InputError
from assay.infra.stages.exact import Seeds
from assay.infra.user_code.choices import check_plugin
from assay.tasks.defenses.table import DEFENCES, IMAGE_DEFENCES
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
        (lambda batch: plainly(batch).loss, "The defence standard returns a Tensor: a hook returns a Descent"),
        (lambda batch: Descent(plainly(batch).loss.detach(), plainly(batch).logits), "no single finite number with a"),
        (lambda batch: Descent(plainly(batch).loss, plainly(batch).logits[:2]), r"its logits are \[2, 3\]"),
        (lambda batch: batch.fog, "it raised AttributeError"),
    ],
)
def test_what_a_defence_breaks_is_said(hook, said):
    sentence = " ".join(check_plugin(replace(STANDARD, hook=lambda settings, seeds: hook)))
    assert re.search(said, sentence), sentence


CALM = """
from typing import Literal
from assay.tasks.defenses.adversarial_training import ImageDefenceChoice
from assay.tasks.defenses.settings import Defence

class Calm(Defence):
    defense: Literal["calm"] = "calm"

def calm(settings, seeds):
    return lambda batch: batch.fog

CALM = ImageDefenceChoice(Calm, calm)
"""


def test_a_plug_in_whose_hook_raises_is_named(tmp_path):
    (tmp_path / "mine.py").write_text(CALM)
    settings = TypeAdapter(DEFENCES.with_plugins(tmp_path, ["mine.py:CALM"]).union).validate_python("mine.py:CALM")
    hook = IMAGE_DEFENCES.of(settings).guarded_hook(settings, Seeds(0, "defend_subject"))
    with pytest.raises(InputError, match=r'The plug-in "mine.py:CALM" raised AttributeError: .*fog.* \(line 10\)\.'):
        hook(SimpleNamespace())


def test_a_defence_is_tried_also_where_a_sentence_is_missing(tmp_path):
    (tmp_path / "mine.py").write_text(CALM)
    missing, broken = DEFENCES.with_plugins(tmp_path, ["mine.py:CALM"]).named("calm").conformance()[:2]
    assert "`defense` of Calm has no sentence" in missing
    assert "it raised AttributeError" in broken
