"""What the log of a store says of its runs: under which plan each began and what of it came after, and which nights
were signed, rewritten since, or are gone.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from assay.flows.report.comparison import differing_names
from assay.infra.errors import AssayError, InputError
from assay.infra.storage.artifacts import RunRecord
from assay.infra.storage.log import Entry, append_to_log, entries_in, log_lines
from assay.infra.storage.store import Store
from assay.tasks.reporting.numerals import plural
from assay.tasks.statistics.settings import Gate


def plan_name(pipeline: str, sha256: str) -> str:
    """Where a store keeps a plan, in its envelope."""
    return f"plans/{pipeline}/{sha256}.dsse.json"


def settings_digest(settings: Mapping[str, Any]) -> str:
    """What stands in the log for the settings of a run."""
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()


def log_beginning(store: Store, record: RunRecord) -> None:
    """Log that a run begins, with which settings and under which plan of its pipeline; its record has that too."""
    earlier = [run.settings for run in store.runs(record.pipeline) if run.id != record.id][-1:]
    changed = [name for settings in earlier for name in differing_names(settings, record.settings)]

    def about(before: Iterator[Entry]) -> dict[str, object]:
        own = (entry for entry in before if entry.get("pipeline") == record.pipeline)
        plan = next((entry["plan"] for entry in own if "plan" in entry), "")
        named = {"run": record.id, "pipeline": record.pipeline, "settings": settings_digest(record.settings)}
        return {**named, "changed": changed, "plan": plan}

    plan = append_to_log(store, "run", about)["plan"]
    record.plan = {"sha256": plan} if plan else {}


def beginning_in(entries: Sequence[Entry], record: RunRecord) -> tuple[Entry, str]:
    """What a log says of the beginning of a run, and the plan that stood then; empty where it says nothing of it, as of
    a run from before there was a log."""
    begun = next((entry for entry in entries if (entry["action"], entry.get("run")) == ("run", record.id)), {})
    before, signing = reversed(entries[: begun.get("number", 0)]), ("commit-plan", record.pipeline)
    plans = (str(entry["plan"]) for entry in before if (entry["action"], entry.get("pipeline")) == signing)
    return begun, next(plans, "")


def runs_before(entries: Sequence[Entry], record: RunRecord) -> str:
    """How many runs of the pipeline, whose numbers may have been known, had begun when its plan was signed; or when the
    run began, where it has none."""
    own = [entry for entry in entries if entry.get("pipeline") == record.pipeline and "plan" in entry]
    decisive = record.plan.get("sha256", record.id)
    at = next((at for at, entry in enumerate(own) if decisive in (entry["plan"], entry.get("run"))), None)
    earlier = plural(sum(entry["action"] == "run" for entry in own[:at]), "run")
    before = "the plan" if record.plan else "this one"
    return "this run is not in it" if at is None else f"{earlier} of {record.pipeline} had begun before {before}"


def note_decided(store: Store, record: RunRecord) -> None:
    """Write into a run's record what of it its plan had, where it has one that is as it was signed."""
    # A night does not end by what somebody else put into the store.
    with suppress(AssayError, OSError, KeyError, TypeError, ValueError, AttributeError):
        envelope = store.folder.read(plan_name(record.pipeline, record.plan["sha256"]))
        if hashlib.sha256(envelope).hexdigest() == record.plan["sha256"]:
            planned = json.loads(base64.b64decode(json.loads(envelope)["payload"]))["predicate"]
            record.plan |= decided(planned, record.settings, record.ingredients)


def decided(
    planned: Mapping[str, Any], settings: Mapping[str, Any], files: Iterable[Mapping[str, Any]]
) -> dict[str, Any]:
    """Which gates of a run stood in its plan, which came after and which are gone, and what else is not as planned."""
    before, after = ([dict(gate) for gate in side["gates"]] for side in (planned["settings"], settings))
    return {
        "at": planned["at"],
        "before": [_title(gate) for gate in after if gate in before],
        "after": [_title(gate) for gate in after if gate not in before],
        "gone": [_title(gate) for gate in before if gate not in after],
        "changed": [
            *(name for name in differing_names(planned["settings"], settings) if name != "gates"),
            *differing_names(planned["files"], {str(file["name"]): file["sha256"] for file in files}),
        ],
    }


def _title(gate: Mapping[str, Any]) -> str:
    return Gate.model_validate(gate).title()


def decided_in_words(plan: Mapping[str, Any]) -> str:
    """What of a run was decided before it; empty where nobody signed a plan.

    >>> plan = {"sha256": "a1b2", "at": "2026-11-24T18:00:00", "before": ["a at most 1"], "after": ["b at most 2"]}
    >>> decided_in_words({**plan, "gone": [], "changed": ["statistics"]})
    '1 of 2 gates stood in the plan a1b2 of 2026-11-24 18:00; came after it: b at most 2; not as planned: statistics.'
    """
    if not plan:
        return ""
    if "at" not in plan:
        return f"The plan {plan['sha256']} stood, and is not in the store as it was signed."
    gates, when = len(plan["before"]) + len(plan["after"]), plan["at"][:16].replace("T", " ")
    about = {"after": "came after it", "gone": "planned and not asked", "changed": "not as planned"}
    differing = [f"{words}: {', '.join(plan[name])}" for name, words in about.items() if plan[name]]
    stood = f"{len(plan['before'])} of {gates} gates stood in the plan {plan['sha256']} of {when}"
    return "; ".join([stood, *(differing or ["nothing is otherwise than planned"])]) + "."


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
        rewritten = [f"Run {run} is {state}." for run, state in self.signed.items() if state.startswith(REWRITTEN)]
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
