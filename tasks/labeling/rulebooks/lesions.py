"""Nine rules on pigmented skin lesions in the manner of the ABCD rule, each measured on the picture.

A lesion is found by its darkness, and its asymmetry, border, colours and diameter are measured. Each measure has two
limits: below the first its rule votes benign, above the second malignant, in between it abstains. The limits are about
the median and the .85 quantile over the training pictures of the simulated set, at the width of 64 and of 32 pixels
alike: that malignant lesions are the fewer and the more irregular is all that they know of the classes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from assay.tasks.labeling import abcd
from assay.tasks.labeling.frames import InBatches, pixels
from assay.tasks.labeling.rules import ABSTAIN, ColumnRule, Rulebook
from assay.tasks.labeling.segmentation import Mask, Picture, lesion_mask

BENIGN, MALIGNANT = 0, 1

Measures = Mapping[str, npt.NDArray[np.float64]]  # [n] each, NaN where a lesion cannot be measured

MEASURES: Mapping[str, Callable[[Picture, Mask], float]] = {
    "asymmetry_of_shape": lambda _, mask: abcd.shape_asymmetry(mask),
    "asymmetry_of_colour": abcd.colour_asymmetry,
    "border_ragged": lambda _, mask: abcd.border_raggedness(mask),
    "border_notched": lambda _, mask: abcd.border_notches(mask),
    "border_uneven": abcd.border_unevenness,
    "colours_many": lambda picture, mask: abcd.colour_count(abcd.colour_shares(picture, mask)),
    "colours_blue_or_black": lambda picture, mask: float(abcd.colour_shares(picture, mask)[4:].sum()),
    "colours_spread": lambda picture, mask: float(picture[:, mask].std(axis=1).mean()) if mask.any() else np.nan,
    "diameter": lambda _, mask: abcd.diameter(mask),
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
    found: dict[str, list[float]] = {name: [] for name in MEASURES}
    for picture in pixels(table).astype(np.float64):
        mask = lesion_mask(picture)
        for name, measure in MEASURES.items():
            found[name].append(measure(picture, mask))
    return {name: np.asarray(values) for name, values in found.items()}


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
