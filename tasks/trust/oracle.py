"""The oracle: is a correct prediction made for words that are related to its class? (Eq. 5-6)"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from assay.tasks.language.anchors import Anchors, related_words
from assay.tasks.language.spaces import Space

Label = Literal["trustworthy", "untrustworthy", "undecided", "out of scope"]
LookUp = Callable[[Sequence[str]], list[bool | None]]
NO_KEYWORDS = "no word of the class was found to be a keyword"
NO_WORDS = "no word speaks for the prediction"
WRONG = "the prediction is wrong, or its truth is not known"
UNKNOWN_WORDS = "no provider knows a word that speaks for the prediction"


@dataclass(frozen=True)
class Judgement:
    """One prediction's label, both sides of Eq. 6, and which words are related (None: no provider knows the word)."""

    label: Label
    reason: str = ""
    related_mass: float = 0.0
    unrelated_mass: float = 0.0
    related: tuple[bool | None, ...] = ()


class Relatedness:
    """r(w, c) for the words of one class; every word is looked up once, and best many at a time."""

    def __init__(self, look_up: LookUp, decidable: bool = True) -> None:
        """`look_up` says of words whether they are related; not `decidable`: there is nothing to compare them with."""
        self.decidable = decidable
        self._look_up, self._known = look_up, dict[str, bool | None]()

    def of(self, words: Iterable[str]) -> list[bool | None]:
        """Whether each word is related to the class; None where no provider can say."""
        asked = list(words)
        new = [word for word in dict.fromkeys(asked) if word not in self._known]
        if new:
            self._known.update(zip(new, self._look_up(new), strict=True))
        return [self._known[word] for word in asked]


def by_keywords(anchors: Anchors, spaces: Sequence[Space]) -> Relatedness:
    """r(w, c) of Eq. 5, by the vote of all providers."""
    return Relatedness(lambda words: related_words(words, anchors, spaces), bool(anchors.keyword.any()))


def judge(
    words: Mapping[str, float], relatedness: Relatedness, importance: Literal["different", "equivalent"]
) -> Judgement:
    """D(f, x) of Eq. 6 for the words that speak for a correct prediction, each with its importance above zero.

    With `equivalent` importance every word counts as much as another (s = 1).
    """
    listed = list(words)
    if not listed:
        return Judgement("undecided", NO_WORDS)
    if not relatedness.decidable:
        return Judgement("undecided", NO_KEYWORDS, related=(None,) * len(listed))
    related = relatedness.of(listed)
    weights = [1.0 if importance == "equivalent" else words[word] for word in listed]
    return weigh(weights, related)


def weigh(weights: Sequence[float], related: Sequence[bool | None]) -> Judgement:
    """The label by the weight of both sides: trustworthy iff IS_rel ≥ IS_unr.

    >>> weigh([0.5, 0.3, 0.2], [True, False, False]).label
    'trustworthy'
    """
    for_it = math.fsum(weight for weight, yes in zip(weights, related, strict=True) if yes is True)
    against = math.fsum(weight for weight, yes in zip(weights, related, strict=True) if yes is False)
    if all(yes is None for yes in related):
        return Judgement("undecided", UNKNOWN_WORDS, related=tuple(related))
    label: Label = "trustworthy" if for_it >= against else "untrustworthy"
    return Judgement(label, "", for_it, against, tuple(related))
