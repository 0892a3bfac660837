"""Snorkel's label model, trained from counts of votes instead of the votes.

`LabelModel.fit` uses the rows only through O = L_indᵀ L_ind / n, n, and the coverages. So does this, step by step with
Snorkel's own loss, optimizer and post-processing: the same μ and weights to the last bit, from any partitioning. Where
O would not fit into memory the same loss is taken from what of it is not 0 (`snorkel_objective`).
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from assay.infra.errors import InputError
from assay.tasks.statistics.vote_counts import VoteCounts
from assay.tasks.weak_labels.majority import majority
from assay.tasks.weak_labels.models import Labeler, Options, Training

FEWEST_FUNCTIONS = 3  # with fewer, agreements do not tell whom to trust; Snorkel refuses them
_MOMENTUM = 0.9  # of Snorkel's optimizer, torch.optim.SGD; importing that drags in Torch's compiler: two seconds
_PRECISION = 0.7  # Snorkel's prior guess of P(class y | i votes y)
_SETTLED = 1e-3  # once no conditional probability moves further than this until the end, training has settled
_TAIL = 0.1  # training must have settled this share of its epochs before the end to have converged
_MOST_CELLS = 6144  # m·k up to which O is a matrix as in Snorkel: there its loss should need about a gigabyte
_MANY_CELLS = 1024  # m·k from which the matrix is slow, and worth it only where Snorkel could run too
_SNORKELS_BYTES = 16 << 30  # of one-hot votes, 8 bytes each: with more Snorkel is taken not to run
_LOCK = threading.Lock()


def snorkel(counts: VoteCounts, settings: Options, balance: Sequence[float] | None = None) -> Labeler:
    """The labeler that Snorkel's LabelModel learns: w_i = P(i is right | i votes), and μ for the posterior.

    Where nothing can be learned (fewer than three functions, or no vote at all) every vote weighs one, as in majority,
    and the labeler carries no training.
    """
    if len(counts.functions) < FEWEST_FUNCTIONS or not counts.votes.any():
        return majority(counts.functions)
    with _one_torch_thread():
        model, losses, steps = _trained(counts, settings, balance)
        with np.errstate(divide="ignore"):  # a function without votes has no accuracy; Snorkel clips its weight to 1
            weights = model.get_weights()
    m, k = len(counts.functions), counts.classes
    mu = model.mu.detach().numpy().reshape(m, k, k).copy()
    training = Training(settings.epochs, losses[0], losses[-1], settled_after(steps))
    return Labeler(counts.functions, weights, mu, training, None if balance is None else tuple(balance))


def load() -> None:
    """Import Snorkel, which takes seconds the first time."""
    with _one_torch_thread():
        import snorkel.labeling.model  # noqa: F401


def settled_after(steps: Sequence[float]) -> int | None:
    """The epoch after which μ moves by no more than a thousandth altogether, or None if that came too late.

    `steps` are the largest changes of any entry of μ, one per epoch.

    >>> settled_after([0.3, 0.1] + [0.0] * 20), settled_after([0.01] * 20)
    (2, None)
    """
    still_to_go = np.cumsum(steps[::-1])[::-1]
    moving = np.flatnonzero(still_to_go > _SETTLED)
    first = int(moving[-1]) + 1 if len(moving) else 0
    return first if first <= (1 - _TAIL) * len(still_to_go) else None


def _trained(
    counts: VoteCounts, settings: Options, balance: Sequence[float] | None
) -> tuple[Any, list[float], list[float]]:
    """Snorkel's LabelModel as after `LabelModel.fit`, its loss before every step, and how far the step moved μ."""
    model = _untrained(counts, settings, balance)
    model.train()
    velocity = None
    losses: list[float] = []
    steps: list[float] = []
    loss_at = _snorkels_loss if _as_snorkel(counts) else _sparse_loss(counts, model)
    for _ in range(settings.epochs):
        loss, gradient = loss_at(model)
        losses.append(loss)
        if not np.isfinite(losses[-1]):
            raise InputError(
                f"Training Snorkel's label model diverged in epoch {len(losses)}; "
                f"lower weak_labels.learning_rate (now {settings.learning_rate:g})."
            )
        mu = model.mu.detach()
        before = mu.clone()
        velocity = gradient.clone() if velocity is None else velocity.mul_(_MOMENTUM).add_(gradient)
        mu.add_(velocity, alpha=-settings.learning_rate)
        steps.append((mu - before).abs().max().item())
    model._clamp_params()
    model._break_col_permutation_symmetry()
    model.eval()
    return model, losses, steps


def _as_snorkel(counts: VoteCounts) -> bool:
    """Whether the loss is Snorkel's own, to the last bit: wherever Snorkel could be run on these votes."""
    if counts.cells <= _MANY_CELLS:
        return True
    return counts.cells <= _MOST_CELLS and 8 * counts.n * counts.cells <= _SNORKELS_BYTES


def _snorkels_loss(model: Any) -> tuple[float, Any]:
    model.mu.grad = None
    loss = model._loss_mu(l2=0.0)
    loss.backward()
    return loss.item(), model.mu.grad


def _sparse_loss(counts: VoteCounts, model: Any) -> Callable[[Any], tuple[float, Any]]:
    import torch

    from assay.tasks.weak_labels.snorkel_objective import objective

    at = objective(counts, model.p)

    def loss_at(model: Any) -> tuple[float, Any]:
        loss, gradient = at(model.mu.detach().numpy().astype(np.float64))
        return loss, torch.from_numpy(gradient).float()

    return loss_at


def _untrained(counts: VoteCounts, settings: Options, balance: Sequence[float] | None) -> Any:
    """Snorkel's LabelModel as it stands before its first step, its μ drawn as `seed` says."""
    import torch
    from snorkel.labeling.model import LabelModel
    from snorkel.labeling.model.label_model import TrainConfig
    from snorkel.utils.config_utils import merge_config

    m, k = len(counts.functions), counts.classes
    model = LabelModel(cardinality=k, verbose=False)
    model.train_config = merge_config(
        TrainConfig(), {"n_epochs": settings.epochs, "lr": settings.learning_rate, "seed": settings.seed}
    )
    model.n, model.m, model.d = counts.n, m, m * k
    model.coverage = counts.votes.sum(axis=1) / counts.n
    model._set_class_balance(None if balance is None else np.asarray(balance))
    if _as_snorkel(counts):
        model.O = torch.from_numpy(counts.together / counts.n).float()
        model.mask = ~torch.from_numpy(np.kron(np.eye(m, dtype=np.bool_), np.ones((k, k), dtype=np.bool_)))
    diagonal = torch.from_numpy(counts.votes.ravel() / counts.n).float()  # diag O
    shares = torch.from_numpy(np.tile(model.p.astype(np.float32), m)) if balance is not None else 1 / k
    guess = torch.clamp(diagonal * (_PRECISION * torch.ones(m * k)) / shares, 0, 1)
    own_class = torch.from_numpy(np.tile(np.eye(k, dtype=np.float32), (m, 1)))  # [m·k, k]
    model.mu_init = guess[:, None] * own_class
    model.mu = torch.nn.Parameter(model.mu_init.clone() * np.random.RandomState(settings.seed).random_sample())
    return model


@contextmanager
def _one_torch_thread() -> Iterator[None]:
    """One Torch thread, so that sums are taken in one order; and no trace left in NumPy's and Torch's global states."""
    with _LOCK:
        import torch

        threads, generator = torch.get_num_threads(), np.random.get_state()  # importing Snorkel draws from it
        torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(threads)
            np.random.set_state(generator)
