"""Adversarial training of image subjects: what such a defence is, and ours with what each does with every batch.

PGD on the batch, against the network as it would answer, drawn per epoch and sample: standard adversarial training
(Madry et al. 2017; Xu et al. 2020, Eq. 6), Multi-Perturbations Adversarial Training (Xu et al., Algorithm 1),
Misclassification-Aware Adversarial Training (Xu et al., Algorithm 2 and Eq. 7-10), MART (Wang et al. 2020), and TRADES
(Zhang et al. 2019). Its authors start an attack at x + 0.001·N; here every attack starts uniformly within ε. With `awp`
any of them attacks the weights as well (Wu et al. 2020).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Generic, TypeVar

from assay.infra.engines.devices import placed
from assay.infra.errors import InputError
from assay.infra.stages.exact import Seeds
from assay.infra.user_code.choices import Tagged, plugin_faults, tried
from assay.tasks.attacks.settings import step_size_for
from assay.tasks.defenses.settings import MART, TRADES, Defence, MAAdvT, MisclassificationAware, MPAdvT, Standard

if TYPE_CHECKING:
    from torch import Tensor
    from torch.nn import Module

    from assay.tasks.subjects.images.model import ImageModel
    from assay.tasks.subjects.images.training import Batch, BatchHook, Descent


D = TypeVar("D", bound=Defence)
GROUP = "assay.defenses"


@dataclass(frozen=True)
class DefenceChoice(Tagged):
    """A defence that a pipeline can name."""

    tag: ClassVar[str] = "defense"


@dataclass(frozen=True)
class ImageDefenceChoice(DefenceChoice, Generic[D]):
    """A way of training image subjects: `hook` gives what is done with every batch, and imports Torch when called.

    `one_class` says why it is only for subjects that know one class per image; empty where it is for others as well.
    """

    bases = (Defence,)
    settings: type[D]
    hook: Callable[[D, Seeds], BatchHook]
    one_class: str = ""

    def guarded_hook(self, settings: D, seeds: Seeds, masked: bool = False) -> BatchHook:
        """The hook; where that of a plug-in raises, or returns no descent, it is named."""
        from assay.tasks.subjects.images.training import Descent

        with plugin_faults(settings, self.word, masked):
            hook = self.hook(settings, seeds)

        def descended(batch: Batch) -> Descent:
            with plugin_faults(settings, self.word, masked):
                descent: object = hook(batch)
            if isinstance(descent, Descent):
                return descent
            what = type(descent).__name__
            raise InputError(f"The defence {self.word} returns a {what}: a hook returns a Descent, loss and logits.")

        return descended

    def conformance(self) -> list[str]:
        """What keeps the defence from being one, a sentence each; nothing where all is well.

        Its settings give variants, a batch gives a finite loss with a gradient and logits for every image, and the same
        seeds give the same loss.
        """
        sentences = super().conformance() + self.without_default
        for variant in () if self.without_default else self.settings().variants(_EPS):
            for multilabel in (False,) if self.one_class else (False, True):
                several = " (several labels)" if multilabel else ""
                faults = tried(partial(_faults, self, variant, multilabel))
                sentences += [f"As {variant.called}{several} {sentence}" for sentence in faults]
        return sentences


_EPS, _SAMPLES = 0.1, 6  # of the batch that a defence is tried on


def _descended(choice: ImageDefenceChoice[Any], variant: Defence, multilabel: bool) -> Descent:
    from assay.tasks.subjects.images.inference import answers, practice_images, practice_model
    from assay.tasks.subjects.images.training import Batch, loss_for

    model = practice_model(multilabel=multilabel)
    images = practice_images(_SAMPLES)
    targets = answers(model, images)
    model.network.requires_grad_(True).train()
    ids = tuple(f"sample {row}" for row in range(_SAMPLES))
    seeds = Seeds(0, "defend_subject/epoch 1/batch 0")
    loss = loss_for("cross-entropy", multilabel=multilabel, softmaxed=False)
    hook = choice.guarded_hook(variant, Seeds(0, "defend_subject"))
    return hook(Batch(model, images, targets, ids, seeds, loss, epoch=1))


def _faults(choice: ImageDefenceChoice[Any], variant: Defence, multilabel: bool) -> list[str]:
    import torch

    descended = _descended(choice, variant, multilabel)
    loss, logits = descended.loss, descended.logits
    if loss.numel() != 1 or not torch.isfinite(loss).all() or not loss.requires_grad:
        return ["its loss is no single finite number with a gradient."]
    if logits.ndim != 2 or len(logits) != _SAMPLES:
        return [f"its logits are {list(logits.shape)}, expected a row for each of {_SAMPLES} images."]
    if not torch.equal(_descended(choice, variant, multilabel).loss, loss):
        return ["the same seeds give another loss: take random numbers from its seeds alone (`batch.seeds`)."]
    return []


def attacked(batch: Batch, eps: float, steps: int, step_size: float | None, seeds: Seeds) -> Tensor:
    """The batch's images x' after PGD with that ε (Xu et al., Eq. 1-2; Algorithm 1, lines 9-11), [n, c, h, w].

    The start is uniform within ε, and each step follows the sign of the gradient of the loss that is trained with. The
    network answers in eval mode meanwhile, so that the attack is one on the model as it will be used and its batch
    statistics learn nothing from half-made images. `seeds` are the training's: what a sample draws in an epoch depends
    on nothing else. With an ε of 0 there is nothing to attack with, and the images stay as they are.
    """
    import torch

    from assay.tasks.attacks.batch import Draws, ball_around

    if eps == 0:
        return batch.images
    images, ball = batch.images, ball_around(batch.images, eps)
    size = step_size_for(eps, steps, step_size)
    draws = Draws(Seeds(seeds.run_seed, f"{seeds.stage}/epoch {batch.epoch}"), batch.ids)
    unit = placed(draws.uniform("attack inside", tuple(images.shape[1:])), images.device)
    x = ball.clip(images + eps * unit)
    with answering(batch.model.network), torch.enable_grad():
        for _ in range(steps):
            x = x.detach().requires_grad_(True)
            (gradient,) = torch.autograd.grad(batch.loss(batch.model.logits(x), batch.targets), x)
            x = ball.clip(x.detach().add(gradient.sign(), alpha=size))
    return x.detach()


@contextmanager
def answering(network: Module) -> Iterator[None]:
    """The network in eval mode, and back in the mode it was in."""
    was = network.training
    network.eval()
    try:
        yield
    finally:
        network.train(was)


def descent(settings: Defence, batch: Batch, objective: Callable[[ImageModel], tuple[Tensor, Tensor]]) -> Descent:
    """The objective, a loss and its logits, at the network's weights, or with `awp` at worse ones nearby."""
    from assay.tasks.subjects.images.training import Descent

    model = batch.model
    if settings.awp is not None:
        model = replace(model, network=at_worse_weights(model, settings.awp, lambda model: objective(model)[0]))
    return Descent(*objective(model))


