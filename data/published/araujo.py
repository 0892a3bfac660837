"""Tables 2-6 of Araujo et al., *On Adversarial Examples for Biomedical NLP Tasks*."""

from __future__ import annotations

from dataclasses import dataclass

SETS = {"original": "clean", "synonym": "synonymy", "keyboard": "keyboard", "swap": "swap"}
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


def _rows(model: str, **tested: tuple[float, float, float]) -> tuple[Entities, ...]:
    return tuple(Entities(model, "original", name, *numbers) for name, numbers in tested.items())


def _trained(
    model: str, **trained: tuple[tuple[float, float, float], tuple[float, float, float]]
) -> tuple[Entities, ...]:
    """Per attack that was trained on: the numbers on the original test set, and on that attack."""
    return tuple(
        Entities(model, name, tested, *numbers)
        for name, pair in trained.items()
        for tested, numbers in zip(("original", name), pair, strict=True)
    )


def _pairs(model: str, **tested: tuple[float, float]) -> tuple[Similarity, ...]:
    return tuple(Similarity(model, "original", name, *numbers) for name, numbers in tested.items())


def _trained_pairs(model: str, **trained: tuple[tuple[float, float], tuple[float, float]]) -> tuple[Similarity, ...]:
    return tuple(
        Similarity(model, name, tested, *numbers)
        for name, pair in trained.items()
        for tested, numbers in zip(("original", name), pair, strict=True)
    )


CHEMICAL, DISEASE = "BC5CDR-Chemical", "BC5CDR-Disease"

TABLE_2 = {
    CHEMICAL: (
        *_rows(
            PM,
            original=(0.894, 0.893, 0.894),
            synonym=(0.744, 0.739, 0.741),
            keyboard=(0.619, 0.541, 0.578),
            swap=(0.764, 0.698, 0.728),
        ),
        *_rows(
            P,
            original=(0.895, 0.908, 0.901),
            synonym=(0.730, 0.748, 0.739),
            keyboard=(0.734, 0.683, 0.708),
            swap=(0.609, 0.559, 0.583),
        ),
    ),
    DISEASE: (
        *_rows(
            PM,
            original=(0.828, 0.829, 0.828),
            synonym=(0.322, 0.371, 0.345),
            keyboard=(0.528, 0.273, 0.360),
            swap=(0.636, 0.369, 0.467),
        ),
        *_rows(
            P,
            original=(0.832, 0.844, 0.838),
            synonym=(0.337, 0.390, 0.362),
            keyboard=(0.543, 0.278, 0.368),
            swap=(0.636, 0.337, 0.441),
        ),
    ),
}

TABLE_3 = {
    "BioSSES": (
        *_pairs(PM, original=(0.832, 0.744), synonym=(0.844, 0.774), keyboard=(0.656, 0.656), swap=(0.622, 0.685)),
        *_pairs(P, original=(0.829, 0.813), synonym=(0.869, 0.666), keyboard=(0.759, 0.607), swap=(0.765, 0.774)),
    )
}

TABLE_4 = {
    CHEMICAL: (
        *_trained(
            PM,
            synonym=((0.888, 0.886, 0.887), (0.863, 0.898, 0.880)),
            keyboard=((0.892, 0.890, 0.891), (0.834, 0.810, 0.822)),
            swap=((0.886, 0.889, 0.888), (0.668, 0.610, 0.638)),
        ),
        *_trained(
            P,
            synonym=((0.899, 0.901, 0.900), (0.872, 0.908, 0.890)),
            keyboard=((0.889, 0.906, 0.898), (0.850, 0.792, 0.820)),
            swap=((0.895, 0.902, 0.898), (0.684, 0.630, 0.656)),
        ),
    )
}

TABLE_5 = {
    DISEASE: (
        *_trained(
            PM,
            synonym=((0.805, 0.806, 0.805), (0.786, 0.832, 0.808)),
            keyboard=((0.830, 0.839, 0.835), (0.711, 0.698, 0.704)),
            swap=((0.826, 0.831, 0.828), (0.745, 0.736, 0.741)),
        ),
        *_trained(
            P,
            synonym=((0.813, 0.824, 0.818), (0.788, 0.841, 0.814)),
            keyboard=((0.839, 0.848, 0.844), (0.723, 0.712, 0.717)),
            swap=((0.836, 0.847, 0.841), (0.773, 0.746, 0.759)),
        ),
    )
}

TABLE_6 = {
    "BioSSES": (
        *_trained_pairs(
            PM,
            synonym=((0.723, 0.607), (0.742, 0.557)),
            keyboard=((0.741, 0.626), (0.676, 0.538)),
            swap=((0.615, 0.557), (0.528, 0.508)),
        ),
        *_trained_pairs(
            P,
            synonym=((0.790, 0.518), (0.796, 0.705)),
            keyboard=((0.827, 0.715), (0.789, 0.607)),
            swap=((0.566, 0.734), (0.775, 0.774)),
        ),
    )
}

PIPELINES = {CHEMICAL: "bc5cdr-chemical", DISEASE: "bc5cdr-disease", "BioSSES": "biosses"}
"""Per data set, the pipeline on it."""

EMBEDDED = {"ner": "abstracts-ner", "sts": "abstracts-sts"}
"""The pipelines on embedded data that show the same in minutes."""
