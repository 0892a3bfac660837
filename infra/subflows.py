"""Parts of an audit as sub-flows: plain functions that one can read aloud, call in a test, plan, or orchestrate."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from assay.infra.runs import current_run

P = ParamSpec("P")
R = TypeVar("R")


def subflow(name: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator: the function becomes a part of a flow, which the run's conductor leads."""

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            about = function.__doc__ or name
            return current_run().conductor.lead(name, about, lambda: function(*args, **kwargs))

        return call

    return decorate
