"""Attacks beside foolbox, ART and torchattacks: whole attacks to the same robust accuracy, and the same images.

The subject is a small network trained here on the digits of scikit-learn, enlarged to 32 pixels. A row is one step for
one image; a block is 64 images everywhere. Before anything is timed, the images are held beside the peer's: the same
start and the same steps must give the same images. Attacks that draw as they go are held to what they reach.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import lru_cache

import torch
from claims import claim, tell
from peers import ATTACKS, provide
from side_by_side import Stopwatch, Work, compare

from assay.infra.stages.exact import Seeds
from assay.tasks.attacks.apgd import APGD
from assay.tasks.attacks.batch import Draws
from assay.tasks.attacks.pgd import PGD
from assay.tasks.attacks.random_search import Square
from assay.tasks.attacks.running import run_attack
from assay.tasks.attacks.settings import ImageAttack
from assay.tasks.subjects.images.model import ImageModel

EPS, STEPS, BLOCK, MEAN, STD = 0.1, 40, 64, 0.3, 0.35
SIZE = 2.5 * EPS / STEPS
IN_L2 = 1.5  # the ε of the attacks in L2
CHECKED = 128  # images that are held beside the peers'


class Network(torch.nn.Sequential):
    """Three convolutions of stride 2 with 16, 32 and 64 channels, and two layers on top."""

    def __init__(self) -> None:
        layers: list[torch.nn.Module] = []
        for before, after in ((1, 16), (16, 32), (32, 64)):
            layers += [torch.nn.Conv2d(before, after, 3, stride=2, padding=1), torch.nn.ReLU()]
        super().__init__(
            *layers, torch.nn.Flatten(), torch.nn.Linear(1024, 64), torch.nn.ReLU(), torch.nn.Linear(64, 10)
        )


@lru_cache(maxsize=1)
def digits() -> tuple[torch.Tensor, torch.Tensor]:
    """All 1797 digits as 32×32 pixels, and what they are."""
    from sklearn.datasets import load_digits

    small = torch.from_numpy(load_digits().images).float()[:, None] / 16
    return torch.nn.functional.interpolate(small, 32, mode="bilinear").clamp(0, 1), torch.from_numpy(
        load_digits().target
    )


@lru_cache(maxsize=1)
def subject() -> ImageModel:
    """The network after eight epochs on every fourth digit left out."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    images, truth = digits()
    seen = torch.arange(len(images)) % 4 > 0
    images, truth, network = images[seen], truth[seen], Network()
    optimizer = torch.optim.Adam(network.parameters(), lr=2e-3)
    for _ in range(8):
        for rows in torch.randperm(len(images)).split(64):
            optimizer.zero_grad()
            torch.nn.functional.cross_entropy(network((images[rows] - MEAN) / STD), truth[rows]).backward()
            optimizer.step()
    network.eval().requires_grad_(False)
    return ImageModel(network, 10, False, (MEAN,), (STD,), block=BLOCK)


def some(images: int) -> tuple[torch.Tensor, torch.Tensor, Draws]:
    """So many digits, over and over if there are not enough, what they are, and their draws."""
    pixels, truth = digits()
    rows = torch.arange(images) % len(pixels)
    return pixels[rows], truth[rows], Draws(Seeds(0, "attack"), tuple(f"d{i}" for i in range(images)))


