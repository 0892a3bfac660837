"""Numbers as colours that everybody can tell apart: a dark-to-light scale, and one with grey-white in the middle."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Rgb = npt.NDArray[np.float32]  # [3, h, w], each value in [0, 1]

# Cividis (Nuñez, Anderton and Renslow 2018): rises evenly in lightness, and looks the same with any colour vision.
_HEAT = (
    "00224e",
    "123570",
    "3b496c",
    "575d6d",
    "707173",
    "8a8678",
    "a59c74",
    "c3b369",
    "e1cc55",
    "fee838",
)
# Blue to orange over near-white, alike in lightness on both sides (after Crameri's vik and ColorBrewer's PuOr).
_SIGNED = (
    "08306b",
    "2166ac",
    "4393c3",
    "92c5de",
    "d1e5f0",
    "f7f7f7",
    "fddbb0",
    "f4a85c",
    "d9731a",
    "a34808",
    "652b00",
)


def heat(values: npt.ArrayLike, low: float, high: float) -> Rgb:
    """Colours of values [h, w] from dark (`low`) to light (`high`); what lies beyond gets the end's colour.

    >>> (255 * heat([[0.0, 1.0]], 0, 1)[:, 0, 0]).round().tolist()
    [0.0, 34.0, 78.0]
    """
    return _coloured(_within(values, low, high), _HEAT)


def signed(values: npt.ArrayLike, reach: float) -> Rgb:
    """Colours of values [h, w] from blue (−`reach`) over white (0) to orange (`reach`).

    >>> (255 * signed([[0.0]], 1)[:, 0, 0]).round().tolist()
    [247.0, 247.0, 247.0]
    """
    return _coloured(_within(values, -reach, reach), _SIGNED)


def _within(values: npt.ArrayLike, low: float, high: float) -> npt.NDArray[np.float64]:
    width = high - low
    scaled = (np.asarray(values, np.float64) - low) / (width if width > 0 else 1.0)
    return np.clip(np.nan_to_num(scaled), 0.0, 1.0)


def _coloured(shares: npt.NDArray[np.float64], anchors: tuple[str, ...]) -> Rgb:
    colours = np.array([[int(one[at : at + 2], 16) for at in (0, 2, 4)] for one in anchors]) / 255
    places = np.linspace(0, 1, len(anchors))
    return np.stack([np.interp(shares, places, colours[:, channel]) for channel in range(3)]).astype(np.float32)
