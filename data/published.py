"""The numbers that the five papers print, table by table, beside which `assay reproduce` puts ours."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

PUGH_APPROACHES = ("pl_all", "pl_indep", "ci_all", "ours")
"""The table's columns in its order: PL Conf with all LFs, PL Conf with Indep. LFs, CI LB with all LFs, Our Approach."""

_SIMULATED = (
    "the hospital's recordings are not public: ours is a simulated cohort with a rulebook in the paper's style, "
    "so the studies share their construction and not their numbers"
)
BROUGHT = "the data is the user's to bring, and the rules are those that the user wrote"


@dataclass(frozen=True)
class Study:
    """One case study: its name in the paper, our pipeline for it, why our numbers differ, and the paper's numbers."""

    name: str
    pipeline: str
    why: str
    majority: tuple[tuple[float, float], ...]
    snorkel: tuple[tuple[float, float], ...]

    def published(self, labeler: str, approach: str) -> tuple[float, float]:
        """ρ and p as printed.

        >>> PUGH_TABLE_1[0].published("snorkel", "ours")
        (0.595, 0.07)
        """
        row = {"majority": self.majority, "snorkel": self.snorkel}[labeler]
        return row[PUGH_APPROACHES.index(approach)]


PUGH_TABLE_1 = (
    Study(
        "HR Low",
        "alarms-heart-rate-low",
        _SIMULATED,
        ((-0.719, 0.019), (-0.903, 0.000), (-0.863, 0.001), (-0.730, 0.017)),
        ((-0.313, 0.379), (-0.730, 0.017), (-0.827, 0.003), (0.595, 0.070)),
    ),
    Study(
        "HR High",
        "alarms-heart-rate-high",
        _SIMULATED,
        ((0.818, 0.004), (-0.976, 0.000), (0.857, 0.002), (-1.000, 0.000)),
        ((0.964, 0.000), (0.927, 0.000), (0.988, 0.000), (-0.806, 0.005)),
    ),
    Study(
        "RR Low",
        "alarms-respiratory-rate-low",
        _SIMULATED,
        ((-0.997, 0.000), (-0.879, 0.001), (-0.997, 0.000), (-0.891, 0.001)),
        ((-0.997, 0.000), (-0.394, 0.260), (-0.997, 0.000), (-0.806, 0.005)),
    ),
    Study(
        "RR High",
        "alarms-respiratory-rate-high",
        _SIMULATED,
        ((-1.000, 0.000), (-0.988, 0.000), (-1.000, 0.000), (-0.952, 0.000)),
        ((-1.000, 0.000), (-0.952, 0.000), (-1.000, 0.000), (-0.455, 0.187)),
    ),
    Study(
        "SpO2 Low",
        "alarms-spo2-low",
        _SIMULATED,
        ((-0.309, 0.385), (0.891, 0.001), (-0.248, 0.489), (0.188, 0.603)),
        ((-0.988, 0.000), (0.430, 0.214), (-0.455, 0.187), (-0.612, 0.060)),
    ),
    Study(
        "Cross Modal",
        "crossmodal",
        BROUGHT,
        ((-1.000, 0.000), (-1.000, 0.000), (-0.879, 0.001), (-0.782, 0.008)),
        ((-1.000, 0.000), (-0.988, 0.000), (-0.624, 0.054), (-0.806, 0.005)),
    ),
    Study(
        "Crowdsourcing",
        "weather-crowd",
        "the votes are filtered from the raw judgements, which may give a worker more or fewer than the published "
        "vote matrix has; as in the tutorial, 75 of the 100 labelled tweets have no votes, so that the first quarter "
        "of the order is right and the rest is the default class: all eight numbers measure the same thing",
        ((-0.864, 0.001), (-0.988, 0.000), (-0.864, 0.001), (-0.976, 0.000)),
        ((-0.976, 0.000), (-0.988, 0.000), (-0.864, 0.001), (-0.976, 0.000)),
    ),
    Study(
        "Recsys",
        "recsys",
        BROUGHT,
        ((-1.000, 0.000), (-1.000, 0.000), (-0.321, 0.365), (-0.321, 0.365)),
        ((-0.988, 0.000), (-0.988, 0.000), (-0.539, 0.108), (-0.539, 0.108)),
    ),
    Study(
        "Spam",
        "youtube-spam",
        "the comments come from the same collection, the rules are our own and not the tutorial's nine",
        ((-0.985, 0.000), (-0.985, 0.000), (-0.767, 0.010), (-0.767, 0.010)),
        ((-0.673, 0.033), (-0.673, 0.033), (-0.656, 0.039), (-0.656, 0.039)),
    ),
)


TOKI_MEASURES = ("accuracy", "precision", "sensitivity", "f1", "specificity", "g_mean")


