"""A user's own text classifier: a function from a list of texts to probabilities, of which nothing else is known."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from assay.infra.errors import AssayError, InputError
from assay.tasks.subjects.asked import Asked
from assay.tasks.subjects.own_functions import asked_at_once, classifier_function
from assay.tasks.subjects.texts.model import UnusableTextError

BLOCK = 16  # texts a function sees at a time; the last block is filled up with repeats, so the cut never shows
_SUM_TOLERANCE = 1e-3


@dataclass(frozen=True)
class OwnTextModel:
    """A `TextModel` around the function that the user named."""

    code: Asked
    classes: int
    masked: bool = False
    """Whether no text may be quoted: then an error of the function is told without its words."""

    def probabilities(self, texts: Sequence[str]) -> npt.NDArray[np.float64]:
        """The probability of every class, [n, k], checked."""
        function = classifier_function(self.code)
        result = np.empty((len(texts), self.classes))
        for start in range(0, len(texts), BLOCK):
            block = list(texts[start : start + BLOCK])
            asked = asked_at_once(block, BLOCK, self.code)
            answers = self._checked(self._ask(function, asked), start, len(asked))
            result[start : start + BLOCK] = answers[: len(block)]
        return result

    def _ask(self, function: Callable[[list[str]], object], texts: list[str]) -> object:
        try:
            with self.code.at_work("classifier"):
                return function(texts)
        except AssayError:
            raise
        except Exception as fault:
            reason = self.code.raised(fault, self.masked)
            error = InputError(f'The classifier "{self.code.written}" raised {reason} on {len(texts)} texts.')
            if self.masked:
                raise error from None
            raise error from fault

    def _checked(self, output: object, first: int, asked: int) -> npt.NDArray[np.float64]:
        who, expected = f'The classifier "{self.code.written}"', f"the probabilities of {self.classes} classes per text"
        try:
            values = np.asarray(output, dtype=np.float64)
        except (TypeError, ValueError) as fault:
            raise InputError(f"{who} returned {type(output).__name__}, expected {expected}.") from fault
        if values.shape != (asked, self.classes):
            raise InputError(f"{who} returned the shape {list(values.shape)} for {asked} texts, expected {expected}.")
        sums = values.sum(axis=1)
        wrong = np.flatnonzero(~(np.isfinite(values).all(axis=1) & (values >= 0).all(axis=1)))
        wrong = wrong if len(wrong) else np.flatnonzero(np.abs(sums - 1) > _SUM_TOLERANCE)
        if len(wrong):
            row = int(wrong[0])
            reason = f"{who} returned {values[row].tolist()}, expected {expected} (none below 0, together 1),"
            raise UnusableTextError(first + row, reason)
        return values
