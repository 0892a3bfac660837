"""What `assay serve` watches beside its runs: nights that did not happen, and messages that are due."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from assay.flows.nights.missed import WATCHED, missed_nights, noted
from assay.flows.nights.states import ended
from assay.flows.nights.telling import tell
from assay.flows.report.all_nights import write_index
from assay.infra.errors import AssayError
from assay.infra.manifests import RunRecord
from assay.infra.store import Store
from assay.infra.sweep import close_crashed_runs

if TYPE_CHECKING:
    from assay.flows.pipeline import Pipeline, Project

TICK = 30.0
GRACE = 30
"""Minutes of grace where the project has no `notify`."""
_SOON = timedelta(minutes=10)
_AT_ONCE = 1000
"""So many missed nights are noted in one look; after a long sleep with many of them, the next look goes on."""


class Watch:
    """A thread that looks at the store now and then, as long as the schedules are served."""

    def __init__(self, project: Project, say: Callable[[str], None], tick: float = TICK) -> None:
        self._project, self._say, self._tick = project, say, tick
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._keep, name="assay-watch", daemon=True)
        self._complaint = ""

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(2.0)  # a delivery that is under way is left behind: it is due again next time

    def _keep(self) -> None:
        while True:
            try:
                for sentence in look(reread(self._project), self._say):
                    self._say(sentence)
                self._complaint = ""
            except Exception as error:  # noqa: BLE001 - watching must outlive a full disk and a broken file
                words = str(error) if isinstance(error, AssayError) else type(error).__name__
                if words != self._complaint:
                    self._say(f"Nights are not watched just now: {words}")
                self._complaint = words
            if self._stop.wait(self._tick):
                return


def reread(project: Project) -> Project:
    """The project as its file says now; the served one while nobody can read that."""
    import dataclasses

    from assay.flows.configuration.loading import load_usable

    try:
        now, _ = load_usable(Path(project.file))
    except AssayError:
        return project
    # Prefect runs what was registered: schedules and the store are those that are served.
    return dataclasses.replace(project, notify=now.notify)


def look(project: Project, say: Callable[[str], None], now: datetime | None = None) -> list[str]:
    """Write down nights that did not happen, and send what is to be told."""
    now, store = now or datetime.now(UTC), Store(project.store).open()
    close_crashed_runs(store)
    grace = timedelta(minutes=project.notify.grace if project.notify else GRACE)
    scheduled = [one for one in project.pipelines.values() if one.schedule]
    records, before = store.runs(), missed_nights(store)
    watched: dict[str, Any] = store.folder.read_json(WATCHED) or {}
    unwatched = {name: {"nights": one.get("nights", [])} for name, one in watched.items() if isinstance(one, dict)}
    seen = unwatched | {one.name: _watched(one, watched.get(one.name), records, now, grace) for one in scheduled}
    for name, state in seen.items():
        if state.get("missed") and state["missed"] != (watched.get(name) or {}).get("missed"):
            say(f"No run of {name} came for {state['missed'][:16]}Z, {grace.total_seconds() / 60:.0f} minutes ago.")
    if seen != watched:
        store.folder.write_json(WATCHED, seen)
    if missed_nights(store) != before:
        write_index(store)
    soon = any(now < due_after(str(one.schedule), now) <= now + _SOON for one in scheduled)
    return tell(project, store, now=now, due_soon=soon)


def _watched(
    pipeline: Pipeline, known: dict[str, Any] | None, records: list[RunRecord], now: datetime, grace: timedelta
) -> dict[str, Any]:
    """Since when a pipeline's schedule is watched, the nights that it missed, and the first since its last run.

    A night has come if some run was under way between its time and the end of the grace: one that still runs makes the
    next one skip.
    """
    schedule = str(pipeline.schedule)
    if known is None or known.get("schedule") != schedule:
        known = {**(known or {}), "schedule": schedule, "since": now.isoformat(), "checked": ""}
    spans = [
        (datetime.fromisoformat(one.started), now if one.status == "running" else ended(one))
        for one in records
        if one.pipeline == pipeline.name and not one.is_sample
    ]
    since = datetime.fromisoformat(known["since"])
    oldest = min((began for began, _ in spans), default=since)  # of what was before, runs may have been cleaned away
    after = max(since, oldest, datetime.fromisoformat(known.get("checked") or known["since"]))
    due = _dates(schedule, after, now - grace, _AT_ONCE)
    missed = [one for one in due if not any(began <= one + grace and end >= one for began, end in spans)]
    seen = max([since, *(end for _, end in spans)])
    return noted(known | ({"checked": due[-1].isoformat()} if due else {}), seen, missed)


def due_after(schedule: str, when: datetime) -> datetime:
    """When a cron line is due next, by Prefect's own reckoning (UTC).

    >>> due_after("0 2 * * *", datetime(2026, 11, 22, 2, 0, 7, tzinfo=UTC)).isoformat()
    '2026-11-23T02:00:00+00:00'
    """
    return _dates(schedule, when, None, 1)[0]


def _dates(schedule: str, after: datetime, until: datetime | None, count: int) -> list[datetime]:
    """The first dates of a cron line after one moment and up to another."""
    from prefect.server.schemas.schedules import CronSchedule

    times = asyncio.run(CronSchedule(cron=schedule).get_dates(count + 1, start=after, end=until))
    dates = [datetime.fromisoformat(str(date)) for date in times]
    return [date for date in dates if date > after][:count]
