"""Calls and what runs them: the protocol of an engine, how a call is unpacked and run where it runs (one numeric
thread, memory given back), and bounds on how much goes on at once in the flow's process.

A gradient step allocates and frees the same hundreds of megabytes again and again. Under glibc's defaults, and far more
so under Dask's (`MALLOC_TRIM_THRESHOLD_=65536`), each of them goes back to the kernel and comes back page by page,
zeroed. Kept while a call runs and given back when it is over, they cost neither that time nor memory between calls.
Arrow's own allocator keeps, for each of its threads, what no call can give back: on workers it takes the C library's.
"""

from __future__ import annotations

import ctypes
import os
import pickle
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from functools import cache, lru_cache, reduce
from itertools import count
from pathlib import Path
from typing import Any, Generic, Literal, Protocol, Self, TypeVar

from assay.infra.environment import ONE_EACH
from assay.infra.errors import RunError, Stopped, called_without_secrets
from assay.infra.storage.keys import refuse_mismatch, versions_here
from assay.infra.user_code.supervision import supervised

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # of mallopt(3)
_KEPT = 1 << 30
OF_C_LIBRARY = {"ARROW_DEFAULT_MEMORY_POOL": "system", "MALLOC_ARENA_MAX": "1"}
"""What a worker is started with: all memory from one heap of the C library. The end of a thread's own heap would not be
given back."""


@cache
def keep_freed_memory() -> None:
    """From now on this process keeps up to a gibibyte of what is freed, where its C library can be told so."""
    if sys.platform.startswith("linux") and all(hasattr(_libc(), name) for name in ("mallopt", "malloc_trim")):  # glibc
        _libc().mallopt(_MMAP_THRESHOLD, _KEPT)
        _libc().mallopt(_TRIM_THRESHOLD, _KEPT)


SPARE_BYTES = 64 << 20
"""Between calls a process keeps so much that is free: to have every page anew takes a twentieth of a short night."""


@dataclass
class _Least:
    """How many bytes this process had after it last gave memory back."""

    resident: int = 0


_least = _Least()


def give_back_memory() -> None:
    """Return to the system what is free now, where that may be more than is spared."""
    if 0 < _resident_bytes() < _least.resident + SPARE_BYTES:
        return
    if (arrow := sys.modules.get("pyarrow")) is not None:
        arrow.default_memory_pool().release_unused()
    if sys.platform.startswith("linux") and hasattr(_libc(), "malloc_trim"):
        _libc().malloc_trim(0)
    _least.resident = _resident_bytes()


