"""What a run would do, found out by walking its flow without doing it: stages answer with handles, or with promises."""

from __future__ import annotations

import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from assay.infra.artifacts import Artifact, Kind
from assay.infra.conductors import Playable
from assay.infra.likeness import Given, Work
from assay.infra.positions import current_branch, current_position
from assay.infra.runs import current_run

R = TypeVar("R")
_PROMISED = "promise "
CACHED, WILL_RUN, MAY_RUN = "cached", "will run", "runs unless its input is unchanged"


@dataclass(frozen=True)
class PlannedStage:
    """One stage of a plan: its title, whether it will run, and on which workers."""

    stage: str
    title: str
    outlook: str
    where: str
    about: str = ""
    """The branch that it is in, such as an attack on a subject, and the ε that it tries."""
    key: str = ""
    """Its key, where all its inputs are there."""
    place: str = ""
    """Where it stands in the flow: the record of a run has the same stage there."""
    work: Work | None = None
    """What kind of work it is, and how much of it."""
    makes: Mapping[str, Given] = field(default_factory=dict)
    """What it hands on, by name; of what is not there yet, rows are unknown, and the digest is a promise's."""


@dataclass
class Plan:
    """The stages that a flow came across, in order."""

    stages: list[PlannedStage] = field(default_factory=list)
    at_once: bool = field(default=False, init=False)

    def play(self, stage: Playable, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """What the stage would return: its handles where the store has them, promises of handles where not."""
        run, manifest, key = current_run(), None, ""
        if any(_is_promise(value) for value in (*args, *kwargs.values())):
            outlook = MAY_RUN
        else:
            key = stage.key(args, kwargs)
            manifest = None if run.fresh else run.store.find(stage.name, key)
            outlook = CACHED if manifest else WILL_RUN
        where = "GPU workers, or CPU" if stage.gpu and run.compute.gpu == "preferred" else "CPU workers"
        if stage.gpu and run.compute.gpu == "required":
            where = "GPU workers"
        about = ", ".join(filter(None, (current_branch(), _eps_among((*args, *kwargs.values())))))
        place, work = ".".join(map(str, current_position())), stage.work(args, kwargs)
        answer = stage.handles(manifest) if manifest else _promises(stage, place)
        makes = {name: Given(one.kind, one.digest, one.rows or 0) for name, one in _named(answer)}
        run.note_work(work.like, (one.digest for one in makes.values()))
        where = "" if manifest else where
        self.stages.append(PlannedStage(stage.name, stage.title, outlook, where, about, key, place, work, makes))
        return answer

    def lead(self, name: str, about: str, part: Callable[[], R]) -> R:  # noqa: ARG002 - a part of the protocol
        """What the part of the flow returns, its stages considered."""
        return part()


def _eps_among(values: Iterable[object]) -> str:
    """The ε that a stage is asked to try, where one of its settings has any."""
    grids = [grid for value in values if (grid := getattr(value, "eps", None)) is not None]
    tried = [eps for grid in grids for eps in (grid if isinstance(grid, tuple) else (grid,))]
    return f"ε = {', '.join(f'{eps:.3g}' for eps in tried)}" if tried else ""


def announced_kinds(body: Callable[..., Any]) -> list[type[Kind]]:
    """The kinds of artifact that the function of a stage says it returns, in order."""
    announced = typing.get_type_hints(body).get("return")
    if isinstance(announced, type) and issubclass(announced, tuple):
        return [_kind_in(one) for one in typing.get_type_hints(announced).values()]
    return [_kind_in(announced)]


def _kind_in(announced: object) -> type[Kind]:
    kind = next(iter(typing.get_args(announced)), None)
    return kind if isinstance(kind, type) and issubclass(kind, Kind) else Kind


def _is_promise(value: object) -> bool:
    if isinstance(value, Artifact):
        return value.digest.startswith(_PROMISED)
    if isinstance(value, Mapping):
        return any(_is_promise(item) for item in value.values())
    if isinstance(value, Sequence) and not isinstance(value, str | bytes):
        return any(_is_promise(item) for item in value)
    return False


def _promises(stage: Playable, place: str) -> Any:
    """Handles of what is not there yet: nobody knows their digests, but each is another one."""
    kinds = announced_kinds(stage.body)
    promises: list[Artifact[Any]] = [
        Artifact(kind.__name__, "", f"{_PROMISED}{place} {at}", "", 0, 0) for at, kind in enumerate(kinds)
    ]
    announced = typing.get_type_hints(stage.body).get("return")
    if isinstance(announced, type) and issubclass(announced, tuple):
        return typing.cast(Any, announced)(*promises)
    return promises[0]


def _named(answer: Any) -> list[tuple[str, Artifact[Any]]]:
    """Handles by their names among a stage's outputs."""
    return [("result", answer)] if isinstance(answer, Artifact) else list(answer._asdict().items())
