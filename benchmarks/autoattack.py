"""`autoattack` beside torchattacks' AutoAttack: the same network, 200 digits, every ε; both report what stays right.

`python benchmarks/autoattack.py` prints one line per ε. The peer is torchattacks 3.5.1, which is taken where it can be
imported and else fetched into `build/peers` for the benchmark only (or: `pip install --target build/peers --no-deps
torchattacks==3.5.1`).
"""

from __future__ import annotations

import importlib.util
import sys
import time

import torch
from attacks import some, subject
from claims import claim, tell
from peers import provide

from assay.tasks.attacks.running import run_attack
from assay.tasks.attacks.table import BUNDLES

IMAGES, GRID = (8 if "--quick" in sys.argv else 200), (0.05, 0.03)


class Pixels(torch.nn.Module):
    """The subject as torchattacks wants it: pixels in, logits out."""

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """The logits."""
        return subject().logits(images)


def ours(eps: float) -> dict[str, float]:
    """What each of the four leaves right, and what the worst case over them does."""
    images, truth, draws = some(IMAGES)
    right = {"clean": subject().logits(images).argmax(dim=1) == truth}
    for attack in BUNDLES["autoattack"]:
        right[attack.called] = ~run_attack(attack, subject(), images, truth, eps, draws).success
    right["worst case"] = torch.stack(list(right.values())).all(dim=0)
    return {name: float(one.float().mean()) for name, one in right.items()}


def theirs(eps: float) -> float:
    """What AutoAttack (standard, 10 classes, seed 0) leaves right."""
    import torchattacks

    images, truth, _ = some(IMAGES)
    attack = torchattacks.AutoAttack(Pixels().eval(), norm="Linf", eps=eps, version="standard", n_classes=10, seed=0)
    moved = attack(images, truth)
    assert float((moved - images).abs().max()) <= eps + 1e-6
    return float((subject().logits(moved).argmax(dim=1) == truth).float().mean())


if __name__ == "__main__":
    if importlib.util.find_spec("torchattacks") is None:
        provide(("torchattacks==3.5.1",))
    for eps in GRID[: 1 if "--quick" in sys.argv else None]:
        began = time.perf_counter()
        mine = ours(eps)
        between = time.perf_counter()
        other = theirs(eps)
        seconds = {"ours_s": round(between - began, 1), "peer_s": round(time.perf_counter() - between, 1)}
        each = {name: round(share, 3) for name, share in mine.items() if name != "worst case"}
        right = {"peer_right": round(other, 3)}  # no ratio: where nothing is left there is none
        tell(claim(f"autoattack, eps={eps:g}", [mine["worst case"]], unit="share", **right, **seconds, **each))