def at_worse_weights(
    model: ImageModel, gamma: float, loss: Callable[[ImageModel], Tensor]
) -> Callable[[Tensor], Tensor]:
    """The network at w + γ·‖w‖·∇/‖∇‖, layer by layer (Wu et al. 2020, section 4, in one step); a gradient there is one
    of w. Biases and the scales of normalisations stay as they are, as in the authors' code, and the look at where the
    loss rises leaves the averages of normalisations alone.
    """
    import torch
    from torch.func import functional_call

    weights = {name: w for name, w in model.network.named_parameters() if w.requires_grad and w.ndim > 1}
    averages = {name: buffer.clone() for name, buffer in model.network.named_buffers()}
    at_weights = replace(model, network=partial(functional_call, model.network, weights | averages))
    slopes = torch.autograd.grad(loss(at_weights), [*weights.values()], materialize_grads=True)
    steps = zip(weights.items(), slopes, strict=True)
    moved = {name: w + gamma * w.detach().norm() * s / s.norm().clamp_min(_LEAST) for (name, w), s in steps}
    return partial(functional_call, model.network, moved)


def standard(settings: Standard, seeds: Seeds) -> BatchHook:
    """A hook that trains on attacked images alone: min over θ of the mean of max ℓ(C(x'), y), |x' - x| ≤ ε (Eq. 6)."""

    def hook(batch: Batch) -> Descent:
        eps = settings.budget * settings.reach(batch.epoch)
        images = attacked(batch, eps, settings.steps, settings.step_size, seeds)
        return descent(settings, batch, partial(configured_loss, batch, images))

    return hook


def configured_loss(batch: Batch, images: Tensor, model: ImageModel) -> tuple[Tensor, Tensor]:
    """The configured loss of what the model answers to the images, and the answers."""
    logits = model.logits(images)
    return batch.loss(logits, batch.targets), logits


STANDARD = ImageDefenceChoice(Standard, standard)


@dataclass(frozen=True)
class Perturbation:
    """What a batch drew: whether it is attacked, within which ε, in how many steps."""

    attacked: bool
    eps: float
    steps: int


def draw_perturbation(settings: MPAdvT, seeds: Seeds) -> Perturbation:
    """What a batch with these seeds draws: p ~ U(0, 1), ε ~ U(a, b), T ~ {1 … 5} (Algorithm 1, lines 4-6 and 8).

    The paper writes T ~ U(1, 5); the authors' code takes whole numbers, from 1 to 9. Here the largest may be drawn too.
    """
    generator = seeds.generator()
    p = generator.random()
    eps = generator.uniform(*settings.bounds())
    steps = generator.integers(settings.steps[0], settings.steps[1], endpoint=True)
    return Perturbation(bool(p >= 1 - settings.attacked), float(eps), int(steps))


