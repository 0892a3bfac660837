"""What a test of independence lets one say, in one word, and why."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import Literal

from assay.tasks.overfitting.bernstein import samples_needed
from assay.tasks.overfitting.testing import Tested

VerdictName = Literal["overfit", "no evidence", "inconclusive", "underpowered"]


@dataclass(frozen=True)
class Verdict:
    """One word, and the sentence behind it."""

    name: VerdictName
    why: str


def verdict(
    found: Tested,
    gap: float,
    alpha: float,
    *,
    bound: str = "paper",
    fresh: Tested | None = None,
    fresh_needed: bool = False,
) -> Verdict:
    """What the test says at level `alpha`, where a gap of size `gap` is worth finding.

    `fresh` is the negative control, the same test on samples on which no model was ever chosen: where it rejects too,
    the symmetry that the test rests on does not hold. Where the symmetry is an assumption about the data
    (`fresh_needed`), a rejection without such a control is inconclusive.
    """
    if found.p > alpha:
        return _not_rejected(found, gap, alpha, bound)
    if found.mean < 0:
        return Verdict(
            "inconclusive",
            f"the adversarial estimate lies {-found.mean:.4f} below the test error: an assumption fails, but a model "
            "fitted to the test set would show the opposite",
        )
    if fresh is not None and fresh.p <= alpha:
        return Verdict(
            "inconclusive", "fresh samples are rejected too, so the symmetry that the test rests on does not hold"
        )
    if fresh_needed and fresh is None:
        return Verdict(
            "inconclusive",
            "no fresh samples were given, and without them a model fitted to the test set cannot be told from data on "
            "which the symmetry does not hold",
        )
    if fresh_needed and fresh is not None and fresh.minimum_gap > found.mean:
        return Verdict(
            "inconclusive",
            f"the {fresh.n} fresh samples are too few to show a gap of {found.mean:.4f} if they had one",
        )
    return Verdict(
        "overfit", f"the adversarial estimate of the error lies {found.mean:.4f} above the error on the test set"
    )


def needed(found: Tested, gap: float, alpha: float, bound: str = "paper") -> int:
    """How many samples would show a gap of that size, with this spread."""
    if bound == "paper":
        return samples_needed(found.sigma, found.span, gap, alpha)
    return ceil(found.n * max(found.minimum_gap / gap, (found.minimum_gap / gap) ** 2))


def _not_rejected(found: Tested, gap: float, alpha: float, bound: str) -> Verdict:
    if found.minimum_gap > gap:
        return Verdict(
            "underpowered",
            f"{found.n} samples show gaps from {found.minimum_gap:.4f} on; {needed(found, gap, alpha, bound)} would "
            f"show {gap:g}",
        )
    if found.reach < found.minimum_gap:
        return Verdict(
            "underpowered",
            f"the adversarial examples found could show a gap of {found.reach:.4f} at most, and it would have to be "
            f"{found.minimum_gap:.4f}: too few samples turn wrong when they are moved",
        )
    return Verdict("no evidence", f"a gap from {found.minimum_gap:.4f} on would have shown")
