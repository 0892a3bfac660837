"""Parts of an audit as sub-flows: plain functions that one can read aloud, call in a test, plan, or orchestrate."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from assay.infra.branches import waited_for
from assay.infra.positions import next_position, standing_at
from assay.infra.runs import current_run

P = ParamSpec("P")
R = TypeVar("R")


def subflow(name: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator: the function becomes a part of a flow, which the run's conductor leads.

    It is over when the branches that were started in it are.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            about = function.__doc__ or name

            def part() -> R:
                with waited_for():
                    return function(*args, **kwargs)

            with standing_at(next_position()):
                return current_run().conductor.lead(name, about, part)

        return call

    return decorate