def mpadvt(settings: MPAdvT, seeds: Seeds) -> BatchHook:
    """A hook that trains on a batch attacked with a strength of its own where p ≥ .5, else on the batch as it is."""

    def hook(batch: Batch) -> Descent:
        drawn = draw_perturbation(settings, batch.seeds)
        images = batch.images
        if drawn.attacked:
            images = attacked(batch, drawn.eps * settings.reach(batch.epoch), drawn.steps, settings.step_size, seeds)
        return descent(settings, batch, partial(configured_loss, batch, images))

    return hook


MPADVT = ImageDefenceChoice(MPAdvT, mpadvt)


_LEAST = 1e-12  # probabilities below it are taken for it, lest their logarithm be infinite


def maadvt(settings: MisclassificationAware, seeds: Seeds, *, margin: bool = False) -> BatchHook:
    """A hook that trains on attacked images, and holds the answers to them near those to the clean ones (Alg. 2)."""

    def hook(batch: Batch) -> Descent:
        eps = settings.budget * settings.reach(batch.epoch)
        images = attacked(batch, eps, settings.steps, settings.step_size, seeds)

        def objective(model: ImageModel) -> tuple[Tensor, Tensor]:
            clean, logits = log_probabilities(model, model.logits(batch.images)), model.logits(images)
            adversarial, weight = log_probabilities(model, logits), settings.weight
            return misclassification_aware_loss(clean, adversarial, batch.targets, weight, margin=margin), logits

        return descent(settings, batch, objective)

    return hook


def misclassification_aware_loss(
    clean: Tensor, adversarial: Tensor, targets: Tensor, weight: float, *, margin: bool = False
) -> Tensor:
    """The mean over the batch of CE(C(x'), y) + λ·R (Eq. 9 and 10), from log probabilities [n, k] of x and of x'.

    With a `margin` it is MART's: -log(1 - p) of the strongest wrong class of x' is added. (The code of Xu et al. has
    that term, and their paper does not.)
    """
    from torch.nn import functional

    loss = functional.nll_loss(adversarial, targets, reduction="none")
    if margin:
        wrong = adversarial.exp().scatter(1, targets[:, None], 0.0).amax(dim=1)
        loss = loss - (1 - wrong).clamp_min(_LEAST).log()
    return (loss + weight * regularisation(clean, adversarial, targets)).mean()


def regularisation(clean: Tensor, adversarial: Tensor, targets: Tensor) -> Tensor:
    """R = KL(C(x) ‖ C(x')) × (1 - C_y(x)), [n] (Eq. 8): large for images that are not known yet.

    Algorithm 2 descends the gradient of all of it: the factor 1 - C_y(x) learns too, and so does C(x) inside the
    divergence; nothing is held constant.
    """
    known = clean.gather(1, targets[:, None]).squeeze(1).exp()
    return divergence(clean, adversarial) * (1 - known)


def divergence(clean: Tensor, adversarial: Tensor) -> Tensor:
    """KL(C(x) ‖ C(x')) = Σ_j C_j(x) log(C_j(x) / C_j(x')), [n] (Eq. 7), from log probabilities [n, k].

    >>> import torch
    >>> round(float(divergence(torch.tensor([[0.5, 0.5]]).log(), torch.tensor([[0.25, 0.75]]).log())), 4)
    0.1438
    """
    return (clean.exp() * (clean - adversarial)).sum(dim=1)


def log_probabilities(model: ImageModel, logits: Tensor) -> Tensor:
    """The logarithm of what the model holds every class for, [n, k], as float32."""
    from torch.nn import functional

    if model.softmaxed:
        return logits.float().clamp_min(_LEAST).log()
    return functional.log_softmax(logits.float(), dim=1)


_EXCLUSIVE = "compares the probabilities of classes that exclude each other"
MAADVT = ImageDefenceChoice(MAAdvT, maadvt, one_class=f"MAAdvT {_EXCLUSIVE} (Eq. 7)")
MART_DEFENCE = ImageDefenceChoice(MART, partial(maadvt, margin=True), one_class=f"MART {_EXCLUSIVE}")


def trades(settings: TRADES, seeds: Seeds) -> BatchHook:
    """A hook that trains on clean images, and holds the answers within ε near them (Zhang et al.)."""
    import torch

    def hook(batch: Batch) -> Descent:
        model, eps = batch.model, settings.budget * settings.reach(batch.epoch)
        with answering(model.network), torch.no_grad():
            before = log_probabilities(model, model.logits(batch.images))
        drifting = replace(batch, loss=lambda logits, _: divergence(before, log_probabilities(model, logits)).mean())
        images = attacked(drifting, eps, settings.steps, settings.step_size, seeds)

        def objective(model: ImageModel) -> tuple[Tensor, Tensor]:
            clean, logits = model.logits(batch.images), model.logits(images)
            apart = divergence(log_probabilities(model, clean), log_probabilities(model, logits)).mean()
            return batch.loss(clean, batch.targets) + settings.beta[0] * apart, logits

        return descent(settings, batch, objective)

    return hook


TRADES_DEFENCE = ImageDefenceChoice(TRADES, trades, one_class=f"TRADES {_EXCLUSIVE}")
