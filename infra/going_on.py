"""A run that goes on with one that broke off: what that one was answered by services is as good as tonight's."""

from __future__ import annotations

import hashlib
from datetime import datetime

from assay.infra.answers import PLACE
from assay.infra.manifests import RunRecord
from assay.infra.store import Store
from assay.infra.sweep import is_alive

_ENDED = ("done", "gate failed")
_A_DAY = 86_400.0


def asked_since(store: Store, what: str, run: RunRecord, *, anew: bool = False, note: bool = True) -> str:
    """The run since which a service that names no version is asked: this one, or the one that it goes on with.

    A run goes on with the latest of its pipeline that asked the same and did not come to its end, for a day; what was
    answered to that one is not asked again, but for the few samples by which a changed service is noticed. With `anew`
    it goes on with none; without `note` nothing is written down.
    """
    asked = hashlib.sha256("\0".join((run.pipeline, what)).encode()).hexdigest()[:32]
    name = f"{PLACE}/since-{asked}.json"
    noted = store.folder.read_json(name) or {}
    first, by = str(noted.get("run", "")), store.record(str(noted.get("by", "-")))
    goes_on = by is not None and (by.id == run.id or (not anew and _interrupted(store, by) and _same_day(first, run)))
    since = first if goes_on else run.id
    if note and (since, run.id) != (first, noted.get("by")):
        store.folder.write_json(name, {"run": since, "by": run.id})
    return since


def _interrupted(store: Store, run: RunRecord) -> bool:
    return run.status not in _ENDED and not (run.status == "running" and is_alive(store, run.id))


def _same_day(first: str, run: RunRecord) -> bool:
    """Whether a run, whose name begins with its minute, began within the day before another."""
    try:
        began = datetime.strptime(first[:15], "%Y-%m-%d-%H%M").astimezone()
    except ValueError:
        return False
    return (datetime.fromisoformat(run.started) - began).total_seconds() < _A_DAY
