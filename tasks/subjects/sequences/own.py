"""A user's own tagger or scorer: a function over a list of sentences or pairs, of which nothing else is known."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from assay.infra.errors import AssayError, InputError
from assay.tasks.subjects.asked import Asked
from assay.tasks.subjects.own_functions import answering_function, asked_at_once
from assay.tasks.subjects.sequences.rows import PREFIXES
from assay.tasks.subjects.sequences.tagging import Tagging

T = TypeVar("T")

BLOCK = 16  # sentences a function sees at a time; the last block is filled up with repeats, so the cut never shows


@dataclass(frozen=True)
class OwnTagger:
    """A `Tagger` around a function from a list of sentences (each a list of words) to a list of lists of tags."""

    code: Asked
    masked: bool = False

    def tag(self, sentences: Sequence[Sequence[str]]) -> list[Tagging]:
        """The tags as the function gives them, checked; it says nothing of how sure it is, which counts as 1."""
        taggings: list[Tagging] = []
        for start in range(0, len(sentences), BLOCK):
            block = [list(words) for words in sentences[start : start + BLOCK]]
            asked = asked_at_once(block, BLOCK, self.code)
            output = _ask(self.code, "tagger", asked, self.masked)
            for row, words in enumerate(block):
                tags = _tags_of(output, len(asked), row, len(words), self)
                taggings.append(Tagging(tags, [1.0] * len(tags)))
        return taggings


@dataclass(frozen=True)
class OwnScorer:
    """A `Scorer` around a function from a list of pairs of sentences to a list of numbers."""

    code: Asked
    masked: bool = False

    def score(self, pairs: Sequence[tuple[str, str]]) -> npt.NDArray[np.float64]:
        """The scores as the function gives them, checked, [n]."""
        result = np.empty(len(pairs))
        for start in range(0, len(pairs), BLOCK):
            block = list(pairs[start : start + BLOCK])
            asked = asked_at_once(block, BLOCK, self.code)
            output = _ask(self.code, "scorer", asked, self.masked)
            try:
                values = np.asarray(output, dtype=np.float64)
            except (TypeError, ValueError) as fault:
                raise InputError(
                    f'The scorer "{self.code.written}" returned {type(output).__name__}, expected a number per pair.'
                ) from fault
            if values.shape != (len(asked),) or not np.isfinite(values).all():
                raise InputError(
                    f"{_returned('scorer', self, output)} for {len(asked)} pairs, expected a finite number per pair."
                )
            result[start : start + len(block)] = values[: len(block)]
        return result

    def count_cut(self, pairs: Sequence[tuple[str, str]]) -> int:  # noqa: ARG002 - nobody knows what a function reads
        """None, as far as anybody can know."""
        return 0


def _ask(code: Asked, what: str, block: list[T], masked: bool) -> object:
    function = answering_function(code, what)
    try:
        with code.at_work(what):
            return function(block)
    except AssayError:
        raise
    except Exception as fault:
        error = InputError(
            f'The {what} "{code.written}" raised {code.raised(fault, masked)} on a list of {len(block)}.'
        )
        if masked:
            raise error from None
        raise error from fault


def _returned(what: str, model: OwnTagger | OwnScorer, output: object) -> str:
    value = type(output).__name__ if model.masked else str(output)[:80]
    return f'The {what} "{model.code.written}" returned {value}'


def _tags_of(output: object, asked: int, row: int, words: int, tagger: OwnTagger) -> list[str]:
    """The tags of one sentence out of what a function returned for a block."""
    rows = list(output) if isinstance(output, Sequence) else []
    if len(rows) != asked or not isinstance(rows[row], Sequence) or len(rows[row]) != words:
        raise InputError(f"{_returned('tagger', tagger, output)}, expected one list of tags per sentence.")
    tags = [str(tag) for tag in rows[row]]
    wrong = next((tag for tag in tags if tag != "O" and not (tag[:2] in PREFIXES and len(tag) > 2)), None)
    if wrong is not None:
        value = "something that is no tag" if tagger.masked else f"the tag {wrong!r}"
        raise InputError(f'The tagger "{tagger.code.written}" returned {value}, expected O, B-TYPE or I-TYPE.')
    return tags
