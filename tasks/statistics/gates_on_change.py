"""Gates on change: whether a finding fell by more than a team allows, judged by the interval of its drop."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from assay.tasks.statistics.between_runs import RunDifference
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.gate import Gate
from assay.tasks.statistics.gates import named

Raw = Literal["passed", "failed", "inconclusive"]

POWER = 0.8
USUAL_LEVEL = 0.025
"""The one-sided level of a look where no budget of false alarms says another: that of a 95 % interval."""
_MANY = 10_000_000


@dataclass(frozen=True)
class Compared:
    """One finding beside that of an earlier run: what it lost (or gained), at the usual level and at the alarm's."""

    finding: Finding
    usual: RunDifference
    strict: RunDifference
    """With the interval that is wide enough for an alarm."""


@dataclass(frozen=True)
class Look:
    """What a gate on change saw of one finding, and what it could have seen."""

    raw: Raw
    sentence: str
    n: int
    identical: bool
    change: float
    """How far the finding went the way that the gate forbids."""
    detectable: float
    """The smallest true change against the bound that such a look raises an alarm at in 80 % of cases."""


def look(gate: Gate, compared: Compared, against: str, level: float) -> Look:
    """Failed where the whole interval at the alarm's level lies beyond the bound, passed where the whole 95 % interval
    keeps to it; between them there are too few samples to tell.

    >>> gate = Gate(finding="a.b", against="accepted", drop_at_most=0.02)
    >>> far = RunDifference(-0.1, -0.12, -0.08, 0.001, 500, "McNemar")
    >>> look(gate, Compared(Finding("a.b", value=0.8), far, far), "r1", 0.025).raw
    'failed'
    """
    from scipy.stats import norm

    bound = gate.change_at_most
    loss, _, most = _loss(gate, compared.usual)
    _, least, _ = _loss(gate, compared.strict)
    spread = (compared.usual.high - compared.usual.low) / (2 * float(norm.isf(0.025)))
    reach = float(norm.isf(level) + norm.isf(1 - POWER))
    detectable = _detectable(bound, reach, spread, compared.usual)
    difference, way = compared.usual, "fell" if gate.drop_at_most is not None else "rose"
    shown = (
        f"{named(compared.finding)} {way} by {_rounded(loss)} [{_rounded(least)}, {_rounded(most)}] against {against}"
    )
    change = f"{shown} ({_paired(difference)})"
    if difference.identical:
        sentence = f"{named(compared.finding)} is the same on every one of {difference.n} samples as in {against}."
        return Look("passed", sentence, difference.n, True, loss, detectable)
    if least > bound:
        return Look("failed", f"{change}: more than {bound:g}.", difference.n, False, loss, detectable)
    if most <= bound:
        return Look("passed", f"{change}: not more than {bound:g}.", difference.n, False, loss, detectable)
    needed = _needed(loss, least, most, bound, difference.n)
    return Look(
        "inconclusive",
        f"{change}: too few samples to tell whether by more than {bound:g}; {needed}.",
        difference.n,
        False,
        loss,
        detectable,
    )


def _detectable(bound: float, reach: float, spread: float, difference: RunDifference) -> float:
    """The change δ that lies `reach` standard errors beyond the bound, with the standard error that it would have.

    Of paired samples those that are lost differ, and what differs is what spreads: σ² grows by (δ − what changed
    already) / n, so that δ = bound + reach·√(σ² + (δ − change) / n).

    >>> few, many = (RunDifference(0.0, -0.01, 0.01, 1.0, n, "McNemar") for n in (450, 45_000))
    >>> round(_detectable(0.0, 4.0, 0.0067, few), 3), round(_detectable(0.0, 4.0, 0.0067, many), 3)
    (0.05, 0.027)
    """
    if not difference.is_paired or not math.isfinite(spread):
        return bound + reach * spread
    grown = spread**2 + max(0.0, bound - abs(difference.value)) / difference.n
    half = reach**2 / (2 * difference.n)
    return bound + half + math.sqrt(half**2 + reach**2 * grown)


def _loss(gate: Gate, difference: RunDifference) -> tuple[float, float, float]:
    """How far it went the way that the gate forbids, and the interval of that."""
    return (
        (-difference.value, -difference.high, -difference.low)
        if gate.drop_at_most is not None
        else (difference.value, difference.low, difference.high)
    )


def _needed(loss: float, least: float, most: float, bound: float, n: int) -> str:
    """How many samples would tell, if everything else stayed: intervals shrink with the root of their number."""
    apart = abs(loss - bound)
    half = most - loss if loss <= bound else loss - least
    wanted = math.inf if apart == 0 else n * (half / apart) ** 2
    if not math.isfinite(wanted) or wanted > _MANY:
        return "it lies so close to the bound that no number of samples would"
    digits = 10 ** max(0, len(str(math.ceil(wanted))) - 2)
    return f"about {math.ceil(wanted / digits) * digits:,} would"


def _paired(difference: RunDifference) -> str:
    if difference.how == "other samples":
        return f"other samples, so not paired; n = {difference.n}"
    if difference.how == "intervals":
        return f"single outcomes are not kept, so by both intervals; n = {difference.n}"
    return f"paired on {difference.n} samples" + (
        f", {difference.left_out} are in one run only" if difference.left_out else ""
    )


def _rounded(value: float) -> str:
    return f"{value:.3g}" if math.isfinite(value) else "−∞" if value < 0 else "∞"
