"""Mistakes in a configuration: where each one is, what stands there, what was expected; reported all together."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass

from assay.infra.errors import InputError
from assay.infra.suggestions import nearest as nearest
from assay.infra.suggestions import suggestion as suggestion

Where = tuple[str | int, ...]
"""A place in a configuration: the keys and list positions that lead to it."""

LONGEST_VALUE = 60
_PASSWORD = re.compile(
    r"""(://[^/@:\s"]*:)(?!\$\{)[^"]+(?=@)|([?&][^=&"]*(?i:password|passwd|pwd|secret|token|key)[^=&"]*=)(?!\$\{)[^&"]+"""
)


@dataclass(frozen=True)
class Mistake:
    """One thing wrong: `value` is what stands there, as it would be written, or empty where nothing does."""

    file: str
    line: int | None
    path: str
    value: str
    expected: str

    def __str__(self) -> str:
        """The mistake as one line.

        >>> print(Mistake("pipelines.yaml", 12, "pruning.correlation", "1.5", "expected a number between 0 and 1"))
        pipelines.yaml:12: pruning.correlation: 1.5 — expected a number between 0 and 1
        """
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        what = ": ".join(text for text in (self.path, self.value) if text)
        return f"{place}: {what} — {self.expected}" if what else f"{place}: {self.expected}"


class ConfigurationError(InputError):
    """The configuration cannot be used; the message lists every mistake, one line each."""

    def __init__(self, mistakes: Sequence[Mistake]) -> None:
        self.mistakes = tuple(mistakes)
        super().__init__("\n".join(str(mistake) for mistake in self.mistakes))


def _masked(match: re.Match[str]) -> str:
    return f"{match[1] or match[2]}***"


def dotted(where: Where) -> str:
    """The place as a person writes it.

    >>> dotted(("gates", 0, "at_most"))
    'gates.0.at_most'
    """
    return ".".join(str(step) for step in where)


def shown(value: object) -> str:
    """The value as YAML would write it on one line, cut short where it is long, passwords of addresses left out.

    >>> shown(True), shown([1, "a b"]), shown("1.5"), shown("postgresql://night:1234@db/clinic")
    ('true', '[1, "a b"]', '"1.5"', '"postgresql://night:***@db/clinic"')
    """
    try:
        text = _PASSWORD.sub(_masked, json.dumps(value, ensure_ascii=False, default=str))
    except (ValueError, RecursionError):
        text = type(value).__name__
    printable = "".join(letter if letter.isprintable() else "�" for letter in text)
    return printable if len(printable) <= LONGEST_VALUE else printable[: LONGEST_VALUE - 1] + "…"
