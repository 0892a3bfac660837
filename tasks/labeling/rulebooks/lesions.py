"""Nine rules on pigmented skin lesions in the manner of the ABCD rule, each measured on the picture.

A lesion is found by its darkness, as in the first dermoscopy systems (Celebi et al., *Lesion border detection in
dermoscopy images*, 2009): hairs are closed over, the grey levels are parted by Otsu's threshold, and of the dark pieces
the one that weighs most near the middle is the lesion, its holes filled. Its asymmetry, border, colours and diameter
are measured: the rule is Stolz et al., *ABCD rule of dermatoscopy* (1994), its numbers those of Celebi et al., *A
methodological approach to the classification of dermoscopy images* (2007). All are shares or ratios, so that they mean
the same for pictures of any size; a mask too small to be measured gives NaN.

Each measure has two limits: below the first its rule votes benign, above the second malignant, in between it abstains.
The limits are about the median and the .85 quantile over the training pictures of the simulated set, at the width of 64
and of 32 pixels alike: that malignant lesions are the fewer and the more irregular is all that they know of the
classes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from scipy import ndimage

from assay.tasks.labeling.rules import ABSTAIN, ColumnRule, InBatches, Rulebook, pixels

Picture = npt.NDArray[np.float64]  # [c, h, w], each value in [0, 1]
Grey = npt.NDArray[np.float64]  # [h, w]
Mask = npt.NDArray[np.bool_]  # [h, w]

_LEVELS = 256
_HAIR = 1 / 16  # of the picture's width: thinner dark lines are hairs


def brightness(picture: Picture) -> Grey:
    """The mean over the channels, [h, w]: pigment darkens all of them."""
    return np.asarray(picture.mean(axis=0))


def without_hairs(grey: Grey) -> Grey:
    """The grey picture with dark lines closed over that are thinner than a sixteenth of its width (Lee et al. 1997)."""
    size = max(2, round(min(grey.shape) * _HAIR))
    return np.asarray(ndimage.grey_closing(grey, size=(size, size)))


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
    return np.asarray(away <= 0.92**2)


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
    return np.asarray(ndimage.binary_fill_holes(pieces == 1 + int(np.argmax(weights))))


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
    return np.asarray(ndimage.map_coordinates(values, [y - 2 * away * across[0], x - 2 * away * across[1]], order=1))


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


BENIGN, MALIGNANT = 0, 1

Measures = Mapping[str, npt.NDArray[np.float64]]  # [n] each, NaN where a lesion cannot be measured

MEASURES: Mapping[str, Callable[[Picture, Mask], float]] = {
    "asymmetry_of_shape": lambda _, mask: shape_asymmetry(mask),
    "asymmetry_of_colour": colour_asymmetry,
    "border_ragged": lambda _, mask: border_raggedness(mask),
    "border_notched": lambda _, mask: border_notches(mask),
    "border_uneven": border_unevenness,
    "colours_many": lambda picture, mask: colour_count(colour_shares(picture, mask)),
    "colours_blue_or_black": lambda picture, mask: float(colour_shares(picture, mask)[4:].sum()),
    "colours_spread": lambda picture, mask: float(picture[:, mask].std(axis=1).mean()) if mask.any() else np.nan,
    "diameter": lambda _, mask: diameter(mask),
}

LIMITS = {  # measure: (benign below, malignant above)
    "asymmetry_of_shape": (0.08, 0.13),
    "asymmetry_of_colour": (0.0275, 0.051),
    "border_ragged": (1.1, 1.23),
    "border_notched": (0.07, 0.1),
    "border_uneven": (0.21, 0.325),
    "colours_many": (2, 2),
    "colours_blue_or_black": (0, 0.02),
    "colours_spread": (0.057, 0.072),
    "diameter": (0.545, 0.665),
}


def measured(table: pa.Table) -> Measures:
    """Every measure of every picture: the lesion is found once, for all rules."""
    by_measure: dict[str, list[float]] = {name: [] for name in MEASURES}
    for picture in pixels(table).astype(np.float64):
        mask = lesion_mask(picture)
        for name, measure in MEASURES.items():
            by_measure[name].append(measure(picture, mask))
    return {name: np.asarray(values) for name, values in by_measure.items()}


lesions = InBatches(measured)
"""The frame of the rules: what was measured on a batch of pictures."""


def outside(measure: str, benign_below: float, malignant_above: float) -> ColumnRule[Measures]:
    """The rule that votes where a measure lies outside its two limits."""

    def vote(measures: Measures) -> object:
        value = measures[measure]
        return np.select([value < benign_below, value > malignant_above], [BENIGN, MALIGNANT], ABSTAIN)

    return ColumnRule(measure, vote, lesions)


RULEBOOK = Rulebook(
    "lesions", ("benign", "malignant"), [outside(measure, low, high) for measure, (low, high) in LIMITS.items()]
)
