"""Parts of an audit as Prefect sub-flows: a plain function that one can read aloud, call in a test, or plan with."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from assay.infra.runs import current_run

P = ParamSpec("P")
R = TypeVar("R")


def subflow(name: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator: inside an orchestrated run the function is a Prefect flow of that name, elsewhere itself.

    Prefect takes two seconds to import; a plan, a test and the command line's help need none of it.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            run = current_run()
            if run.plan is not None or not run.orchestrated:
                return function(*args, **kwargs)
            from prefect import flow

            as_flow = flow(name=name, description=function.__doc__, validate_parameters=False, persist_result=False)
            return as_flow(lambda: function(*args, **kwargs))()

        return call

    return decorate
