"""Attacks in L2, in L0 and by a patch: what is far in one norm is near in another, and nobody leaves the ball."""

import importlib.util
import math

import numpy as np
import pytest
import torch
from pydantic import ValidationError
from tiny_subjects import answers, draws_for, tiny_images, tiny_model

from assay.infra.stages.exact import Seeds
from assay.tasks.attacks import minimum_norm
from assay.tasks.attacks.apgd import APGD, APGDT, checkpoints
from assay.tasks.attacks.batch import Ledger, distances, lengths
from assay.tasks.attacks.minimum_norm import DDN, FABT, FMN, to_hyperplane
from assay.tasks.attacks.pgd import FGSM, PGD
from assay.tasks.attacks.random_search import SparseRS, Square, wave
from assay.tasks.attacks.running import run_attack
from assay.tasks.attacks.table import AutoAttack
from assay.tasks.defenses.settings import Smoothing
from assay.tasks.defenses.smoothing_task import ABSTAINS, certify, sample_under_noise
from assay.tasks.subjects.images.model import ImageModel

torch.set_num_threads(1)
EPS = 0.3
IN_L2 = [
    PGD(norm="l2", eps=(EPS,), steps=20),
    PGD(norm="l2", eps=(EPS,), steps=20, restarts=2, only_accuracy=True),
    APGD(norm="l2", eps=(EPS,), steps=10),
    APGDT(norm="l2", eps=(EPS,), steps=10, classes=2),
    FABT(norm="l2", eps=(EPS,), steps=10, classes=2),
    DDN(eps=(EPS,), steps=10),
    FMN(eps=(EPS,), steps=30),
    Square(norm="l2", eps=(EPS,), queries=80, share=0.8),
    AutoAttack(norm="l2", eps=(EPS,), steps=5, queries=20),
]

PATCH = PGD(norm="patch", eps=(0.05,), steps=10, restarts=5)


def linear_model(weights: torch.Tensor, bias: float) -> ImageModel:
    """Class 1 where weights·x > bias, so that the distance to the boundary is known in every norm."""
    network = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(weights.numel(), 2))
    with torch.no_grad():
        network[1].weight.copy_(torch.stack([-weights.flatten(), weights.flatten()]) / 2)
        network[1].bias.copy_(torch.tensor([bias, -bias]) / 2)
    return ImageModel(network.eval().requires_grad_(False), 2, False, (0.0,), (1.0,), block=8)


def falls(attack, model, images, eps: float) -> bool:
    """Whether every image falls; raises where some do and some do not."""
    success = run_attack(attack, model, images, answers(model, images), eps, draws_for(len(images))).success
    assert success.all() or not success.any()
    return bool(success.all())


GREY = torch.full((4, 1, 16, 16), 0.5)


@pytest.mark.parametrize("attack", IN_L2, ids=lambda attack: attack.attack)
def test_the_boundary_of_a_linear_network_is_where_geometry_has_it(attack):
    weights = torch.linspace(-1, 1, 256)
    model, far = linear_model(weights, -EPS * float(weights.norm())), 1.06
    if isinstance(attack, Square):
        attack, far = attack.model_copy(update={"queries": 400}), 3.5
    assert not falls(attack, model, GREY, 0.98 * EPS)
    assert falls(attack, model, GREY, far * EPS)


def test_what_withstands_in_one_norm_falls_in_the_other():
    """All pixels weigh alike: near in L∞ (.03), far in L2 (.48). One pixel weighs all: near in L2 (.2), far in L∞."""
    dense, lone = torch.ones(256), torch.zeros(256)
    lone[100] = 1.0
    for weights, linf, l2 in ((dense, 0.03, 0.48), (lone, 0.2, 0.2)):
        model = linear_model(weights, float(weights.sum()) * 0.5 - linf * float(weights.sum()))
        assert math.isclose(linf * float(weights.sum()) / float(weights.norm()), l2, rel_tol=1e-6)
        in_linf = falls(PGD(steps=20), model, GREY, 0.05)
        in_l2 = falls(PGD(norm="l2", eps=(0.25,), steps=20), model, GREY, 0.25)
        assert (in_linf, in_l2) == ((True, False) if weights is dense else (False, True))


