"""Branches of an audit: what does not need each other runs at once, and one that fails takes only what stands on it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from assay.infra.errors import AssayError, RunError, told
from assay.infra.runs import current_run

R = TypeVar("R")


class Branch(Generic[R]):
    """Work that was started: it is under way, or has made something, or failed, or stood on what failed."""

    def __init__(self, what: str, result: R | None) -> None:
        self.what, self._result = what, result

    def outcome(self) -> R | None:
        """What the branch made, once it is over; None where it failed, or stood on a branch that did."""
        return self._result


def start(what: str, work: Callable[..., R | None], *args: Any, **kwargs: Any) -> Branch[R]:
    """Starts work as a branch of the run. Branches among the arguments are waited for, and what they made is handed in.

    A failure is written down in the run's record, as `what`; branches that stand on one that failed are not begun.
    """
    given = [_settled(value) for value in (*args, *kwargs.values())]
    if any(isinstance(value, Branch) and value.outcome() is None for value in (*args, *kwargs.values())):
        return Branch(what, None)
    try:
        return Branch(what, work(*given[: len(args)], **dict(zip(kwargs, given[len(args) :], strict=True))))
    except AssayError as error:
        _note(what, error)
    except Exception as error:  # noqa: BLE001 - a bug in one branch is no reason to lose the others; it is kept whole
        masked = current_run().masked
        broken = RunError(f"{what} broke: {told(error, masked)}. Run again with --debug to see where.")
        broken.__cause__ = None if masked else error
        _note(what, broken)
    return Branch(what, None)


def outcomes(branches: Mapping[Any, Branch[R]]) -> dict[Any, R]:
    """What every branch made, in the order they were started; those that made nothing are not there."""
    ended = {name: branch.outcome() for name, branch in branches.items()}
    return {name: result for name, result in ended.items() if result is not None}


def _settled(value: object) -> object:
    return value.outcome() if isinstance(value, Branch) else value


def _note(what: str, error: AssayError) -> None:
    run, told_of = current_run(), str(error)
    run.failures.append(error)
    run.record.failures.append(told_of if told_of.startswith(f"{what} broke") else f"{what}: {told_of}")
