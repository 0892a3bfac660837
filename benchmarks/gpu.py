"""On a GPU: our training epochs and attacks beside bare PyTorch loops of the same precision, and how large a block must
be for the device to be busy.

`python benchmarks/gpu.py [--only training|blocks|corruptions|cascade] [--quick|--long]` prints one line per claim, with
the card's name; without a GPU it runs on a processor, small, to show that it works, or whole with `--long`. The bare
loop has its batches on the device before the clock starts and does nothing but forward, backward and the optimizer's
step; it shares the process's reproducible cuDNN and cuBLAS, not Torch's deterministic algorithms. Ours has the order,
the draws, the curve and checkpoints to see to as well; the tutorial's loop shuffles by a DataLoader and adds up loss
and hits. `cascade` fetches torchattacks 3.5.1 where it is not installed.
"""

from __future__ import annotations

import argparse
import importlib.util
import time
from collections.abc import Callable, Iterator

import numpy as np
import torch
from claims import claim, tell
from peers import provide

from assay.infra.engines.calls import Call
from assay.infra.engines.devices import deterministically, torch_device_here
from assay.infra.engines.opening import SerialEngine
from assay.infra.settings import Compute
from assay.infra.stages.exact import Seeds
from assay.tasks.attacks.batch import Draws
from assay.tasks.attacks.pgd import PGD
from assay.tasks.attacks.running import run_attack
from assay.tasks.attacks.table import AutoAttack
from assay.tasks.corruptions.table import Corruptions
from assay.tasks.corruptions.task import answers_to_frames
from assay.tasks.subjects.images.dataset import LabelledImages
from assay.tasks.subjects.images.model import ImageModel, fold_on_gpu
from assay.tasks.subjects.images.training import train
from assay.tasks.subjects.networks.building import build_network
from assay.tasks.subjects.settings import Training
from assay.tasks.subjects.texts.network import text_exercise
from assay.tasks.subjects.token_networks.epochs import batches, learn, padded, presence
from assay.tasks.subjects.token_networks.hugging_face import learn_vocabulary, new_bert
from assay.tasks.subjects.trained import optimizer_of

SEEDS, MEAN, STD, EPS, STEPS = Seeds(0, "train"), 0.4, 0.3, 8 / 255, 20
EPOCHS = 8
IMAGES = (("small-cnn", 1, 8, 64), ("small-cnn", 3, 64, 256), ("resnet50", 3, 64, 64), ("resnet50", 3, 224, 64))
BERTS = (("small-bert", 32), ("small-bert", 256), ("bert-base", 32))


class InMemory:
    """Checkpoints that nobody reads."""

    def latest(self) -> None:
        """There is none."""

    def reached(self, step: int, total: int) -> None:
        """Nobody watches."""

    def save(self, step: int, total: int, files: dict[str, bytes]) -> None:
        """The files are let go."""


def wait() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def seconds(work: Callable[[], object]) -> float:
    """By the clock on a GPU; on a processor its own time, whatever runs beside."""
    clock = time.perf_counter if torch.cuda.is_available() else time.process_time
    wait()
    began = clock()
    work()
    wait()
    return clock() - began


def in_turn(ours: Callable[[], object], bare: Callable[[], object], repeats: int) -> tuple[list[float], list[float]]:
    """Seconds of either, one after the other, after a first time that counts for neither."""
    pairs = [(seconds(ours), seconds(bare)) for _ in range(repeats + 1)][1:]
    return [own for own, _ in pairs], [other for _, other in pairs]


def pictures(n: int, channels: int, side: int) -> LabelledImages:
    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, (n, channels, side, side), dtype=np.uint8)
    return LabelledImages(tuple(f"s{row}" for row in range(n)), images, rng.integers(0, 10, n))


