"""The four approaches of Table 1: which labelling functions label the samples, and by which score they are ordered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from assay.infra.errors import InputError


@dataclass(frozen=True)
class Approach:
    """A way to order samples: `functions` that vote (`all`, or the `panel` kept by pruning), `score` to sort by."""

    name: str
    title: str
    functions: Literal["all", "panel"]
    score: Literal["confidence", "lower"]


OURS = Approach("ours", "interval lower bound, panel", "panel", "lower")
APPROACHES = (
    Approach("pl_all", "confidence, all functions", "all", "confidence"),
    Approach("pl_indep", "confidence, panel", "panel", "confidence"),
    Approach("ci_all", "interval lower bound, all functions", "all", "lower"),
    OURS,
)


def approach_named(name: str) -> Approach:
    """The approach of that name.

    >>> approach_named("ci_all").functions
    'all'
    """
    for approach in APPROACHES:
        if approach.name == name:
            return approach
    raise InputError(f"There is no approach {name!r}; there are {', '.join(each.name for each in APPROACHES)}.")
