"""What the log of a store says of its nights: which were signed, which were rewritten since, and which are gone."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field

from assay.infra.errors import InputError
from assay.infra.storage.log import Entry, entries_in, log_lines
from assay.infra.storage.store import Store

SIGNED_FILES = {"record": "runs/{}.json", "findings": "runs/{}/findings.parquet"}
"""What of a run stands in the log by its sha256 when it is signed."""


def checksum_of(store: Store, name: str) -> str:
    """The sha256 of a file of the store; empty where it is gone."""
    return hashlib.sha256(store.folder.read(name)).hexdigest() if store.folder.exists(name) else ""


@dataclass
class Ledger:
    """What is to be said of the nights of a store."""

    signed: dict[str, str] = field(default_factory=dict)
    """By run: with which key it was signed, and what of it is not as it was then."""
    gaps: dict[str, list[str]] = field(default_factory=dict)
    """By pipeline: the runs that began and are not there, though nobody cleaned up."""
    broken: str = ""
    """Where the log itself breaks."""

    @property
    def amiss(self) -> list[str]:
        """Everything that should not be, a sentence each."""
        rewritten = [f"Run {run} is {said}." for run, said in self.signed.items() if said.startswith(REWRITTEN)]
        return [*filter(None, [self.broken]), *rewritten, *(gap for gaps in self.gaps.values() for gap in gaps)]


REWRITTEN = "rewritten since it was signed"


def ledger_of(store: Store) -> Ledger:
    """What the log says of the nights; nothing in a store where nothing was ever signed."""
    try:
        return _ledger_in(store, entries_in(log_lines(store)))
    except InputError as error:
        return Ledger(broken=str(error))
    except (OSError, KeyError, TypeError) as error:
        return Ledger(broken=f"The log has an entry that cannot be read, or that Assay has not written ({error!r}).")


def _ledger_in(store: Store, entries: list[Entry]) -> Ledger:
    signed = {entry["run"]: entry for entry in reversed(entries) if entry["action"] == "attest"}  # the first
    removed = {run for entry in entries if entry["action"] == "clean" for run in entry["runs"]}
    ledger = Ledger({run: _of_signed(store, entry) for run, entry in signed.items() if run not in removed})
    for entry in entries if signed else ():
        if entry["action"] == "run" and entry["run"] not in removed and store.record(entry["run"]) is None:
            gone = f"Run {entry['run']}, begun by {entry['by']}, is gone, and nobody cleaned up."
            ledger.gaps.setdefault(entry["pipeline"], []).append(gone)
    return ledger


def _of_signed(store: Store, entry: Entry) -> str:
    """By which key a run was signed; or what of it is otherwise now."""
    named = {name: checksum_of(store, file.format(entry["run"])) for name, file in SIGNED_FILES.items()}
    otherwise = [name for name, checksum in named.items() if checksum != entry[name]]
    return f"{REWRITTEN}: {', '.join(otherwise)}" if otherwise else f"signed with key {entry['key'][:12]}…"
