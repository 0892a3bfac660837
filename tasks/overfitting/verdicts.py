"""What a test of independence lets one say, in one word, and why."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, isfinite, sqrt
from typing import Literal

from assay.tasks.overfitting.bernstein import NINE_TENTHS, samples_needed
from assay.tasks.overfitting.testing import Tested

VerdictName = Literal["overfit", "no evidence", "inconclusive", "underpowered"]


@dataclass(frozen=True)
class Verdict:
    """One word, and the sentence behind it."""

    name: VerdictName
    why: str


def verdict(
    tested: Tested,
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
    (`fresh_needed`), a rejection without such a control is inconclusive, and so is one whose gap lies no further above
    the control's than chance could: two sets of one size on which the same symmetry fails are rejected by turns.
    """
    if tested.p > alpha:
        return _not_rejected(tested, gap, alpha, bound)
    if tested.mean < 0:
        return Verdict(
            "inconclusive",
            f"the adversarial estimate lies {-tested.mean:.4f} below the test error: an assumption fails, but a model "
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
    if fresh_needed and fresh is not None and tested.mean - fresh.mean <= fresh.minimum_gap:
        return Verdict(
            "inconclusive",
            f"the {fresh.n} fresh samples have a gap of {fresh.mean:.4f}, and are too few to tell it from "
            f"{tested.mean:.4f}: only gaps from {counts_from(fresh):.4f} on can be",
        )
    return Verdict(
        "overfit", f"the adversarial estimate of the error lies {tested.mean:.4f} above the error on the test set"
    )


def counts_from(fresh: Tested) -> float:
    """From which gap on the test set it can be told from that of fresh samples."""
    return fresh.mean + fresh.minimum_gap


def needed(tested: Tested, gap: float, alpha: float, bound: str = "paper") -> int | None:
    """How many samples would show a true gap of that size nine times out of ten, with this spread; None if none would.

    Where too few samples turn wrong to give such a gap, it is the largest that they could give.
    """
    gap = min(gap, tested.reach)
    if gap <= 0 or not isfinite(tested.minimum_gap):
        return None
    if bound == "paper":
        return samples_needed(tested.sigma, tested.span, gap, alpha)
    times = (tested.minimum_gap + NINE_TENTHS * tested.sigma / sqrt(tested.n)) / gap
    return ceil(tested.n * max(times, times**2))


def _not_rejected(tested: Tested, gap: float, alpha: float, bound: str) -> Verdict:
    if tested.minimum_gap > gap:
        enough = needed(tested, gap, alpha, bound)
        more = f"; {enough} would show {min(gap, tested.reach):.2g} nine times out of ten" if enough is not None else ""
        return Verdict("underpowered", f"{tested.n} samples show observed gaps from {tested.minimum_gap:.4f} on{more}")
    if tested.reach < tested.minimum_gap:
        return Verdict(
            "underpowered",
            f"the adversarial examples found could show a gap of {tested.reach:.4f} at most, and it would have to be "
            f"{tested.minimum_gap:.4f}: too few samples turn wrong when they are moved",
        )
    return Verdict(
        "no evidence",
        f"the test saw nothing; an observed gap from {tested.minimum_gap:.4f} on would have been significant. It "
        "bounds what moving samples shows, not by how much the score is too good",
    )
