"""A GPU gives the same bits again, also after an interruption, and a processor's numbers but for rounding."""

from collections.abc import Callable

import numpy as np
import pytest
import torch
from bright_thirds import Memory, bright_thirds

from assay.infra.engines.calls import Call
from assay.infra.engines.devices import deterministically, torch_device_here
from assay.infra.engines.opening import SerialEngine
from assay.infra.settings import Compute
from assay.infra.stages.exact import Seeds
from assay.tasks.attacks.batch import Draws
from assay.tasks.attacks.pgd import PGD
from assay.tasks.attacks.running import run_attack
from assay.tasks.subjects.images.dataset import LabelledImages
from assay.tasks.subjects.images.model import ImageModel
from assay.tasks.subjects.images.training import train
from assay.tasks.subjects.networks.building import build_network
from assay.tasks.subjects.settings import Training
from assay.tasks.subjects.texts.network import text_exercise
from assay.tasks.subjects.token_networks.epochs import learn
from assay.tasks.subjects.token_networks.hugging_face import learn_vocabulary, new_bert
from assay.tasks.subjects.trained import weights_of

pytestmark = [pytest.mark.gpu, pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device here")]
SEEDS = Seeds(0, "train")


def on_gpu(work: Callable[[], object]):
    [outcome] = SerialEngine(Compute(engine="serial", retries=0)).run([Call(0, "work", work)], gpu=True)
    if outcome.error is not None:
        raise outcome.error
    return outcome.value


def lessons() -> LabelledImages:
    """Coloured images, as many as a training on a GPU wants."""
    return bright_thirds(200, channels=3, size=32)


def fresh(name: str) -> ImageModel:
    network = build_network(name, classes=3, channels=3, size=32, width=0.25)
    device = torch_device_here()
    if device == "cuda":
        network = network.to(device, memory_format=torch.channels_last)
    return ImageModel(network, 3, False, (0.3,) * 3, (0.25,) * 3, device, ours=True)


def trained(name: str, augment: tuple[str, ...], checkpoints: Memory):
    options = Training(epochs=3, batch_size=32, augment=augment)
    model = fresh(name)
    curve = deterministically(
        lambda: train(model, lessons(), options, seeds=SEEDS, checkpoints=checkpoints), model.device
    )
    return weights_of(model.network), curve, model


@pytest.mark.parametrize(("name", "augment"), [("small-cnn", ("flip-horizontal", "rotate")), ("resnet50", ())])
def test_a_training_gives_the_same_bits_again_and_after_an_interruption(name, augment):
    weights, curve, _ = on_gpu(lambda: trained(name, augment, Memory()))
    assert on_gpu(lambda: trained(name, augment, Memory()))[:2] == (weights, curve)
    interrupted = Memory(2, by=InterruptedError)
    with pytest.raises(InterruptedError):
        on_gpu(lambda: trained(name, augment, interrupted))
    assert on_gpu(lambda: trained(name, augment, interrupted))[:2] == (weights, curve)


def test_it_learns_what_a_processor_learns():
    here, there = trained("small-cnn", (), Memory())[1], on_gpu(lambda: trained("small-cnn", (), Memory()))[1]
    assert [epoch.loss for epoch in there] == pytest.approx([epoch.loss for epoch in here], abs=0.05)


def test_an_attack_gives_the_same_images_again_and_succeeds_as_often_as_on_a_processor():
    def attacked(model: ImageModel):
        chosen = lessons()
        images = torch.from_numpy(chosen.pixels(np.arange(128)))
        attack, draws = PGD(eps=(0.05,), steps=10), Draws(SEEDS, chosen.ids[:128])
        return deterministically(
            lambda: run_attack(attack, model, images, torch.from_numpy(chosen.targets[:128]), 0.05, draws), model.device
        )

    def ready() -> ImageModel:
        model = trained("small-cnn", (), Memory())[2]
        model.network.eval().requires_grad_(False)
        return model

    first, again = on_gpu(lambda: attacked(ready())), on_gpu(lambda: attacked(ready()))
    assert torch.equal(first.images, again.images)
    here = attacked(ready())
    assert float(first.success.float().mean()) == pytest.approx(float(here.success.float().mean()), abs=0.1)


def test_a_text_classifier_is_taught_the_same_bits_again_and_after_an_interruption():
    words = [f"w{number}" for number in range(200)]
    generator = np.random.default_rng(0)
    ids = [generator.integers(5, 15, length) for length in generator.integers(4, 30, 96)]
    target = np.array([row[0] % 2 for row in ids])

    def taught(checkpoints: Memory):
        torch.manual_seed(0)
        network = new_bert(learn_vocabulary([" ".join(words)]), 2)
        exercise = text_exercise(network, ids, target, 0)
        options = Training(epochs=3, batch_size=16)
        curve = learn(network, exercise, list(map(str, ids)), options, seeds=SEEDS, checkpoints=checkpoints)
        return weights_of(network), curve

    undisturbed, interrupted = on_gpu(lambda: taught(Memory())), Memory(1, by=InterruptedError)
    assert on_gpu(lambda: taught(Memory())) == undisturbed
    with pytest.raises(InterruptedError):
        on_gpu(lambda: taught(interrupted))
    assert on_gpu(lambda: taught(interrupted)) == undisturbed
