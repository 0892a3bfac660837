"""The measures of the ABCD rule on a lesion's mask and pixels: asymmetry, border, colours, diameter.

The rule is Stolz et al., *ABCD rule of dermatoscopy* (1994); the measures are those by which it was put into numbers
(Celebi et al., *A methodological approach to the classification of dermoscopy images*, 2007). All are shares or ratios,
so that they mean the same for pictures of any size. A mask too small to be measured gives NaN.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from assay.tasks.labeling.segmentation import Grey, Mask, Picture, brightness

FEWEST = 24  # pixels of a mask; a smaller one has no shape

COLOURS = {
    "white": (0.86, 0.77, 0.74),
    "red": (0.66, 0.27, 0.26),
    "light brown": (0.60, 0.40, 0.27),
    "dark brown": (0.34, 0.20, 0.13),
    "blue-grey": (0.39, 0.43, 0.52),
    "black": (0.11, 0.08, 0.08),
}
"""The six colours of the ABCD rule, each as one red, green and blue that is typical of it."""


def principal_axes(mask: Mask) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """The centre (y, x) of a mask and, as rows, its two principal axes by second moments, the shorter one first."""
    places = np.argwhere(mask).astype(np.float64)
    centre = places.mean(axis=0)
    _, vectors = np.linalg.eigh(np.cov((places - centre).T))
    return centre, vectors.T


def mirrored(values: Grey, centre: npt.NDArray[np.float64], across: npt.NDArray[np.float64]) -> Grey:
    """The values mirrored at the line through the centre that `across`, a unit vector, stands on; 0 from outside."""
    y, x = np.indices(values.shape)
    away = (y - centre[0]) * across[0] + (x - centre[1]) * across[1]
    turned: Grey = ndimage.map_coordinates(values, [y - 2 * away * across[0], x - 2 * away * across[1]], order=1)
    return turned


def shape_asymmetry(mask: Mask) -> float:
    """The share of a lesion that does not fall on itself when it is folded over the worse of its two axes."""
    if mask.sum() < FEWEST:
        return float("nan")
    centre, axes = principal_axes(mask)
    outline = mask.astype(np.float64)
    return max(float(np.abs(mirrored(outline, centre, axis) - outline).sum() / 2 / mask.sum()) for axis in axes)


def colour_asymmetry(picture: Picture, mask: Mask) -> float:
    """How much brighter or darker a lesion is than its mirror image over the worse of its axes, pixel by pixel."""
    if mask.sum() < FEWEST:
        return float("nan")
    centre, axes = principal_axes(mask)
    grey: Grey = ndimage.gaussian_filter(brightness(picture), min(mask.shape) / 64)
    worst = 0.0
    for axis in axes:
        both = mask & (mirrored(mask.astype(np.float64), centre, axis) > 0.5)
        if both.any():
            worst = max(worst, float(np.abs(mirrored(grey, centre, axis) - grey)[both].mean()))
    return worst


def outline_length(mask: Mask) -> float:
    """The length of a mask's outline by how often lines of four directions cross it (Crofton's formula).

    >>> y, x = np.indices((101, 101)) - 50
    >>> round(outline_length(y * y + x * x <= 40 * 40) / (2 * np.pi * 40), 1)
    1.0
    """
    on = np.pad(mask, 1)
    straight = int((on[1:] != on[:-1]).sum() + (on[:, 1:] != on[:, :-1]).sum())
    slanted = int((on[1:, 1:] != on[:-1, :-1]).sum() + (on[1:, :-1] != on[:-1, 1:]).sum())
    return float(np.pi / 8 * (straight + slanted / np.sqrt(2)))


def border_raggedness(mask: Mask) -> float:
    """Outline² / (4π · area): 1 for a disc, more for every detour of the border."""
    return outline_length(mask) ** 2 / (4 * np.pi * float(mask.sum())) if mask.sum() >= FEWEST else float("nan")


def border_notches(mask: Mask) -> float:
    """The share of a lesion's convex hull that is not lesion."""
    from scipy.spatial import ConvexHull

    if mask.sum() < FEWEST:
        return float("nan")
    return 1 - float(mask.sum()) / float(ConvexHull(_corners(mask)).volume)


def border_unevenness(picture: Picture, mask: Mask) -> float:
    """How unevenly abrupt the border is: the spread of the brightness gradient along it, as a share of its mean."""
    if mask.sum() < FEWEST:
        return float("nan")
    steep = ndimage.gaussian_gradient_magnitude(brightness(picture), min(mask.shape) / 64)
    along = steep[ndimage.binary_dilation(mask) & ~ndimage.binary_erosion(mask)]
    return float(along.std() / along.mean()) if along.mean() > 0 else float("nan")


def colour_shares(picture: Picture, mask: Mask) -> npt.NDArray[np.float64]:
    """The share of a lesion that each of the six colours is nearest to, [6]; NaN where a picture has no colours.

    >>> red = np.ones((3, 8, 8)) * np.array([0.66, 0.27, 0.26])[:, None, None]
    >>> colour_shares(red, np.ones((8, 8), bool)).tolist()
    [0.0, 1.0, 0.0, 0.0, 0.0, 0.0]
    """
    if mask.sum() < FEWEST or len(picture) != 3:
        return np.full(len(COLOURS), np.nan)
    inside = picture[:, mask].T
    nearest = np.stack([((inside - np.array(colour)) ** 2).sum(axis=1) for colour in COLOURS.values()]).argmin(axis=0)
    return np.asarray(np.bincount(nearest, minlength=len(COLOURS)) / len(inside), dtype=np.float64)


def colour_count(shares: npt.NDArray[np.float64], least: float = 0.02) -> float:
    """How many of the six colours a lesion has, each on a share of `least` at the least."""
    return float("nan") if np.isnan(shares).any() else float((shares >= least).sum())


def diameter(mask: Mask) -> float:
    """The largest distance between two points of a lesion, as a share of the picture's smaller side."""
    from scipy.spatial import ConvexHull
    from scipy.spatial.distance import pdist

    if mask.sum() < FEWEST:
        return float("nan")
    corners = _corners(mask)
    return float(pdist(corners[ConvexHull(corners).vertices]).max() / min(mask.shape))


def _corners(mask: Mask) -> npt.NDArray[np.float64]:
    """The corners of a mask's outermost pixels, [m, 2]."""
    edge = np.argwhere(mask & ~ndimage.binary_erosion(mask)).astype(np.float64)
    return np.concatenate([edge + np.array(corner) for corner in ((0, 0), (0, 1), (1, 0), (1, 1))])