def image_model(name: str, channels: int, side: int, block: int = 64) -> ImageModel:
    device = torch_device_here()
    layout = torch.channels_last if device == "cuda" else torch.contiguous_format
    network = build_network(name, classes=10, channels=channels, size=side).to(device, memory_format=layout)
    normal = (MEAN,) * channels, (STD,) * channels
    return ImageModel(network, 10, False, *normal, device, block, name=name, ours=True)


def bare_images(model: ImageModel, lessons: LabelledImages, options: Training) -> Callable[[], None]:
    """Forward, backward, step over batches that lie ready, in bf16 and with TF32 convolutions as ours."""
    optimizer = optimizer_of(model.network.parameters(), options)
    rows = np.arange(len(lessons.ids)).reshape(-1, options.batch_size)
    ready = [
        (
            torch.from_numpy(lessons.pixels(some))
            .to(model.device)
            .contiguous(memory_format=torch.channels_last if model.device == "cuda" else torch.contiguous_format),
            torch.from_numpy(lessons.targets[some]).to(model.device),
        )
        for some in rows
    ]
    mean, std = (torch.full((1, 1, 1, 1), value, device=model.device) for value in (MEAN, STD))

    def epoch() -> None:
        model.network.train()
        for images, targets in EPOCHS * ready:
            optimizer.zero_grad()
            with torch.autocast("cuda", torch.bfloat16, enabled=model.device == "cuda"):
                loss = torch.nn.functional.cross_entropy(model.network((images - mean) / std).float(), targets)
            loss.backward()
            optimizer.step()

    return epoch


def tutorial_images(model: ImageModel, lessons: LabelledImages, options: Training) -> Callable[[], None]:
    """The loop of PyTorch's tutorials: a DataLoader that shuffles, the loss and the hits of every batch."""
    optimizer = optimizer_of(model.network.parameters(), options)
    data = torch.utils.data.TensorDataset(torch.from_numpy(lessons.images), torch.from_numpy(lessons.targets))
    loader = torch.utils.data.DataLoader(data, batch_size=options.batch_size, shuffle=True)
    mean, std = (torch.full((1, 1, 1, 1), value, device=model.device) for value in (MEAN, STD))

    def epochs() -> None:
        model.network.train()
        for _ in range(EPOCHS):
            loss_sum, hits = 0.0, 0.0
            for images, targets in loader:
                images, targets = images.to(model.device).float() / 255, targets.to(model.device)
                optimizer.zero_grad()
                with torch.autocast("cuda", torch.bfloat16, enabled=model.device == "cuda"):
                    logits = model.network((images - mean) / std).float()
                loss = torch.nn.functional.cross_entropy(logits, targets)
                loss.backward()
                optimizer.step()
                loss_sum += loss.item()
                hits += (logits.argmax(dim=1) == targets).sum().item()

    return epochs


LOOPS = {"batches that lie ready": bare_images, "the tutorial's loop": tutorial_images}


def train_images(
    name: str, channels: int, side: int, batch: int, steps: int, repeats: int, beside: str
) -> dict[str, object]:
    lessons, options = (
        pictures(batch * steps, channels, side),
        Training(epochs=EPOCHS, batch_size=batch, validation=0, augment=()),
    )
    model, other = image_model(name, channels, side), image_model(name, channels, side)

    def ours() -> object:
        work = lambda: train(model, lessons, options, seeds=SEEDS, checkpoints=InMemory())  # noqa: E731
        return deterministically(work, model.device)

    own, bare = in_turn(ours, LOOPS[beside](other, lessons, options), repeats)
    about = {"beside": beside, "steps": EPOCHS * steps}
    return claim(f"training, {name}, {side} pixels, batch {batch}", own, bare, unit="s", digits=4, **about)


def bert(name: str) -> torch.nn.Module:
    import transformers

    if name == "bert-base":
        return transformers.BertForSequenceClassification(transformers.BertConfig(num_labels=2))
    words = [f"w{number}" for number in range(3000)]
    return new_bert(learn_vocabulary(" ".join(words[start : start + 40]) for start in range(0, 3000, 40)), 2)


