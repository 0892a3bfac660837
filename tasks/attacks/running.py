"""How any attack is run: checked at the door, every sample with its own draws, one result whatever the attack."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

import torch
from torch import Tensor

from assay.infra.errors import InputError, RunError
from assay.tasks.attacks.batch import Attackable, Batch, pose, require_numbers
from assay.tasks.attacks.draws import Draws
from assay.tasks.attacks.ledger import Ledger
from assay.tasks.attacks.pgd import Perturb, perturbed
from assay.tasks.attacks.settings import ImageAttack
from assay.tasks.attacks.table import IMAGE_ATTACKS
from assay.tasks.subjects.images.model import require_pixels

__all__ = ["AttackResult", "Attackable", "Draws", "Perturb", "run_attack"]


@dataclass(frozen=True)
class AttackResult:
    """What an attack made of a batch, on the CPU.

    `success`: the goal is reached: a wrong class, the class aimed at where that is not the true one, or, with several
    labels, more of them wrong than of the clean image. `steps`: after how many, or all where it never was. `queries`:
    how often the model was asked about the sample, gradients included.
    """

    images: Tensor  # float32 [n, c, h, w]
    steps: Tensor  # int32 [n]
    queries: Tensor  # int32 [n]
    success: Tensor  # bool [n]


def run_attack(
    settings: ImageAttack,
    model: Attackable,
    images: Tensor,
    targets: Tensor,
    eps: float,
    draws: Draws,
    *,
    perturb: Perturb | None = None,
) -> AttackResult:
    """The attacked images and what became of them; pure: the same for any batch, order or worker.

    `images` are float32 [n, c, h, w] within [0, 1]; `targets` what is true of them, as class codes [n] or as labels
    [n, k] of 1, 0 and -1. `perturb` is the trained generator of an attack that has one.
    """
    if settings.only_accuracy and model.multilabel:
        raise InputError(
            f"The attack {settings.called} has `only_accuracy`, which stops at a sample's first wrong answer, and the "
            f"subject {model.name} knows several labels per image, each with its own: leave `only_accuracy` out."
        )
    if IMAGE_ATTACKS.of(settings).one_class and model.multilabel:
        raise InputError(
            f"The attack {settings.called} goes from class to class, and the subject {model.name} knows several labels "
            "per image: take apgd and square."
        )
    _require_sound(model, images, targets, eps, draws)
    if len(images) == 0:
        nothing = torch.zeros(0, dtype=torch.int32)
        return AttackResult(images, nothing, nothing, nothing.bool())
    batch = pose(settings, model, images, targets, eps, draws)
    ledger = Ledger(batch, steps=0) if eps == 0 else _algorithm(settings, perturb)(batch)
    require_numbers(model, ledger.images, draws)
    return AttackResult(*(column.cpu() for column in ledger.result()))


def _algorithm(settings: ImageAttack, perturb: Perturb | None) -> Callable[[Batch], Ledger]:
    run = IMAGE_ATTACKS.of(settings).run
    if run is not None:
        return partial(run, settings)
    if perturb is None:
        raise RunError(f"The attack {settings.called} needs a trained generator and was handed none.")
    return partial(perturbed, perturb)


def _require_sound(model: Attackable, images: Tensor, targets: Tensor, eps: float, draws: Draws) -> None:
    if not 0 <= eps <= 1:
        raise InputError(f"An ε of {eps:g} is none: ε is how far a pixel of [0, 1] may move, such as 4/255 or 0.1.")
    if images.dtype != torch.float32 or images.ndim != 4 or not len(images) == len(targets) == len(draws.ids):
        raise ValueError(
            f"an attack takes float32 images [n, c, h, w] with a target and an id each, not {images.dtype} "
            f"{list(images.shape)} with {len(targets)} targets and {len(draws.ids)} ids"
        )
    require_pixels(images.cpu().numpy(), draws.ids)
    if model.multilabel:
        _require_labels(targets, model.classes, draws.ids)
        return
    wrong = ((targets < 0) | (targets >= model.classes)).nonzero().flatten().tolist()
    if wrong:
        raise InputError(
            f"The sample {draws.ids[wrong[0]]!r} has the class {int(targets[wrong[0]])}, and the subject {model.name} "
            f"knows 0 to {model.classes - 1}: use a subject that was trained on these classes."
        )


def _require_labels(targets: Tensor, labels: int, ids: Sequence[str]) -> None:
    if targets.ndim != 2 or targets.shape[1] != labels:
        raise InputError(f"The samples bear {list(targets.shape)[1:]} labels each, and the subject knows {labels}.")
    wrong = ((targets < -1) | (targets > 1)).any(dim=1).nonzero().flatten().tolist()
    if wrong:
        raise InputError(
            f"The sample {ids[wrong[0]]!r} has the labels {targets[wrong[0]].tolist()}, expected 1, 0 or -1 (unknown)."
        )
