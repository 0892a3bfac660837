"""Noise: Gaussian, speckle and shot noise from the same standard normal draws, at the cost of adding numbers."""

from __future__ import annotations

import math

import torch
from torch import Tensor

_SMALL_RATE = 4.0  # below, Poisson counts come from their cumulative distribution; above, from an expansion of it
_TAIL = 1e-6  # counts less probable than this are not told apart


def gaussian_noise(images: Tensor, normals: Tensor, sd: float, out: Tensor) -> None:
    """Fill `out` with x + sd·N within [0, 1]; `normals` and `out` are [frames, n, c, h, w], images [n, c, h, w]."""
    torch.mul(normals, sd, out=out).add_(images).clamp_(0, 1)


def speckle_noise(images: Tensor, normals: Tensor, sd: float, out: Tensor) -> None:
    """Fill `out` with x + x·sd·N within [0, 1]."""
    torch.addcmul(images, images * sd, normals, out=out).clamp_(0, 1)


def shot_noise(images: Tensor, normals: Tensor, photons: float, out: Tensor) -> None:
    """Fill `out` with Poisson(x·photons)/photons within [0, 1]: a sensor that counts `photons` where it is white."""
    # From `photons` counts on a pixel is white, however many more there are.
    poisson_quantile((images * photons).flatten(), normals.flatten(1), out.flatten(1), most=math.ceil(photons))
    out.div_(photons).clamp_(0, 1)


def poisson_quantile(rates: Tensor, normals: Tensor, out: Tensor, most: int | None = None) -> None:
    """Fill `out` with the Poisson counts that stand where the draws stand in the normal distribution, F⁻¹(Φ(N)).

    So Poisson draws cost little more than adding noise does (a sampler per pixel costs ten times that). From a rate of
    4 on it is the Cornish-Fisher expansion of the quantile (Giles 2016, to order 1/rate), off by one for fewer than one
    draw in 500; below it is exact, and not counted beyond `most`. `rates` are [m], `normals` and `out` [frames, m].
    """
    small = (rates < _SMALL_RATE).nonzero().squeeze(1)
    cumulative = _cumulative(rates[small], most)
    powers = _expansion(rates.clamp(min=_SMALL_RATE))
    for draws, counts in zip(normals, out, strict=True):
        if len(small) < len(rates):
            torch.addcmul(powers[3], powers[4], draws, out=counts)
            for power in (powers[2], powers[1], powers[0]):
                torch.addcmul(power, counts, draws, out=counts)
            counts.floor_().clamp_(min=0)
        if len(small):
            counts.index_copy_(0, small, _small_counts(cumulative, draws.index_select(0, small)))


def _expansion(rates: Tensor) -> tuple[Tensor, ...]:
    """What stands before each power of the draw in the expansion, from the zeroth to the fourth."""
    root = rates.sqrt()
    return (
        rates + 1 / 3 - 16 / (810 * rates),
        root - 1 / (36 * root),
        1 / 6 + 7 / (810 * rates),
        -1 / (72 * root),
        1 / (270 * rates),
    )


def _small_counts(cumulative: Tensor, draws: Tensor) -> Tensor:
    """How many values of the cumulative distributions [counts, m] lie below each draw [m]."""
    uniforms = torch.erf(draws * math.sqrt(0.5)).add_(1).mul_(0.5)
    counts, above = torch.zeros_like(uniforms), torch.empty_like(uniforms)
    for step in cumulative:
        counts += torch.gt(uniforms, step, out=above)
    return counts


def _cumulative(rates: Tensor, most: int | None) -> Tensor:
    """P(X <= count) of every count that matters for any rate, [counts, m]; at most as many as `most`."""
    probability = torch.exp(-rates)
    steps = [probability]
    last = _last_count(float(rates.max())) + 1 if len(rates) else 1
    for count in range(1, last if most is None else min(last, most)):
        probability = probability * rates / count
        # Past its tail a rate counts nothing, however the sum was rounded and whatever the other rates are.
        steps.append(torch.where(probability < _TAIL, 2.0, steps[-1] + probability))
    return torch.stack(steps)


def _last_count(rate: float) -> int:
    """The least count that a Poisson draw of this rate exceeds with a probability of at most `_TAIL`."""
    count, probability = 0, math.exp(-rate)
    cumulative = probability
    while 1 - cumulative > _TAIL:
        count += 1
        probability *= rate / count
        cumulative += probability
    return count