def train_texts(name: str, batch: int, steps: int, repeats: int) -> dict[str, object]:
    device, rng = torch_device_here(), np.random.default_rng(0)
    ids = [rng.integers(5, 1000, length) for length in rng.integers(16, 64, batch * steps)]
    target = rng.integers(0, 2, len(ids))
    options = Training(epochs=EPOCHS, batch_size=batch, validation=0, learning_rate=1e-4)
    network, other = bert(name), bert(name).to(device)
    exercise = text_exercise(network, ids, target, 0)
    origins = [str(place) for place in range(len(ids))]
    optimizer = optimizer_of(other.parameters(), options, foreach=False)
    ready = []
    for rows in batches(exercise.lengths, np.arange(len(ids)), batch, np.random.default_rng(1)):
        some = [ids[row] for row in rows]
        ready.append((padded(some, 0, device), presence(some, device), torch.from_numpy(target[rows]).to(device)))

    def ours() -> object:
        return learn(network, exercise, origins, options, seeds=SEEDS, checkpoints=InMemory())

    def bare() -> None:
        other.train()
        for pieces, mask, wanted in EPOCHS * ready:
            optimizer.zero_grad()
            logits = other(input_ids=pieces, attention_mask=mask).logits
            torch.nn.functional.cross_entropy(logits, wanted).backward()
            torch.nn.utils.clip_grad_norm_(other.parameters(), 1.0, foreach=None if device == "cuda" else False)
            optimizer.step()

    own, plain = in_turn(ours, bare, repeats)
    return claim(f"training, {name}, batch {batch}", own, plain, unit="s", digits=4, steps=EPOCHS * steps)


def asked(model: ImageModel) -> ImageModel:
    model.network.eval().requires_grad_(False)
    return model


def posed(lessons: LabelledImages, n: int) -> tuple[torch.Tensor, torch.Tensor, Draws]:
    rows = np.arange(n) % len(lessons.ids)
    ids = tuple(f"s{row}" for row in range(n))
    return torch.from_numpy(lessons.pixels(rows)), torch.from_numpy(lessons.targets[rows]), Draws(SEEDS, ids)


def bare_pgd(model: ImageModel, images: torch.Tensor, targets: torch.Tensor) -> Callable[[], None]:
    """The least that PGD can be, images and start on the device: forward, gradient, step, clip."""
    mean, std = (torch.full((1, 1, 1, 1), value, device=model.device) for value in (MEAN, STD))
    ready = [
        (images[start : start + model.block].to(model.device), targets[start : start + model.block].to(model.device))
        for start in range(0, len(images), model.block)
    ]

    def attack() -> None:
        for clean, wanted in ready:
            lower, upper = (clean - EPS).clamp(min=0), (clean + EPS).clamp(max=1)
            x = clean
            for _ in range(STEPS):
                x = x.detach().requires_grad_(True)
                loss = torch.nn.functional.cross_entropy(model.network((x - mean) / std), wanted, reduction="sum")
                (gradient,) = torch.autograd.grad(loss, x)
                x = x.detach().add(gradient.sign(), alpha=EPS / 8).clamp(lower, upper)
            with torch.no_grad():
                model.network((x - mean) / std).argmax(dim=1).cpu()

    return attack


