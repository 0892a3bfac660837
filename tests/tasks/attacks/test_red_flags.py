"""Every flag fires on a model built to deserve it, and all of them stay silent on an honest one."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

import numpy as np
import pyarrow as pa
import pytest
import torch
from torch import Tensor, nn

from assay.data.schemas import Attacked
from assay.infra.stages.exact import Seeds
from assay.tasks.attacks.batch import Draws
from assay.tasks.attacks.measures import trials
from assay.tasks.attacks.pgd import FGSM, PGD
from assay.tasks.attacks.probes import chosen, flags_of_probes, probe_samples
from assay.tasks.attacks.random_search import Square
from assay.tasks.attacks.red_flags import CHANCE, FLAGS, Reading, chance_of_more, flags_of_attacks
from assay.tasks.attacks.running import run_attack
from assay.tasks.attacks.settings import GAP, ImageAttack
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.proportions import share
from assay.tasks.subjects.images.model import ImageModel, said

torch.set_num_threads(1)
N, LEVELS = 150, 16
ATTACKS: tuple[ImageAttack, ...] = (FGSM(), PGD(steps=10), Square(queries=150))
CLASSES = ["class 0", "class 1", "class 2"]
GRID = (0.0, 0.02, 0.06)
Bend = Callable[[Tensor], Tensor]


class Bent(nn.Module):
    """The same linear network behind something that an audit should notice."""

    def __init__(self, before: Bend, after: Bend) -> None:
        super().__init__()
        self.before, self.after = before, after
        thirds = torch.arange(64) * 3 // 64
        self.register_buffer("weight", (thirds == torch.arange(3)[:, None]) * 1.5 - 0.5)

    def forward(self, images: Tensor) -> Tensor:
        return self.after(self.before(images).flatten(1) @ self.weight.T)


def as_is(values: Tensor) -> Tensor:
    return values


def rounded(x: Tensor) -> Tensor:
    """What the network sees are levels: the gradient is zero everywhere."""
    return torch.round(x * LEVELS) / LEVELS


def gradient_within(reach: float) -> Bend:
    """What the network sees is right, but it has a gradient only where all pixels are that near to a level."""

    def bend(x: Tensor) -> Tensor:
        near = ((x - rounded(x)).abs().flatten(1).amax(dim=1) <= reach)[:, None, None, None]
        return torch.where(near, x, x.detach())

    return bend


def noisy(x: Tensor) -> Tensor:
    return x + 0.05 * torch.randn_like(x)


def one_class(logits: Tensor) -> Tensor:
    return logits * 0.01 + torch.tensor([50.0, 0.0, 0.0])


def softmax(logits: Tensor) -> Tensor:
    return logits.softmax(dim=1)


def model(before: Bend = as_is, after: Bend = as_is) -> ImageModel:
    network = Bent(before, after).eval().requires_grad_(False)
    return ImageModel(network, 3, False, (0.0,), (1.0,), block=50, name="bent", softmaxed=after is softmax)


@cache
def samples() -> tuple[Tensor, Tensor]:
    """Images on a grid of levels, one third of each a level or two brighter than the rest; two in five are class 0."""
    rng = np.random.default_rng(4)
    truth = np.r_[np.zeros(60, int), np.ones(45, int), np.full(45, 2)]
    thirds = np.arange(64) * 3 // 64
    levels = rng.integers(4, 12, (N, 64)) + rng.integers(1, 3, (N, 1)) * (thirds == truth[:, None])
    return torch.tensor(levels / LEVELS, dtype=torch.float32).reshape(N, 1, 8, 8), torch.tensor(truth)


DRAWS = Draws(Seeds(0, "attack"), tuple(f"s{i:03}" for i in range(N)))


def attacked_table(
    subject: ImageModel, name: str, eps: float, images: Tensor, success: np.ndarray | None = None
) -> pa.Table:
    clean, after = (subject.predict(one.numpy()) for one in (samples()[0], images))
    truth = samples()[1].numpy()
    reached = said(after, False) != truth if success is None else success
    distance = (images - samples()[0]).flatten(1)
    columns = [
        DRAWS.ids,
        ["bent"] * N,
        [name] * N,
        [eps] * N,
        truth,
        [None] * N,
        said(clean, False),
        said(after, False),
        list(clean),
        list(after),
        reached,
        distance.abs().amax(1).numpy(),
        distance.norm(dim=1).numpy(),
        [1] * N,
        [2] * N,
        [None] * N,
    ]
    return pa.table(columns, schema=Attacked.schema)


def attacked_by(subject: ImageModel, attack: ImageAttack, eps: float) -> pa.Table:
    if eps == 0:
        return attacked_table(subject, attack.called, 0.0, samples()[0])
    result = run_attack(attack, subject, *samples(), eps, DRAWS)
    return attacked_table(subject, attack.called, eps, result.images, result.success.numpy())


def read(
    subject: ImageModel,
    attacks: tuple[ImageAttack, ...] = ATTACKS,
    grid: tuple[float, ...] = GRID,
    transfers: list[Finding] | None = None,
) -> dict[str, Reading]:
    """All nine flags of a subject."""
    found = trials(attacked_by(subject, attack, eps) for attack in attacks for eps in grid)
    images, truth = samples()
    rows = chosen(list(DRAWS.ids), 64, np.random.default_rng(0))
    some = [DRAWS.ids.index(one) for one in rows]
    probed = probe_samples(subject, images[some], truth[some], DRAWS.of(some))
    readings = flags_of_attacks(
        found, attacks, CLASSES, transfers if transfers is not None else transferred(model(), subject)
    )
    readings += flags_of_probes(probed, truth[some].numpy(), softmaxed=subject.softmaxed)
    return {reading.flag: reading for reading in readings}


def transferred(source: ImageModel, subject: ImageModel) -> list[Finding]:
    """What PGD finds on one model, shown to another; and what a finding about the subject itself says."""
    found = run_attack(PGD(steps=10), source, *samples(), 0.06, DRAWS)
    right = int((said(subject.predict(found.images.numpy()), False) == samples()[1].numpy()).sum())
    shown = partial(share, "attack.transfer", of="pgd", subject="bent")
    return [shown(right, N, group="eps=0.06, made for another"), shown(0, N, group="eps=0.06, made for bent")]


def raised(readings: dict[str, Reading]) -> set[str]:
    return {name for name, reading in readings.items() if reading.raised}


def test_every_flag_is_silent_on_an_honest_model_and_each_was_measured() -> None:
    readings = read(model())
    assert set(readings) == set(FLAGS)
    assert raised(readings) == set()
    assert all(reading.n > 0 for reading in readings.values())
    assert trials([attacked_by(model(), PGD(steps=10), 0.06)])[0].success.mean() > 0.7  # it can be attacked at all


@pytest.mark.parametrize("after", [as_is, one_class])
def test_flags_are_read_off_the_answers_alone(after: Bend) -> None:
    attacks = (PGD(steps=2), FGSM())
    found = trials(attacked_by(model(after=after), attack, eps) for attack in attacks for eps in (0.0, 0.06))
    kept = [trial.answered() for trial in found]
    assert not any(trial.probabilities.size or trial.measured for trial in kept)
    assert flags_of_attacks(kept, attacks, CLASSES) == flags_of_attacks(found, attacks, CLASSES)


def test_a_softmax_at_the_end_is_noticed() -> None:
    readings = read(model(after=softmax), attacks=(PGD(steps=10),), grid=(0.06,))
    assert readings["softmax-output"].raised
    assert "add up to 1" in readings["softmax-output"].why


def test_rounding_the_image_hides_gradients_from_everything_that_climbs() -> None:
    readings = read(model(before=rounded))
    hidden = {"zero-gradients", "black-box-beats-white-box", "transfer-beats-white-box", "eps-1-above-chance"}
    assert raised(readings) == hidden
    assert readings["zero-gradients"].why == "64 of 64 samples have none at the image"
    assert readings["eps-1-above-chance"].why.startswith(
        "100\u202f% of the 58 samples that were right stay right at ε = 1"
    )
    said_of_transfer = (
        "at ε = 0.06 images of pgd made for another leave 15\u202f% right, and pgd on the subject itself 89\u202f%"
    )
    assert readings["transfer-beats-white-box"].why.startswith(said_of_transfer)


def test_logits_so_large_that_probabilities_underflow_have_no_gradient() -> None:
    probed = probe_samples(model(after=lambda logits: 1e4 * logits), *samples(), DRAWS)
    flags = {one.flag: one for one in flags_of_probes(probed, samples()[1].numpy())}
    assert flags["zero-gradients"].raised


def test_noise_inside_the_model_is_noticed() -> None:
    readings = read(model(before=noisy), attacks=(PGD(steps=10),), grid=(0.06,))
    assert readings["randomised-output"].raised


def test_gradients_at_the_image_alone_let_one_step_beat_many() -> None:
    readings = read(model(before=gradient_within(1e-6)), attacks=(FGSM(), PGD(steps=10)))
    assert readings["one-step-beats-multi-step"].raised
    assert readings["zero-gradients"].raised
    assert "next to the image" in readings["zero-gradients"].why


def test_gradients_near_the_image_alone_let_a_small_eps_beat_a_large_one() -> None:
    readings = read(model(before=gradient_within(0.021)), attacks=(PGD(steps=10),))
    assert readings["non-monotone-curve"].raised
    assert "pgd at ε = 0.02 fools" in readings["non-monotone-curve"].why


def test_a_constant_predictor_is_called_one_and_nothing_else() -> None:
    readings = read(model(after=one_class))
    assert raised(readings) == {"majority-predictor"}
    assert readings["majority-predictor"].why == "100\u202f% of the images are called class 0 (without an attack)"


def test_a_defence_that_only_knows_one_answer_under_attack_is_noticed() -> None:
    """The clean predictions vary, and under attack everything is called the majority class: the paper's 80.2 %."""
    honest = attacked_by(model(), PGD(steps=10), 0.06)
    only = pa.array(np.tile([1.0, 0.0, 0.0], (N, 1)).tolist(), honest.schema.field("attacked_probabilities").type)
    table = honest.set_column(7, honest.schema.field(7), pa.array(np.zeros(N, np.int16)))
    table = table.set_column(9, honest.schema.field(9), only)
    readings = {one.flag: one for one in flags_of_attacks(trials([table]), [PGD(steps=10)], CLASSES)}
    assert readings["majority-predictor"].why == "100\u202f% of the images are called class 0 (pgd at ε = 0.06)"


