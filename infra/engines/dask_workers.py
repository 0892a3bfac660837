"""The workers of a Dask scheduler: who is there, whose call is submitted next, which worker was lost and what is
computed again, and how a scheduler that comes back is joined again.
"""

from __future__ import annotations

import pickle
import threading
import time
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from uuid import uuid4
from weakref import WeakKeyDictionary, WeakSet

import cloudpickle
from distributed import Client, Future
from distributed.client import CancelledError, ClosedClientError
from distributed.comm import CommClosedError

from assay.infra.engines.calls import Call, Slot, Slots
from assay.infra.engines.dask_start import Connection
from assay.infra.errors import RunError, Stopped
from assay.infra.storage.keys import Facts, facts_here, versions_here


def key_of(client: Client, name: str) -> str:
    """A key for a call of this client's that nothing else has."""
    return f"{name}-{_mark(client)}{uuid4().hex}"


def is_of(client: Client, key: object) -> bool:
    """Whether the key is of a call of this client's: leaves of a merge may be computed again long after."""
    return _mark(client) in str(key)


def _mark(client: Client) -> str:
    return str(client.id).partition("-")[2].replace("-", "")


_MOMENT_SECONDS = 0.5


class Turns:
    """Hands out turns to submit a call: to whoever asks and has the fewest calls submitted, round robin among equals.

    So a stage of a thousand partitions has the whole bound to itself while it is alone, and a training that comes
    second is submitted as soon as one of them is done.

    >>> turns, order = Turns(bound=3), []
    >>> for _ in range(3):
    ...     turns.ask("thousand", lambda: order.append("partition"))
    >>> turns.ask("thousand", lambda: order.append("one more partition"))
    >>> turns.ask("second", lambda: order.append("training"))
    >>> order
    ['partition', 'partition', 'partition']
    >>> turns.give_back("thousand"); order[-1]
    'training'
    """

    def __init__(self, bound: int) -> None:
        self._lock = threading.Lock()
        self._bound = bound
        self._held: dict[Hashable, int] = {}
        self._waiting: dict[Hashable, Callable[[], None]] = {}
        self.closed = False

    def ask(self, who: Hashable, granted: Callable[[], None]) -> None:
        """Ask for one turn; `granted` is called as soon as it is there, now or by another thread."""
        with self._lock:
            self._held.setdefault(who, 0)
            self._waiting[who] = granted
            self._hand_out()

    def give_back(self, who: Hashable) -> None:
        """A call of theirs is over, or its turn is not needed."""
        with self._lock:
            self._held[who] -= 1
            self._hand_out()

    def leave(self, who: Hashable) -> None:
        """They need no turn any more, and give back all that they hold."""
        with self._lock:
            self._held.pop(who, None)
            self._waiting.pop(who, None)
            self._hand_out()

    def allow(self, bound: int) -> None:
        """From now on so many calls may be submitted at once."""
        with self._lock:
            self._bound = bound
            self._hand_out()

    def close(self) -> None:
        """The engine closes: whoever waits is woken up, and finds out."""
        with self._lock:
            self.closed = True
            for granted in self._waiting.values():
                granted()

    def check(self) -> None:
        """Raises `Stopped` once the engine is closed."""
        if self.closed:
            raise Stopped

    def _hand_out(self) -> None:
        while self._waiting and sum(self._held.values()) < self._bound:
            who = min(self._waiting, key=self._held.__getitem__)
            self._held[who] += 1
            self._waiting.pop(who)()


class Blame:
    """Finds out which call kills its worker: suspects of all runs and folds are tried again one at a time.

    Others go on beside a suspect. If one of those was given up too meanwhile, it may have been that one.
    """

    def __init__(self) -> None:
        self._lock, self._alone = threading.Lock(), threading.Lock()
        self.given_up = 0

    def begin(self) -> int | None:
        """The number of calls given up so far, where no other suspect is being tried; else None."""
        return self.given_up if self._alone.acquire(blocking=False) else None

    def end(self) -> None:
        """The suspect has been tried."""
        self._alone.release()

    def count(self) -> None:
        """A call was given up by Dask because its workers died."""
        with self._lock:
            self.given_up += 1

    def is_proven(self, before: int) -> bool:
        """Whether nothing but the suspect was given up since it began; what went with it is heard of a moment later."""
        time.sleep(_MOMENT_SECONDS)
        return self.given_up - before <= 1


