"""Parts of a flow: sub-flows as plain functions, branches that run at once and fail alone, and a plan of what a run
would do, found by walking the flow without doing it.
"""

from __future__ import annotations

import functools
import threading
import typing
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar, copy_context
from dataclasses import dataclass, field
from typing import Any, Generic, ParamSpec, TypeVar

from assay.infra.errors import AssayError, RunError, error_text
from assay.infra.stages import runs
from assay.infra.storage.artifacts import Artifact, Kind
from assay.infra.storage.keys import Given, Work, handles_in

R = TypeVar("R")
_LOOK_SECONDS = 0.5


class Branch(Generic[R]):
    """Work that was started: it is under way, or has made something, or failed, or stood on what failed."""

    def __init__(self, what: str, run: runs.Run) -> None:
        self.what = what
        self.failed: str | None = None
        """The branch that failed, this one or one that it stands on; None where none did."""
        self._run, self._position = run, runs.next_position()
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
            with runs.at_position(self._position, self.what):
                if self._has_inputs((*args, *kwargs.values())):
                    self._result = work(
                        *map(_with_outcomes, args), **{name: _with_outcomes(kwargs[name]) for name in kwargs}
                    )
        except AssayError as error:
            self._fail(error)
        except Exception as error:  # noqa: BLE001 - a bug in one branch is no reason to lose the others; it is kept whole
            reason = error_text(error, self._run.masked)
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


def start_branch(what: str, work: Callable[..., R | None], *args: Any, **kwargs: Any) -> Branch[R]:
    """Starts work as a branch of the run. Branches among the arguments are waited for, and what they made is handed in.

    A failure is written down in the run's record, as `what`; branches that stand on one that failed are not begun. Of
    mappings among the arguments, the branches that made something are handed in, and the others left out.
    """
    run = runs.current_run()
    run.stop.check()
    branch: Branch[R] = Branch(what, run)
    if not run.goes_on_at_once:
        branch.carry_out(work, args, kwargs)
        branch.outcome()  # raises what interrupted it
        return branch
    if (started := _started.get()) is not None:
        started.append(branch)
    carry_out = functools.partial(copy_context().run, branch.carry_out, work, args, kwargs)
    thread = threading.Thread(target=carry_out, name=f"assay-{what}", daemon=True)
    run.threads.append(thread)
    thread.start()
    return branch


def start_each(what: str, work: Callable[..., R | None], each: Mapping[Any, tuple[Any, ...]]) -> dict[Any, Branch[R]]:
    """A branch for each of several arguments, by their names, after which it is called: `attacks on NAME`."""
    return {name: start_branch(f"{what} {name}", work, *arguments) for name, arguments in each.items()}


def branch_outcomes(branches: Mapping[Any, Branch[R]]) -> dict[Any, R]:
    """What every branch made, in the order they were started; those that made nothing are not there."""
    ended = {name: branch.outcome() for name, branch in branches.items()}
    return {name: result for name, result in ended.items() if result is not None}


@contextmanager
def branches_joined() -> Iterator[None]:
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
        runs.current_run().stop.set()
        raise
    finally:
        _started.reset(token)
    if failure is not None:
        raise failure


def _with_outcomes(value: object) -> object:
    if isinstance(value, Branch):
        return value.outcome()
    if isinstance(value, Mapping) and any(isinstance(item, Branch) for item in value.values()):
        settled = {name: _with_outcomes(item) for name, item in value.items()}
        return {name: item for name, item in settled.items() if item is not None}
    return value


P = ParamSpec("P")