def test_an_attack_that_drives_every_image_to_one_class_is_no_constant_predictor() -> None:
    honest = attacked_by(model(), PGD(steps=10), 0.06)
    table = honest.set_column(7, honest.schema.field(7), pa.array(np.full(N, 2, np.int16)))
    readings = {one.flag: one for one in flags_of_attacks(trials([table]), [PGD(steps=10)], CLASSES)}
    assert not readings["majority-predictor"].raised


@pytest.mark.parametrize("weak", [PGD(name="weak", steps=2), PGD(name="weak", steps=40, step_size=1 / 4000)])
def test_an_attack_that_cannot_cross_the_ball_may_be_beaten(weak: PGD) -> None:
    readings = read(model(), attacks=(FGSM(), weak), grid=(0.06,))
    assert readings["one-step-beats-multi-step"].n == 0
    assert readings["one-step-beats-multi-step"].why == "needs both kinds of attack at the same ε"


def test_generators_trained_for_each_eps_are_no_curve() -> None:
    small, large = attacked_by(model(), PGD(name="gap", steps=10), 0.06), attacked_by(model(), PGD(name="gap"), 0.0)
    large = large.set_column(3, large.schema.field(3), pa.array([0.1] * N))
    found = {one.flag: one for one in flags_of_attacks(trials([small, large]), [GAP()], CLASSES)}
    assert found["non-monotone-curve"].n == 0
    as_pgd = {one.flag: one for one in flags_of_attacks(trials([small, large]), [PGD(name="gap")], CLASSES)}
    assert as_pgd["non-monotone-curve"].raised