MOST_LOSSES = 20
RETURN_SECONDS = 60.0
"""How long a kind of worker that was there a moment ago is waited for: it restarts, most likely."""
_PAUSE_SECONDS = 0.5


class SchedulerLostError(RunError):
    """The scheduler went away while work was running."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"the Dask scheduler of {name} went away while work was running; once it is back, run again: "
            "what was committed is kept and not computed again"
        )


@contextmanager
def lost_in_words(
    name: str,
    faults: tuple[type[BaseException], ...] = (CommClosedError, ClosedClientError, CancelledError, TimeoutError),
) -> Iterator[None]:
    """Within the block, what Dask's client raises where its scheduler is gone becomes `SchedulerLostError`."""
    try:
        yield
    except faults as fault:
        raise SchedulerLostError(name) from fault


class Outstanding:
    """The calls of a run or fold; iterated again, those that were drawn and are not over come first.

    >>> calls = Outstanding(Call(n, "", print) for n in range(4))
    >>> drawn = iter(calls)
    >>> first, second = next(drawn), next(drawn)
    >>> calls.over(second.index)
    >>> [call.index for call in calls]
    [0, 2, 3]
    """

    def __init__(self, calls: Iterable[Call]) -> None:
        self._rest = iter(calls)
        self._drawn: dict[int, Call] = {}
        self.out_of_sight = 0
        """How often Dask lost sight of some of them."""

    def over(self, index: int) -> None:
        """That call has its outcome."""
        self._drawn.pop(index, None)

    def __iter__(self) -> Iterator[Call]:
        yield from list(self._drawn.values())
        for call in self._rest:
            self._drawn[call.index] = call
            yield call


class Shared:
    """A stand-in for a constant that is shipped to the workers once, and once more to those of a later scheduler."""

    def __init__(self, value: object) -> None:
        self.value = value


class Shipments:
    """The futures of shared constants with one scheduler, each kept as long as somebody holds its stand-in."""

    def __init__(self, client: Client) -> None:
        self._client, self._lock = client, threading.Lock()
        self._futures: WeakKeyDictionary[Shared, Future] = WeakKeyDictionary()

    def future(self, shared: Shared) -> Future:
        """The future that stands for the constant here; submitted when it is first asked for."""
        with self._lock:
            if shared not in self._futures:
                key = key_of(self._client, "shared")
                self._futures[shared] = self._client.submit(pickle.loads, cloudpickle.dumps(shared.value), key=key)
            return self._futures[shared]


def close_quietly(connection: Connection) -> None:
    """Close a client whose scheduler is gone, whatever it has to say about it."""
    with suppress(Exception, CancelledError):
        connection.client.close(timeout=1)


def rejoin(connect: Callable[[], Connection], seconds: float, check: Callable[[], None]) -> Connection | None:
    """A connection to the scheduler that is back, or None where it is not within that time; `check` may end it."""
    deadline = time.monotonic() + seconds
    while True:
        check()
        try:
            return connect()
        except RunError:
            if time.monotonic() >= deadline:
                return None
        time.sleep(_PAUSE_SECONDS)


def slots_when_back(slots: Callable[[], Slots], before: Slots, seconds: float, check: Callable[[], None]) -> Slots:
    """The slots once every kind that was there before is there again, or as they are after that time.

    Keys say on which kind of worker a stage computes: one that restarts must not change them.
    """
    deadline = time.monotonic() + seconds
    while True:
        check()
        now = slots()
        whole = (now.gpu or not before.gpu) and (now.cpu or not before.cpu)
        if whole or time.monotonic() >= deadline:
            return now
        time.sleep(_PAUSE_SECONDS)