@dataclass(frozen=True)
class TokiRow:
    """One row of Table 3: data set, oracle, explainer, the six measures, and the seconds spent, where printed."""

    data_set: str
    oracle: str
    explainer: str
    measures: tuple[float, float, float, float, float, float]
    training_texts: int | None = None
    keyword_seconds: float | None = None
    test_texts: int | None = None
    label_seconds: float | None = None


TOKI_TABLE_3 = (
    TokiRow("Dong's", "toki", "lime", (0.930, 0.947, 0.974, 0.960, 0.638, 0.789), 2509, 4866, 358, 1053),
    TokiRow("Dong's", "toki", "omission", (0.882, 0.912, 0.956, 0.934, 0.392, 0.612), 2509, 98, 358, 379),
    TokiRow("Dong's", "toki", "gradient", (0.853, 0.944, 0.891, 0.917, 0.387, 0.587), 2509, 41, 358, 704),
    TokiRow("Dong's", "naive", "", (0.771, 0.893, 0.836, 0.864, 0.340, 0.533)),
    TokiRow("Dong's", "toki-ki", "lime", (0.302, 0.985, 0.209, 0.345, 0.915, 0.437), None, None, None, 1051),
    TokiRow("Dong's", "toki-ki", "omission", (0.285, 0.956, 0.192, 0.320, 0.902, 0.416), None, None, None, 377),
    TokiRow("Dong's", "toki-ki", "gradient", (0.233, 1.000, 0.170, 0.290, 0.968, 0.406), None, None, None, 702),
    TokiRow("CAMS", "toki", "lime", (0.878, 0.872, 0.941, 0.905, 0.775, 0.854), 2158, 198359, 1945, 224540),
    TokiRow("CAMS", "toki", "omission", (0.735, 0.840, 0.622, 0.715, 0.864, 0.733), 2158, 30030, 1945, 31968),
    TokiRow("CAMS", "toki", "gradient", (0.539, 0.888, 0.499, 0.639, 0.719, 0.599), 2158, 2366, 1945, 3116),
    TokiRow("CAMS", "naive", "", (0.615, 0.768, 0.543, 0.636, 0.732, 0.631)),
    TokiRow("CAMS", "toki-ki", "lime", (0.422, 0.648, 0.343, 0.449, 0.551, 0.435), None, None, None, 224435),
    TokiRow("CAMS", "toki-ki", "omission", (0.442, 0.557, 0.232, 0.327, 0.683, 0.398), None, None, None, 31912),
    TokiRow("CAMS", "toki-ki", "gradient", (0.388, 0.836, 0.356, 0.500, 0.531, 0.435), None, None, None, 3071),
    TokiRow("HateXplain", "toki", "lime", (0.933, 0.966, 0.961, 0.963, 0.661, 0.797), 2364, 352721, 3306, 464720),
    TokiRow("HateXplain", "toki", "omission", (0.855, 0.928, 0.904, 0.916, 0.538, 0.697), 2364, 4630, 3306, 4913),
    TokiRow("HateXplain", "toki", "gradient", (0.684, 0.375, 0.385, 0.380, 0.785, 0.550), 2364, 5334, 3306, 7303),
    TokiRow("HateXplain", "naive", "", (0.640, 0.942, 0.645, 0.765, 0.605, 0.624)),
    TokiRow("HateXplain", "toki-ki", "lime", (0.103, 0.953, 0.014, 0.027, 0.984, 0.117), None, None, None, 464606),
    TokiRow("HateXplain", "toki-ki", "omission", (0.137, 0.879, 0.010, 0.020, 0.975, 0.099), None, None, None, 4818),
    TokiRow("HateXplain", "toki-ki", "gradient", (0.737, 0.586, 0.020, 0.039, 0.979, 0.140), None, None, None, 7271),
    TokiRow("Ours", "toki", "lime", (0.922, 0.977, 0.938, 0.957, 0.737, 0.831), 12000, 1126453, 245, 23892),
    TokiRow("Ours", "naive", "", (0.861, 0.925, 0.925, 0.925, 0.105, 0.312)),
    TokiRow("Ours", "toki-ki", "lime", (0.408, 0.968, 0.403, 0.569, 0.474, 0.437), None, None, None, 23849),
)


@dataclass(frozen=True)
class Attack:
    """One attack on one data set in Table 4: success rate, mean number of words changed, two sentence similarities."""

    success_rate: float
    perturbed_words: float
    bert: float
    use: float


@dataclass(frozen=True)
class AttackRow:
    """A row of Table 4: how many instances were attacked, by the guided attack and by A2T."""

    data_set: str
    instances: int
    guided: Attack
    a2t: Attack