def attack_images(name: str, channels: int, side: int, block: int, n: int, repeats: int) -> dict[str, object]:
    model = asked(image_model(name, channels, side, block))
    images, targets, draws = posed(pictures(min(n, 512), channels, side), n)

    def ours() -> object:
        pgd = PGD(eps=(EPS,), steps=STEPS, step_size=EPS / 8, last=True)
        return deterministically(lambda: run_attack(pgd, model, images, targets, EPS, draws), model.device)

    own, bare = in_turn(ours, bare_pgd(model, images, targets), repeats)
    rate = round(n * STEPS / sorted(own)[len(own) // 2])
    about = {"images": n, "steps_a_second": rate}
    return claim(f"pgd, {name}, {side} pixels, block {block}", own, bare, unit="s", digits=4, **about)


def cascade(n: int) -> dict[str, object]:
    """AutoAttack beside torchattacks', both with ten steps, on a network that learned digits."""
    from dataclasses import replace

    if importlib.util.find_spec("torchattacks") is None:
        provide(("torchattacks==3.5.1",))
    import torchattacks
    from attacks import digits, subject

    device = torch_device_here()
    model = replace(subject(), network=subject().network.to(device), device=device, block=min(1024, n))
    images, targets = (column[:n] for column in digits())
    draws = Draws(SEEDS, tuple(f"d{row}" for row in range(len(images))))

    class Pixels(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return model.logits(x)

    def ours() -> object:
        attack = AutoAttack(eps=(0.05,), steps=10)
        return deterministically(lambda: run_attack(attack, model, images, targets, 0.05, draws), device)

    def peer() -> object:
        attack = torchattacks.AutoAttack(Pixels().eval(), eps=0.05, n_classes=10, seed=0)
        attack.set_device(device)
        return attack(images.to(device), targets.to(device))

    own, other = in_turn(ours, peer, 1)
    return claim("autoattack, digits of 32 pixels", own, other, unit="s", digits=2, images=len(images))


def corrupt(name: str, channels: int, side: int, n: int, repeats: int) -> dict[str, object]:
    """Frames a second, draws and answers included; there is no peer."""
    model = asked(image_model(name, channels, side))
    lessons, settings = pictures(n, channels, side), Corruptions(severities=(3,), frames=11)
    pixels = lessons.pixels(np.arange(n))

    def ours() -> object:
        seen = answers_to_frames({name: model}, pixels, list(lessons.ids), np.zeros(n, bool), settings, SEEDS)
        return [frames.severity for frames in seen]

    first, *own = [seconds(ours) for _ in range(repeats + 1)]
    frames = n * settings.frames * len(settings.perturbations)
    rate = round(frames / sorted(own)[len(own) // 2])
    about = {"frames": frames, "frames_a_second": rate, "first": round(first, 2)}
    return claim(f"corruptions, {name}, {side} pixels", own, unit="s", **about)


def lines(quick: bool, only: str | None) -> Iterator[dict[str, object]]:
    steps, repeats = (2, 1) if quick else (30, 2)
    if only in (None, "training"):
        for name, channels, side, batch in IMAGES[:2] if quick else IMAGES:
            for beside in LOOPS:
                yield train_images(name, channels, side, batch, steps, repeats, beside)
        for name, batch in BERTS[:1] if quick else BERTS:
            yield train_texts(name, batch, steps, repeats)
    if only in (None, "blocks"):
        for name, channels, side, _ in IMAGES[:1] if quick else IMAGES:
            own = 64 * fold_on_gpu(64 * channels * side * side)
            for block in [64] if quick else sorted({64, own, 4 * own}):
                images = 64 if quick else max(256 if side == 224 else 640, block)
                yield attack_images(name, channels, side, block, images, 1)
    if only in (None, "corruptions"):
        for name, channels, side, _ in (IMAGES[0],) if quick else (IMAGES[0], IMAGES[2]):
            yield corrupt(name, channels, side, 4 if quick else 128, 1)
    if only == "cascade":
        yield cascade(8 if quick else 500)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true", help="small and once: whether it works, not how fast it is")
    parser.add_argument("--only", choices=("training", "blocks", "corruptions", "cascade"))
    parser.add_argument("--long", action="store_true", help="whole on a processor, too")
    options = parser.parse_args()
    card = torch.cuda.get_device_name() if torch.cuda.is_available() else "no GPU"

    def work() -> None:
        for line in lines(options.quick or (card == "no GPU" and not options.long), options.only):
            tell(line | {"card": card})

    [outcome] = SerialEngine(Compute(engine="serial", retries=0)).run([Call(0, "benchmark", work)], gpu=True)
    if outcome.error is not None:
        raise outcome.error


if __name__ == "__main__":
    main()
