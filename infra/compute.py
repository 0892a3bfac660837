"""Dask, or this process: a pool of CPU and GPU slots that calls are run on, whatever the machines behind it are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import Generic, Literal, Protocol, Self, TypeVar

Slot = Literal["CPU", "GPU"]
V = TypeVar("V")


@dataclass(frozen=True)
class Call:
    """One partition's work: a picklable `function` and its arguments; `name` is for people ("votes, partition 3")."""

    index: int
    name: str
    function: Callable[..., object]
    args: tuple[object, ...] = ()
    kwargs: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True)
class Outcome:
    """What became of the call of this `index`: its value, or the error that its last attempt ended with.

    `worker` is the name of the worker, `slot` what it offered, `seconds` wall time and `cpu_seconds` processor time of
    the attempt that counted. After an error nothing was measured: `worker` is empty, both times are 0.
    """

    index: int
    value: object = None
    error: BaseException | None = None
    worker: str = ""
    slot: Slot = "CPU"
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    attempts: int = 1


@dataclass(frozen=True)
class Folded(Generic[V]):
    """All values merged into one (`None` where no call succeeded), and the outcome of every call, without its value."""

    value: V | None
    outcomes: tuple[Outcome, ...]

    @property
    def failed(self) -> tuple[Outcome, ...]:
        """The outcomes of the calls that are not part of the value."""
        return tuple(outcome for outcome in self.outcomes if outcome.error is not None)


@dataclass(frozen=True)
class Slots:
    """How many calls can run at the same moment on CPU workers and on GPU workers."""

    cpu: int
    gpu: int

    def __str__(self) -> str:
        """The slots as the first line of a run shows them.

        >>> print(Slots(cpu=2, gpu=0))
        2 CPU workers, no GPU
        """
        cpu = f"{self.cpu} CPU worker{'s' * (self.cpu != 1)}"
        return f"{cpu}, {f'{self.gpu} GPU worker' + 's' * (self.gpu != 1) if self.gpu else 'no GPU'}"


@dataclass(frozen=True)
class Profile:
    """What the last bits of a float depend on: device kind, processor and library versions of the workers."""

    device: Literal["cpu", "cuda"]
    processor: str
    versions: Mapping[str, str]

    def to_json(self) -> dict[str, object]:
        """The profile as plain JSON values, for keys and manifests."""
        return {"device": self.device, "processor": self.processor, "versions": dict(sorted(self.versions.items()))}


class Engine(Protocol):
    """Something that runs calls. `notices` holds what a person should be told (each said once, in a sentence)."""

    notices: list[str]

    def slots(self) -> Slots:
        """The CPU and GPU slots that are there now."""

    def run(self, calls: Iterable[Call], *, gpu: bool = False) -> Iterator[Outcome]:
        """The outcome of every call, as they finish; `calls` is read only a few ahead of what is running."""

    def fold(
        self,
        calls: Iterable[Call],
        merge: Callable[[V, V], V],
        *,
        gpu: bool = False,
        finished: Callable[[int], None] = lambda _: None,
    ) -> Folded[V]:
        """The values of all calls merged, on the workers; `finished` hears how many calls are done."""

    def share(self, value: object) -> object:
        """A stand-in for a big constant, shipped once: an item of `Call.args` or a value in `Call.kwargs`."""

    def profile(self, *, gpu: bool = False) -> Profile:
        """What results computed here, on slots of that kind, depend on in their last bits."""

    def close(self) -> None:
        """Let go of every worker."""

    def __enter__(self) -> Self: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