def subflow(name: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A decorator: the function becomes a part of a flow, which the run's conductor leads.

    It is over when the branches that were started in it are.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            part = functools.partial(branches_joined()(function), *args, **kwargs)
            with runs.at_position(runs.next_position()):
                return runs.current_run().conductor.lead(name, function.__doc__ or name, part)

        return call

    return decorate


_PROMISED = "promise "
CACHED, WILL_RUN, MAY_RUN = "cached", "will run", "runs unless its input is unchanged"


@dataclass(frozen=True)
class PlannedStage:
    """One stage of a plan: its title, whether it will run, and on which workers."""

    stage: str
    title: str
    outlook: str
    where: str
    work: Work
    """What kind of work it is, and how much of it."""
    about: str = ""
    """The branch that it is in, such as an attack on a subject, and the ε that it tries."""
    key: str = ""
    """Its key, where all its inputs are there."""
    place: str = ""
    """Where it stands in the flow: the record of a run has the same stage there."""
    makes: Mapping[str, Given] = field(default_factory=dict)
    """What it hands on, by name; of what is not there yet, rows are unknown, and the digest is a promise's."""


@dataclass
class Plan(runs.Conductor):
    """The stages that a flow came across, in order."""

    stages: list[PlannedStage] = field(default_factory=list)
    on_missing: runs.OnMissing = lambda _: None
    at_once: bool = field(default=False, init=False)

    def play(self, stage: runs.Playable, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """What the stage would return: its handles where the store has them, promises of handles where not."""
        run, manifest, key = runs.current_run(), None, ""
        if any(handle.digest.startswith(_PROMISED) for handle in handles_in((args, kwargs))):
            outlook = MAY_RUN
        else:
            key = stage.key(args, kwargs)
            manifest = None if run.fresh else run.store.find(stage.name, key)
            outlook = CACHED if manifest else WILL_RUN
        if manifest is None:
            self.on_missing(stage.name)
        gpu_workers = {"preferred": "GPU workers, or CPU", "required": "GPU workers"} if stage.gpu else {}
        where = "" if manifest else gpu_workers.get(run.compute.gpu, "CPU workers")
        about = ", ".join(filter(None, (runs.current_branch(), _eps_among((*args, *kwargs.values())))))
        place, work = ".".join(map(str, runs.current_position())), stage.work(args, kwargs)
        if manifest:
            handles = {name: output.artifact for name, output in manifest.outputs.items()}
        else:  # of what is not there yet nobody knows the digests, but each is another one
            kinds = announced_kinds(stage.body).items()
            handles = {
                name: Artifact(kind.__name__, "", f"{_PROMISED}{place} {name}", "", 0, 0) for name, kind in kinds
            }
        makes = {name: Given(handle.kind, handle.digest, handle.rows or 0) for name, handle in handles.items()}
        run.note_work(work.like, (made.digest for made in makes.values()))
        self.stages.append(PlannedStage(stage.name, stage.title, outlook, where, work, about, key, place, makes))
        return as_announced(stage.body, handles)


def _eps_among(values: Iterable[object]) -> str:
    """The ε that a stage is asked to try, where one of its settings has any."""
    grids = [grid for value in values if (grid := getattr(value, "eps", None)) is not None]
    tried = [eps for grid in grids for eps in (grid if isinstance(grid, tuple) else (grid,))]
    return f"ε = {', '.join(f'{eps:.3g}' for eps in tried)}" if tried else ""


def announced_kinds(body: Callable[..., Any]) -> dict[str, type[Kind]]:
    """The kinds of artifact that the function of a stage says it returns, by name; one alone is the `result`."""
    announced = typing.get_type_hints(body).get("return")
    several = isinstance(announced, type) and issubclass(announced, tuple)
    named = typing.get_type_hints(announced) if several else {"result": announced}
    kinds = {name: next(iter(typing.get_args(kind)), None) for name, kind in named.items()}
    return {name: kind if isinstance(kind, type) and issubclass(kind, Kind) else Kind for name, kind in kinds.items()}


def as_announced(body: Callable[..., Any], handles: Mapping[str, Artifact[Any]]) -> Any:
    """Handles in the shape that the function of a stage says it returns: one, or a named tuple of several."""
    announced: Any = typing.get_type_hints(body).get("return")
    return announced(**handles) if isinstance(announced, type) and issubclass(announced, tuple) else handles["result"]