def test_few_pixels_break_a_network_that_looks_at_few_and_none_that_looks_at_all():
    dense, corner = torch.ones(256), torch.zeros(16, 16)
    corner[9:12, 9:12] = 1.0
    both = (linear_model(dense, 128 - 13.0), linear_model(corner.flatten(), 4.5 - 0.8))
    for attack, eps in ((SparseRS(queries=600), 20), (PATCH, 25 / 256)):
        assert [falls(attack, model, GREY, eps) for model in both] == [False, True]
    assert not falls(SparseRS(queries=600), both[1], GREY, 1)  # one pixel of nine moves it by .5
    assert not falls(PATCH, both[1], GREY, 1 / 256)


@pytest.mark.parametrize("attack", [*IN_L2, SparseRS(queries=30), PATCH], ids=lambda attack: attack.attack)
@pytest.mark.parametrize("channels", [1, 3])
def test_nobody_leaves_the_ball_or_the_range_of_pixels(attack, channels):
    model, images = tiny_model(channels=channels), tiny_images(12, channels)
    for eps in {"l2": (0.05, 1.0), "l0": (1, 30), "patch": (0.04, 0.3)}[attack.norm]:
        result = run_attack(attack, model, images, answers(model, images), eps, draws_for(12))
        moved = distances(attack.norm, result.images.double() - images.double())
        assert moved.max() <= eps
        assert result.images.min() >= 0
        assert result.images.max() <= 1
        assert moved.max() > 0.5 * eps or attack.attack in (
            "fab-t",
            "ddn",
            "fmn",
            "autoattack",
        )  # the nearest may be nearer
        assert (answers(model, result.images) != answers(model, images)).equal(result.success)


def test_a_pixel_counts_once_however_many_of_its_channels_move():
    moved = torch.zeros(3, 2, 8, 8)
    moved[0, 0, 2, 3], moved[1, :, 1:4, 5:7] = 0.5, -0.5
    assert distances("patch", moved).tolist() == [1 / 64, 6 / 64, 0]
    assert distances("l0", moved).tolist() == [1, 6, 0]
    assert distances("l2", moved)[:2].tolist() == [0.5, math.sqrt(12 * 0.25)]


def test_a_patch_is_one_square():
    model, images = tiny_model(), tiny_images(12)
    moved = run_attack(PATCH, model, images, answers(model, images), 0.1, draws_for(12)).images != images
    for image in moved.any(dim=1):
        rows, columns = image.nonzero().unbind(dim=1)
        assert max(int(rows.max() - rows.min()), int(columns.max() - columns.min())) < 5  # 5² of 256 are .098


def papers_steps(model, image, truth, start, eps, steps, size):
    """PGD in L2 as foolbox and torchattacks write it, one image at a time."""
    x = image + start
    for _ in range(steps):
        x = x.detach().requires_grad_(True)
        (gradient,) = torch.autograd.grad(torch.nn.functional.cross_entropy(model.logits(x), truth), x)
        move = x.detach() + size * gradient / gradient.norm() - image
        x = (image + move * min(1.0, eps / float(move.norm()))).clamp(0, 1)
    return x


def test_pgd_takes_the_steps_of_the_other_libraries():
    model, images = tiny_model(block=1), tiny_images(6)
    truth = answers(model, images)
    attack = PGD(norm="l2", eps=(EPS,), steps=12, random_start=False, last=True)
    ours = run_attack(attack, model, images, truth, EPS, draws_for(6)).images
    for row in range(6):
        at = slice(row, row + 1)
        theirs = papers_steps(model, images[at], truth[at], 0.0, EPS, 12, 2.5 * EPS / 12)
        assert (ours[row] - theirs[0]).abs().max() < 2e-6


