"""Whether a defence of images keeps what every defence promises: tried on a small batch, said in sentences."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import torch

from assay.infra.stages.exact import Seeds
from assay.infra.user_code.choices import tried
from assay.tasks.defenses.settings import Defence
from assay.tasks.subjects.images.inference import answers, practice_images, practice_model
from assay.tasks.subjects.images.training import Batch, Descent, loss_for

if TYPE_CHECKING:
    from assay.tasks.defenses.table import ImageDefenceChoice

EPS, SAMPLES = 0.1, 6
SEEDS = Seeds(0, "defend_subject")


def defence_conformance(choice: ImageDefenceChoice[Any]) -> list[str]:
    """What keeps a defence from being one, a sentence each; nothing where all is well.

    Its settings give variants, a batch gives a finite loss with a gradient and logits for every image, and the same
    seeds give the same loss.
    """
    sentences = list[str]()
    for variant in choice.settings().variants(EPS):
        for multilabel in (False,) if choice.one_class else (False, True):
            several = " (several labels)" if multilabel else ""
            faults = tried(partial(_faults, choice, variant, multilabel))
            sentences += [f"As {variant.called}{several} {sentence}" for sentence in faults]
    return sentences


def _descended(choice: ImageDefenceChoice[Any], variant: Defence, multilabel: bool) -> object:
    model = practice_model(multilabel=multilabel)
    images = practice_images(SAMPLES)
    targets = answers(model, images)
    model.network.requires_grad_(True).train()
    ids = tuple(f"sample {row}" for row in range(SAMPLES))
    seeds = Seeds(0, "defend_subject/epoch 1/batch 0")
    loss = loss_for("cross-entropy", multilabel=multilabel, softmaxed=False)
    return choice.hook(variant, SEEDS)(Batch(model, images, targets, ids, seeds, loss, epoch=1))


def _faults(choice: ImageDefenceChoice[Any], variant: Defence, multilabel: bool) -> list[str]:
    descended = _descended(choice, variant, multilabel)
    if not isinstance(descended, Descent):
        return [f"it returns a {type(descended).__name__}: a hook returns a Descent, the loss and the logits."]
    loss, logits = descended.loss, descended.logits
    if loss.numel() != 1 or not torch.isfinite(loss).all() or not loss.requires_grad:
        return ["its loss is no single finite number with a gradient."]
    if logits.ndim != 2 or len(logits) != SAMPLES:
        return [f"its logits are {list(logits.shape)}, expected a row for each of {SAMPLES} images."]
    again = _descended(choice, variant, multilabel)
    if not isinstance(again, Descent) or not torch.equal(again.loss, loss):
        return ["the same seeds give another loss: take random numbers from its seeds alone (`batch.seeds`)."]
    return []
