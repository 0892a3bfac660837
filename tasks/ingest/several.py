"""One thing or several of a kind, as a configuration writes them: a word, or a list of words."""

from __future__ import annotations

from typing import Annotated

from pydantic import BeforeValidator, Field


def as_many(value: object) -> object:
    """A word as a list of one; anything else as it is.

    >>> as_many("a.csv"), as_many(["a.csv", "b.csv"])
    (('a.csv',), ['a.csv', 'b.csv'])
    """
    return (value,) if isinstance(value, str) else value


Paths = Annotated[tuple[str, ...], BeforeValidator(as_many), Field(min_length=1)]
Names = Annotated[tuple[str, ...], BeforeValidator(as_many)]
