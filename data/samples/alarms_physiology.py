"""What happens to simulated patients: their true vital signs, second by second, around a time when one may go wrong.

Infants on a ward. Each has a usual level of every vital sign, slow drifts around it, and perhaps an event: one vital
sign leaves its usual level for a while, and the others follow as far as bodies are coupled (apnoea lowers oxygen
saturation with a lag, hypoxia slows the heart, fever and pain speed up heart and breath). Arrays are [n, t], one
column a second.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Series = npt.NDArray[np.float32]
Numbers = npt.NDArray[np.float64]

HEART, BREATH, OXYGEN = "heart_rate", "respiratory_rate", "spo2"


@dataclass(frozen=True)
class Level:
    """A vital sign in the population: mean and spread of patients' usual values, how it drifts, what is possible."""

    mean: float
    between: float
    drift: float
    memory_seconds: float
    lowest: float
    highest: float


LEVELS = {
    HEART: Level(135, 14, 5, 25, 20, 280),
    BREATH: Level(38, 7, 4, 10, 0, 130),
    OXYGEN: Level(96.8, 1.4, 0.7, 20, 40, 100),
}


@dataclass(frozen=True)
class Coupling:
    """How far another vital sign follows an event: its change per unit of depth, how unevenly, and how late."""

    vital: str
    follows: float
    unevenly: float
    lag_seconds: float


@dataclass(frozen=True)
class Event:
    """A way in which a vital sign goes wrong.

    `depth` is the median distance beyond the alarm limit at its worst and `seconds` the median duration, both
    lognormal with the sigma beside them; `recurs` is the chance of a second episode within two minutes.
    """

    vital: str
    depth: float
    depth_sigma: float
    seconds: float
    seconds_sigma: float
    recurs: float
    couplings: tuple[Coupling, ...] = ()


def at_rest(rng: np.random.Generator, n: int, seconds: int) -> dict[str, Series]:
    """Vital signs of n patients to whom nothing happens: their usual levels with slow drifts, [n, t] each."""
    true = {}
    for vital, level in LEVELS.items():
        usual = rng.normal(level.mean, level.between, (n, 1)).astype(np.float32)
        true[vital] = usual + autoregressive(rng, (n, seconds), level.drift, level.memory_seconds)
    return true


def happen(
    rng: np.random.Generator,
    true: dict[str, Series],
    rows: npt.NDArray[np.intp],
    event: Event,
    limit: float,
    onset: Numbers,
) -> None:
    """Let the event happen to some patients: it is worst, `depth` beyond the limit, from `onset` on."""  # fmt: skip
    count, seconds = len(rows), true[event.vital].shape[1]
    usual = true[event.vital][rows].mean(axis=1, dtype=np.float64)
    depth = event.depth * np.exp(event.depth_sigma * rng.standard_normal(count))
    lasts = event.seconds * np.exp(event.seconds_sigma * rng.standard_normal(count))
    hump = episode(seconds, onset, lasts, rng.uniform(4, 15, count))
    again = rng.random(count) < event.recurs
    later = onset + lasts + rng.uniform(20, 120, count)
    hump = np.maximum(
        hump, again[:, None] * episode(seconds, later, lasts * rng.uniform(0.4, 1.6, count), rng.uniform(4, 15, count))
    )
    change = limit + np.sign(limit - LEVELS[event.vital].mean) * depth - usual
    true[event.vital][rows] += (change[:, None] * hump).astype(np.float32)
    for coupling in event.couplings:
        follows = depth * rng.normal(coupling.follows, coupling.unevenly, count)
        true[coupling.vital][rows] += follows.astype(np.float32)[:, None] * delayed(hump, coupling.lag_seconds)


def within_bounds(true: Mapping[str, Series]) -> dict[str, Series]:
    """The vital signs, none beyond what is possible in a living patient."""
    return {vital: np.clip(series, LEVELS[vital].lowest, LEVELS[vital].highest) for vital, series in true.items()}


def episode(seconds: int, onset: Numbers, lasts: Numbers, ramp: Numbers) -> Series:
    """One hump per patient between 0 and 1: at 1 from `onset` for `lasts` seconds, with ramps before and after.

    >>> episode(6, np.array([2.0]), np.array([1.0]), np.array([2.0])).round(1).tolist()
    [[0.0, 0.5, 1.0, 1.0, 0.5, 0.0]]
    """
    time = np.arange(seconds, dtype=np.float32)
    inside = np.minimum(time - onset[:, None].astype(np.float32), (onset + lasts)[:, None].astype(np.float32) - time)
    hump: Series = np.clip(inside / ramp[:, None].astype(np.float32) + 1, 0, 1)
    return hump


def delayed(series: Series, lag_seconds: float) -> Series:
    """The series as something slow follows it: smoothed by an exponential of the given time constant."""
    from scipy.signal import lfilter

    stay = float(np.exp(-1 / lag_seconds))
    late: Series = lfilter([1 - stay], [1.0, -stay], series, axis=1).astype(np.float32)
    return late


def autoregressive(rng: np.random.Generator, shape: tuple[int, int], deviation: float, memory_seconds: float) -> Series:
    """Stationary AR(1) noise along the seconds, of the given standard deviation and correlation time."""
    from scipy.signal import lfilter

    stay = float(np.exp(-1 / memory_seconds))
    shocks = rng.standard_normal(shape, dtype=np.float32) * np.float32(deviation * np.sqrt(1 - stay * stay))
    shocks[:, 0] /= np.float32(np.sqrt(1 - stay * stay))
    noise: Series = lfilter([1.0], [1.0, -stay], shocks, axis=1).astype(np.float32)
    return noise
