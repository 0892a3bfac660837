"""Tests of behaviour on the audited texts, after CheckList (Ribeiro et al. 2020): who is named, and which number stands
there, must not change the answer (invariance); a text that is negated must get another one (direction).

A success of the attack is a failure of the test: of the texts that were right before and have something to change, the
share whose answer moves where it must not, or stands where it must not.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from assay.tasks.attacks.choice import TextAttackChoice
from assay.tasks.attacks.texts.settings import TextRewrite
from assay.tasks.language.words import given_names, words_of

if TYPE_CHECKING:
    import numpy as np

    from assay.tasks.attacks.choice import Ask


class Check(TextRewrite):
    """A test of behaviour, which looks for nothing: what it does to a text does not depend on the answers."""


class Names(Check):
    """Every given name of Assay's list, of many countries, replaced by another; in any language."""

    attack: Literal["names"] = "names"
    """Which attack it is."""


class Numbers(Check):
    """Every number replaced by another of as many digits. Leave it out where numbers decide (`2 of 10 stars`)."""

    attack: Literal["numbers"] = "numbers"
    """Which attack it is."""


class Negation(Check):
    """Every statement turned round, by a `not` more or less: the answer must change. English only, and for classes that
    a negation turns (sentiment, not topics)."""

    attack: Literal["negation"] = "negation"
    """Which attack it is."""


def rename(text: str, _predicted: int, _ask: Ask, _settings: Names, generator: np.random.Generator) -> str:
    """The text with its given names replaced, each by one name throughout; also in `Anna's` and `Anna-Maria`."""
    written = set(re.findall(r"\w+", text)) & set(given_names())
    others = [name for name in given_names() if name not in written]
    drawn = dict(zip(sorted(written), generator.permutation(others).tolist(), strict=False))
    return re.sub(r"\w+", lambda match: drawn.get(match[0], match[0]), text)


def renumber(text: str, _predicted: int, _ask: Ask, _settings: Numbers, generator: np.random.Generator) -> str:
    """The text with every digit another one, and none of them 0."""

    def another(match: re.Match[str]) -> str:
        return "".join(str(generator.choice([other for other in "123456789" if other != digit])) for digit in match[0])

    return re.sub(r"\d+", another, text)


_VERBS = ["is", "are", "was", "were", "am", "does", "did", "do", "can", "could", "will", "would", "should", "must"]
_CONTRACTED = {f"{verb}n't": verb for verb in _VERBS} | {"can't": "can", "won't": "will", "cannot": "can"}
_STATEMENT = re.compile(rf"\b({'|'.join([*_CONTRACTED, *_VERBS])})\b( not\b)?", re.IGNORECASE)


def negate(text: str, _predicted: int, _ask: Ask, _settings: Negation, _generator: np.random.Generator) -> str:
    """The text with every statement turned round; as it is where one of them has no verb that `not` can follow, for
    then nobody can say whether the whole says the opposite.

    >>> negate("It was good. I don't like the end.", 0, None, Negation(), None)
    'It was not good. I do like the end.'
    """

    def turned(match: re.Match[str]) -> str:
        plain = _CONTRACTED.get(match[1].lower())
        verb = match[1][0] + plain[1:] if plain else match[1]
        return verb if plain or match[2] else f"{verb} not"

    plain_text = text.replace("\u2019", "'")
    statements = [part for part in re.split(r"[.!?;]", plain_text) if words_of(part)]
    return _STATEMENT.sub(turned, plain_text) if all(map(_STATEMENT.search, statements)) else text


CHECKLIST = (
    TextAttackChoice(Names, rewrite=rename, questions=lambda *_: 0),
    TextAttackChoice(Numbers, rewrite=renumber, questions=lambda *_: 0),
    TextAttackChoice(Negation, rewrite=negate, questions=lambda *_: 0, must_change=True),
)
