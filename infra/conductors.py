"""How a run plays its stages and flows: at once and directly here; as Prefect tasks or as a plan by others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, TypeVar

from assay.infra.likeness import Work
from assay.infra.manifests import Manifest, StageRecord

R = TypeVar("R")
OnProgress = Callable[[int, int], None]


class Playable(Protocol):
    """What a conductor knows of a stage."""

    name: str
    title: str
    gpu: bool
    body: Callable[..., Any]

    def key(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> str:
        """The key of the stage with these arguments in the current run."""

    def work(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Work:
        """What kind of work the stage with these arguments is, and how much of it."""

    def perform(
        self, args: tuple[Any, ...], kwargs: Mapping[str, Any], on_progress: OnProgress
    ) -> tuple[Any, StageRecord]:
        """The handles, from the store or computed, and the record of what happened."""

    def handles(self, manifest: Manifest) -> Any:
        """The handles of a manifest in the shape that the stage announces."""


class Conductor(Protocol):
    """What becomes of a stage, or of a part of a flow, that is called inside a run."""

    at_once: bool
    """Whether branches of a flow may go on at once: then it is called from several threads."""

    def play(self, stage: Playable, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """What the stage's caller gets."""

    def lead(self, name: str, about: str, part: Callable[[], R]) -> R:
        """What the caller of a part of a flow gets."""


class Direct:
    """Stages are performed, parts of flows are called; nobody watches."""

    at_once = True

    def play(self, stage: Playable, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
        """The stage's handles."""
        return stage.perform(args, kwargs, lambda _done, _total: None)[0]

    def lead(self, name: str, about: str, part: Callable[[], R]) -> R:  # noqa: ARG002 - a part of the protocol
        """What the part returns."""
        return part()
