"""Leases on what is being written, clean-up by mark and sweep over the records of runs, and which interrupted run a
new one resumes.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import socket
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path

from assay.infra.errors import AssayError
from assay.infra.storage.artifacts import RunRecord, by_date
from assay.infra.storage.log import LOG, log_action
from assay.infra.storage.store import ANSWERS, INGREDIENTS, MANIFESTS, TURNS, Store

_OF_A_RUN = re.compile(r"\d{4}-\d\d-\d\d-\d{4}-\w{4}$|.*\.removed-")  # a run's folder, or one that was being removed
_LEASE_SECONDS = 600.0
_BEATS = 20  # renewals in that time; the last one says how long a killed run had lived


class Lease:
    """A run's word that it is still writing, renewed while it lives; one that is not renewed runs out."""

    def __init__(self, store: Store, run: str) -> None:
        self._store, self._name = store, f"leases/{run}.json"
        self._stop = threading.Event()

    def take(self) -> None:
        """Write the lease and keep renewing it."""
        self._renew()
        threading.Thread(target=self._keep, name="assay-lease", daemon=True).start()

    def release(self) -> None:
        """Give the lease back; one that cannot be removed, in a store that nobody may write to any more, runs out."""
        self._stop.set()
        with contextlib.suppress(AssayError, OSError):
            self._store.folder.remove(self._name)

    def _keep(self) -> None:
        while not self._stop.wait(_LEASE_SECONDS / _BEATS):
            # A full disk or a slow network must not end the lease: the next beat tries again, well before it runs out.
            with contextlib.suppress(Exception):
                self._renew()

    def _renew(self) -> None:
        process = {"host": socket.gethostname(), "pid": os.getpid(), "born": _born(os.getpid())}
        self._store.folder.write_json(self._name, {**process, "until": time.time() + _LEASE_SECONDS})


def is_alive(store: Store, run: str) -> bool:
    """Whether a run holds a lease that has not run out, or whose process is still there, where we can see it.

    No two machines need agree on the time: how old a lease is the store says, which dates what is written to it.
    """
    name = f"leases/{run}.json"
    lease = store.folder.read_json(name)
    until, pid = (lease or {}).get("until"), (lease or {}).get("pid")
    if lease is None or not isinstance(until, int | float) or not isinstance(pid, int):
        return False  # one that cannot be read is renewed in a moment, where its run lives
    if lease.get("host") == socket.gethostname():
        return _process_lives(pid) and (lease["born"] == _born(pid) if lease.get("born") else until >= time.time())
    age = store.folder.age(name)
    return until >= time.time() if age is None else age < _LEASE_SECONDS


def close_crashed_runs(store: Store) -> list[RunRecord]:
    """Mark runs that were killed as crashed; they stay `running` in their record otherwise."""
    crashed = [run for run in store.runs() if run.status == "running" and not is_alive(store, run.id)]
    latest = [store.record(run.id) for run in crashed]
    crashed = [run for run in latest if run is not None and run.status == "running"]  # the others have just ended
    for run in crashed:
        run.status = "crashed"
        run.seconds = _seconds_alive(store, run)
        run.failures.append("The run's process ended without a word (killed, or the machine or its store went down).")
        store.save_run(run)
        store.folder.remove(f"leases/{run.id}.json")
    return crashed


def _seconds_alive(store: Store, run: RunRecord) -> float:
    """How long a killed run is known to have lived: till it last wrote its record, or renewed its lease."""
    lease = store.folder.read_json(f"leases/{run.id}.json")
    if lease is None or not isinstance(lease.get("until"), int | float):
        return run.seconds
    renewed = float(lease["until"]) - _LEASE_SECONDS - datetime.fromisoformat(run.started).timestamp()
    return round(max(run.seconds, renewed), 2)


@dataclass(frozen=True)
class Sweep:
    """What a clean-up removed, or would remove."""

    runs: tuple[str, ...]
    results: tuple[str, ...]
    bytes: int


