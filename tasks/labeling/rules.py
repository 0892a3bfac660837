"""Labelling functions behind one protocol: a vector of int8 votes, -1 where a rule abstains.

A labelling function λ : X → Y ∪ {abstain} (paper 000, "Problem") may be a *column rule* (a function of a whole
partition, the fast way), a Snorkel `LabelingFunction`, or a plain function of one sample. Column rules are given a
frame of the partition: a data frame, an Arrow table, pictures as pixels a batch at a time, or texts. Every form looks
at one sample at a time as far as its answer goes: a vote may not depend on the other rows, so partitions do not
matter.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import TYPE_CHECKING, Generic, TypeVar, overload

import numpy as np
import pyarrow as pa

from assay.data.images import Pixels, pixels_of
from assay.infra.errors import InputError

if TYPE_CHECKING:
    import pandas as pd


ABSTAIN = -1
"""What a labelling function answers where it has nothing to say."""

F = TypeVar("F")


class Sample(SimpleNamespace):
    """One sample, as functions of one sample see it: `x.text`, or `x["mean radius"]`.

    >>> Sample(text="hello")["text"], Sample(text="hello").text
    ('hello', 'hello')
    """

    def __getitem__(self, column: str) -> object:
        return self.__dict__[column]


def as_pandas(table: pa.Table) -> pd.DataFrame:
    """The partition as a pandas data frame: what a column rule is given unless it asks for something else."""
    return table.to_pandas()


def as_arrow(table: pa.Table) -> pa.Table:
    """The partition as it is: an Arrow table."""
    return table


@dataclass(frozen=True)
class ColumnRule(Generic[F]):
    """A labelling function of a whole partition: data frame in, one vote per row out.

    `frame` says what the function is given; each frame is made once per partition, whatever the number of rules.

    >>> import numpy as np
    >>> rule = ColumnRule("long", lambda samples: np.where(samples["text"].str.len() > 10, 1, ABSTAIN))
    >>> rule.name
    'long'
    """

    name: str
    function: Callable[[F], object]
    frame: Callable[[pa.Table], F] = as_pandas


@dataclass(frozen=True)
class SampleRule:
    """A labelling function of one sample: a plain function, or a Snorkel `LabelingFunction`."""

    name: str
    function: Callable[[Sample], object]


Rule = ColumnRule[object] | SampleRule


@overload
def column_rule(function: Callable[[F], object]) -> ColumnRule[F]: ...
@overload
def column_rule(*, frame: Callable[[pa.Table], F]) -> Callable[[Callable[[F], object]], ColumnRule[F]]: ...
def column_rule(
    function: Callable[[F], object] | None = None, *, frame: Callable[[pa.Table], F] | None = None
) -> ColumnRule[F] | Callable[[Callable[[F], object]], ColumnRule[F]]:
    """The decorated function as a column rule that bears its name.

    >>> @column_rule
    ... def shouts(samples):
    ...     return samples["text"].str.isupper().astype("int8") * 2 - 1
    >>> shouts.name
    'shouts'
    """
    chosen = frame or as_pandas
    if function is None:
        return lambda decorated: ColumnRule(decorated.__name__, decorated, chosen)
    return ColumnRule(function.__name__, function, chosen)


def sample_rule(function: Callable[[Sample], object]) -> SampleRule:
    """The decorated function of one sample as a rule that bears its name.

    >>> @sample_rule
    ... def has_link(x):
    ...     return 1 if "http" in x.text else ABSTAIN
    >>> has_link.name
    'has_link'
    """
    return SampleRule(function.__name__, function)


@dataclass(frozen=True)
class Rulebook:
    """A named list of labelling functions, and the classes that their votes 0…k-1 stand for, in this order.

    >>> Rulebook("spam", ("ham", "spam"), [sample_rule(len)]).rules[0].name
    'len'
    """

    name: str
    classes: tuple[str, ...]
    rules: tuple[Rule, ...]

    def __init__(self, name: str, classes: Iterable[str], rules: Iterable[object]) -> None:
        object.__setattr__(self, "name", name)
        spelled = (classes,) if isinstance(classes, str) else classes  # one name, not its letters
        object.__setattr__(self, "classes", tuple(str(each) for each in spelled))
        object.__setattr__(self, "rules", tuple(_named(rule, name, place) for place, rule in enumerate(rules, 1)))
        self._check()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the rules, in the order in which they vote."""
        return tuple(rule.name for rule in self.rules)

    def _check(self) -> None:
        if not self.rules:
            raise InputError(f"The rulebook {self.name} holds no labelling function: a rulebook needs at least one.")
        if not 2 <= len(self.classes) <= 127:
            raise InputError(
                f"The rulebook {self.name} names {len(self.classes)} classes, expected 2 to 127: "
                'write them in the order of the votes, such as CLASSES = ("ham", "spam").'
            )
        for what, names in (("labelling functions", self.names), ("classes", self.classes)):
            twice = sorted({name for name in names if names.count(name) > 1})
            if twice:
                raise InputError(f"The rulebook {self.name} has several {what} named {twice[0]!r}: names must differ.")