TOKI_TABLE_4 = (
    AttackRow("movies", 728, Attack(0.994, 11.399, 0.994, 0.996), Attack(0.994, 11.531, 0.994, 0.996)),
    AttackRow("20news", 926, Attack(0.458, 21.058, 0.977, 0.979), Attack(0.456, 21.089, 0.976, 0.979)),
    AttackRow("CAMS", 4316, Attack(0.812, 4.807, 0.983, 0.968), Attack(0.765, 5.500, 0.981, 0.966)),
    AttackRow("HateXplain", 3846, Attack(0.351, 1.887, 0.952, 0.933), Attack(0.325, 1.915, 0.951, 0.931)),
    AttackRow("amazon_polarity", 8000, Attack(0.362, 5.976, 0.974, 0.969), Attack(0.187, 7.316, 0.970, 0.963)),
    AttackRow("ag_news", 7600, Attack(0.192, 2.481, 0.965, 0.949), Attack(0.151, 2.668, 0.963, 0.952)),
    AttackRow("rotten_tomatoes", 1066, Attack(0.500, 1.626, 0.952, 0.921), Attack(0.334, 1.898, 0.950, 0.919)),
    AttackRow("yahoo_answers_topics", 8000, Attack(0.372, 4.107, 0.955, 0.954), Attack(0.307, 4.726, 0.953, 0.952)),
    AttackRow("imdb", 8000, Attack(0.800, 7.473, 0.983, 0.985), Attack(0.650, 9.786, 0.981, 0.982)),
    AttackRow("emotion", 2000, Attack(0.643, 1.152, 0.961, 0.927), Attack(0.517, 1.235, 0.957, 0.926)),
)
"""Table 4: the attack guided by TOKI beside A2T, ten data sets. The table spells the success rate SAR."""


