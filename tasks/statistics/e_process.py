"""What samples that are new every night say together: evidence of a loss, and an interval of the share of right
answers, both of which may be looked at after every night.

While nothing changes, tonight's right answers are a draw from all that were ever counted: given how many of these are
right, hypergeometric. So its p-values are those of independent nights (conformal test martingales, Vovk et al. 2005),
and bets on them, exp(−λz − λ²/2) with z = Φ⁻¹(p), multiply up to what exceeds T with a chance of 1/T at most, however
often one looks (Ville). The loss may begin on any night, and be small or large: the bets are spread over both.

Samples that two models answered are paired: each that only the earlier has right is a bet won, each that only the later
has right a bet lost.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from assay.tasks.statistics.resampling import Interval

_TILTS = np.array([0.5, 1.0, 2.0])  # λ: losses of so many standard errors a night
_MOST_SURE = 1e-300, 1 - 1e-12
_STAKES = (np.arange(400) + 0.5) / 400


class NewSamples(NamedTuple):
    """Of the samples that no earlier night had, how many are right, of how many; and whether the night is bet on, or
    only known."""

    right: int
    n: int
    counts: bool = True


def evidence(nights: Sequence[NewSamples], starts: int, bound: float = 0.0) -> list[float]:
    """E after every night, against the hypothesis that nothing is lost, or no more than the bound; the loss may begin
    on any of so many nights: each is bet on with what is left, divided by half their number.

    >>> same, worse = NewSamples(450, 500), NewSamples(420, 500)
    >>> by_night = evidence([same] * 20 + [worse] * 6, 91)
    >>> by_night[19] < 1, by_night[25] > 100
    (True, True)
    """
    from scipy.special import ndtri
    from scipy.stats import hypergeom

    right, n, counts = np.array(nights, dtype=np.int64).T
    bag, known = np.cumsum(n) - n, np.cumsum(right) - right
    known = np.maximum(0, known - np.ceil(bound * bag)).astype(np.int64)  # as if they had lost as much as may be
    z = ndtri(np.clip(hypergeom.cdf(right, bag + n, known + right, n), *_MOST_SURE))
    bets, unspent, by_night = np.zeros(len(_TILTS)), 1.0, []
    for night in range(len(nights)):
        if counts[night] and n[night] and bag[night]:
            stake = min(2 / starts, 1) * unspent
            unspent -= stake
            bets = (bets + stake) * np.exp(-_TILTS * z[night] - _TILTS**2 / 2)
        by_night.append(float(bets.mean()) + unspent)
    return by_night


def paired_evidence(lost: int, gained: int, alike: int, bound: float = 0.0) -> float:
    """E against the hypothesis that the later of two models is right on no fewer samples than the earlier, or on fewer
    by no more than the bound δ, by the samples that both have answered, each counted once:

    E = the mean over λ of (1 + λ(1 − δ))^lost · (1 − λ(1 + δ))^gained · (1 − λδ)^alike, for λ from 0 to 1/(1 + δ)

    (Waudby-Smith and Ramdas 2024); without a bound 2∫(2θ)^lost (2(1 − θ))^gained dθ over θ from ½ to 1.

    >>> round(paired_evidence(16, 4, 480), 1), paired_evidence(10, 10, 480) < 1 > paired_evidence(16, 4, 480, 0.02)
    (20.5, True)
    """
    stakes = _STAKES / (1 + bound)
    won, bet = lost * np.log1p(stakes * (1 - bound)), gained * np.log1p(-stakes * (1 + bound))
    grown = np.logaddexp.reduce(won + bet + alike * np.log1p(-stakes * bound)) - np.log(len(stakes))
    return float(np.exp(min(grown, 700.0)))


def confidence_sequence(right: int, n: int, level: float = 0.95) -> Interval:
    """The share of right answers so far, with an interval that holds the truth on every night at once with a chance of
    `level`, however often one looks: all p that the beta-binomial mixture does not speak against,

    E(p) = B(1 + right, 1 + n − right) / (p^right · (1 − p)^(n − right)) < 1 / (1 − level)

    (Robbins 1970; Howard et al. 2021). Where the truth drifts, its mean so far was held as often in simulations.

    >>> [round(value, 3) for value in confidence_sequence(450, 500)]
    [0.9, 0.845, 0.941]
    """
    from scipy.optimize import brentq
    from scipy.special import betaln, xlog1py, xlogy

    def above(p: float) -> float:
        against = betaln(1 + right, 1 + n - right) - xlogy(right, p) - xlog1py(n - right, -p)
        return float(min(against, 1e9)) + float(np.log1p(-level))

    value = right / n
    low = brentq(above, 0.0, value) if right else 0.0
    return Interval(value, low, brentq(above, value, 1.0) if right < n else 1.0)