def clean(store: Store, keep: int = 30, dry_run: bool = False) -> Sweep:
    """Forget all but the latest `keep` runs of each pipeline, then remove every result that no remaining run used."""
    store.require_records()
    if not dry_run:
        close_crashed_runs(store)
    records = store.runs()
    kept = {run.id for run in records if run.status == "running" and is_alive(store, run.id)}
    kept |= set({run.pipeline: run.id for run in records if _is_leaving_traces(run)}.values())
    for pipeline in {run.pipeline for run in records}:
        of_pipeline = [run.id for run in records if run.pipeline == pipeline]
        kept |= set(of_pipeline[len(of_pipeline) - keep :] if keep else ())
    kept |= _compared_with(store, [run for run in records if run.id in kept], records)
    used = {key for run in records if run.id in kept for key in _keys(run)}
    results = [
        f"stages/{stage}/{key}"
        for stage in store.folder.folders("stages")
        for key in store.folder.folders(f"stages/{stage}")
        if f"{stage}/{key}" not in used
    ]
    forgotten = [run for run in records if run.id not in kept]
    removed: list[str] = []
    freed = 0
    remove: Callable[[str], object] = str if dry_run else store.folder.remove

    def in_use(result: str) -> bool:
        return result.removeprefix("stages/") in _in_use(store)

    if forgotten and not dry_run:
        log_action(store, "clean", runs=[run.id for run in forgotten])
    for run in forgotten:
        for name in (f"runs/{run.id}.json", f"runs/{run.id}", f"reports/{run.id}"):
            remove(name)
    for name in results:
        size = sum(store.folder.sizes(name).values())
        if in_use(name):
            continue  # a run has just come upon it
        if not store.folder.is_local:  # without its manifest the rest is no artifact, should this be interrupted
            remove(f"{name}/manifest.json")
        if dry_run or store.folder.remove(name, in_use):
            removed.append(name)
            freed += size
    for name in [*_left_over(store, used), *_unused(store, kept)]:
        removed.append(name)
        freed += sum(store.folder.sizes(name).values())
        remove(name)
    if not dry_run:
        for name in store.folder.sizes("successors"):  # which result stands for another, where that is gone
            later, stage = store.folder.read_json(name), name.split("/")[-2]
            if not later or store.manifest(stage, str(later.get("key", ""))) is None:
                store.folder.remove(name)
        store.drop_index_of_removed()
    return Sweep(tuple(run.id for run in forgotten), tuple(removed), freed)


def _is_leaving_traces(run: RunRecord) -> bool:
    """Whether a run has ended whose process is still there: it may be writing its history, or a message."""
    return run.host == socket.gethostname() and run.pid != os.getpid() and _process_lives(run.pid)


def _left_over(store: Store, used: set[str]) -> list[str]:
    """Files beside committed results that are none of theirs: marks and drafts of a run that was killed there."""
    busy, leftovers = _in_use(store), list[str]()
    for key in sorted(used - busy):
        stage, _, place = key.partition("/")
        manifest = store.manifest(stage, place)
        if manifest is not None:
            sizes = store.folder.sizes(f"stages/{key}")
            leftovers += sorted(sizes.keys() - manifest.files.keys() - {f"stages/{key}/{name}" for name in MANIFESTS})
    return leftovers


def _unused(store: Store, kept: set[str]) -> list[str]:
    """Ingredients and answers of services that no remaining run stood on, turns and records of runs that have ended,
    and what a process that was killed left beside the log, or of a run that it was forgetting.

    The records of runs are read last, since living runs go on noting.
    """
    there = [*sorted(store.folder.sizes(INGREDIENTS)), *(f"{ANSWERS}/{name}" for name in store.folder.folders(ANSWERS))]
    of_runs = {f"{place}/{name}": name for place in ("runs", "reports") for name in store.folder.folders(place)}
    records = store.runs()
    living = [run for run in records if run.id in kept or (run.status == "running" and is_alive(store, run.id))]
    used = {str(ingredient.get("sha256")) for run in living for ingredient in run.ingredients}
    turns = [f"{TURNS}/{run}" for run in store.folder.folders(TURNS) if not is_alive(store, run)]
    asides = [f"asides/{run.id}.json" for run in store.asides() if not is_alive(store, run.id)]
    claims = (name for name in store.folder.sizes(LOG) if ".claim" in name)
    stray = [name for name in claims if (store.folder.age(name) or 0.0) > _LEASE_SECONDS]
    gone = {run for run in of_runs.values() if _OF_A_RUN.match(run)} - {run.id for run in records}
    stray += [name for name, run in of_runs.items() if run in gone and not is_alive(store, run)]
    return [*(name for name in there if name.rpartition("/")[2] not in used), *turns, *asides, *stray]