def test_equally_good_attacks_raise_a_flag_as_rarely_as_promised() -> None:
    rng = np.random.default_rng(1)
    fell = rng.random((4000, 2, 300)) < 0.4
    alarms = sum(chance_of_more(first, second) <= CHANCE for first, second in fell)
    assert alarms / 4000 <= 1.3 * CHANCE  # what 4000 nights can tell


def test_a_flag_is_a_finding_that_a_gate_can_ask_for() -> None:
    loud = Reading("zero-gradients", True, 64, "64 of 64 samples have none").finding("plain")
    assert (loud.metric, loud.of, loud.subject, loud.value, loud.n) == (
        "attack.red_flag",
        "zero-gradients",
        "plain",
        1.0,
        64,
    )
    assert loud.verdict == "raised: 64 of 64 samples have none"
    assert Reading("zero-gradients", False, 64).finding("plain").verdict == "silent"
    assert Reading("zero-gradients", False, 0, "no gradients").finding("plain").verdict == "not measured: no gradients"


@pytest.mark.parametrize("after", [as_is, torch.sigmoid, lambda logits: 0.5 + 0.001 * logits])
def test_multi_label_probes_know_a_sigmoid_and_an_honest_model_whose_logits_are_near_a_half(after: Bend) -> None:
    labels = torch.stack([(samples()[1] == one).long() for one in range(3)], dim=1)
    sigmoid = after is torch.sigmoid
    network = Bent(as_is, after).eval().requires_grad_(False)
    several = ImageModel(network, 3, True, (0.0,), (1.0,), block=50, softmaxed=sigmoid)
    probed = probe_samples(several, samples()[0], labels, DRAWS)
    if after not in (as_is, torch.sigmoid):
        assert min(probed["smallest_logit"].to_pylist()) > 0 < 1 > max(probed["largest_logit"].to_pylist())
    flags = flags_of_probes(probed, labels.numpy(), softmaxed=several.softmaxed)
    assert next(one for one in flags if one.flag == "softmax-output").raised == sigmoid


def test_probed_samples_are_some_of_them_in_their_order() -> None:
    ids = [f"{i:03}" for i in range(100)]
    some = chosen(ids, 10, np.random.default_rng(0))
    assert len(set(some)) == 10
    assert some == sorted(some)
    assert chosen(ids[:5], 10, np.random.default_rng(0)) == ids[:5]
