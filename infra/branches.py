"""Branches of an audit: what does not need each other runs at once, and one that fails takes only what stands on it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from typing import Any, Generic, TypeVar

from assay.infra.errors import AssayError, RunError, told
from assay.infra.positions import next_position, standing_at
from assay.infra.runs import Run, current_run

R = TypeVar("R")
_LOOK_SECONDS = 0.5


class Branch(Generic[R]):
    """Work that was started: it is under way, or has made something, or failed, or stood on what failed."""

    def __init__(self, what: str, run: Run) -> None:
        self.what = what
        self.failed: str | None = None
        """The branch that failed, this one or one that it stands on; None where none did."""
        self._run, self._position = run, next_position()
        self._result: R | None = None
        self._interruption: BaseException | None = None
        self._over = threading.Event()

    def outcome(self) -> R | None:
        """What the branch made, once it is over; None where it failed, or stood on a branch that did."""
        while not self._over.wait(_LOOK_SECONDS):
            self._run.stop.check()
        if self._interruption is not None:
            raise self._interruption
        return self._result

    def carry_out(self, work: Callable[..., R | None], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        """Do the work once the branches among its arguments are over; what became of it is remembered."""
        try:
            with standing_at(self._position, self.what):
                if self._has_inputs((*args, *kwargs.values())):
                    self._result = work(*map(_resolved, args), **{name: _resolved(kwargs[name]) for name in kwargs})
        except AssayError as error:
            self._fail(error)
        except Exception as error:  # noqa: BLE001 - a bug in one branch is no reason to lose the others; it is kept whole
            reason = told(error, self._run.masked)
            broken = RunError(f"{self.what} broke: {reason}. Run again with --debug to see where.")
            broken.__cause__ = None if self._run.masked else error
            self._fail(broken)
        except BaseException as interruption:  # noqa: BLE001 - it goes on in the thread that asks for the outcome
            self._interruption = interruption
        finally:
            self._over.set()

    def _has_inputs(self, given: tuple[object, ...]) -> bool:
        """Whether every branch among the arguments made something; the record says what is missing because of which."""
        empty = [branch for branch in given if isinstance(branch, Branch) and branch.outcome() is None]
        self.failed = next((branch.failed for branch in empty if branch.failed is not None), None)
        if self.failed is not None:
            self._run.leave_out(self._position, f"{self.what}: not begun, since {self.failed} failed")
        return not empty

    def _fail(self, error: AssayError) -> None:
        self.failed, text = self.what, str(error)
        self._run.fail(self._position, error, text if text.startswith(f"{self.what} broke") else f"{self.what}: {text}")


_started: ContextVar[list[Branch[Any]] | None] = ContextVar("assay_branches", default=None)


def start(what: str, work: Callable[..., R | None], *args: Any, **kwargs: Any) -> Branch[R]:
    """Starts work as a branch of the run. Branches among the arguments are waited for, and what they made is handed in.

    A failure is written down in the run's record, as `what`; branches that stand on one that failed are not begun. Of
    mappings among the arguments, the branches that made something are handed in, and the others left out.
    """
    run = current_run()
    run.stop.check()
    branch: Branch[R] = Branch(what, run)
    if not run.goes_on_at_once:
        branch.carry_out(work, args, kwargs)
        if branch._interruption is not None:
            raise branch._interruption
        return branch
    if (started := _started.get()) is not None:
        started.append(branch)
    carry_out = copy_context().run
    thread = threading.Thread(
        target=carry_out, args=(branch.carry_out, work, args, kwargs), name=f"assay-{what}", daemon=True
    )
    run.threads.append(thread)
    thread.start()
    return branch


def outcomes(branches: Mapping[Any, Branch[R]]) -> dict[Any, R]:
    """What every branch made, in the order they were started; those that made nothing are not there."""
    ended = {name: branch.outcome() for name, branch in branches.items()}
    return {name: result for name, result in ended.items() if result is not None}


@contextmanager
def waited_for() -> Iterator[None]:
    """Leaves the block when all branches that were started in it are over; on an interruption, the run is stopped."""
    started: list[Branch[Any]] = []
    token, failure = _started.set(started), None
    try:
        try:
            yield
        except Exception as error:  # noqa: BLE001 - it goes on as soon as nothing is under way any more
            failure = error
        for branch in started:  # they may start further ones meanwhile
            branch.outcome()
    except BaseException:
        current_run().stop.set()
        raise
    finally:
        _started.reset(token)
    if failure is not None:
        raise failure


def _resolved(value: object) -> object:
    if isinstance(value, Branch):
        return value.outcome()
    if isinstance(value, Mapping) and any(isinstance(one, Branch) for one in value.values()):
        settled = {name: _resolved(one) for name, one in value.items()}
        return {name: one for name, one in settled.items() if one is not None}
    return value
