"""The perturbations of the Robust-Benchmark: category, kind of sequence, frames, constants. A new one is a line here.

The noises, blurs, weather and brightness have their constants from CIFAR-C (32 px) and ImageNet-C (224 px). The five
geometric ones have no published levels: their largest amplitude is that of CIFAR-P and ImageNet-P, and severity s
takes {.2, .4, .6, .8, 1} of it. ImageNet-P scales from .40 to 1.15; centred on the identity that is ±.375.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from functools import partial

from assay.infra.choices import NamedChoices
from assay.tasks.corruptions import sequences
from assay.tasks.corruptions.choice import Corruption
from assay.tasks.corruptions.constants import Levels, shares, single

CORRUPTIONS = NamedChoices(
    "perturbation",
    "assay.corruptions",
    Corruption,
    (
        Corruption(
            "gaussian-noise",
            "noise",
            "noise",
            sequences.gaussian_noisy,
            single("sd", (0.04, 0.06, 0.08, 0.09, 0.10), (0.08, 0.12, 0.18, 0.26, 0.38)),
        ),
        Corruption(
            "shot-noise",
            "noise",
            "noise",
            sequences.shot_noisy,
            single("photons", (500, 250, 100, 75, 50), (60, 25, 12, 5, 3)),
        ),
        Corruption(
            "speckle-noise",
            "noise",
            "noise",
            sequences.speckle_noisy,
            single("sd", (0.06, 0.10, 0.12, 0.16, 0.20), (0.15, 0.20, 0.35, 0.45, 0.60)),
        ),
        Corruption(
            "gaussian-blur",
            "blur",
            "ramp",
            sequences.gaussian_blurred,
            single("sigma", (0.4, 0.6, 0.7, 0.8, 1.0), (1, 2, 3, 4, 6), length=True),
        ),
        Corruption(
            "motion-blur",
            "blur",
            "ramp",
            sequences.motion_blurred,
            Levels(
                ("radius", "sigma"),
                ((6, 1), (6, 1.5), (6, 2), (8, 2), (9, 2.5)),
                ((10, 3), (15, 5), (15, 8), (15, 12), (20, 15)),
                ("radius", "sigma"),
            ),
        ),
        Corruption(
            "zoom-blur",
            "blur",
            "ramp",
            sequences.zoom_blurred,
            single("zoom", (1.05, 1.10, 1.15, 1.20, 1.25), (1.10, 1.15, 1.20, 1.25, 1.30)),
        ),
        Corruption(
            "snow",
            "weather",
            "ramp",
            sequences.snowy,
            Levels(
                ("mean", "sd", "zoom", "threshold", "radius", "sigma", "keep"),
                (
                    (0.1, 0.2, 1, 0.6, 8, 3, 0.95),
                    (0.1, 0.2, 1, 0.5, 10, 4, 0.9),
                    (0.15, 0.3, 1.75, 0.55, 10, 4, 0.9),
                    (0.25, 0.3, 2.25, 0.6, 12, 6, 0.85),
                    (0.3, 0.3, 1.25, 0.65, 14, 12, 0.8),
                ),
                (
                    (0.1, 0.3, 3, 0.5, 10, 4, 0.8),
                    (0.2, 0.3, 2, 0.5, 12, 4, 0.7),
                    (0.55, 0.3, 4, 0.9, 12, 8, 0.7),
                    (0.55, 0.3, 4.5, 0.85, 12, 8, 0.65),
                    (0.55, 0.3, 2.5, 0.85, 12, 12, 0.55),
                ),
                ("zoom", "radius", "sigma"),
            ),
        ),
        Corruption(
            "spatter",
            "weather",
            "ramp",
            sequences.spattered,
            Levels(
                ("mean", "sd", "sigma", "threshold", "strength", "mud"),
                (
                    (0.62, 0.1, 0.7, 0.7, 0.5, 0),
                    (0.65, 0.1, 0.8, 0.7, 0.5, 0),
                    (0.65, 0.3, 1, 0.69, 0.5, 0),
                    (0.65, 0.1, 0.7, 0.69, 0.6, 1),
                    (0.65, 0.1, 0.5, 0.68, 0.6, 1),
                ),
                (
                    (0.65, 0.3, 4, 0.69, 0.6, 0),
                    (0.65, 0.3, 3, 0.68, 0.6, 0),
                    (0.65, 0.3, 2, 0.68, 0.5, 0),
                    (0.65, 0.3, 1, 0.65, 1.5, 1),
                    (0.67, 0.4, 1, 0.65, 1.5, 1),
                ),
                ("sigma",),
            ),
        ),
        Corruption(
            "brightness",
            "digital",
            "sweep",
            sequences.made_brighter,
            single("amount", (0.05, 0.10, 0.15, 0.20, 0.30), (0.1, 0.2, 0.3, 0.4, 0.5)),
        ),
        Corruption("translate", "digital", "sweep", sequences.moved, shares("pixels", 7, 20, length=True)),
        Corruption("rotate", "digital", "sweep", partial(sequences.warped_by, "rotate"), shares("degrees", 15, 15)),
        Corruption("tilt", "digital", "sweep", partial(sequences.warped_by, "tilt"), shares("degrees", 11.25, 15)),
        Corruption("scale", "digital", "sweep", partial(sequences.warped_by, "scale"), shares("amount", 0.30, 0.375)),
        Corruption("shear", "digital", "sweep", partial(sequences.warped_by, "shear"), shares("degrees", 15, 15)),
    ),
)

CATEGORIES = {corruption.word: corruption.category for corruption in CORRUPTIONS}
"""The paper's four categories of perturbations."""


def in_order(tried: Collection[str]) -> Sequence[str]:
    """Those that were tried in the order of the table, plug-ins behind them.

    >>> in_order({"snow", "fog", "shot-noise"})
    ['shot-noise', 'snow', 'fog']
    """
    return [*(word for word in CORRUPTIONS.words if word in tried), *sorted({*tried} - {*CORRUPTIONS.words})]