def _resident_bytes() -> int:
    """How many bytes this process has in memory; 0 where nobody says so."""
    try:
        return int(Path("/proc/self/statm").read_bytes().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


@cache
def _libc() -> Any:
    return ctypes.CDLL(None)


def one_thread() -> None:
    """Hold this process, and those it starts, to one numeric thread each, libraries already loaded included."""
    os.environ.update(ONE_EACH)
    if "numpy" in sys.modules or "torch" in sys.modules:
        _pools(len(sys.modules)).limit(limits=1)
    torch = sys.modules.get("torch")
    if torch is not None:
        torch.set_num_threads(1)


@lru_cache(maxsize=1)
def _pools(_modules: int) -> Any:
    """The pools of threads of what is loaded by now; they are looked for, for 4 ms, when more modules are."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


Slot = Literal["CPU", "GPU"]
V = TypeVar("V")
Merge = Callable[[V, V], V]
OnDone = Callable[[int], None]
"""Hears how many calls are done."""


def unheard(_: int) -> None:
    """Nobody hears it."""


@dataclass(frozen=True)
class Call:
    """One partition's work: a picklable `function` and its arguments; `name` is for people ("votes, partition 3")."""

    index: int
    name: str
    function: Callable[..., object]
    args: tuple[object, ...] = ()
    priority: int = 0
    """Of calls that wait for a slot, those of a higher one go first."""


@dataclass(frozen=True)
class Outcome:
    """What became of the call of this `index`: its value, or the error that its last attempt ended with.

    `worker` is the name of the worker on which the attempt that counted ran, empty after an error. Values that are
    merged on the workers are outcomes, too, of whichever of their calls came first.
    """

    index: int
    value: object = None
    error: BaseException | None = None
    worker: str = ""

    def __sizeof__(self) -> int:
        """Dask asks: what it spills, and how many values are merged at a time, goes by it."""
        from dask.sizeof import sizeof

        return object.__sizeof__(self) + int(sizeof(self.value))


@dataclass(frozen=True)
class Folded(Generic[V]):
    """All values merged into one (`None` where no call succeeded), and the outcomes of the calls that failed."""

    value: V | None
    failed: tuple[Outcome, ...]


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


class Engine(Protocol):
    """Something that runs calls. `notices` holds what a person should be told (each said once, in a sentence)."""

    notices: list[str]

    def slots(self) -> Slots:
        """The CPU and GPU slots that are there now."""

    def run(self, calls: Iterable[Call], *, gpu: bool = False) -> Iterator[Outcome]:
        """The outcome of every call, as they finish; `calls` is read only a few ahead of what is running."""

    def fold(self, calls: Iterable[Call], merge: Merge[V], *, gpu: bool = False, done: OnDone = unheard) -> Folded[V]:
        """The values of all calls merged, on the workers; `done` hears how many calls are."""

    def share(self, value: object) -> object:
        """A stand-in for a big constant, shipped once: an item of `Call.args`."""

    def processor(self, profile: str = "strict") -> str:
        """The processor that results are computed on, which their last bits depend on; those that differ, all named."""

    def close(self) -> None:
        """Let go of every worker."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


_slot: ContextVar[Slot] = ContextVar("slot", default="CPU")


def slot_here() -> Slot:
    """The kind of slot that the call which asks is running on: code for both kinds takes the device from it."""
    return _slot.get()


def outcome_of(index: int, function: Callable[..., object], args: Sequence[object], worker: str, slot: Slot) -> Outcome:
    """The function's value and where it was computed."""
    token = _slot.set(slot)
    keep_freed_memory()
    try:
        with supervised(f"What {worker} was working on"):
            value = called_without_secrets(lambda: function(*args))
    finally:
        give_back_memory()
        _slot.reset(token)
    return Outcome(index, value, worker=worker)


def perform(index: int, work: bytes, shared: Mapping[int, object], slot: Slot, versions: Mapping[str, str]) -> Outcome:
    """Run a pickled call on this Dask worker; `shared` are the arguments, by their places, that came ahead of it."""
    from distributed import get_worker

    worker = str(get_worker().name)
    refuse_mismatch(versions, versions_here(), worker)
    one_thread()
    function, own = pickle.loads(work)
    given = {**own, **shared}
    return outcome_of(index, function, [given[place] for place in range(len(given))], worker, slot)


def join(merge: bytes, outcomes: Sequence[Outcome]) -> Outcome:
    """The values as one, by a pickled `merge`."""
    return replace(outcomes[0], value=reduce(pickle.loads(merge), (outcome.value for outcome in outcomes)))


COLLECTED_BYTES = 2 << 30
process_state = threading.RLock()
"""Held while something is changed for a moment that all threads of the process share: Torch's generator, how Python
warns. A stage's body that does so shares the process with others."""

_LOOK_SECONDS = 0.5


class Stop:
    """Says to everything that a run has under way that the run is over."""

    def __init__(self) -> None:
        self._stopped = threading.Event()

    def set(self) -> None:
        """From now on nothing new begins, and what waits gives up."""
        self._stopped.set()

    def __bool__(self) -> bool:
        return self._stopped.is_set()

    def check(self) -> None:
        """Raises `Stopped` once the run is over."""
        if self._stopped.is_set():
            raise Stopped


class Allowance:
    """The time that a run may take: when it is over, no further stage is begun; what is under way comes to its end."""

    def __init__(self, seconds: float | None, written: str = "") -> None:
        self.until = None if seconds is None else time.monotonic() + seconds
        """When it is over; None where there is no bound."""
        self._written = written

    def lift(self) -> None:
        """From now on there is no bound: what concludes a run is short, and without it all would be lost."""
        self.until = None

    def require_time(self, what: str) -> None:
        """Nothing, or the sentence for a stage that is not begun any more."""
        if self.until is not None and time.monotonic() > self.until:
            raise RunError(
                f"{what} was not begun: the budget of {self._written} was over. What was made is kept, and the next "
                "run goes on from there; raise the budget, or run with --sample."
            )


class AtMost:
    """Lets so many callers at a time work under a key; of others that come with the same key, the one with the most
    `weight` is the next, and of equal ones the one that came first.

    `limit` is looked up anew each time, as a cluster may grow.
    """

    def __init__(self, limit: Callable[[], int], stop: Stop) -> None:
        self._limit, self._stop, self._arrivals = limit, stop, count()
        self._inside = Counter[Hashable]()
        self._waiting: dict[Hashable, list[tuple[tuple[float, ...], int]]] = defaultdict(list)
        self._changed = threading.Condition()

    @contextmanager
    def __call__(self, key: Hashable = None, weight: tuple[float, ...] = (), delay: float = 0.0) -> Iterator[None]:
        """The block is entered when there is room, but not before that delay: heavier ones may come with it."""
        turn = (tuple(-each for each in weight), next(self._arrivals))
        with self._changed:
            self._waiting[key].append(turn)
        try:
            time.sleep(delay)
            while not self._entered(key, turn, max(1, self._limit())):
                self._stop.check()
        finally:
            with self._changed:
                self._waiting[key].remove(turn)
                self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._inside[key] -= 1
                self._changed.notify_all()

    def _entered(self, key: Hashable, turn: tuple[tuple[float, ...], int], limit: int) -> bool:
        def is_next() -> bool:
            return self._inside[key] < limit and min(self._waiting[key]) == turn

        with self._changed:
            entered = is_next() or (self._changed.wait(_LOOK_SECONDS) and is_next())
            self._inside[key] += entered
            return entered


class Collected:
    """A budget for the columns that stages at work hold in this process: whoever comes when it is spent waits.

    The stage that has held the longest never waits, so that two that want more do not wait for each other.
    """

    def __init__(self, stop: Stop, budget: int = COLLECTED_BYTES) -> None:
        self._stop, self._budget = stop, budget
        self._held: dict[Hashable, int] = {}
        self._freed = threading.Condition()

    def take(self, who: Hashable, size: int) -> None:
        """Count so many bytes more for a stage; returns when there is room for them."""
        with self._freed:
            while self._held and next(iter(self._held)) != who and sum(self._held.values()) + size > self._budget:
                self._stop.check()
                self._freed.wait(_LOOK_SECONDS)
            self._held[who] = self._held.get(who, 0) + size

    def release(self, who: Hashable) -> None:
        """The stage is over."""
        with self._freed:
            self._held.pop(who, None)
            self._freed.notify_all()
