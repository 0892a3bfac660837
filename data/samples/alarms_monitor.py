"""What the monitor shows of simulated patients: their vital signs through sensors that move, slip and lose contact.

Heart and respiratory rate come from electrodes on the chest, SpO2, pulse rate and pulse quality from a probe on the
foot. So motion disturbs everything, a slipped probe only its own three, a loose electrode only the other two.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from assay.data.samples.alarms_physiology import BREATH, HEART, OXYGEN, Numbers, Series, autoregressive, episode

PULSE, QUALITY = "pulse_rate", "pulse_quality"
SHOWN = (HEART, BREATH, OXYGEN, PULSE, QUALITY)

Rows: TypeAlias = npt.NDArray[np.intp]
Disturbance = Callable[[np.random.Generator, dict[str, Series], Rows, Series], None]


def undisturbed(rng: np.random.Generator, true: Mapping[str, Series]) -> dict[str, Series]:
    """What a monitor shows when nothing disturbs it: true values with sensor noise, and a probe's calibration error."""
    n, seconds = shape = true[HEART].shape
    return {
        HEART: true[HEART] + _white(rng, shape, 1.0),
        BREATH: true[BREATH] + autoregressive(rng, (n, seconds), 2.0, 4),
        OXYGEN: true[OXYGEN] + rng.normal(0, 1.0, (n, 1)).astype(np.float32) + _white(rng, shape, 0.4),
        PULSE: true[HEART] + rng.normal(0, 1.5, (n, 1)).astype(np.float32) + _white(rng, shape, 2.0),
        QUALITY: rng.normal(82, 8, (n, 1)).astype(np.float32) + autoregressive(rng, (n, seconds), 6.0, 8),
    }


def motion(rng: np.random.Generator, shown: dict[str, Series], rows: Rows, hump: Series) -> None:
    """The patient kicks, cries or is handled: the pulse gets lost in noise, breaths are counted that are none."""
    n, seconds = hump.shape
    force = rng.uniform(0.3, 1.2, (n, 1)).astype(np.float32) * hump
    shown[QUALITY][rows] -= 45 * force
    shown[PULSE][rows] += force * autoregressive(rng, (n, seconds), 22, 4)
    shown[OXYGEN][rows] -= force * np.abs(autoregressive(rng, (n, seconds), 8, 6))
    shown[BREATH][rows] += force * (18 + autoregressive(rng, (n, seconds), 14, 4))
    shown[HEART][rows] += force * autoregressive(rng, (n, seconds), 7, 3)


def slipped_probe(rng: np.random.Generator, shown: dict[str, Series], rows: Rows, hump: Series) -> None:
    """The probe hangs half off the foot: SpO2 reads too low, or nothing; often, not always, the quality tells."""
    n = len(rows)
    shown[OXYGEN][rows] -= rng.uniform(7, 24, (n, 1)).astype(np.float32) * hump
    tells = (rng.random((n, 1)) < 0.75) * rng.uniform(20, 70, (n, 1))
    shown[QUALITY][rows] -= tells.astype(np.float32) * hump
    shown[PULSE][rows] += rng.normal(0, 18, (n, 1)).astype(np.float32) * hump
    _lose(rng, shown, rows, hump, (OXYGEN, PULSE), share=0.4)


def loose_electrode(rng: np.random.Generator, shown: dict[str, Series], rows: Rows, hump: Series) -> None:
    """An electrode comes off: beats and breaths are missed, by a factor, or altogether."""
    n = len(rows)
    shown[HEART][rows] *= 1 - rng.uniform(0.3, 0.6, (n, 1)).astype(np.float32) * np.round(hump)
    shown[BREATH][rows] *= 1 - rng.uniform(0.2, 0.8, (n, 1)).astype(np.float32) * hump
    _lose(rng, shown, rows, hump, (HEART, BREATH), share=0.35)


def double_counting(rng: np.random.Generator, shown: dict[str, Series], rows: Rows, hump: Series) -> None:
    """The monitor takes T waves for beats: the heart rate jumps up by a factor, and back."""
    n, seconds = hump.shape
    on = np.round(hump) * (autoregressive(rng, (n, seconds), 1, 8) > -0.8)
    shown[HEART][rows] *= 1 + rng.uniform(0.45, 0.95, (n, 1)).astype(np.float32) * on.astype(np.float32)


def shallow_breathing(rng: np.random.Generator, shown: dict[str, Series], rows: Rows, hump: Series) -> None:
    """Breaths too shallow for the electrodes: the respiratory rate reads low, or nothing, in a patient who is well."""
    n = len(rows)
    shown[BREATH][rows] *= 1 - rng.uniform(0.5, 1.0, (n, 1)).astype(np.float32) * hump
    _lose(rng, shown, rows, hump, (BREATH,), share=0.2)


def heartbeats_as_breaths(rng: np.random.Generator, shown: dict[str, Series], rows: Rows, hump: Series) -> None:
    """The beating heart is counted as breaths: the respiratory rate climbs towards the heart rate."""
    n, seconds = hump.shape
    towards = rng.uniform(0.35, 0.8, (n, 1)).astype(np.float32) * hump
    shown[BREATH][rows] += towards * (shown[HEART][rows] - shown[BREATH][rows]) + hump * autoregressive(
        rng, (n, seconds), 6, 5
    )


DISTURBANCES: dict[str, Disturbance] = {
    disturbance.__name__: disturbance
    for disturbance in (
        motion,
        slipped_probe,
        loose_electrode,
        double_counting,
        shallow_breathing,
        heartbeats_as_breaths,
    )
}


def disturb(
    rng: np.random.Generator,
    shown: dict[str, Series],
    rows: Rows,
    disturbance: Disturbance,
    onset: Numbers,
    median_seconds: float,
) -> None:
    """Let a disturbance happen to some patients from `onset` on, for a lognormal time."""  # fmt: skip
    lasts = median_seconds * np.exp(0.8 * rng.standard_normal(len(rows)))
    disturbance(rng, shown, rows, episode(shown[HEART].shape[1], onset, lasts, rng.uniform(1, 5, len(rows))))


def displayed(shown: Mapping[str, Series]) -> dict[str, Series]:
    """Whole numbers within what the monitor can display; NaN where it shows nothing."""
    ranges = {HEART: (0, 300), BREATH: (0, 150), OXYGEN: (30, 100), PULSE: (0, 300), QUALITY: (0, 100)}
    return {name: np.clip(np.round(shown[name]), *ranges[name]) for name in SHOWN}


def _lose(
    rng: np.random.Generator, shown: dict[str, Series], rows: Rows, hump: Series, names: tuple[str, ...], share: float
) -> None:
    """In a share of the patients, nothing is shown while the disturbance is at its height."""
    lost = (rng.random((len(rows), 1)) < share) & (hump >= 1)
    for name in names:
        shown[name][rows] = np.where(lost, np.float32(np.nan), shown[name][rows])


def _white(rng: np.random.Generator, shape: tuple[int, ...], deviation: float) -> Series:
    return rng.standard_normal(shape, dtype=np.float32) * np.float32(deviation)