def test_apgd_in_l2_is_algorithm_1_with_steps_of_length_two_eps():
    model, images = tiny_model(block=1), tiny_images(6)
    truth, draws = answers(model, images), draws_for(6)
    ours = run_attack(APGD(norm="l2", eps=(0.1,), steps=20), model, images, truth, 0.1, draws)
    drawn = [draws.generator(row, "apgd").standard_normal((1, 16, 16), np.float32) for row in range(6)]
    noise = torch.from_numpy(np.stack(drawn))
    for row in range(6):
        image, label = images[row : row + 1], truth[row : row + 1]

        def project(x, image=image):
            move = x - image
            return (image + move * min(1.0, 0.1 / float(move.norm()))).clamp(0, 1)

        def up(x, label=label):
            x = x.clone().requires_grad_(True)
            value = torch.nn.functional.cross_entropy(model.logits(x), label)
            (gradient,) = torch.autograd.grad(value, x)
            return gradient / gradient.norm(), value.item()

        x = project(image + 0.1 * noise[row : row + 1] / noise[row].norm())
        before, size, ups, last = x, 0.2, 0, 0
        direction, value = up(x)
        best, best_value, best_direction = x, value, direction
        size_then, best_then, fooled = size, value, []
        for step in range(20):
            if step in checkpoints(20):
                stalled = ups < 0.75 * (step - last) or (size == size_then and best_value == best_then)
                size_then, best_then, ups, last = size, best_value, 0, step
                if stalled:
                    x, direction, value, size = best, best_direction, best_value, size / 2
            z = project(x + size * direction)
            x, before = (z if step == 0 else project(x + 0.75 * (z - x) + 0.25 * (x - before))), x
            direction, now = up(x)
            ups, value = ups + (now > value), now
            fooled.append(bool(answers(model, x) != label))
            if value > best_value:
                best, best_value, best_direction = x, value, direction
        assert bool(ours.success[row]) == any(fooled)
        if not any(fooled):
            assert (ours.images[row] - best[0]).abs().max() < 5e-6


def test_the_least_move_to_a_plane_is_found_by_bisection_as_well():
    generator = torch.Generator().manual_seed(0)
    points, slope = torch.rand(50, 20, generator=generator), torch.randn(50, 20, generator=generator)
    missing = torch.randn(50, generator=generator) * 2
    move = to_hyperplane(points, slope, missing, "l2")
    low, high = torch.zeros(50, 1), torch.full((50, 1), 1e4)
    for _ in range(100):
        middle = (low + high) / 2
        tried = (points + middle * slope * missing.sign()[:, None]).clamp(0, 1) - points
        enough = ((tried * slope).sum(dim=1).abs() >= missing.abs())[:, None]
        low, high = torch.where(enough, low, middle), torch.where(enough, middle, high)
    assert (move - tried).abs().max() < 1e-4
    reached = (move * slope).sum(dim=1)
    assert ((reached - missing).abs() < 1e-4)[high.flatten() < 9e3].all()


