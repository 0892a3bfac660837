"""Who is told what, and when: one message for all pipelines, each change told once to every notifier.

What was told lies in the store (`notify/told.json`), and what is to be told follows from it and the records of runs: so
nothing is lost with a process, and whatever could not be delivered is tried again later.
"""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from assay.flows.nights.message import message_of
from assay.flows.nights.missed import missed_since_the_last_run
from assay.flows.nights.notifiers import Notifier, notifiers_of
from assay.flows.nights.states import Night, changed, nights_of
from assay.infra.manifests import RunRecord
from assay.infra.store import Store
from assay.infra.sweep import is_alive

if TYPE_CHECKING:
    from assay.flows.pipeline import Project

TOLD, _LOCK = "notify/told.json", "notify/lock.json"
_LOCK_SECONDS = 900.0  # longer than all deliveries together may take
_LONGEST_PAUSE = 60  # minutes between tries of what could not be delivered


def tell(
    project: Project, store: Store, *, now: datetime | None = None, due_soon: bool = False, at_once: bool = False
) -> list[str]:
    """Send what is to be told, unless it waits for other runs; says what was sent and what did not arrive.

    It waits while another run of the project is under way or `due_soon`, but no longer than `notify.at_latest`.
    """
    if project.notify is None:
        return []
    now = now or datetime.now(UTC)
    with _locked(store) as mine:
        if not mine:
            return []  # somebody else is sending, of the same records
        records = store.runs()
        nights, told = nights_of(records, missed_since_the_last_run(store)), store.folder.read_json(TOLD) or {}
        sentences: list[str] = []
        for notifier in notifiers_of(project.notify):
            known = _told_to(told, notifier)
            news = changed(nights, known["told"])
            waits = not at_once and _waits(news, records, store, now, due_soon, project.notify.at_latest)
            if not news or waits or (known["again"] > now.isoformat() and not at_once):
                continue
            sentences += _delivered(notifier, news, known, store, project.notify.report_url, now)
            told[notifier.name] = known
            store.folder.write_json(TOLD, told)
        return sentences


def _delivered(
    notifier: Notifier,
    news: Sequence[Night],
    known: dict[str, Any],
    store: Store,
    report_url: str | None,
    now: datetime,
) -> list[str]:
    """Send the news and write into `known` what came of it."""
    message = message_of(news, store, report_url)
    trouble = notifier.deliver(message)
    if trouble is None:
        known["told"] |= {night.pipeline: night.state for night in news}
        known |= {"failures": 0, "again": ""}
        return [f"Told by {notifier.name}: {message.title.removeprefix('Assay: ')}"]
    known["failures"] += 1
    pause = min(_LONGEST_PAUSE, 2 ** min(known["failures"], 10))
    known["again"] = (now + timedelta(minutes=pause)).isoformat()
    return [f"{trouble} It is tried again with the next run, and by assay serve and assay notify."]


def _told_to(told: Mapping[str, Any], notifier: Notifier) -> dict[str, Any]:
    """What a notifier was told of each pipeline, and when it may be tried again."""
    known = told.get(notifier.name)
    state = known if isinstance(known, dict) else {}
    states, failures, again = state.get("told"), state.get("failures"), state.get("again")
    return {
        "told": dict(states) if isinstance(states, dict) else {},
        "failures": failures if isinstance(failures, int) else 0,
        "again": again if isinstance(again, str) else "",
    }


def _waits(
    news: Sequence[Night], records: Sequence[RunRecord], store: Store, now: datetime, due_soon: bool, at_latest: int
) -> bool:
    """Whether the message waits for other runs, so that one night is one message."""
    if not news or now - min(night.since for night in news) >= timedelta(minutes=at_latest):
        return False
    return due_soon or any(one.status == "running" and is_alive(store, one.id) for one in records)


@contextmanager
def _locked(store: Store) -> Iterator[bool]:
    """Whether this process alone sends now; a lock that somebody left behind runs out."""
    mine = {"owner": uuid.uuid4().hex, "until": time.time() + _LOCK_SECONDS}
    held = store.folder.read_json(_LOCK)
    until = (held or {}).get("until")
    if store.folder.exists(_LOCK) and (not isinstance(until, int | float) or until < time.time()):
        store.folder.remove(_LOCK)
    if not store.folder.create(_LOCK, json.dumps(mine).encode()):
        yield False
        return
    try:
        yield True
    finally:
        if (store.folder.read_json(_LOCK) or {}).get("owner") == mine["owner"]:
            store.folder.remove(_LOCK)