def _compared_with(store: Store, kept: list[RunRecord], records: list[RunRecord]) -> set[str]:
    """What the kept runs are held against: what was accepted, what a gate names, the last night that passed, and what
    these were held against themselves: it stays the baseline of each gate that a night did not pass."""
    named, followed = set[str](), set[str]()
    for run in kept:
        against = {gate.get("against") for gate in run.settings.get("gates", ()) if isinstance(gate, dict)}
        named |= {str(run_id) for run_id in against - {None}}
        followed |= {run.pipeline} if "last-passed" in against or run.settings.get("drift") is not None else set()
    compared = {run.id for run in records if any(run.id.endswith(name) for name in named)}
    for pipeline in store.folder.folders("accepted"):
        compared |= {accepted["run"] for accepted in acceptances(store, pipeline)[-1:]}
    nights = [run for run in records if run.status == "done" and run.pipeline in followed and not run.is_trial]
    passed = {run.pipeline: run for run in nights}.values()
    for run in (*kept, *passed):
        not_passed = (seen for seen in run.gates if run.status != "done" or seen.get("raw") != "passed")
        compared |= {str(seen["against"]) for seen in not_passed if "against" in seen}
    return compared | {run.id for run in passed}


def acceptances(store: Store, pipeline: str) -> list[dict[str, str]]:
    """Which runs of a pipeline were accepted as what later ones are held against, oldest first."""
    names = sorted(store.folder.sizes(f"accepted/{pipeline}"))
    read = (store.folder.read_json(name) for name in names)
    noted = [{str(key): str(value) for key, value in each.items()} for each in read if each and "run" in each]
    return sorted(noted, key=lambda each: by_date(each.get("at", ""), ""))


def _in_use(store: Store, but: str = "") -> set[str]:
    """The keys that living runs have used or are working on, `but` for one run."""
    names = [name.removeprefix("leases/").removesuffix(".json") for name in store.folder.sizes("leases")]
    living = [name for name in names if name != but and is_alive(store, name)]
    # A run takes its lease a moment before it writes its record.
    aside = {run.id: run for run in store.asides()}
    return {key for name in living if (run := store.record(name) or aside.get(name)) is not None for key in _keys(run)}


def is_shared(store: Store, key: str, but: str) -> bool:
    """Whether another living run works on the same key just now."""
    return key in _in_use(store, but)


def _keys(run: RunRecord) -> list[str]:
    return [f"{stage.stage}/{stage.key}" for stage in run.stages] + run.writing


def _born(pid: int) -> str:
    """When a process began, in the ticks of its machine, which no setting of a clock moves; empty where it is not
    known: a number of a process is given to another one after its end."""
    try:
        return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[19]
    except OSError:
        return ""


def _process_lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


_A_DAY = timedelta(days=1)


def resumed_run(store: Store, what: str, run: RunRecord, *, anew: bool = False, note: bool = True) -> str:
    """The run since which a service that names no version is asked: this one, or the one that it goes on with.

    A run goes on with the latest of its pipeline that asked the same and did not come to its end, for a day; what was
    answered to that one is not asked again, but for the few samples by which a changed service is noticed. With `anew`
    it goes on with none; without `note` nothing is written down.
    """
    asked = hashlib.sha256("\0".join((run.pipeline, what)).encode()).hexdigest()[:32]
    name = f"{ANSWERS}/since-{asked}.json"
    noted = store.folder.read_json(name) or {}
    first, by = str(noted.get("run", "")), store.record(str(noted.get("by", "-")))
    ended = by is None or by.is_complete or (by.status == "running" and is_alive(store, by.id))
    began = store.record(first or "-")
    tonight = began is not None and datetime.fromisoformat(run.started) - datetime.fromisoformat(began.started) < _A_DAY
    goes_on = tonight and not anew and not ended
    since = first if goes_on or (by is not None and by.id == run.id) else run.id
    if note and (since, run.id) != (first, noted.get("by")):
        store.folder.write_json(name, {"run": since, "by": run.id})
    return since
