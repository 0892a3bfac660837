"""Tables 3 and 4 of Nguyen Tung et al., *Automated Trustworthiness Oracle Generation for ML Text Classifiers*."""

from __future__ import annotations

from dataclasses import dataclass

MEASURES = ("accuracy", "precision", "sensitivity", "f1", "specificity", "g_mean")


@dataclass(frozen=True)
class Row:
    """One row of Table 3: data set, oracle, explainer, the six measures, and the seconds spent, where printed."""

    data_set: str
    oracle: str
    explainer: str
    measures: tuple[float, float, float, float, float, float]
    training_texts: int | None = None
    keyword_seconds: float | None = None
    test_texts: int | None = None
    label_seconds: float | None = None


TABLE_3 = (
    Row("Dong's", "toki", "lime", (0.930, 0.947, 0.974, 0.960, 0.638, 0.789), 2509, 4866, 358, 1053),
    Row("Dong's", "toki", "omission", (0.882, 0.912, 0.956, 0.934, 0.392, 0.612), 2509, 98, 358, 379),
    Row("Dong's", "toki", "gradient", (0.853, 0.944, 0.891, 0.917, 0.387, 0.587), 2509, 41, 358, 704),
    Row("Dong's", "naive", "", (0.771, 0.893, 0.836, 0.864, 0.340, 0.533)),
    Row("Dong's", "toki-ki", "lime", (0.302, 0.985, 0.209, 0.345, 0.915, 0.437), None, None, None, 1051),
    Row("Dong's", "toki-ki", "omission", (0.285, 0.956, 0.192, 0.320, 0.902, 0.416), None, None, None, 377),
    Row("Dong's", "toki-ki", "gradient", (0.233, 1.000, 0.170, 0.290, 0.968, 0.406), None, None, None, 702),
    Row("CAMS", "toki", "lime", (0.878, 0.872, 0.941, 0.905, 0.775, 0.854), 2158, 198359, 1945, 224540),
    Row("CAMS", "toki", "omission", (0.735, 0.840, 0.622, 0.715, 0.864, 0.733), 2158, 30030, 1945, 31968),
    Row("CAMS", "toki", "gradient", (0.539, 0.888, 0.499, 0.639, 0.719, 0.599), 2158, 2366, 1945, 3116),
    Row("CAMS", "naive", "", (0.615, 0.768, 0.543, 0.636, 0.732, 0.631)),
    Row("CAMS", "toki-ki", "lime", (0.422, 0.648, 0.343, 0.449, 0.551, 0.435), None, None, None, 224435),
    Row("CAMS", "toki-ki", "omission", (0.442, 0.557, 0.232, 0.327, 0.683, 0.398), None, None, None, 31912),
    Row("CAMS", "toki-ki", "gradient", (0.388, 0.836, 0.356, 0.500, 0.531, 0.435), None, None, None, 3071),
    Row("HateXplain", "toki", "lime", (0.933, 0.966, 0.961, 0.963, 0.661, 0.797), 2364, 352721, 3306, 464720),
    Row("HateXplain", "toki", "omission", (0.855, 0.928, 0.904, 0.916, 0.538, 0.697), 2364, 4630, 3306, 4913),
    Row("HateXplain", "toki", "gradient", (0.684, 0.375, 0.385, 0.380, 0.785, 0.550), 2364, 5334, 3306, 7303),
    Row("HateXplain", "naive", "", (0.640, 0.942, 0.645, 0.765, 0.605, 0.624)),
    Row("HateXplain", "toki-ki", "lime", (0.103, 0.953, 0.014, 0.027, 0.984, 0.117), None, None, None, 464606),
    Row("HateXplain", "toki-ki", "omission", (0.137, 0.879, 0.010, 0.020, 0.975, 0.099), None, None, None, 4818),
    Row("HateXplain", "toki-ki", "gradient", (0.737, 0.586, 0.020, 0.039, 0.979, 0.140), None, None, None, 7271),
    Row("Ours", "toki", "lime", (0.922, 0.977, 0.938, 0.957, 0.737, 0.831), 12000, 1126453, 245, 23892),
    Row("Ours", "naive", "", (0.861, 0.925, 0.925, 0.925, 0.105, 0.312)),
    Row("Ours", "toki-ki", "lime", (0.408, 0.968, 0.403, 0.569, 0.474, 0.437), None, None, None, 23849),
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


TABLE_4 = (
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
