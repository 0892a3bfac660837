"""Whether a labeler keeps what pipelines rely on, tried on votes that are drawn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from assay.infra.errors import AssayError, InputError, told
from assay.tasks.statistics.vote_counts import VoteCounts
from assay.tasks.weak_labels.labels import probabilities_of
from assay.tasks.weak_labels.models import Labeler, Options

if TYPE_CHECKING:
    from assay.tasks.weak_labels.choice import LabelerChoice

SAMPLES, FUNCTIONS, CLASSES = 60, 5, 3


@dataclass(frozen=True)
class _Brief:
    """The options of a short training."""

    epochs: int = 20
    learning_rate: float = 0.01
    seed: int = 0


def labeler_conformance(choice: LabelerChoice) -> list[str]:
    """What keeps a labeler from being one, a sentence; nothing where all is well."""
    try:
        check_labeler(choice)
    except AssayError as error:
        return [str(error)]
    except Exception as fault:  # noqa: BLE001  an author is told whatever it was
        return [f"The labeler {choice.word} raised {told(fault)}"]
    return []


def check_labeler(choice: LabelerChoice) -> None:
    """Nothing, or one sentence: its probabilities have the right shape and sum to one, the same votes get the same
    answer, and a sample's answer does not depend on the samples beside it.

    >>> from assay.tasks.weak_labels.choice import LabelerChoice
    >>> check_labeler(LabelerChoice("uniform", probabilities=lambda votes, k: np.full((len(votes), k), 1 / k)))
    """
    votes = np.random.default_rng(0).integers(-1, CLASSES, size=(SAMPLES, FUNCTIONS)).astype(np.int8)
    votes[0] = -1  # a sample that nobody votes on
    if choice.probabilities is not None:
        _check_probabilities(choice, votes)
    elif choice.learn is not None:
        _check_learning(choice, votes, choice.learn)


def _check_probabilities(choice: LabelerChoice, votes: npt.NDArray[np.int8]) -> None:
    whole = probabilities_of(choice, votes, CLASSES)
    if not np.array_equal(whole, probabilities_of(choice, votes, CLASSES)):
        raise InputError(f"The labeler {choice.word} gives the same votes other probabilities when it is asked again.")
    for cut in (1, 7):
        parts = [probabilities_of(choice, votes[at : at + cut], CLASSES) for at in range(0, len(votes), cut)]
        if not np.array_equal(whole, np.concatenate(parts)):
            raise InputError(
                f"The labeler {choice.word} gives a sample other probabilities when it is asked about {cut} at a time: "
                "a sample's may not depend on the others."
            )


def _check_learning(
    choice: LabelerChoice,
    votes: npt.NDArray[np.int8],
    learn: Callable[[VoteCounts, Options], Labeler],
) -> None:
    names = tuple(f"rule_{number}" for number in range(FUNCTIONS))
    hot = (votes[:, :, None] == np.arange(CLASSES)).reshape(len(votes), -1).astype(np.int64)
    counts = VoteCounts.of_matrix(names, CLASSES, len(votes), hot.T @ hot)
    first, second = (learn(counts, _Brief()) for _ in range(2))
    if first.functions != names or first.weights.shape != (FUNCTIONS,) or not np.isfinite(first.weights).all():
        raise InputError(
            f"The labeler {choice.word} learned the weights {first.weights.tolist()} of {', '.join(first.functions)}, "
            f"expected a finite weight for each of {', '.join(names)}."
        )
    if first.mu is not None and (first.mu.shape != (FUNCTIONS, CLASSES, CLASSES) or not (first.mu > 0).all()):
        raise InputError(
            f"The labeler {choice.word} learned μ of the shape {list(first.mu.shape)}, expected positive numbers of "
            f"the shape {[FUNCTIONS, CLASSES, CLASSES]}: P(a function votes y | the class is z)."
        )
    if not np.array_equal(first.weights, second.weights) or (
        first.mu is not None and (second.mu is None or not np.array_equal(first.mu, second.mu))
    ):
        raise InputError(f"The labeler {choice.word} learns other weights from the same votes when it learns again.")
