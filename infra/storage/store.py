"""The single source of truth: artifacts by key, committed by their manifest, and the records of runs.

Layout: `stages/STAGE/KEY/` holds a stage's files and, last of all, its `manifest.json`; `runs/ID.json` what a run
used; `leases/ID.json` says that a run is still writing; `reports/ID/` its page; `ingredients/` the small files of the
team's own that runs stood on, by their content; `asides/` the records of what computes and is no night.
`log/NUMBER.json` says who did what, `plans/PIPELINE/SHA256.dsse.json` what somebody signed before a run.
`successors/STAGE/KEY.json` names the key that stands for one whose results came out otherwise when computed again.
`partitions/STAGE/STEP/TIME-KEY.json` says which results hold partitions of the same step: see
`infra/stages/reuse.py`. `store.json` carries the format's number. `answers/SHA256/` holds the answers of one service
in one version, a file per request; the hash is that of what stands for it in the record of a run
(`Ingredient.sha256`), so that a clean-up knows whose they are. `turns/RUN/` numbers the requests of a run, a file
each, made by whoever comes first, with the second at which it may be sent, so that all workers together ask no faster
than allowed; below `asked`, how often each process did.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, TypeVar

from assay.infra.errors import InputError, RunError
from assay.infra.storage.artifacts import Artifact, Kind, Manifest, Output, RunRecord, by_date
from assay.infra.storage.folders import Folder, failures_in_words, json_bytes
from assay.infra.storage.network import FIRST_RETRY_SECONDS

V = TypeVar("V")
FORMAT = 1
ANSWERS, INGREDIENTS, PARTITIONS, TURNS = "answers", "ingredients", "partitions", "turns"
MANIFESTS = ("manifest.json", "manifest-partial.json")
"""What a committed result is known by: whole, or without the partitions that are kept apart."""

NO_RECORD = "is no record of a run: mend or delete it"
_MALFORMED = (KeyError, TypeError, AttributeError, ValueError)
"""What a file that was written by somebody else, or damaged, makes of reading it."""


class Store:
    """Artifacts, run records and reports under one root, local or remote."""

    def __init__(self, url: str) -> None:
        self.folder = Folder(url)
        self._manifests: dict[tuple[str, str], Manifest] = {}

    def open(self) -> Store:
        """The store, ready to write to; refused where it cannot be written or is of a newer format than we know."""
        with failures_in_words(self.url):
            if not self.look().folder.exists("store.json"):
                self.folder.write_json("store.json", {"format": FORMAT, "what": "a store of Assay"})
        return self

    def look(self) -> Store:
        """The store, ready to read from, if it is there yet; refused where it cannot be, or is of a newer format."""
        with failures_in_words(self.url):
            first = Folder(self.url, patience=FIRST_RETRY_SECONDS)
            known = first.read_json("store.json")
            if known is None and not first.exists("store.json"):
                return self
        number = None if known is None else known.get("format", 0)
        if not isinstance(number, int):
            raise InputError(
                f"{self.folder.url}/store.json cannot be read: mend it, or choose another store with --store."
            )
        if number > FORMAT:
            raise InputError(
                f"The store at {self.folder.url} has format {number}, this Assay knows format {FORMAT}: "
                "upgrade Assay, or choose another store with --store."
            )
        return self

    @property
    def url(self) -> str:
        """Where the store lies."""
        return self.folder.url

    @staticmethod
    def place(stage: str, key: str) -> str:
        """The folder of a stage's results under a key."""
        return f"stages/{stage}/{key}"

    def manifest(self, stage: str, key: str) -> Manifest | None:
        """The committed manifest under a key, whatever became of its files."""
        return self._read(f"{self.place(stage, key)}/manifest.json", Manifest.from_json)

    def _read(self, name: str, from_json: Callable[[dict[str, Any]], V]) -> V | None:
        """What a file describes; None where it is not there, or describes no such thing."""
        value = self.folder.read_json(name)
        try:
            return from_json(value) if value else None
        except _MALFORMED:
            return None

    def find(self, stage: str, key: str) -> Manifest | None:
        """The manifest under a key, or what a later run put in its place, if all files are there in their full size."""
        manifest = self.standing(stage, key)
        return manifest if manifest and not self.damage(manifest) else None

    def standing(self, stage: str, key: str) -> Manifest | None:
        """The manifest under a key, or what a later run put in its place, whatever became of its files."""
        later = self.folder.read_json(self._successor_name(stage, key))
        manifest = self.manifest(stage, str(later["key"])) if later and "key" in later else None
        return manifest or self.manifest(stage, key)

    def damage(self, manifest: Manifest) -> list[str]:
        """Files of a manifest that are missing or not of the size they had."""
        there = self.folder.sizes(self.place(manifest.stage, manifest.key))
        wanted = {file: size for output in manifest.outputs.values() for file, size in output.files.items()}
        return sorted(file for file, size in wanted.items() if there.get(file) != size)

    def commit(self, manifest: Manifest) -> Manifest:
        """The manifest that now stands under the key: this one, or an earlier one that says the same.

        The first manifest wins. A different digest under the same key means that the stage is not the function of its
        key that it claims to be; that is an error worth reading, not a thing to paper over: `settle` is the
        way on.
        """
        if manifest.quarantined:
            # What lacks partitions is kept apart: a later run asks for the whole, finds none, and tries again.
            self.folder.write_json(self._partial_name(manifest.stage, manifest.key), asdict(manifest))
            return manifest
        name = f"{self.place(manifest.stage, manifest.key)}/manifest.json"
        earlier = self.manifest(manifest.stage, manifest.key)
        if earlier is None:
            if self.folder.create(name, json_bytes(asdict(manifest))):
                return manifest
            earlier = self.manifest(manifest.stage, manifest.key)
        if earlier is None:  # it is there and cannot be read: nobody takes anything from it
            self.folder.write_json(name, asdict(manifest))
            return manifest
        for kind in _differing(earlier, manifest):
            raise RunError(
                f"Stage {manifest.stage} gave another {kind} than run {earlier.run} did, under the same key "
                f"{manifest.key}: it depends on something outside its settings and inputs (a clock, an unseeded draw, "
                f"another machine). Run again with --fresh to replace the earlier one."
            )
        if self.damage(earlier):
            repaired = replace(earlier, outputs=manifest.outputs)
            self.folder.write_json(name, asdict(repaired))
            return repaired
        return earlier

    def settle(self, held: Manifest, again: Manifest, key: str, notice: Callable[[str], None]) -> Manifest:
        """Which manifest stands for a key that was computed again: the one held, where both say the same, else the new.

        The earlier result stays where the records of earlier runs look for it.
        """
        if again.quarantined:
            return again
        differing = _differing(held, again)
        if not differing:
            self.folder.remove(f"{self.place(again.stage, again.key)}/manifest.json")
            self.folder.remove(self.place(again.stage, again.key))
            return held
        self.folder.write_json(self._successor_name(again.stage, key), {"key": again.key, "run": again.run})
        notice(
            f"{again.title}: computed again, it gave another {differing[0]} than run {held.run} did with the same "
            "settings and inputs; the new one is kept (a file, a service, a clock or an unseeded draw has changed it)"
        )
        return again

    @staticmethod
    def _successor_name(stage: str, key: str) -> str:
        return f"successors/{stage}/{key}.json"

    def output(self, artifact: Artifact[Kind]) -> Output:
        """The committed output behind a handle, with its parts."""
        # By the end of the uri only: a store that was moved, or is mounted elsewhere here, holds the same things.
        place = artifact.uri.rstrip("/").split("/")[-3:]
        if len(place) < len(("stage", "key", "output")):
            raise InputError(f"{artifact.uri!r}, which a record names, is no place in the store {self.url}: run again.")
        stage, key, _ = place
        if output := self._matching(self._manifests.get((stage, key)), artifact):
            return output
        for name in (f"{self.place(stage, key)}/manifest.json", self._partial_name(stage, key)):
            manifest = self._read(name, Manifest.from_json)
            if manifest and (output := self._matching(manifest, artifact)):
                self._manifests[stage, key] = manifest
                return output
        raise RunError(
            f"The {artifact.kind} at {artifact.uri} is not in the store any more (cleaned, or deleted): run again."
        )

    def contents(self, output: Output) -> dict[str, bytes]:
        """Every file of a set of files by its name, checked against its sha256."""
        contents: dict[str, bytes] = {}
        for file in output.files:
            name = file.split(f"/{output.artifact.uri.rsplit('/', 1)[-1]}/", 1)[-1]
            contents[name] = self.folder.read(file) if self.folder.exists(file) else b""
            if hashlib.sha256(contents[name]).hexdigest() != output.checksums.get(name):
                raise RunError(f"The file {self.url}/{file} is not what was written there: delete it and run again.")
        return contents

    def _partial_name(self, stage: str, key: str) -> str:
        return f"{self.place(stage, key)}/manifest-partial.json"

    @staticmethod
    def _matching(manifest: Manifest | None, artifact: Artifact[Kind]) -> Output | None:
        wanted = (artifact.kind, artifact.digest, artifact.uri.rpartition("/")[2])
        for output in manifest.outputs.values() if manifest else ():
            made = output.artifact
            if (made.kind, made.digest, made.uri.rpartition("/")[2]) == wanted:
                return output
        return None

    def index_partitions(self, manifest: Manifest) -> None:
        """Write down where later results find the partitions of this one, and what reductions counted in them."""
        steps = {part.content.partition(".")[0] for part in (*manifest.parts, *manifest.counted)} - {""}
        when = "".join(sign for sign in manifest.created if sign.isdigit())[:14]
        for step in steps:
            name = f"{PARTITIONS}/{manifest.stage}/{step}/{when}-{manifest.key}.json"
            self.folder.write_json(name, {"run": manifest.run})

    def results_with(self, stage: str, step: str) -> list[str]:
        """The keys of a stage's results that hold partitions of a step, the latest first."""
        return [_indexed_key(name) for name in sorted(self.folder.sizes(f"{PARTITIONS}/{stage}/{step}"), reverse=True)]

    def drop_index_of_removed(self) -> None:
        """Forget where partitions lie of results that are gone."""
        for name in self.folder.sizes(PARTITIONS):
            if self.manifest(name.split("/")[1], _indexed_key(name)) is None:
                self.folder.remove(name)

    def save_run(self, record: RunRecord, aside: bool = False) -> None:
        """Write down what a run has done so far; of one that stands aside, where nobody takes it for a night."""
        self.folder.write(f"{'asides' if aside else 'runs'}/{record.id}.json", record.to_text().encode())

    def forget_aside(self, run_id: str) -> None:
        """Remove the record of a run that stood aside."""
        self.folder.remove(f"asides/{run_id}.json")

    def asides(self) -> list[RunRecord]:
        """The records of runs that stand aside just now, or were killed there."""
        names = sorted(name for name in self.folder.sizes("asides") if name.endswith(".json"))
        return [record for name in names if (record := self._read(name, RunRecord.from_json)) is not None]

    def run(self, run_id: str) -> RunRecord:
        """The record of a run by its id, or by the last part of it."""
        stored = self.record(run_id) if re.fullmatch(r"[\w.-]+", run_id) else None  # else it names no file
        if stored is not None:
            return stored
        runs = self.runs()
        matches = [record for record in runs if record.id.endswith(run_id)]
        if len(matches) == 1:
            return matches[0]
        damaged = [name for name in self.record_names() if name.endswith(run_id) and self.record(name) is None]
        if len(damaged) == 1:
            raise InputError(f"{self.url}/runs/{damaged[0]}.json {NO_RECORD}.")
        latest = f" The latest is {runs[-1].id}." if runs else " No run is recorded there."
        raise InputError(f'There is no run "{run_id}" in {self.url}.{latest} (assay runs shows all)')

    def record(self, run_id: str) -> RunRecord | None:
        """The record of exactly that run; None where there is none yet, or where the file is no record of a run."""
        return self._read(f"runs/{run_id}.json", RunRecord.from_json)

    def require_records(self) -> None:
        """Raises where a file among the records of runs cannot be read, or their folder is gone: what runs used is not
        known then."""
        if not self.folder.exists("runs") and self.folder.sizes("stages"):
            raise InputError(
                f"{self.url} has results and no folder runs/, so nobody knows which of them are used: bring that "
                "folder back from a backup, or delete the store; nothing was removed."
            )
        for name in self.record_names():
            if self.record(name) is None:
                raise InputError(
                    f"{self.url}/runs/{name}.json {NO_RECORD}, as nobody knows which results it used; nothing was "
                    "removed."
                )

    def record_names(self) -> list[str]:
        """The names under which runs are on record, whether or not the record can be read."""
        names = sorted(name for name in self.folder.sizes("runs") if name.count("/") == 1 and name.endswith(".json"))
        return [name[len("runs/") : -len(".json")] for name in names]

    def runs(self, pipeline: str | None = None) -> list[RunRecord]:
        """All recorded runs, oldest first."""
        records = [record for name in self.record_names() if (record := self.record(name)) is not None]
        records.sort(key=lambda record: by_date(record.started, record.id))
        return [record for record in records if pipeline in (None, record.pipeline)]


