"""Tables 1-5 of Xu et al., *Towards evaluating the robustness of deep diagnostic models by adversarial attack*."""

from __future__ import annotations

from dataclasses import dataclass

MEASURES = ("ACC", "AUC", "FR")
CONDITIONS = (
    ("clean", "", "val"),
    ("xu-pgd-2", "eps=2/255", "val"),
    ("xu-pgd-4", "eps=4/255", "val"),
    ("xu-gap-7", "eps=7/255", "X"),
    ("xu-gap-7", "eps=7/255", "val"),
    ("xu-gap-11", "eps=11/255", "X"),
    ("xu-gap-11", "eps=11/255", "val"),
)
"""The columns of Tables 1 and 2: attack, ε, and the images it is measured on (X: training, val: validation)."""


@dataclass(frozen=True)
class Attacked:
    """One subject of Tables 1 and 2: its name in the paper, our pipeline, and a row per measure, in shares."""

    model: str
    pipeline: str
    subject: str
    rows: dict[str, tuple[float | None, ...]]


TABLE_1 = (
    Attacked(
        "IPMI2019-AttnMel",
        "lesions",
        "attnmel",
        {
            "ACC": (0.875, 0.108, 0.000, 0.311, 0.301, 0.217, 0.219),
            "AUC": (0.744, 0.067, 0.000, 0.558, 0.539, 0.514, 0.493),
            "FR": (None, 0.747, 0.855, 0.689, 0.712, 0.783, 0.805),
        },
    ),
    Attacked(
        "Inception_v3",
        "fundus",
        "inception-v3",
        {
            "ACC": (0.890, 0.190, 0.000, 0.377, 0.295, 0.207, 0.230),
            "AUC": (0.971, 0.715, 0.263, 0.663, 0.540, 0.594, 0.487),
            "FR": (None, 0.715, 0.905, 0.623, 0.690, 0.796, 0.770),
        },
    ),
)

TABLE_2 = (
    Attacked(
        "CheXNet",
        "chest",
        "chexnet",
        {
            "ACC": (0.865, 0.641, 0.455, 0.564, 0.580, 0.446, 0.395),
            "AUC": (0.807, 0.562, 0.308, 0.798, 0.736, 0.729, 0.748),
            "FR": (None, 0.236, 0.432, 0.297, 0.331, 0.427, 0.514),
        },
    ),
)


@dataclass(frozen=True)
class FlipProbability:
    """One subject of Table 3: its flip probability over the Robust-Benchmark."""

    model: str
    pipeline: str
    subject: str
    flip_probability: float


TABLE_3 = (
    FlipProbability("IPMI2019-AttnMel", "lesions", "attnmel", 0.0952),
    FlipProbability("Inception_v3", "fundus", "inception-v3", 0.1236),
    FlipProbability("CheXNet", "chest", "chexnet", 0.3809),
)


@dataclass(frozen=True)
class Compared:
    """One subject of Table 4: clean accuracy, accuracy under PGD at 4/255 with 4 steps, relative flip probability."""

    model: str
    subject: str
    clean: float
    attacked: float
    relative_flips: float


TABLE_4 = (
    Compared("IPMI2019-AttnMel", "attnmel", 0.8750, 0.0000, 1.00),
    Compared("VGG19", "vgg19", 0.8338, 0.5279, 0.03),
    Compared("ResNet50", "resnet50", 0.8364, 0.3615, 0.12),
    Compared("ResNet101", "resnet101", 0.8443, 0.2533, 0.21),
    Compared("ResNet152", "resnet152", 0.8549, 0.1530, 0.49),
    Compared("Inception_v3", "inception-v3", 0.8232, 0.1583, 0.69),
)
TABLE_4_PIPELINE = "lesions-depth"


@dataclass(frozen=True)
class Defended:
    """One subject of Table 5: its accuracy as it is, under PGD at 4/255 with 4 steps, and so with each defence."""

    model: str
    pipeline: str
    subject: str
    none: float
    attack: float
    defences: dict[str, float | None]


TABLE_5 = (
    Defended(
        "IPMI2019-AttnMel",
        "lesions-defended",
        "attnmel",
        0.875,
        0.000,
        {"standard": 0.802, "mpadvt": 0.824, "maadvt": 0.828},
    ),
    Defended(
        "Inception_v3",
        "fundus-defended",
        "inception-v3",
        0.890,
        0.000,
        {"standard": 0.250, "mpadvt": 0.311, "maadvt": 0.340},
    ),
    Defended(
        "CheXNet", "chest-defended", "chexnet", 0.865, 0.450, {"standard": 0.816, "mpadvt": 0.839, "maadvt": None}
    ),
)
TABLE_5_DEFENCES = {"standard": "Standard", "mpadvt": "MPAdvT", "maadvt": "MAAdvT"}