def ours(attack: ImageAttack) -> Work:
    """An attack of ours on rows // STEPS images."""

    def work(rows: int, stopwatch: Stopwatch) -> None:
        images, truth, draws = some(rows // STEPS)
        model = subject()
        with stopwatch:
            run_attack(attack, model, images, truth, eps_of(attack), draws)

    return work


def eps_of(attack: ImageAttack) -> float:
    """The ε that an attack is compared at."""
    return IN_L2 if attack.norm == "l2" else EPS


Attack = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def theirs(build: Callable[[], Attack]) -> Work:
    """A peer's attack on the same images, in blocks of as many."""

    def work(rows: int, stopwatch: Stopwatch) -> None:
        images, truth, _ = some(rows // STEPS)
        attack = build()
        with stopwatch:
            for start in range(0, len(images), BLOCK):
                attack(images[start : start + BLOCK], truth[start : start + BLOCK])

    return work


def tight_loop() -> Attack:
    """The least that PGD can be: forward, gradient of the image, step, clip."""
    model = subject()

    def attack(images: torch.Tensor, truth: torch.Tensor) -> torch.Tensor:
        x = images
        for _ in range(STEPS):
            x = x.detach().requires_grad_(True)
            loss = torch.nn.functional.cross_entropy(model.network((x - MEAN) / STD), truth, reduction="sum")
            (gradient,) = torch.autograd.grad(loss, x)
            with torch.no_grad():
                x = (images + (x + SIZE * gradient.sign() - images).clamp(-EPS, EPS)).clamp(0, 1)
        return x

    return attack


def foolbox_pgd(start: torch.Tensor | None = None) -> Attack:
    """foolbox's LinfPGD, from a start that is given or from the images."""
    import foolbox

    class FromStart(foolbox.attacks.LinfPGD):
        def get_random_start(self, *_: object) -> object:
            import eagerpy

            return eagerpy.astensor(start)

    kind = foolbox.attacks.LinfPGD if start is None else FromStart
    attack = kind(rel_stepsize=SIZE / EPS, steps=STEPS, random_start=start is not None)
    shape = {"mean": [MEAN], "std": [STD], "axis": -3}
    model = foolbox.PyTorchModel(subject().network, bounds=(0, 1), preprocessing=shape, device="cpu")
    return lambda images, truth: attack(model, images, truth, epsilons=EPS)[1]


def foolbox_l2() -> Attack:
    """foolbox's L2PGD from the images."""
    import foolbox

    attack = foolbox.attacks.L2PGD(rel_stepsize=2.5 / STEPS, steps=STEPS, random_start=False)
    shape = {"mean": [MEAN], "std": [STD], "axis": -3}
    model = foolbox.PyTorchModel(subject().network, bounds=(0, 1), preprocessing=shape, device="cpu")
    return lambda images, truth: attack(model, images, truth, epsilons=IN_L2)[1]


def art_pgd() -> Attack:
    """ART's ProjectedGradientDescentPyTorch from the images."""
    from art.attacks.evasion.projected_gradient_descent import projected_gradient_descent_pytorch as module
    from art.estimators.classification import PyTorchClassifier

    classifier = PyTorchClassifier(
        subject().network,
        torch.nn.CrossEntropyLoss(),
        (1, 32, 32),
        10,
        clip_values=(0.0, 1.0),
        preprocessing=(MEAN, STD),
        device_type="cpu",
    )
    attack = module.ProjectedGradientDescentPyTorch(
        classifier, eps=EPS, eps_step=SIZE, max_iter=STEPS, batch_size=BLOCK, verbose=False
    )
    return lambda images, truth: torch.from_numpy(attack.generate(images.numpy(), truth.numpy()))


def torchattacks_attack(kind: str, **options: object) -> Attack:
    """An attack of torchattacks; its model takes pixels."""
    import torchattacks

    model = subject()

    class Pixels(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.network = model.network

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return model.logits(x)

    attack = getattr(torchattacks, kind)(Pixels().eval(), **{"eps": EPS} | options)
    return lambda images, truth: attack(images, truth)


def torchattacks_pgd() -> Attack:
    """torchattacks' PGD from the images."""
    return torchattacks_attack("PGD", alpha=SIZE, steps=STEPS, random_start=False)


PLAIN = PGD(steps=STEPS, random_start=False, last=True)
SQUARE = Square(queries=STEPS, share=0.8)
PLAIN_L2 = PGD(norm="l2", eps=(IN_L2,), steps=STEPS, random_start=False, last=True)
FAST = PGD(steps=STEPS, random_start=False, only_accuracy=True)
PEERS = {"foolbox": foolbox_pgd, "ART": art_pgd, "torchattacks": torchattacks_pgd}
CLAIMS: dict[str, tuple[Work, Work]] = {
    "PGD, all steps, tight loop": (ours(PLAIN), theirs(tight_loop)),
    **{f"PGD, all steps, {peer}": (ours(PLAIN), theirs(build)) for peer, build in PEERS.items()},
    **{f"PGD, robust accuracy, {peer}": (ours(FAST), theirs(build)) for peer, build in PEERS.items()},
    "APGD, robust accuracy, torchattacks": (
        ours(APGD(steps=STEPS, only_accuracy=True)),
        theirs(lambda: torchattacks_attack("APGD", steps=STEPS)),
    ),
    "Square, robust accuracy, torchattacks": (
        ours(SQUARE),
        theirs(lambda: torchattacks_attack("Square", n_queries=STEPS)),
    ),
    "PGD in L2, all steps, foolbox": (ours(PLAIN_L2), theirs(foolbox_l2)),
    "PGD in L2, all steps, torchattacks": (
        ours(PLAIN_L2),
        theirs(
            lambda: torchattacks_attack("PGDL2", eps=IN_L2, alpha=2.5 * IN_L2 / STEPS, steps=STEPS, random_start=False)
        ),
    ),
    **{
        f"{kind} in L2, robust accuracy, torchattacks": (ours(attack), theirs(build))
        for kind, attack, build in (
            (
                "APGD",
                APGD(norm="l2", eps=(IN_L2,), steps=STEPS, only_accuracy=True),
                lambda: torchattacks_attack("APGD", norm="L2", eps=IN_L2, steps=STEPS),
            ),
            (
                "Square",
                SQUARE.model_copy(update={"norm": "l2"}),
                lambda: torchattacks_attack("Square", norm="L2", eps=IN_L2, n_queries=STEPS),
            ),
        )
    },
}


def same_images() -> None:
    """Hold our images beside those of every peer: the same start and the same steps; stop where they differ."""
    images, truth, draws = some(CHECKED)
    model, unit = subject(), torch.from_numpy(draws.uniform("pgd 0", (1, 32, 32)))
    uniform = (images + EPS * unit).clamp(0, 1)
    cases = [(name, build(), PLAIN) for name, build in PEERS.items()]
    cases.append(("foolbox, in L2", foolbox_l2(), PLAIN_L2))
    cases.append(("foolbox, uniform start", foolbox_pgd(uniform), PLAIN.model_copy(update={"random_start": True})))
    for name, attack, settings in cases:
        mine = run_attack(settings, _whole(model), images, truth, eps_of(settings), draws).images
        other = attack(images, truth)
        apart = float((mine - other).abs().max())
        if apart > (1e-3 if settings.norm == "l2" else 1e-6):  # steps of any length add their rounding up, signs do not
            sys.exit(f"PGD of Assay and of {name} differ by {apart:.2g} from the same start with the same steps")
        right = [[float((model.logits(x).argmax(dim=1) == truth).float().mean())] for x in (mine, other)]
        tell(claim(f"robust accuracy, same images, {name}", *right, unit="share", largest_difference=apart))
    for kind, settings, other in _searches():
        reached = [run_attack(settings, model, images, truth, eps_of(settings), draws).images, other(images, truth)]
        right = [[float((model.logits(x).argmax(dim=1) == truth).float().mean())] for x in reached]
        tell(claim(f"robust accuracy, {kind}, torchattacks", *right, unit="share"))


def _searches() -> list[tuple[str, ImageAttack, Attack]]:
    """Attacks that draw at random as they go, so that only what they reach can be compared."""
    apgd = torchattacks_attack("APGD", steps=STEPS)
    square = torchattacks_attack("Square", n_queries=STEPS)
    in_l2 = torchattacks_attack("Square", norm="L2", eps=IN_L2, n_queries=STEPS)
    return [
        ("APGD", APGD(steps=STEPS), apgd),
        ("Square", SQUARE, square),
        ("Square in L2", SQUARE.model_copy(update={"norm": "l2"}), in_l2),
    ]


def _whole(model: ImageModel) -> ImageModel:
    return ImageModel(model.network, model.classes, False, model.mean, model.std, block=CHECKED)


if __name__ == "__main__":
    provide(ATTACKS)
    if "--side" not in sys.argv:
        same_images()
    compare(CLAIMS, rows=1797 * STEPS)