_NO_ANSWER = (OSError, TimeoutError, ValueError, KeyError, AttributeError, RuntimeError, CancelledError)
"""What Dask's client raises where no scheduler answers; the middle three where it was closed in the meantime."""


@dataclass(frozen=True)
class Crew:
    """The workers of a scheduler by address, with how many calls each takes at a time."""

    plain: Mapping[str, int]
    gpu: Mapping[str, int]
    offers_cpu: bool
    """Whether every plain worker offers the resource CPU, as those that we start do."""

    @property
    def slots(self) -> Slots:
        """What the crew can run at the same moment; GPU workers count as CPU workers where there are no others."""
        return Slots(cpu=sum((self.plain or self.gpu).values()), gpu=sum(self.gpu.values()))


class Workers:
    """A scheduler's workers as they were a moment ago; remembers names, and that there were plain ones while they
    restart."""

    def __init__(self, client: Client, name: str, saw_cpu: bool = False) -> None:
        self._client = client
        self._name = name
        self.saw_cpu = saw_cpu
        self._names: dict[str, str] = {}
        self._seen: tuple[float, Crew] | None = None
        self.running: frozenset[str] = frozenset()
        """Those that took calls at the last look: neither paused, as their memory is full, nor on their way out."""

    def name_of(self, where: str) -> str:
        """The name of a worker that was there at the last look, else its address."""
        return self._names.get(where, where)

    def crew(self) -> Crew:
        """Who is there now, or was a quarter of a second ago: branches ask at the same time."""
        if self._seen is not None and time.monotonic() - self._seen[0] < _MOMENT_SECONDS / 2:
            return self._seen[1]
        asked = time.monotonic()
        with lost_in_words(self._name, _NO_ANSWER):
            workers = self._client.scheduler_info(n_workers=-1)["workers"]
        self._names.update({where: str(it["name"]) for where, it in workers.items()})
        self.running = frozenset(where for where, it in workers.items() if it["status"] == "running")
        gpu = {where: int(it["resources"]["GPU"]) for where, it in workers.items() if it["resources"].get("GPU")}
        plain = {where: it for where, it in workers.items() if where not in gpu}
        offers = bool(plain) and all(it["resources"].get("CPU") for it in plain.values())
        self.saw_cpu |= offers
        calls = {where: int(it["resources"].get("CPU", it["nthreads"])) for where, it in plain.items()}
        crew = Crew(calls, gpu, offers or (self.saw_cpu and not plain))
        self._seen = asked, crew
        return crew

    def busy_with(self) -> dict[str, list[str]]:
        """What was sent to each worker and is not done, by the worker's address."""
        with lost_in_words(self._name, _NO_ANSWER):
            sent: dict[str, list[str]] = self._client.processing()
        return sent

    def facts(self, addresses: list[str] | None = None, profile: str = "strict") -> dict[str, Facts]:
        """Versions and processor of every worker (or of those named) that is there to answer."""
        with lost_in_words(self._name):
            answers = self._client.run(facts_here, profile, workers=addresses, on_error="return")
        for where, answer in answers.items():
            if isinstance(answer, ImportError):
                raise RunError(
                    f"worker {where} cannot load Assay ({answer}); "
                    f"install assay-audit {versions_here()['assay-audit']} there"
                )
        return {where: answer for where, answer in answers.items() if isinstance(answer, tuple)}


def placement(crew: Crew, slot: Slot) -> dict[str, object]:
    """What to tell Dask so that a call runs on that kind of slot: nothing where there is only one kind of worker."""
    if slot == "GPU":
        return {"resources": {"GPU": 1}}
    if crew.offers_cpu:
        return {"resources": {"CPU": 1}}
    return {"workers": list(crew.plain), "allow_other_workers": True} if crew.plain and crew.gpu else {}


TOPIC = "all"
"""The topic on which Dask's scheduler says that a worker went."""


@dataclass(eq=False)
class Submitted:
    """The calls of one run or fold: Dask's keys, each with the name that people know the call by."""

    names: dict[str, str] = field(default_factory=dict)


