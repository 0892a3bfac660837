"""What is followed over the nights: each room names its numbers, the index draws their trends."""

from __future__ import annotations

from collections.abc import Iterable

from assay.infra.settings import Settings
from assay.tasks.reporting import numerals
from assay.tasks.reporting.parts import Scale
from assay.tasks.statistics.findings import Finding


class Headline(Settings):
    """One number of a run that is followed over the nights."""

    name: str
    """What it is called on the page; numbers of one name make one trend."""

    value: float
    """What was measured."""

    low: float | None = None
    """The lower end of its interval."""

    high: float | None = None
    """The upper end of its interval."""

    n: int | None = None
    """How many samples it rests on."""

    scale: Scale = "number"
    """How it is written."""

    spare: bool = False
    """Whether it is kept only so that a trend has its past, should another night choose it as the telling one."""


def headline_of(
    name: str, finding: Finding | None, scale: Scale = "percent", *, spare: bool = False
) -> Iterable[Headline]:
    """The finding as a number that is followed; nothing where it was not measured.

    >>> [one.name for one in headline_of("Rules kept", Finding("pruning.kept", value=7, n=30), "number")]
    ['Rules kept']
    >>> list(headline_of("Rules kept", Finding("pruning.kept", value=None)))
    []
    """
    if finding is None or finding.value is None or not numerals.measured(finding.value):
        return []
    low, high, n = finding.low, finding.high, finding.n
    return [Headline(name=name, value=finding.value, low=low, high=high, n=n, scale=scale, spare=spare)]


def sliced(name: str, *pieces: str) -> str:
    """The name with what it is about in brackets.

    >>> sliced("Accuracy", "plain", ""), sliced("Rules kept", "")
    ('Accuracy (plain)', 'Rules kept')
    """
    about = ", ".join(piece for piece in pieces if piece)
    return f"{name} ({about})" if about else name
