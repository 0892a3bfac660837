"""Written rules at work: each becomes a labelling function like any other, and keys hold what they say."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from assay.infra.errors import InputError
from assay.tasks.labeling.patterns import says
from assay.tasks.labeling.picture_measures import measures_of_pictures
from assay.tasks.labeling.rules import ABSTAIN, ColumnRule, Rulebook
from assay.tasks.labeling.written import When, WrittenRule, WrittenRules


@dataclass(frozen=True)
class WrittenRulebook:
    """Written rules by content: what travels to the workers is what was written."""

    written: WrittenRules

    @cached_property
    def fingerprint(self) -> str:
        """The hash of the rules and their classes; comments and the order of keys are no part of it."""
        content = WrittenRules(rules=self.written.rules, classes=self.written.classes)
        return hashlib.sha256(content.model_dump_json().encode()).hexdigest()

    def load(self) -> Rulebook:
        """The labelling functions.

        >>> rules = (WrittenRule(keywords=("win",), vote="spam"), WrittenRule(pattern="song", vote="ham"))
        >>> book = WrittenRulebook(WrittenRules(rules=rules)).load()
        >>> book.names, book.classes
        (('says win', 'matches song'), ('spam', 'ham'))
        """
        classes = self.written.voted
        return Rulebook("rules", classes, [rule_of(rule, classes.index(rule.vote)) for rule in self.written.rules])

    def at_work(self) -> AbstractContextManager[None]:
        """Nothing to watch: written rules open no files and ask nobody."""
        return nullcontext()


def rule_of(rule: WrittenRule, vote: int) -> ColumnRule[Any]:
    """The labelling function of a written rule, which votes for the class of that code."""
    if rule.when is not None:
        return _threshold(rule.called, rule.when, vote)
    pattern = any_phrase(rule.keywords) if rule.keywords is not None else str(rule.pattern)
    return says(rule.called, pattern, vote, unless=rule.unless, column=rule.in_ or "text")


def any_phrase(keywords: tuple[str, ...]) -> str:
    """The pattern of whole words or phrases, any of which will do; blanks in a phrase may be any blanks.

    >>> bool(re.search(any_phrase(("c++", "check out")), "Check  out", re.IGNORECASE)), any_phrase(("a b",))
    (True, '(?<!\\\\w)(?:a\\\\s+b)(?!\\\\w)')
    """
    phrases = (r"\s+".join(map(re.escape, phrase.split())) for phrase in keywords)
    return rf"(?<!\w)(?:{'|'.join(phrases)})(?!\w)"


def _threshold(name: str, when: When, vote: int) -> ColumnRule[Any]:
    def within(values: npt.NDArray[np.float64]) -> object:
        inside = ~np.isnan(values)
        inside &= values > when.above if when.above is not None else True
        inside &= values < when.below if when.below is not None else True
        return np.where(inside, vote, ABSTAIN)

    if when.picture is not None:
        measure = when.picture
        return ColumnRule(name, lambda measured: within(measured[measure]), measures_of_pictures)
    column = str(when.column)
    if when.equals is not None:
        return ColumnRule(name, _is(when.equals, vote), Values(column))
    return ColumnRule(name, within, Numbers(column))


def _is(wanted: bool | int | float | str, vote: int) -> Callable[[list[object]], list[int]]:
    """Votes where a value is the wanted one: a number where both are numbers, else by how it is written."""

    def same(value: object) -> bool:
        if isinstance(value, bool) or isinstance(wanted, bool):
            return str(value).lower() == str(wanted).lower()
        if isinstance(value, int | float) and isinstance(wanted, int | float):
            return value == wanted
        return value is not None and str(value) == str(wanted)

    return lambda values: [vote if same(value) else ABSTAIN for value in values]


@dataclass(frozen=True)
class Values:
    """The values of a column as they are, None where there are none."""

    column: str

    def __call__(self, table: pa.Table) -> list[object]:
        """Those of these samples."""
        values: list[object] = _column(table, self.column).to_pylist()
        return values


@dataclass(frozen=True)
class Numbers:
    """The numbers of a column, float64 [n]; NaN where there are none."""

    column: str

    def __call__(self, table: pa.Table) -> npt.NDArray[np.float64]:
        """Those of these samples."""
        values = _column(table, self.column)
        kind = values.type
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
            raise InputError(
                f"column {self.column!r} holds {kind}, and above and below are about numbers: take another column, or "
                "equals"
            )
        plain = values.cast(pa.int64()) if pa.types.is_boolean(kind) else values
        numbers: npt.NDArray[np.float64] = plain.cast(pa.float64(), safe=False).fill_null(np.nan).to_numpy()
        return numbers


def _column(table: pa.Table, name: str) -> pa.ChunkedArray:
    if name not in table.column_names:
        raise InputError(f"the samples have no column {name!r}: their columns are {', '.join(table.column_names)}")
    return table[name]