@pytest.mark.parametrize("side", [2, 3, 6, 7])
def test_a_wave_goes_up_and_down_and_has_length_one(side):
    made = wave(side)
    assert math.isclose(float(made.norm()), 1, rel_tol=1e-6)
    assert (made[: side // 2] > 0).all()
    assert (made[side // 2 :] < 0).all()


GOLDEN = [0.24960737, 0.24961877, 0.24964638, 0.24966580]
"""The four shortest changes that foolbox 3.3.4 finds: DDNAttack(steps=30) on `tiny_model()`, 24 `tiny_images`."""


def shortest(monkeypatch, steps: int) -> torch.Tensor:
    """The length of the shortest change that our DDN saw, with the step sizes of foolbox, which multiplies cosines."""
    sizes = [1.0]
    for step in range(steps):
        sizes.append(0.01 + (sizes[-1] - 0.01) * (1 + math.cos(math.pi * step / steps)) / 2)
    with monkeypatch.context() as patched:
        patched.setattr(minimum_norm, "annealed", lambda *_: sizes[1:])
        return nearest_seen(monkeypatch, DDN(eps=(99.0,), steps=steps), tiny_images(24))


def nearest_seen(monkeypatch, attack, images) -> torch.Tensor:
    """How far the nearest image is that an attack saw fool `tiny_model()`, the clipped last one aside."""
    best, seen = torch.full((len(images),), torch.inf, dtype=torch.float64), Ledger.look

    def note(ledger, now, harm, step):
        moved = distances(attack.norm, now.double() - images.double())
        best.copy_(torch.where((harm > 0) & (step < attack.steps), moved.minimum(best), best))
        seen(ledger, now, harm, step)

    model, eps = tiny_model(), attack.eps[0]
    with monkeypatch.context() as patched:
        patched.setattr(Ledger, "look", note)
        run_attack(attack, model, images, answers(model, images), eps, draws_for(len(images)))
    return best


INF = math.inf
FMN_GOLDEN = {
    "l2": (
        *(0.02185, 0.1407, INF, 0.28021, INF, 0.4428, 0.10804, INF, INF, 0.40539, 0.19844, 0.22943, 0.10748, INF),
        *(0.27744, INF, INF, 0.20055, 0.27219, INF, INF, INF, 0.29426, 0.12505),
    ),
    "linf": (
        *(0.00186, 0.01252, 0.00306, 0.02593, 0.01006, 0.03837, 0.00963, 0.0045, 0.01097, 0.03482, 0.01855, 0.01959),
        *(0.00975, 0.01312, 0.02466, 0.00011, 0.00028, 0.01751, 0.02241, 0.00144, 0.00181, 0.02135, 0.02519, 0.01089),
    ),
}
"""By norm the distances that foolbox's FMN finds on them in 100 steps. It finds ten none in L2: what it adds at a step
the range of pixels cuts off."""


def test_ddn_finds_what_foolbox_finds(monkeypatch):
    assert np.allclose(sorted(shortest(monkeypatch, 30).tolist())[:4], GOLDEN, atol=1e-4)


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("foolbox") is None, reason="foolbox is not installed")
def test_foolbox_agrees_on_the_same_images(monkeypatch):
    import foolbox

    model, images = tiny_model(), tiny_images(24)

    class Network(torch.nn.Module):
        def forward(self, pixels):
            return model.logits(pixels)

    theirs, truth = foolbox.PyTorchModel(Network().eval(), bounds=(0, 1)), answers(model, images)
    attack = foolbox.attacks.L2PGD(rel_stepsize=2.5 / 20, steps=20, random_start=False)
    moved = attack(theirs, images, truth, epsilons=EPS)[1]
    ours = PGD(norm="l2", eps=(EPS,), steps=20, random_start=False, last=True)
    assert (run_attack(ours, model, images, truth, EPS, draws_for(24)).images - moved).abs().max() < 1e-6
    found = foolbox.attacks.DDNAttack(steps=30)(theirs, images, truth, epsilons=None)[0]
    apart = (lengths(found - images).flatten() - shortest(monkeypatch, 30)).abs()
    assert (apart < 1e-3).sum() >= 20  # one step of 5 % apart where an image lies on the boundary
    assert apart.max() < 0.05
    for norm, fmn in foolbox_fmn(foolbox).items():
        found = fmn(steps=100)(theirs, images, truth, epsilons=None)[0]
        there = answers(model, found) != truth
        length = distances(norm, found.double() - images.double()).where(there, torch.tensor(INF, dtype=torch.float64))
        assert np.allclose(length, FMN_GOLDEN[norm], atol=1e-5)


def foolbox_fmn(foolbox):
    """foolbox's FMN by norm; its projection in L2, which divides each length by itself and so never moves anything, is
    put right."""

    class InL2(foolbox.attacks.L2FMNAttack):
        def project(self, x, x0, epsilon):
            length = (x - x0).flatten(1).norms.l2(axis=-1).maximum(1e-12)
            return x0 + (x - x0) * (epsilon / length).minimum(1.0).reshape((-1, 1, 1, 1))

    return {"l2": InL2, "linf": foolbox.attacks.LInfFMNAttack}


@pytest.mark.parametrize("norm", FMN_GOLDEN)
def test_fmn_finds_what_foolbox_finds(monkeypatch, norm):
    found, golden = (
        nearest_seen(monkeypatch, FMN(norm=norm, eps=(99.0 if norm == "l2" else 1.0,)), tiny_images(24)),
        FMN_GOLDEN[norm],
    )
    assert found.isfinite().all()
    known = np.isfinite(golden)
    assert np.allclose(found.numpy()[known], np.array(golden)[known], rtol=0.02, atol=2e-5)


@pytest.mark.parametrize("norm", ["l2", "linf"])
def test_fmn_comes_to_the_boundary_of_a_linear_network_from_wherever_it_is(norm):
    weights, images = torch.linspace(-1, 1, 256), 0.3 + 0.4 * tiny_images(12)
    scores = images.flatten(1) @ weights
    model = linear_model(weights, float(scores.mean()))
    exact = (scores - scores.mean()).abs() / (weights.norm() if norm == "l2" else weights.abs().sum())
    truth = answers(model, images)
    for row in range(12):
        at = slice(row, row + 1)
        fell = [
            bool(run_attack(FMN(norm=norm, eps=(eps,)), model, images[at], truth[at], eps, draws_for(1)).success)
            for eps in (0.99 * float(exact[row]), 1.02 * float(exact[row]) + 1e-4)
        ]
        assert fell == [False, True]


def test_no_attack_in_l2_moves_a_smoothed_answer_below_its_certificate():
    """Attacks climb the network's mean under fixed noise; what the votes under fresh noise say stays as it was."""
    model, images = tiny_model(seed=3, block=100), tiny_images(3, seed=5)
    smoothing, certificates = Smoothing(sigma=0.25, draws=500), []
    for row, image in enumerate(images):
        certificates.append(certify(model, image, smoothing, Seeds(0, "certify").generator(str(row))))
    noise = 0.25 * torch.randn(16, 1, 16, 16, generator=torch.Generator().manual_seed(0))

    class Smoothed(torch.nn.Module):
        def forward(self, pixels):
            noisy = (pixels[:, None] + noise).flatten(0, 1)
            return model.logits(noisy).softmax(dim=1).reshape(len(pixels), 16, -1).mean(dim=1).log()

    smoothed = ImageModel(Smoothed().eval(), 4, False, (0.0,), (1.0,), block=1)
    broken = {0.99: 0, 6.0: 0}
    for row in [row for row, certificate in enumerate(certificates) if certificate.predicted != ABSTAINS]:
        truth, at = torch.tensor([certificates[row].predicted]), slice(row, row + 1)
        for share in broken:
            eps = share * certificates[row].radius
            for attack in (PGD(norm="l2", eps=(eps,), steps=8, last=True), DDN(eps=(eps,), steps=8)):
                moved = run_attack(attack, smoothed, images[at], truth, eps, draws_for(1)).images[0]
                votes = sample_under_noise(model, moved, smoothing.sigma, 500, np.random.default_rng(row))
                broken[share] += int(votes.argmax() != truth[0])
    assert broken[0.99] == 0
    assert broken[6.0] > 0


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        (lambda: PGD(norm="l2"), "needs an `eps` of its own"),
        (lambda: PGD(norm="l2", eps=("1e400",)), "1e400' is no number"),
        (lambda: FGSM(norm="l2", eps=(0.5,)), "`norm: l2` is none of its norms"),
        (lambda: SparseRS(eps=(2.5,)), "is no whole number"),
        (lambda: PGD(norm="patch", eps=(3,)), "the share of the picture that it covers, such as 0.05, and 3 is none"),
        (lambda: PGD(eps=(3,)), "for 3 of 255 levels write 3/255"),
    ],
)
def test_an_eps_that_is_none_in_its_norm_is_refused(settings, sentence):
    with pytest.raises(ValidationError, match=sentence):
        settings()


def test_an_attack_that_bounds_pixels_has_the_key_it_had():
    assert "norm" not in PGD(norm="linf").model_dump()
    assert PGD(norm="l2", eps=(3,)).model_dump()["norm"] == "l2"