def _named(rule: object, rulebook: str, place: int) -> Rule:
    """The labelling function as a rule with a usable name, whichever of the three forms it came in."""
    if not isinstance(rule, ColumnRule | SampleRule):
        if not callable(rule):
            raise InputError(
                f"Entry {place} of the rulebook {rulebook} is {rule!r}, expected a labelling function: a column rule, "
                "a Snorkel LabelingFunction or a function of one sample."
            )
        rule = SampleRule(str(getattr(rule, "name", getattr(rule, "__name__", ""))), rule)
    if rule.name in ("", "<lambda>", "id", "gold"):
        raise InputError(
            f"Labelling function {place} of the rulebook {rulebook} is named {rule.name!r}, which cannot name a column "
            "of votes: give it a name of its own, as in ColumnRule('long_text', function)."
        )
    return rule


def rules_of(candidates: Sequence[object]) -> list[object]:
    """Those of a module's values that are labelling functions by themselves, in the order they were written in."""
    rules: list[object] = []
    for value in candidates:
        kinds = ((kind.__module__, kind.__qualname__) for kind in type(value).__mro__)
        snorkels = ("snorkel.labeling.lf.core", "LabelingFunction") in kinds
        if (snorkels or isinstance(value, ColumnRule | SampleRule)) and not any(value is other for other in rules):
            rules.append(value)
    return rules


@dataclass(frozen=True)
class InBatches(Generic[F]):
    """A frame that is made of at most so many samples at a time; a rule may ask for it as `frame=`."""

    make: Callable[[pa.Table], F]
    rows: int = 128

    def __call__(self, table: pa.Table) -> F:
        """What a rule is given of these samples."""
        return self.make(table)


def pixels(table: pa.Table) -> Pixels:
    """The pictures as a subject sees them: float32 [n, channels, height, width], each value in [0, 1]."""
    from assay.tasks.subjects.images.dataset import require_one_shape

    if "image" not in table.column_names:
        raise InputError(
            f"the samples hold no images to look at: their columns are {', '.join(table.column_names)}; say "
            "`source.image` or `source.images`, or take rules that look at something else"
        )
    require_one_shape(table)
    return pixels_of(table)


pictures = InBatches(pixels)
"""The frame of rules that look at pictures."""


def column_in(table: pa.Table, name: str) -> pa.ChunkedArray:
    """The column that a rule looks at."""
    if name not in table.column_names:
        known = ", ".join(table.column_names)
        raise InputError(f"the samples have no column {name!r} to read: their columns are {known}")
    return table[name]


@dataclass(frozen=True)
class TextsIn:
    """The texts of a column, one per sample; None where a sample has none."""

    column: str = "text"

    def __call__(self, table: pa.Table) -> list[str | None]:
        """The texts of these samples."""
        return list(column_in(table, self.column).cast(pa.large_string()).to_pylist())


def picture_rule(function: Callable[[Pixels], object]) -> ColumnRule[Pixels]:
    """The decorated function of a batch of pictures, float32 [n, c, h, w] in [0, 1], as a rule: a vote for each.

    >>> @picture_rule
    ... def is_dark(pictures):
    ...     return np.where(pictures.mean(axis=(1, 2, 3)) < 0.2, 1, -1)
    >>> is_dark.name
    'is_dark'
    """
    return ColumnRule(function.__name__, function, pictures)


Texts = Sequence[str | None]


def text_rule(function: Callable[[Texts], object], column: str = "text") -> ColumnRule[Texts]:
    """The decorated function of a batch of texts as a rule: a vote for each; None stands for a text that is missing.

    >>> @text_rule
    ... def shouts(texts):
    ...     return [1 if text and text.isupper() else -1 for text in texts]
    >>> shouts.name
    'shouts'
    """
    return ColumnRule(function.__name__, function, InBatches(TextsIn(column), rows=4096))


MOST_SECONDS = 5.0
"""So long may one search for a regular expression take; others take microseconds."""


class EndlessPatternError(InputError):
    """A regular expression that tries ways without an end: no fault of a sample, to be counted and passed over."""


def says(name: str, pattern: str, vote: int, *, unless: str | None = None, column: str = "text") -> ColumnRule[Texts]:
    """The rule that votes where a text matches a regular expression, whatever the case, and not the other one.

    >>> rule = says("praises", r"\\bgood\\b", 1, unless=r"\\bnot good\\b")
    >>> rule.function(["A good book", "Not good", None]).tolist()
    [1, -1, -1]
    """
    import regex  # as `re`, but it can be told how long a search may take

    wanted, unwanted = (regex.compile(each, regex.IGNORECASE) for each in (pattern, unless or r"(?!)"))

    def matches(text: str) -> bool:
        try:
            return bool(wanted.search(text, timeout=MOST_SECONDS)) and not unwanted.search(text, timeout=MOST_SECONDS)
        except TimeoutError as fault:
            raise EndlessPatternError(
                f"The labelling function {name} searches for {pattern!r}, and on a text of {len(text)} letters that "
                f"took more than {MOST_SECONDS:g} s: what repeats something repeated, as (a+)+ does, tries every way "
                "to part it; write it with one repetition."
            ) from fault

    def search(texts: Texts) -> object:
        return np.where([text is not None and matches(text) for text in texts], vote, ABSTAIN)

    return ColumnRule(name, search, InBatches(TextsIn(column), rows=4096))


def any_of(words: Iterable[str]) -> str:
    """The pattern of whole words, any of which will do.

    >>> any_of(["good", "fine"])
    '\\\\b(?:good|fine)\\\\b'
    """
    return rf"\b(?:{'|'.join(map(re.escape, words))})\b"
