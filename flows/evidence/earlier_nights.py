"""The nights before a signed run that its gates were judged by, where they bound a change or count nights: which files
of a store those are, and the gates judged anew by these files alone.

Nobody is asked to believe that these nights are all there were: the log, which is signed too, lists every run that
began, and what was signed of it.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from assay.flows.report.gates import KNOWN_NIGHTS, NO_BUDGET, Budget, Past, as_recorded, judge_night
from assay.flows.report.ledger import SIGNED_FILES, checksum_of
from assay.infra.storage.artifacts import RunRecord
from assay.infra.storage.folders import Folder
from assay.infra.storage.log import Entry
from assay.infra.storage.store import Store
from assay.tasks.statistics.findings import findings_of
from assay.tasks.statistics.gates import GateResult
from assay.tasks.statistics.settings import Gate

ACCEPTED = "accepted/"


class _NotingFolder(Folder):
    """A folder that keeps the names of what is read of it."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.read_names = set[str]()

    def path_of_file(self, name: str) -> str:
        """As in every folder."""
        self.read_names.add(name)
        return super().path_of_file(name)


def need_earlier_nights(record: RunRecord) -> bool:
    """Whether a gate of a run bounds a change, or counts nights."""
    return any(gate.is_on_change or gate.nights[1] > 1 for gate in gates_of(record))


def gates_of(record: RunRecord) -> list[Gate]:
    """The gates that a run was asked."""
    return [Gate.model_validate(gate) for gate in record.settings["gates"]]


def budget_in(record: RunRecord) -> Budget:
    """The budget of false alarms with which a run's gates looked; of a run that has not written it down, none."""
    return Budget(**record.budget) if record.budget else NO_BUDGET


def _judged_alike(store: Store, record: RunRecord) -> bool:
    """Whether every gate of a run comes out by the nights of a store as its record says."""
    results = judge_night(gates_of(record), findings_of(store, record), Past(store, record), budget_in(record))
    return all(map(comes_out_alike, results, record.gates))


def comes_out_alike(result: GateResult, recorded: Mapping[str, Any]) -> bool:
    """Whether a gate comes out as a record says, against the same run and on as many samples."""
    (now,) = as_recorded([result])
    return all(now.get(name) == recorded.get(name) for name in ("outcome", "raw", "against", "n"))


def files_judged_by(store: Store, record: RunRecord, entries: Sequence[Entry]) -> tuple[list[str], str]:
    """The files that the gates of a run were judged by; or none, and why nobody could judge them anew by what is left
    of them."""
    if not record.budget:
        return [], "the run is older than the record of its budget of false alarms"
    then = Store(store.url)
    then.folder = folder = _NotingFolder(store.url)
    _judged_alike(then, record)
    own, begun = (record.started, record.id), set(_begun_before(entries, record))
    before = [run.id for run in then.runs(record.pipeline) if run.id in begun or (run.started, run.id) < own]
    nights = {record.id, *before[-KNOWN_NIGHTS:]}
    nights |= {name.split("/")[1] for name in folder.read_names if name.endswith("/findings.parquet")}
    others = {name for name in folder.read_names if name.count("/") == 1 and name.startswith("runs/")}
    names = sorted(name for name in folder.read_names - others if store.folder.exists(name))
    names += sorted(f"runs/{run}.json" for run in nights)
    names = sorted({*names, *store.folder.sizes(f"{ACCEPTED}{record.pipeline}")})
    with tempfile.TemporaryDirectory() as place:
        copy = Store(place)
        for name in names:
            copy.folder.write(name, store.folder.read(name))
        why = lacking_night(entries, record, {name: checksum_of(copy, name) for name in names})
        if not why and not _judged_alike(copy, record):
            why = "some come out otherwise by what the store has left of the nights before"
        return [] if why else names, why


def lacking_night(entries: Sequence[Entry], record: RunRecord, files: Mapping[str, str]) -> str:
    """What of the nights before a run is not among the `files` (with their sha256) that its gates are judged by, or was
    signed or accepted as another, by the log; empty where all are there. What was cleaned up nobody has to bring."""
    if not any((entry["action"], entry.get("run")) == ("run", record.id) for entry in entries):
        return f"the log does not say when run {record.id} began, so nobody can tell which nights were before it"
    accepting = ("accept", record.pipeline)
    acceptances = [entry for entry in entries if (entry["action"], entry.get("pipeline")) == accepting]
    brought = [checksum for name, checksum in files.items() if name.startswith(ACCEPTED)]
    logged = {entry["acceptance"] for entry in acceptances if "acceptance" in entry}
    if len(brought) != len(acceptances) or not logged.issubset(brought):
        return f"what was accepted of {record.pipeline} is not what the log says"
    cleaned = {run for entry in entries if entry["action"] == "clean" for run in entry["runs"]}
    for run in _begun_before(entries, record):
        if f"runs/{run}.json" not in files and run not in cleaned:
            return f"run {run} began before {record.id} and is not among the nights that gates look at"
    for entry in entries:
        for name, file in SIGNED_FILES.items() if entry["action"] == "attest" else ():
            if files.get(file.format(entry["run"]), entry[name]) != entry[name]:
                return f"{name} of run {entry['run']}, which gates look at, was signed before and is another now"
    return ""


def _begun_before(entries: Iterable[Entry], record: RunRecord) -> list[str]:
    """The latest runs of the pipeline that had begun before one, by the log."""
    beginning = ("run", record.pipeline)
    own = [str(entry["run"]) for entry in entries if (entry["action"], entry.get("pipeline")) == beginning]
    return own[: own.index(record.id)][-KNOWN_NIGHTS:] if record.id in own else []