XU_MEASURES = ("ACC", "AUC", "FR")
XU_CONDITIONS = (
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


XU_TABLE_1 = (
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

XU_TABLE_2 = (
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


XU_TABLE_3 = (
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


XU_TABLE_4 = (
    Compared("IPMI2019-AttnMel", "attnmel", 0.8750, 0.0000, 1.00),
    Compared("VGG19", "vgg19", 0.8338, 0.5279, 0.03),
    Compared("ResNet50", "resnet50", 0.8364, 0.3615, 0.12),
    Compared("ResNet101", "resnet101", 0.8443, 0.2533, 0.21),
    Compared("ResNet152", "resnet152", 0.8549, 0.1530, 0.49),
    Compared("Inception_v3", "inception-v3", 0.8232, 0.1583, 0.69),
)
XU_TABLE_4_PIPELINE = "lesions-depth"


@dataclass(frozen=True)
class Defended:
    """One subject of Table 5: its accuracy as it is, under PGD at 4/255 with 4 steps, and so with each defence."""

    model: str
    pipeline: str
    subject: str
    none: float
    attack: float
    defences: dict[str, float | None]


XU_TABLE_5 = (
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
XU_TABLE_5_DEFENCES = {"standard": "Standard", "mpadvt": "MPAdvT", "maadvt": "MAAdvT"}


REJECTED_EPS = (10.0, 20.0, 30.0, 50.0)
"""ε at which the dependent model fails the test of one model with nearly all confidence (10 ≤ ε ≤ 50)."""

BASIC_MISSES_EPS = (10.0, 75.0)
"""ε at which the pairwise test rejects a single realisation, and the basic test does not."""

TRANSITION_EPS = 6.0
"""The ε of Figure 6, between failing to reject and rejecting."""

TRANSITION_P: dict[int, tuple[float, ...]] = {1: (0.5984,), 25: (0.1851, 0.1599, 0.0661, 0.1941), 100: (0.1153,)}
"""p of N dependent models at ε = 6, one per bin; for N = 1 the mean of 100."""

TRANSITION_MEDIAN = 0.6385
"""The median of the 100 p-values of one dependent model at ε = 6."""

INDEPENDENT_EPS = 10.0
"""The ε of Figure 6 at which independent models are tested; all p lie near 1."""

FINAL_LOSS = 0.25
"""The penalised training loss that the dependent model ends with."""


ARAUJO_SETS = {"original": "clean", "synonym": "synonymy", "keyboard": "keyboard", "swap": "swap"}
"""The paper's test sets, and what the attacks are called here."""

PM, P = "BERT P+M", "BERT P"


@dataclass(frozen=True)
class Entities:
    """One row of Tables 2, 4 and 5: precision, recall and F1 of a model on a test set, by what it was trained with."""

    model: str
    trained: str
    tested: str
    precision: float
    recall: float
    f1: float


@dataclass(frozen=True)
class Similarity:
    """One row of Tables 3 and 6: Pearson's r and Spearman's ρ of a model on a test set, by what it was trained with."""

    model: str
    trained: str
    tested: str
    pearson: float
    spearman: float


_Row = TypeVar("_Row", Entities, Similarity)
_Numbers = tuple[float, ...]


def _attacked(row: type[_Row], model: str, *tested: _Numbers) -> tuple[_Row, ...]:
    """A model trained on the original data: its numbers on each of the test sets, in their order."""
    return tuple(row(model, "original", name, *numbers) for name, numbers in zip(ARAUJO_SETS, tested, strict=True))


def _trained(row: type[_Row], model: str, **trained: tuple[_Numbers, _Numbers]) -> tuple[_Row, ...]:
    """Per attack that was trained on: the numbers on the original test set, and on that attack."""
    return tuple(
        row(model, name, tested, *numbers)
        for name, pair in trained.items()
        for tested, numbers in zip(("original", name), pair, strict=True)
    )


CHEMICAL, DISEASE = "BC5CDR-Chemical", "BC5CDR-Disease"

ARAUJO_TABLE_2 = {
    CHEMICAL: (
        *_attacked(
            Entities, PM, (0.894, 0.893, 0.894), (0.744, 0.739, 0.741), (0.619, 0.541, 0.578), (0.764, 0.698, 0.728)
        ),
        *_attacked(
            Entities, P, (0.895, 0.908, 0.901), (0.730, 0.748, 0.739), (0.734, 0.683, 0.708), (0.609, 0.559, 0.583)
        ),
    ),
    DISEASE: (
        *_attacked(
            Entities, PM, (0.828, 0.829, 0.828), (0.322, 0.371, 0.345), (0.528, 0.273, 0.360), (0.636, 0.369, 0.467)
        ),
        *_attacked(
            Entities, P, (0.832, 0.844, 0.838), (0.337, 0.390, 0.362), (0.543, 0.278, 0.368), (0.636, 0.337, 0.441)
        ),
    ),
}

ARAUJO_TABLE_3 = {
    "BioSSES": (
        *_attacked(Similarity, PM, (0.832, 0.744), (0.844, 0.774), (0.656, 0.656), (0.622, 0.685)),
        *_attacked(Similarity, P, (0.829, 0.813), (0.869, 0.666), (0.759, 0.607), (0.765, 0.774)),
    )
}

ARAUJO_TABLE_4 = {
    CHEMICAL: (
        *_trained(
            Entities,
            PM,
            synonym=((0.888, 0.886, 0.887), (0.863, 0.898, 0.880)),
            keyboard=((0.892, 0.890, 0.891), (0.834, 0.810, 0.822)),
            swap=((0.886, 0.889, 0.888), (0.668, 0.610, 0.638)),
        ),
        *_trained(
            Entities,
            P,
            synonym=((0.899, 0.901, 0.900), (0.872, 0.908, 0.890)),
            keyboard=((0.889, 0.906, 0.898), (0.850, 0.792, 0.820)),
            swap=((0.895, 0.902, 0.898), (0.684, 0.630, 0.656)),
        ),
    )
}

ARAUJO_TABLE_5 = {
    DISEASE: (
        *_trained(
            Entities,
            PM,
            synonym=((0.805, 0.806, 0.805), (0.786, 0.832, 0.808)),
            keyboard=((0.830, 0.839, 0.835), (0.711, 0.698, 0.704)),
            swap=((0.826, 0.831, 0.828), (0.745, 0.736, 0.741)),
        ),
        *_trained(
            Entities,
            P,
            synonym=((0.813, 0.824, 0.818), (0.788, 0.841, 0.814)),
            keyboard=((0.839, 0.848, 0.844), (0.723, 0.712, 0.717)),
            swap=((0.836, 0.847, 0.841), (0.773, 0.746, 0.759)),
        ),
    )
}

ARAUJO_TABLE_6 = {
    "BioSSES": (
        *_trained(
            Similarity,
            PM,
            synonym=((0.723, 0.607), (0.742, 0.557)),
            keyboard=((0.741, 0.626), (0.676, 0.538)),
            swap=((0.615, 0.557), (0.528, 0.508)),
        ),
        *_trained(
            Similarity,
            P,
            synonym=((0.790, 0.518), (0.796, 0.705)),
            keyboard=((0.827, 0.715), (0.789, 0.607)),
            swap=((0.566, 0.734), (0.775, 0.774)),
        ),
    )
}

ARAUJO_PIPELINES = {CHEMICAL: "bc5cdr-chemical", DISEASE: "bc5cdr-disease", "BioSSES": "biosses"}
"""Per data set, the pipeline on it."""

ARAUJO_EMBEDDED = {"ner": "abstracts-ner", "sts": "abstracts-sts"}
"""The pipelines on embedded data that show the same in minutes."""
