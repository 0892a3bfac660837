"""`autoattack` beside torchattacks' AutoAttack: the same network, 200 digits, every ε; both report what stays right.

`python benchmarks/autoattack.py` prints one line per ε, with the peer's time over ours for as many steps as it takes;
`--l2` does so in L2.
The peer is torchattacks 3.5.1, which is taken where it can be imported and else fetched into `build/peers` for the
benchmark only (or: `pip install --target build/peers --no-deps torchattacks==3.5.1`).
"""

from __future__ import annotations

import importlib.util
import sys
import time
from collections.abc import Callable
from functools import partial

import torch
from attacks import some, subject
from claims import claim, tell
from peers import provide

from assay.tasks.attacks.batch import distances
from assay.tasks.attacks.running import run_attack
from assay.tasks.attacks.table import AutoAttack

IN_L2 = "--l2" in sys.argv
IMAGES, GRID = (8 if "--quick" in sys.argv else 200), ((1.0, 0.6) if IN_L2 else (0.05, 0.03))
PEER_STEPS = 10  # of each attack that follows gradients: torchattacks' default; the paper takes 100, and so do we


class Pixels(torch.nn.Module):
    """The subject as torchattacks wants it: pixels in, logits out."""

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """The logits."""
        return subject().logits(images)


def ours(eps: float, steps: int) -> float:
    """What the cascade leaves right."""
    images, truth, draws = some(IMAGES)
    right = subject().logits(images).argmax(dim=1) == truth
    attack = AutoAttack(norm="l2" if IN_L2 else "linf", eps=(eps,), steps=steps)
    attacked = run_attack(attack, subject(), images, truth, eps, draws)
    assert float(distances(attack.norm, attacked.images - images).max()) <= eps + 1e-6
    return float((right & ~attacked.success).float().mean())


def theirs(eps: float) -> float:
    """What AutoAttack (standard, 10 classes, seed 0) leaves right."""
    import torchattacks

    images, truth, _ = some(IMAGES)
    norm = "L2" if IN_L2 else "Linf"
    attack = torchattacks.AutoAttack(Pixels().eval(), norm=norm, eps=eps, version="standard", n_classes=10, seed=0)
    moved = attack(images, truth)
    assert float(distances("l2" if IN_L2 else "linf", moved - images).max()) <= eps + 1e-5
    return float((subject().logits(moved).argmax(dim=1) == truth).float().mean())


def timed(attack: Callable[[float], float], eps: float) -> tuple[float, float]:
    """What an attack leaves right, and the processor's seconds that it took; the clock's are others' business too."""
    began = time.process_time()
    right = attack(eps)
    return right, time.process_time() - began


if __name__ == "__main__":
    if importlib.util.find_spec("torchattacks") is None:
        provide(("torchattacks==3.5.1",))
    torch.set_num_threads(1)
    for eps in GRID[: 1 if "--quick" in sys.argv else None]:
        own, seconds = timed(partial(ours, steps=PEER_STEPS), eps)
        other, peer_seconds = timed(theirs, eps)
        right = {"ours_right": round(own, 3), "peer_right": round(other, 3)}
        tell(
            claim(
                f"autoattack{' in L2' if IN_L2 else ''}, eps={eps:g}",
                [seconds],
                [peer_seconds],
                unit="s",
                digits=1,
                **right,
            )
        )
