"""What a training of an image subject makes small: cross-entropy, focal loss, binary cross-entropy per label."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

Loss = Callable[[Tensor, Tensor], Tensor]  # logits [n, k], targets [n] or [n, k] → a number

GAMMA = 2.0  # of the focal loss (Lin et al., 2017)
_LEAST = 1e-12  # probabilities below it are taken for it, lest their logarithm be infinite


def loss_for(name: Literal["cross-entropy", "focal"], *, multilabel: bool, softmaxed: bool) -> Loss:
    """The loss by its name; with several labels, binary cross-entropy in either case.

    A network that is `softmaxed` gives probabilities, so that their logarithm takes the place of logits.
    """
    if multilabel:
        return _labels_of_probabilities if softmaxed else _labels
    if name == "focal":
        return _focal_of_probabilities if softmaxed else _focal
    return _classes_of_probabilities if softmaxed else _classes


def _classes(logits: Tensor, targets: Tensor) -> Tensor:
    return functional.cross_entropy(logits.float(), targets)


def _classes_of_probabilities(probabilities: Tensor, targets: Tensor) -> Tensor:
    return functional.nll_loss(_log(probabilities), targets)


def _focal(logits: Tensor, targets: Tensor) -> Tensor:
    return _focussed(functional.log_softmax(logits.float(), dim=1), targets)


def _focal_of_probabilities(probabilities: Tensor, targets: Tensor) -> Tensor:
    return _focussed(_log(probabilities), targets)


def _focussed(logarithms: Tensor, targets: Tensor) -> Tensor:
    """Cross-entropy, each sample weighted by (1 − p)^γ: what is right and sure already counts little."""
    logarithm = logarithms.gather(1, targets[:, None]).squeeze(1)
    return -((1 - logarithm.exp()) ** GAMMA * logarithm).mean()


def _labels(logits: Tensor, targets: Tensor) -> Tensor:
    known = targets >= 0
    losses = functional.binary_cross_entropy_with_logits(logits.float(), targets.clamp_min(0).float(), reduction="none")
    return _mean_of_known(losses, known)


def _labels_of_probabilities(probabilities: Tensor, targets: Tensor) -> Tensor:
    known, positive = targets >= 0, targets == 1
    losses = -torch.where(positive, _log(probabilities), _log(1 - probabilities))
    return _mean_of_known(losses, known)


def _mean_of_known(losses: Tensor, known: Tensor) -> Tensor:
    """The mean over the labels that are known; 0 where none of the batch is."""
    return (losses * known).sum() / known.sum().clamp_min(1)


def _log(probabilities: Tensor) -> Tensor:
    return probabilities.float().clamp_min(_LEAST).log()