class Losses:
    """Hears of every worker that went unasked, and says what it took along; silent where it was idle."""

    def __init__(self, client: Client, workers: Workers, say: Callable[[str], None]) -> None:
        self._client = client
        self._workers = workers
        self._say = say
        self._windows: WeakSet[Submitted] = WeakSet()
        self._lock = threading.Lock()
        client.subscribe_topic(TOPIC, self._hear)

    def watch(self) -> Submitted:
        """A place for the calls of a run or fold; watched as long as somebody holds it."""
        submitted = Submitted()
        with self._lock:
            self._windows.add(submitted)
        return submitted

    def stop(self) -> None:
        """Hear no more: a scheduler that still had something to say to a client that is gone would complain aloud."""
        # A client whose scheduler went down hears nothing more anyway; its ClosedClientError is a plain Exception.
        with suppress(OSError, ValueError, ClosedClientError):
            self._client.unsubscribe_topic(TOPIC)

    def _hear(self, event: tuple[float, Any]) -> None:
        _, message = event
        if not isinstance(message, Mapping) or message.get("action") != "remove-worker" or message.get("expected"):
            return
        worker = self._workers.name_of(str(message.get("worker", "")))
        working, done = (self._named(message.get(kind, ())) for kind in ("processing-tasks", "lost-computed-tasks"))
        if working or done:
            self._say(sentence(worker, working, done))

    def _named(self, keys: Collection[object]) -> list[str]:
        """The calls of ours among the keys, by name."""
        with self._lock:
            windows = list(self._windows)
        return sorted({window.names[str(key)] for key in keys for window in windows if str(key) in window.names})


def sentence(worker: str, working: Collection[str], done: Collection[str]) -> str:
    """What a person is told.

    >>> sentence("cpu-1", ["votes, partition 3 of 10"], [])
    'Worker cpu-1 was lost (killed, or out of memory). Done again: votes, partition 3 of 10.'
    """
    lost = [*working, *(f"the result of {name}" for name in done)]
    more = f" and {len(lost) - 3} more" if len(lost) > 3 else ""
    listed = "; ".join(lost[:3])
    return f"Worker {worker} was lost (killed, or out of memory). Done again: {listed}{more}."


LOOK_SECONDS = 10.0
LOOKS = 3
_PENDING = ("pending", "lost")
"""A future's status where its client waits to hear of it."""


class LostSightError(RunError):
    """Dask's scheduler has futures that it does nothing for."""

    def __init__(self, name: str) -> None:
        super().__init__(
            f"the Dask scheduler of {name} leaves calls undone although workers are free, also when it is asked again; "
            "restart it and run again: what was committed is kept"
        )


class Watch:
    """Looks, while nothing is heard of some futures, whether anything of ours is being computed: they, or what they
    need."""

    def __init__(self, client: Client, workers: Workers, name: str) -> None:
        self._client, self._workers, self._name = client, workers, name
        self._looked, self._in_vain = time.monotonic(), 0

    def heard(self) -> None:
        """Something was heard: the futures are looked for anew from now on."""
        self._looked, self._in_vain = time.monotonic(), 0

    def look(self, futures: Sequence[Future], crew: Crew, slot: Slot) -> None:
        """To be called again and again meanwhile; raises after `LOOKS` looks in a row at which nothing was computed
        while a worker on that kind of slot was free."""
        if time.monotonic() - self._looked < LOOK_SECONDS:
            return
        self._looked = time.monotonic()
        waits = any(future.status in _PENDING for future in futures)
        workers = crew.gpu if slot == "GPU" else crew.plain or crew.gpu
        busy_with = self._workers.busy_with()
        at_work = any(is_of(self._client, key) for keys in busy_with.values() for key in keys)
        free = any(not busy_with.get(where, ["gone"]) for where in workers if where in self._workers.running)
        self._in_vain = self._in_vain + 1 if waits and free and not at_work else 0
        if self._in_vain >= LOOKS:
            raise LostSightError(self._name)
