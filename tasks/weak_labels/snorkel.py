"""Snorkel's label model, trained from counts of votes, bit for bit as Snorkel trains it where Snorkel could be run.

With O = L_indᵀ L_ind / n and A = μ P μᵀ, both [m·k, m·k], Snorkel's loss is ‖mask ∘ (O − A)‖² + ‖μ P 1 − diag O‖²,
where the mask leaves out what one function says beside itself. Where the matrix of all pairs of votes would be too
large, the loss and its gradient are computed from the entries of O that are not 0 and from thin matrices:

    ‖mask ∘ (O − A)‖² = ‖O₋‖² − 2 ⟨O₋, A⟩ + ‖A‖² − Σ_i ‖A_ii‖²

with O₋ the O outside the mask's blocks and A_ii the block of function i. Nothing here is larger than μ or O₋.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from assay.data.arrays import Floats
from assay.infra.errors import InputError
from assay.tasks.statistics.vote_counts import VoteCounts
from assay.tasks.weak_labels import labelers

Objective = Callable[[Floats], tuple[float, Floats]]
"""The loss at μ [m·k, k], and its gradient there."""


def objective(counts: VoteCounts, balance: Sequence[float]) -> Objective:
    """Snorkel's loss for these counts, with P(class) on the diagonal of P."""
    from scipy.sparse import coo_array

    k, prior = counts.classes, np.asarray(balance, dtype=np.float64)
    shares = counts.votes.ravel() / counts.n  # diag O
    entries = counts.matrix.tocoo()
    others = entries.row // k != entries.col // k  # of two functions: O without the blocks of one beside itself
    kept = (entries.data[others] / counts.n, (entries.row[others], entries.col[others]))
    between = coo_array(kept, shape=entries.shape).tocsr()
    square = float((between.data**2).sum())

    def at(mu: Floats) -> tuple[float, Floats]:
        weighted = mu * prior  # μ P
        seen = between @ weighted  # O₋ μ P
        gram = mu.T @ weighted  # μᵀ μ P, [k, k]
        blocks = mu.reshape(-1, k, k)
        own = np.einsum("iyc,izc->iyz", blocks * prior, blocks)  # A_ii
        missed = weighted.sum(axis=1) - shares
        loss = square - 2 * float((mu * seen).sum()) + float((gram * gram.T).sum()) - float((own**2).sum())
        inside = np.einsum("iyz,izc->iyc", own, blocks * prior).reshape(mu.shape)
        gradient = -4 * (seen - weighted @ gram + inside) + 2 * missed[:, None] * prior
        return loss + float((missed**2).sum()), gradient

    return at


_MOMENTUM = 0.9  # of Snorkel's optimizer, torch.optim.SGD; importing that drags in Torch's compiler: two seconds
_PRECISION = 0.7  # Snorkel's prior guess of P(class y | i votes y)
_SETTLED = 1e-3  # once no conditional probability moves further than this until the end, training has settled
_TAIL = 0.1  # training must have settled this share of its epochs before the end to have converged
_MOST_CELLS = 6144  # m·k up to which O is a matrix as in Snorkel: there its loss should need about a gigabyte
_MANY_CELLS = 1024  # m·k from which the matrix is slow, and worth it only where Snorkel could run too
_SNORKELS_BYTES = 16 << 30  # of one-hot votes, 8 bytes each: with more Snorkel is taken not to run
_LOCK = threading.Lock()


def snorkel(counts: VoteCounts, settings: labelers.Options, balance: Sequence[float] | None = None) -> labelers.Labeler:
    """The labeler that Snorkel's LabelModel learns: w_i = P(i is right | i votes), and μ for the posterior.

    Where nothing can be learned (fewer than three functions, or no vote at all) every vote weighs one, as in majority,
    and the labeler carries no training.
    """
    if not labelers.is_learnable(counts):
        return labelers.majority(counts.functions)
    with _one_torch_thread():
        model, losses, steps = _trained(counts, settings, balance)
        with np.errstate(divide="ignore"):  # a function without votes has no accuracy; Snorkel clips its weight to 1
            weights = model.get_weights()
    m, k = len(counts.functions), counts.classes
    mu = model.mu.detach().numpy().reshape(m, k, k).copy()
    training = labelers.Training(settings.epochs, losses[0], losses[-1], settled_after(steps))
    return labelers.Labeler(counts.functions, weights, mu, training, None if balance is None else tuple(balance))


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
    counts: VoteCounts, settings: labelers.Options, balance: Sequence[float] | None
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

    at = objective(counts, model.p)

    def loss_at(model: Any) -> tuple[float, Any]:
        loss, gradient = at(model.mu.detach().numpy().astype(np.float64))
        return loss, torch.from_numpy(gradient).float()

    return loss_at


def _untrained(counts: VoteCounts, settings: labelers.Options, balance: Sequence[float] | None) -> Any:
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


def _learn(counts: VoteCounts, settings: labelers.Options) -> labelers.Labeler:
    return snorkel(counts, settings, labelers.given_balance(settings))


SNORKEL = labelers.LabelerChoice("snorkel", learn=_learn, libraries=("snorkel.labeling.model",))
