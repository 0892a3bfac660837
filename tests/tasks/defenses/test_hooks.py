"""The attack inside a training keeps to its ball and to eval mode, and what each defence makes of a batch."""

from collections import Counter
from copy import deepcopy
from dataclasses import replace

import pytest
import torch
from tiny_subjects import answers, tiny_images, tiny_model
from torch.nn import functional

from assay.infra.stages.exact import Seeds
from assay.tasks.defenses.adversarial_training import (
    answering,
    attacked,
    draw_perturbation,
    maadvt,
    mpadvt,
    standard,
    trades,
)
from assay.tasks.defenses.settings import TRADES, MAAdvT, MPAdvT, Standard
from assay.tasks.subjects.images.training import Batch, loss_for

torch.set_num_threads(1)
SEEDS = Seeds(0, "defend_subject")


def batch(n: int = 8, *, epoch: int = 0, multilabel: bool = False, step: int = 0, seed: int = 0) -> Batch:
    model = tiny_model(4, multilabel=multilabel, seed=seed)
    model.network.requires_grad_(True).train()
    images = tiny_images(n)
    loss = loss_for("cross-entropy", multilabel=multilabel, softmaxed=False)
    seeds = Seeds(0, f"defend_subject/epoch {epoch}/batch {step}")
    return Batch(model, images, answers(model, images), tuple(f"s{i}" for i in range(n)), seeds, loss, epoch)


class Watchful(torch.nn.Module):
    """Notes in which mode it is asked."""

    def __init__(self, inside: torch.nn.Module) -> None:
        super().__init__()
        self.inside, self.modes = inside, []

    def forward(self, images):
        self.modes.append(self.training)
        return self.inside(images)


@pytest.mark.parametrize("multilabel", [False, True])
def test_attacked_images_stay_within_eps_and_bounds_and_are_known_less(multilabel):
    given = batch(multilabel=multilabel)
    x = attacked(given, 0.1, 5, None, SEEDS)
    assert float((x - given.images).abs().max()) <= 0.1
    assert x.min() >= 0
    assert x.max() <= 1
    assert not x.requires_grad
    before, after = (given.loss(given.model.logits(one), given.targets).item() for one in (given.images, x))
    assert after > before + 0.05
    assert all(weights.grad is None for weights in given.model.network.parameters())


def test_the_network_answers_in_eval_mode_and_learns_in_training_mode():
    given = batch()
    watchful = Watchful(given.model.network)
    given = replace(given, model=replace(given.model, network=watchful.train()))
    standard(Standard(eps=(0.1,), steps=3), SEEDS)(given)
    assert watchful.modes == [False, False, False, True]
    with answering(watchful.eval()):
        pass
    assert not watchful.training


@pytest.mark.parametrize(("hook", "defense"), [(standard, Standard), (maadvt, MAAdvT)], ids=["standard", "maadvt"])
def test_a_warm_up_begins_with_the_images_as_they_are_and_ends_at_the_full_eps(hook, defense):
    warm, cold = defense(eps=(0.1,), steps=2, warmup=4), defense(eps=(0.1,), steps=2)
    clean = hook(cold.model_copy(update={"eps": (0.0,)}), SEEDS)(batch()).loss
    losses = [hook(warm, SEEDS)(batch(epoch=epoch)).loss for epoch in (0, 1, 4)]
    assert losses[0] == clean
    assert losses[0] < losses[1] < losses[2]
    assert losses[2] == hook(cold, SEEDS)(batch(epoch=4)).loss


def test_what_a_sample_draws_depends_on_the_epoch_and_on_no_other_sample():
    given = batch()
    whole = attacked(given, 0.1, 1, 0.0, SEEDS)
    some = replace(given, images=given.images[2:4], targets=given.targets[2:4], ids=given.ids[2:4], seeds=Seeds(9, ""))
    assert torch.equal(attacked(some, 0.1, 1, 0.0, SEEDS), whole[2:4])
    assert not torch.equal(attacked(replace(given, epoch=1), 0.1, 1, 0.0, SEEDS), whole)


