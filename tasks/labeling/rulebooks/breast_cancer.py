"""Thirty rules on the cell nuclei of a breast mass: small and regular means benign, large and ragged malignant.

Each measurement has two limits: below the first it votes benign, above the second malignant, in between it abstains.
The limits are the .33 and .67 quantiles over the 569 patients of the Wisconsin data set, written as the shortest
numbers that part the same patients.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from assay.tasks.labeling.rules import ABSTAIN, ColumnRule, Rulebook

if TYPE_CHECKING:
    import pandas as pd

MALIGNANT, BENIGN = 0, 1

LIMITS = {  # measurement: (benign below, malignant above)
    "mean radius": (12.23, 14.8),
    "mean texture": (17.16, 20.76),
    "mean perimeter": (78.4, 96.4),
    "mean area": (461.2, 674.0),
    "mean smoothness": (0.08924, 0.1019),
    "mean compactness": (0.0731, 0.116),
    "mean concavity": (0.0376, 0.103),
    "mean concave points": (0.0239, 0.059),
    "mean symmetry": (0.1672, 0.1906),
    "mean fractal dimension": (0.05913, 0.0644),
    "radius error": (0.2544, 0.413),
    "texture error": (0.923, 1.35),
    "perimeter error": (1.83, 2.91),
    "area error": (19.65, 34.5),
    "smoothness error": (0.005518, 0.00748),
    "compactness error": (0.01489, 0.0283),
    "concavity error": (0.01814, 0.0349),
    "concave points error": (0.008849, 0.01339),
    "symmetry error": (0.0161, 0.0214),
    "fractal dimension error": (0.0025, 0.00401),
    "worst radius": (13.46, 16.85),
    "worst texture": (22.46, 28.0),
    "worst perimeter": (87.37, 113.1),
    "worst area": (552.1, 865.0),
    "worst smoothness": (0.1222, 0.1413),
    "worst compactness": (0.167, 0.286),
    "worst concavity": (0.1451, 0.334),
    "worst concave points": (0.078, 0.1426),
    "worst symmetry": (0.2606, 0.3058),
    "worst fractal dimension": (0.07432, 0.0874),
}


def outside(measurement: str, benign_below: float, malignant_above: float) -> ColumnRule[pd.DataFrame]:
    """The rule that votes where a measurement lies outside its two limits."""

    def vote(patients: pd.DataFrame) -> object:
        value = patients[measurement]
        return np.select([value < benign_below, value > malignant_above], [BENIGN, MALIGNANT], ABSTAIN)

    return ColumnRule(measurement, vote)


RULEBOOK = Rulebook(
    "breast-cancer",
    ("malignant", "benign"),
    [outside(measurement, low, high) for measurement, (low, high) in LIMITS.items()],
)