def _differing(earlier: Manifest, later: Manifest) -> list[str]:
    """The kinds of the outputs that the later manifest has otherwise than the earlier one."""
    before = {name: output.artifact.digest for name, output in earlier.outputs.items()}
    after = {name: output.artifact for name, output in later.outputs.items()}
    return [artifact.kind for name, artifact in after.items() if before.get(name) != artifact.digest]


def _indexed_key(name: str) -> str:
    """The key of the result that a file of the index of partitions is about."""
    return name.rsplit("-", 1)[-1].removesuffix(".json")


_LOOK_AGAIN = 5.0  # seconds after which a process looks for what others have been answered
Kept = list[float] | dict[str, str]
"""What is kept of an answer: its numbers, or words about it."""


def answers_folder(standing: str) -> str:
    """Where the answers of a service are kept, by what stands for them."""
    return f"{ANSWERS}/{hashlib.sha256(standing.encode()).hexdigest()}"


def turns_folder(run: str, url: str) -> str:
    """Where the requests of a run to a service are numbered."""
    return f"{TURNS}/{run or 'no-run'}/{hashlib.sha256(url.encode()).hexdigest()[:16]}"


@dataclass
class KeptAnswers:
    """The answers of one service, by the content of what was asked; without a folder, those of this process."""

    folder: Folder | None
    place: str
    clock: Callable[[], float] = time.monotonic
    _known: dict[str, Kept] = field(default_factory=dict)
    _read: set[str] = field(default_factory=set)
    _looked: float | None = None

    def known(self, names: Iterable[str]) -> Mapping[str, Kept]:
        """What is known of these; where something is missing the folder is looked into again, now and then."""
        wanted = set(names)
        if not wanted <= self._known.keys():
            self._refresh()
        return {name: self._known[name] for name in wanted & self._known.keys()}

    def keep(self, answers: Mapping[str, Kept]) -> None:
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
            claim = {"begin": begin, "by": uuid.uuid4().hex}  # no two claims are alike: see Folder.create
            if self.folder is None or self.folder.create(self._name(number), json.dumps(claim).encode()):
                self._last, self._sent = number, begin
                return begin
            number = max(number, self._latest()) + 1

    def _name(self, number: int) -> str:
        return f"{self.place}/{number:09d}.json"

    def _after(self, number: int) -> float:
        """The second at which the request after the one of that number may be sent."""
        if self.rate is None or not number:
            return self.now()
        before = self._sent
        if number != self._last and self.folder is not None:
            before = (self.folder.read_json(self._name(number)) or {}).get("begin")
        return max(self.now(), before + 1 / self.rate) if isinstance(before, int | float) else self.now()

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

    def so_far(self) -> Counter[str]:
        """What this process counted until now."""
        with self._one_at_a_time:
            return Counter(self._counts)

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