def test_batches_draw_whether_they_are_attacked_how_far_and_how_long():
    settings = MPAdvT(eps=(0.1,))
    drawn = [draw_perturbation(settings, Seeds(0, f"batch {step}")) for step in range(600)]
    assert 0.44 < sum(one.attacked for one in drawn) / 600 < 0.56
    assert Counter(one.steps for one in drawn).keys() == {1, 2, 3, 4, 5}
    assert min(one.eps for one in drawn) == pytest.approx(0.05, abs=0.002)
    assert max(one.eps for one in drawn) == pytest.approx(0.2, abs=0.002)
    assert draw_perturbation(settings, Seeds(0, "batch 7")) == drawn[7]
    assert all(draw_perturbation(MPAdvT(eps=(0.1,), attacked=1), Seeds(0, f"{i}")).attacked for i in range(50))


def test_a_batch_that_is_not_attacked_is_learned_from_as_it_is():
    hook = mpadvt(MPAdvT(eps=(0.1,)), SEEDS)
    kinds = {}
    for step in range(12):
        given = batch(step=step)
        logits = hook(given).logits
        kinds[draw_perturbation(MPAdvT(eps=(0.1,)), given.seeds).attacked] = torch.equal(
            logits, given.model.logits(given.images)
        )
    assert kinds == {True: False, False: True}


def test_without_a_weight_maadvt_is_standard_training():
    given = batch()
    plain = standard(Standard(eps=(0.1,), steps=3), SEEDS)(given)
    same = maadvt(MAAdvT(eps=(0.1,), steps=3, lambda_=(0,)), SEEDS)(given)
    more = maadvt(MAAdvT(eps=(0.1,), steps=3, lambda_=(6,)), SEEDS)(given)
    assert same.loss.item() == pytest.approx(plain.loss.item(), rel=1e-6)
    assert more.loss.item() > plain.loss.item()
    more.loss.backward()
    assert all(weights.grad is not None for weights in given.model.network.parameters())


def published_trades(model, x_natural, y, start, step_size, epsilon, perturb_steps, beta):
    """The loss of TRADES as its authors' repository has it (trades.py), from a given start of the attack."""
    criterion_kl = torch.nn.KLDivLoss(reduction="sum")
    model.eval()
    x_adv = start.detach()
    for _ in range(perturb_steps):
        x_adv.requires_grad_()
        with torch.enable_grad():
            adversarial, natural = model(x_adv).log_softmax(dim=1), model(x_natural).softmax(dim=1)
            loss_kl = criterion_kl(adversarial, natural)
        grad = torch.autograd.grad(loss_kl, [x_adv])[0]
        x_adv = x_adv.detach() + step_size * torch.sign(grad.detach())
        x_adv = torch.min(torch.max(x_adv, x_natural - epsilon), x_natural + epsilon)
        x_adv = torch.clamp(x_adv, 0.0, 1.0)
    model.train()
    logits = model(x_natural)
    loss_natural = functional.cross_entropy(logits, y)
    loss_robust = (1.0 / len(x_natural)) * criterion_kl(
        functional.log_softmax(model(x_adv), dim=1), functional.softmax(model(x_natural), dim=1)
    )
    return loss_natural + beta * loss_robust


def test_trades_is_the_published_loss_from_the_same_start():
    given = batch()
    network = torch.nn.Sequential(Normalized(given.model), given.model.network)
    start = attacked(given, 0.1, 1, 0.0, SEEDS)  # a step of no length: the start alone
    theirs = published_trades(network, given.images, given.targets, start, 0.04, 0.1, 4, 6.0)
    ours = trades(TRADES(eps=(0.1,), steps=4, step_size=0.04), SEEDS)(given)
    assert ours.loss.item() == pytest.approx(theirs.item(), rel=1e-4)
    weights = list(given.model.network.parameters())
    own, published = (
        torch.cat([part.flatten() for part in torch.autograd.grad(loss, weights)]) for loss in (ours.loss, theirs)
    )
    # A pixel whose gradient is next to nothing may step the other way: 0.008. Of β = 5.7 it would be 0.016.
    assert (own - published).norm() < 0.012 * published.norm()


