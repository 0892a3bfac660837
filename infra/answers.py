"""What services have answered, kept in the store; and turns, so that all workers together ask no faster than allowed.

`answers/SHA256/` holds the answers of one service in one version, a file per request; the hash is that of what stands
for it in the record of a run (`Ingredient.sha256`), so that a clean-up knows whose they are. `turns/RUN/` numbers the
requests of a run: a file each, made by whoever comes first, with the second at which it may be sent; and, below
`asked`, how often each process has asked.
"""

from __future__ import annotations

import hashlib
import json
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from assay.infra.errors import InputError
from assay.infra.folders import Folder

PLACE, TURNS = "answers", "turns"
_LOOK_AGAIN = 5.0  # seconds after which a process looks for what others have been answered
Numbers = list[float]


def place_of(standing: str) -> str:
    """Where the answers of a service are kept, by what stands for them."""
    return f"{PLACE}/{hashlib.sha256(standing.encode()).hexdigest()}"


def turns_at(run: str, url: str) -> str:
    """Where the requests of a run to a service are numbered."""
    return f"{TURNS}/{run or 'no-run'}/{hashlib.sha256(url.encode()).hexdigest()[:16]}"


def counted_at(run: str, url: str) -> str:
    """Where processes leave how often they asked it."""
    return f"{turns_at(run, url)}/asked"


@dataclass
class KeptAnswers:
    """The answers of one service, by the content of what was asked; without a folder, those of this process."""

    folder: Folder | None
    place: str
    clock: Callable[[], float] = time.monotonic
    _known: dict[str, Numbers] = field(default_factory=dict)
    _read: set[str] = field(default_factory=set)
    _looked: float | None = None

    def known(self, names: Iterable[str]) -> Mapping[str, Numbers]:
        """What is known of these; where something is missing the folder is looked into again, now and then."""
        wanted = set(names)
        if not wanted <= self._known.keys():
            self._refresh()
        return {name: self._known[name] for name in wanted & self._known.keys()}

    def keep(self, answers: Mapping[str, Numbers]) -> None:
        """Keep what was answered, here and for others."""
        self._known.update(answers)
        if self.folder is not None and answers:
            name = f"{self.place}/{uuid.uuid4().hex}.json"
            self.folder.write(name, json.dumps(answers).encode())
            self._read.add(name)

    def _refresh(self) -> None:
        if self.folder is None or (self._looked is not None and self.clock() - self._looked < _LOOK_AGAIN):
            return
        self._looked = self.clock()
        for name in sorted(self.folder.sizes(self.place).keys() - self._read):
            self._read.add(name)
            if name.endswith(".json"):
                self._known.update(self.folder.read_json(name) or {})


@dataclass
class Turns:
    """Whoever asks a service takes turns with all other workers: so many a second, so many in all."""

    folder: Folder | None
    place: str
    rate: float | None = None
    most: int | None = None
    beyond: str = "no more requests may be made in this run"
    now: Callable[[], float] = time.time
    wait: Callable[[float], None] = time.sleep
    _last: int = 0
    _sent: float | None = None
    _one_at_a_time: threading.Lock = field(default_factory=threading.Lock)

    def take(self) -> None:
        """Wait until it is one's turn; raises where there is none left."""
        if self.rate is None and self.most is None:
            return
        with self._one_at_a_time:
            begin = self._claim()
        if (pause := begin - self.now()) > 0:
            self.wait(pause)

    def _claim(self) -> float:
        """The second at which the next request may be sent; the number after the last is nobody's but ours."""
        number = self._last + 1
        while True:
            if self.most is not None and number > self.most:
                raise InputError(self.beyond)
            begin = self._after(number - 1)
            if self._is_ours(number, begin):
                self._last, self._sent = number, begin
                return begin
            number = max(number, self._latest()) + 1

    def _is_ours(self, number: int, begin: float) -> bool:
        if self.folder is None:
            return True
        claim = {"begin": begin, "by": uuid.uuid4().hex}  # no two claims are alike: see Folder.create
        return self.folder.create(f"{self.place}/{number:09d}.json", json.dumps(claim).encode())

    def _after(self, number: int) -> float:
        if self.rate is None or not number:
            return self.now()
        before = self._sent if number == self._last else self._begin(number)
        return self.now() if before is None else max(self.now(), before + 1 / self.rate)

    def _begin(self, number: int) -> float | None:
        assert self.folder is not None
        begin = (self.folder.read_json(f"{self.place}/{number:09d}.json") or {}).get("begin")
        return float(begin) if isinstance(begin, int | float) else None

    def _latest(self) -> int:
        assert self.folder is not None
        stems = [name.rsplit("/", 1)[-1].removesuffix(".json") for name in self.folder.sizes(self.place)]
        return max((int(stem) for stem in stems if stem.isdecimal()), default=0)


@dataclass
class AskedCounts:
    """How often one process has asked a service in this run: a file of its own, written anew as the counts grow."""

    folder: Folder | None
    place: str
    _counts: Counter[str] = field(default_factory=Counter)
    # Its stem is no number, so that nobody takes it for a turn.
    _name: str = field(default_factory=lambda: f"by-{uuid.uuid4().hex}")
    _one_at_a_time: threading.Lock = field(default_factory=threading.Lock)

    def add(self, **counts: int) -> None:
        """Count these as well."""
        with self._one_at_a_time:
            self._counts.update(counts)

    def leave(self) -> None:
        """Write down what was counted so far, for whoever adds up what all processes did."""
        with self._one_at_a_time:
            if self.folder is not None and self._counts:
                self.folder.write_json(f"{self.place}/{self._name}.json", dict(self._counts))


def asked_in(folder: Folder, place: str) -> Counter[str]:
    """What all processes counted, together."""
    counts = Counter[str]()
    for name in folder.sizes(place):
        counts.update({what: int(count) for what, count in (folder.read_json(name) or {}).items()})
    return counts
