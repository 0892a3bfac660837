"""Answers that come with the names of their classes, which need not stand in the audit's order."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from assay.infra.errors import InputError


@dataclass(frozen=True)
class NamedAnswers:
    """Probabilities [n, k], a column for each of these classes: by name, or by code."""

    classes: tuple[Any, ...]
    values: npt.NDArray[Any]


def in_the_order_of(classes: Sequence[str], answers: object, who: str) -> object:
    """The answers as the audit orders its classes; those without names are taken as they come.

    >>> import numpy as np
    >>> in_the_order_of(["ham", "spam"], NamedAnswers(("spam", "ham"), np.array([[0.1, 0.9]])), "It").tolist()
    [[0.9, 0.1]]
    >>> in_the_order_of(["ham", "spam"], NamedAnswers((False, True), np.array([[0.1, 0.9]])), "It").tolist()
    [[0.1, 0.9]]
    """
    if not isinstance(answers, NamedAnswers):
        return answers
    named = [str(one) for one in answers.classes]
    if sorted(named) == sorted(classes):
        return answers.values[:, [named.index(one) for one in classes]]
    codes = [_code(one) for one in answers.classes]
    if sorted(codes) == list(range(len(classes))):
        return answers.values[:, [codes.index(code) for code in range(len(classes))]]
    raise InputError(
        f"{who} tells apart {', '.join(named)}, and the classes of the samples are {', '.join(classes)}: name them "
        "alike, with source.classes or when the model is trained."
    )


def _code(named: object) -> int:
    """The code that a class is named by, where it is; −1 where it is not."""
    return int(named) if isinstance(named, bool | int | float) and named == int(named) else -1