class Normalized(torch.nn.Module):
    """What a model does to pixels before its network sees them."""

    def __init__(self, model) -> None:
        super().__init__()
        self.mean, self.std = (torch.tensor(values).reshape(1, -1, 1, 1) for values in (model.mean, model.std))

    def forward(self, images):
        return (images - self.mean) / self.std


def test_trades_without_a_beta_learns_clean_images_and_with_one_drives_answers_away_from_the_clean_ones():
    given = batch()
    plain = trades(TRADES(eps=(0.1,), steps=3, beta=(0,)), SEEDS)(given)
    clean = given.loss(given.model.logits(given.images), given.targets)
    assert plain.loss.item() == pytest.approx(clean.item(), rel=1e-6)
    held = trades(TRADES(eps=(0.1,), steps=3, beta=(6,)), SEEDS)(given)
    assert held.loss.item() > plain.loss.item() + 0.01


def published_awp(network, images, targets, gamma):
    """The gradients of a step of AT-AWP as its authors take it (utils_awp.py, train_cifar10.py): a copy of the network
    takes a step up, each layer's difference gets the length of the layer, and the loss is descended there."""
    proxy = deepcopy(network).train()
    step = torch.optim.SGD(proxy.parameters(), lr=0.01)
    (-functional.cross_entropy(proxy(images), targets)).backward()
    step.step()
    new, moved = dict(proxy.named_parameters()), deepcopy(network).train()
    with torch.no_grad():
        for name, old in moved.named_parameters():
            if old.dim() > 1 and "weight" in name:
                difference = new[name] - old
                old += gamma * old.norm() / (difference.norm() + 1e-20) * difference
    loss = functional.cross_entropy(moved(images), targets)
    return loss.item(), torch.autograd.grad(loss, [*moved.parameters()])


def normalised(given: Batch) -> Batch:
    """With batch normalisation behind the first layer, whose averages are not to be touched twice."""
    network, width = given.model.network, next(given.model.network.parameters()).shape[0]
    layers = torch.nn.Sequential(network[0], torch.nn.BatchNorm2d(width), *network[1:]).train()
    return replace(given, model=replace(given.model, network=layers))


def test_awp_descends_the_gradient_that_its_authors_descend():
    given = normalised(batch())
    images, network = attacked(given, 0.1, 5, None, SEEDS), given.model.network
    mean, std = (torch.tensor(value).reshape(1, -1, 1, 1) for value in (given.model.mean, given.model.std))
    loss, gradients = published_awp(network, (images - mean) / std, given.targets, 0.05)
    kept, tracked = (
        [weights.detach().clone() for weights in network.parameters()],
        network[1].num_batches_tracked.clone(),
    )
    descended = standard(Standard(eps=(0.1,), awp=0.05), SEEDS)(given).loss
    assert float(descended) == pytest.approx(loss, rel=1e-5)
    plain = standard(Standard(eps=(0.1,)), SEEDS)(given).loss
    assert float(descended) > float(plain) + 0.01
    for ours, theirs in zip(torch.autograd.grad(descended, [*network.parameters()]), gradients, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-6)
    assert all(map(torch.equal, kept, network.parameters()))
    assert network[1].num_batches_tracked - tracked == 2  # once per training step, and one of those was without


@pytest.mark.parametrize(("hook", "settings"), [(mpadvt, MPAdvT(attacked=1)), (maadvt, MAAdvT()), (trades, TRADES())])
def test_awp_goes_with_every_defence_and_moves_no_weight(hook, settings):
    given = batch()
    kept = [weights.detach().clone() for weights in given.model.network.parameters()]
    plain, moved = (
        float(hook(settings.model_copy(update={"eps": (0.1,), "awp": awp}), SEEDS)(given).loss) for awp in (None, 0.05)
    )
    assert moved > plain
    assert all(map(torch.equal, kept, given.model.network.parameters()))


def test_without_awp_a_defence_has_the_key_it_had():
    assert "awp" not in Standard().model_dump()
    assert Standard(awp=0.005).model_dump()["awp"] == 0.005
