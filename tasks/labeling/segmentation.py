"""Where the lesion is in a dermoscopic picture: what is darker than the skin around it, in one piece near the middle.

A mask is found as in the first dermoscopy systems (Celebi et al., *Lesion border detection in dermoscopy images*,
2009): hairs are closed over, the grey levels are parted by Otsu's threshold, and of the dark pieces the one that
weighs most near the middle is the lesion, its holes filled.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import ndimage

Picture = npt.NDArray[np.float64]  # [c, h, w], each value in [0, 1]
Grey = npt.NDArray[np.float64]  # [h, w]
Mask = npt.NDArray[np.bool_]  # [h, w]

_LEVELS = 256
_HAIR = 1 / 16  # of the picture's width: thinner dark lines are hairs


def brightness(picture: Picture) -> Grey:
    """The mean over the channels, [h, w]: pigment darkens all of them."""
    grey: Grey = picture.mean(axis=0)
    return grey


def without_hairs(grey: Grey) -> Grey:
    """The grey picture with dark lines closed over that are thinner than a sixteenth of its width (Lee et al. 1997)."""
    size = max(2, round(min(grey.shape) * _HAIR))
    closed: Grey = ndimage.grey_closing(grey, size=(size, size))
    return closed


def otsu(grey: Grey, among: Mask | None = None) -> float:
    """The threshold that parts grey levels into two groups of the largest variance between them (Otsu 1979, Eq. 12).

    >>> 0.2 < otsu(np.array([[0.1, 0.1, 0.2], [0.8, 0.9, 0.9]])) < 0.8
    True
    """
    values = grey if among is None else grey[among]
    levels = np.clip(np.rint(values * (_LEVELS - 1)), 0, _LEVELS - 1).astype(np.int64)
    counts = np.bincount(levels.ravel(), minlength=_LEVELS)
    below = np.cumsum(counts)
    weighed = np.cumsum(counts * np.arange(_LEVELS))
    above = below[-1] - below
    parted = (below > 0) & (above > 0)
    if not parted.any():
        return float(values.flat[0])
    means = weighed[parted] / below[parted], (weighed[-1] - weighed[parted]) / above[parted]
    between = below[parted] * above[parted] * (means[1] - means[0]) ** 2
    best = np.flatnonzero(parted)[between == between.max()]  # all levels of an empty gap part alike: its middle
    return float((best.mean() + 0.5) / (_LEVELS - 1))


def seen_disc(shape: tuple[int, int]) -> Mask:
    """The disc that a dermoscope shows, [h, w]: corners may lie beyond its dark rim."""
    height, width = shape
    y, x = np.ogrid[:height, :width]
    away = ((2 * y + 1) / height - 1) ** 2 + ((2 * x + 1) / width - 1) ** 2
    disc: Mask = away <= 0.92**2
    return disc


def lesion_mask(picture: Picture) -> Mask:
    """Which pixels are the lesion, [h, w]; none where nothing is darker than the rest."""
    grey = without_hairs(brightness(picture))
    seen = seen_disc(grey.shape)
    dark = (grey < otsu(grey, seen)) & seen
    pieces, count = ndimage.label(dark)
    if not count:
        return dark
    height, width = grey.shape
    y, x = np.ogrid[:height, :width]
    central = 1 - np.minimum(1, ((2 * y + 1) / height - 1) ** 2 + ((2 * x + 1) / width - 1) ** 2)
    weights = ndimage.sum_labels(central, pieces, np.arange(1, count + 1))
    filled: Mask = ndimage.binary_fill_holes(pieces == 1 + int(np.argmax(weights)))
    return filled
