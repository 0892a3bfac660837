"""The state of each pipeline, one message about all whose state has changed, and who is sent it and when: each change
once to every notifier; and what `assay serve` watches beside its runs.

What was sent lies in the store (`notify/told.json`), and what is to be sent follows from it and the records of
runs: so nothing is lost with a process, and whatever could not be delivered is tried again later.
"""

from __future__ import annotations

import asyncio
import json
import threading
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Literal

from assay.flows.audits.table import KINDS
from assay.flows.configuration.loading import Project
from assay.flows.nights.history import note_crashed_runs
from assay.flows.notifiers.choice import Message, Notifier
from assay.flows.notifiers.table import Notify
from assay.flows.pipeline import Pipeline
from assay.flows.report.all_nights import write_index
from assay.flows.report.comparison import Change, KeptOutcomes, compared_findings
from assay.flows.report.head import gain_of, runs_before
from assay.flows.report.records import WATCHED, missed_nights, missed_since_the_last_run, with_missed_nights
from assay.infra.errors import AssayError, InputError
from assay.infra.storage.artifacts import RunRecord
from assay.infra.storage.store import Store
from assay.infra.storage.sweep import is_alive
from assay.infra.terminal import json_value

State = Literal["green", "red", "broken", "missed"]
_STATE_OF: dict[str, State] = {"done": "green", "gate failed": "red"}
IN_WORDS: dict[State, str] = {"green": "green again", "red": "red", "broken": "broken", "missed": "missed its night"}


@dataclass(frozen=True)
class Night:
    """How a pipeline stands: its state since when, and the run that says so (of a missed night, the last one)."""

    pipeline: str
    state: State
    since: datetime
    run: RunRecord | None = None


def ended_at(record: RunRecord) -> datetime:
    """When a run ended, or was last known to be alive."""
    return datetime.fromisoformat(record.started) + timedelta(seconds=record.seconds)


def nights_of(records: Iterable[RunRecord], missed: Mapping[str, datetime]) -> dict[str, Night]:
    """The state of every pipeline by its latest run that has ended, or by a later night that did not happen.

    Runs with `--set` or `--sample` are trials: they change no state.
    """
    nights = dict[str, Night]()
    for run in records:
        if run.status != "running" and not run.is_trial:
            state, before = _STATE_OF.get(run.status, "broken"), nights.get(run.pipeline)
            since = before.since if before is not None and before.state == state else ended_at(run)
            nights[run.pipeline] = Night(run.pipeline, state, since, run)
    for name, due in missed.items():
        last = nights[name].run if name in nights else None
        if last is None or ended_at(last) < due:
            nights[name] = Night(name, "missed", due, last)
    return nights


def changed_nights(nights: Mapping[str, Night], last_sent: Mapping[str, str]) -> list[Night]:
    """The nights whose state is another than was last told; of what nobody was ever told, those that are not green.

    >>> now = datetime(2026, 11, 22)
    >>> nights = {name: Night(name, state, now) for name, state in (("a", "green"), ("b", "red"), ("c", "green"))}
    >>> [night.pipeline for night in changed_nights(nights, {"c": "red"})]
    ['b', 'c']
    """
    return [night for name, night in sorted(nights.items()) if last_sent.get(name, "green") != night.state]


WORST = 3
_LONGEST = 600  # of a sentence: chats cut long messages where they like


def _weight(change: Change) -> tuple[bool, float]:
    """Changes with an interval first, the furthest from 0 by its half width in front."""
    measured, moved = change.difference, abs(change.moved or 0.0)
    if measured is None or measured.low >= measured.high:
        return True, -moved
    return False, -moved / ((measured.high - measured.low) / 2)


def _change_as_json(change: Change) -> dict[str, object]:
    """A change as plain values."""
    before, after = (
        finding and {name: json_value(getattr(finding, name)) for name in ("value", "low", "high", "n")}
        for finding in change.sides
    )
    low, high = (json_value(getattr(change.difference, end, None)) for end in ("low", "high"))
    moved = {"value": change.moved, "low": low, "high": high}
    named = zip(("finding", "of", "group", "subject"), change.key, strict=True)
    return {**dict(named), "before": before, "after": after, "change": moved}


@dataclass(frozen=True)
class News:
    """What is told of one pipeline."""

    pipeline: str
    state: str
    title: str
    sentence: str
    run: str | None = None
    status: str | None = None
    report: str | None = None
    worst: tuple[Change, ...] = ()

    @property
    def blame(self) -> str | None:
        """How to ask what a red night's drop comes from, where there is an earlier one to hold it against."""
        return f"assay blame {self.run}" if self.state == "red" and self.worst else None

    def as_text(self) -> str:
        """The lines about it."""
        lines = [f"{self.title}: {self.sentence}" if self.sentence else self.title]
        lines += [f"  {worse.in_words()}" for worse in self.worst]
        asking = [] if self.blame is None else [f"  {self.blame} says what comes from data, rules, model or settings"]
        return "\n".join([*lines, *asking, *([f"  {self.report}"] if self.report else [])])

    def as_json(self) -> dict[str, object]:
        """The same as plain values."""
        about = {name: getattr(self, name) for name in ("pipeline", "state", "status", "run", "sentence", "report")}
        return about | {"worst": [*map(_change_as_json, self.worst)], "blame": self.blame}


def message_of(nights: Sequence[Night], store: Store, report_url: str | None) -> Message:
    """The message about nights whose state has changed."""
    states = ", ".join(f"{night.pipeline} {IN_WORDS[night.state]}" for night in nights)
    return _message(f"Assay: {states}", [_news(night, store, report_url) for night in nights])


def trial_message() -> Message:
    """What `assay notify --test` sends."""
    sentence = "This is a test: messages of Assay arrive here."
    return _message("Assay: test", [News("test", "test", "test", sentence)], test=True)


def _message(title: str, news: Sequence[News], test: bool = False) -> Message:
    text, nights = "\n\n".join(each.as_text() for each in news), tuple(each.as_json() for each in news)
    return Message(title, text, nights, test=test)


def _news(night: Night, store: Store, report_url: str | None) -> News:
    title, run = f"{night.pipeline} {IN_WORDS[night.state]}", night.run
    if night.state == "missed" or run is None:
        last = f"the last run started {run.started[:16]}Z" if run else "no run is on record"
        return News(night.pipeline, night.state, title, f"no run came for {night.since:%Y-%m-%d %H:%M} UTC; {last}")
    words = " ".join((run.worst or (run.verdicts or run.failures or [run.status])[0]).split())
    sentence = words if len(words) <= _LONGEST else f"{words[: _LONGEST - 1]}…"
    before = [] if night.state == "green" else runs_before(store, run)
    worst = worst_changes(store, before[-1], run) if before else ()
    report = f"{report_url.rstrip('/')}/{run.id}/index.html" if run.report and report_url else run.report
    return News(night.pipeline, night.state, title, sentence, run.id, run.status, report, worst)


def worst_changes(store: Store, earlier: RunRecord, later: RunRecord) -> tuple[Change, ...]:
    """The findings that got worse by most, counted in half widths of the change's interval."""
    if earlier.findings is None or later.findings is None:
        return ()
    try:
        compared = compared_findings(KeptOutcomes(store, earlier), KeptOutcomes(store, later))
    except InputError:
        return ()  # one of the two is damaged: what reads it says so, and the message goes without
    worse = [change for change in compared if gain_of(change, KINDS) < 0]
    return tuple(sorted(worse, key=_weight)[:WORST])


TOLD, _LOCK = "notify/told.json", "notify/lock.json"
_LOCK_SECONDS = 900.0  # longer than all deliveries together may take
_LONGEST_PAUSE = 60  # minutes between tries of what could not be delivered


def send_news(
    project: Project, store: Store, *, now: datetime | None = None, due_soon: bool = False, at_once: bool = False
) -> list[str]:
    """Send what is to be told, unless it waits for other runs; says what was sent and what did not arrive.

    It waits while another run of the project is under way or `due_soon`, but no longer than `notify.at_latest`.
    """
    if (whom := project.settings.notify) is None:
        return []
    now = now or datetime.now(UTC)
    with _locked(store) as alone:
        if not alone:
            # Somebody else is sending, of the same records; a person who asks is told so.
            return [f"Another process is sending just now: see {store.url}/{_LOCK}. Try again."] if at_once else []
        records = store.runs()
        nights, sent_before = nights_of(records, missed_since_the_last_run(store)), store.folder.read_json(TOLD) or {}
        sentences: list[str] = []
        for notifier in whom.notifiers:
            sent = _Sent.read(sent_before.get(notifier.name))
            news = changed_nights(nights, sent.told)
            if not news:
                continue
            is_late = now - min(night.since for night in news) >= timedelta(minutes=whom.at_latest)
            others = due_soon or any(run.status == "running" and is_alive(store, run.id) for run in records)
            if at_once or (sent.again <= now.isoformat() and (is_late or not others)):
                sentences.append(sent.deliver(notifier, message_of(news, store, whom.report_url), news, now))
                sent_before[notifier.name] = asdict(sent)
                store.folder.write_json(TOLD, sent_before)
        return sentences


@dataclass
class _Sent:
    """What a notifier was told of each pipeline, how often in a row it failed, and when it may be tried again."""

    told: dict[str, str] = field(default_factory=dict)
    failures: int = 0
    again: str = ""

    @staticmethod
    def read(kept: object) -> _Sent:
        """What the store keeps of it; whatever nobody can have written there counts for nothing."""
        known = kept if isinstance(kept, dict) else {}
        fits = {"told": dict, "failures": int, "again": str}
        return _Sent(**{name: known[name] for name, kind in fits.items() if isinstance(known.get(name), kind)})

    def deliver(self, notifier: Notifier, message: Message, news: Sequence[Night], now: datetime) -> str:
        """Send the message; returns a sentence on what came of it."""
        trouble = notifier.deliver(message)
        if trouble is None:
            self.told |= {night.pipeline: night.state for night in news}
            self.failures, self.again = 0, ""
            return f"Told by {notifier.name}: {message.title.removeprefix('Assay: ')}"
        self.failures += 1
        self.again = (now + timedelta(minutes=min(_LONGEST_PAUSE, 2 ** min(self.failures, 10)))).isoformat()
        return f"{trouble} It is tried again with the next run, and by assay serve and assay notify."


def send_trial(config: str) -> tuple[list[str], bool]:
    """What became of a test message to everybody, and whether all of it arrived."""
    outcomes = {notifier.name: notifier.deliver(trial_message()) for notifier in _notifying(config)[1].notifiers}
    return [trouble or f"{name}: delivered" for name, trouble in outcomes.items()], not any(outcomes.values())


def send_now(config: str, store: str | None) -> tuple[list[str], bool]:
    """What was sent of what nobody was told yet, and whether all of it arrived."""
    project, _ = _notifying(config)
    place = Store(store or project.store).look()
    sentences = send_news(replace(project, store=place.url), place, at_once=True)
    arrived = all(sentence.startswith("Told by") for sentence in sentences)
    return sentences or ["Nothing has changed since the last message."], arrived


def _notifying(config: str) -> tuple[Project, Notify]:
    """The project, and whom its messages go to; refused where that is nobody."""
    from assay.flows.configuration.loading import load_usable

    project, _ = load_usable(config)
    if (whom := project.settings.notify) is None:
        raise InputError(f"{project.file.name} says nobody to tell: give notify: {{webhook: …}} or {{apprise: …}}.")
    return project, whom


@contextmanager
def _locked(store: Store) -> Iterator[bool]:
    """Whether this process alone sends now; a lock that somebody left behind runs out."""
    lock = {"owner": uuid.uuid4().hex, "until": time.time() + _LOCK_SECONDS}
    until, now = (store.folder.read_json(_LOCK) or {}).get("until"), time.time()
    if store.folder.exists(_LOCK) and not (isinstance(until, int | float) and now <= until <= now + _LOCK_SECONDS):
        store.folder.remove(_LOCK)
    if not store.folder.create(_LOCK, json.dumps(lock).encode()):
        yield False
        return
    try:
        yield True
    finally:
        if (store.folder.read_json(_LOCK) or {}).get("owner") == lock["owner"]:
            store.folder.remove(_LOCK)


TICK = 30.0
GRACE = 30
"""Minutes of grace where the project has no `notify`."""
_SOON = timedelta(minutes=10)
_AT_ONCE = 1000
"""So many missed nights are noted in one look; after a long sleep with many of them, the next look goes on."""


@contextmanager
def nights_watched(project: Project, say: Callable[[str], None], tick: float = TICK) -> Iterator[None]:
    """Within the block a thread looks at the store now and then: as long as the schedules are served."""
    over = threading.Event()

    def watch() -> None:
        complaint = ""
        while True:
            try:
                for sentence in check_nights(reread_project(project), say):
                    say(sentence)
                complaint = ""
            except Exception as error:  # noqa: BLE001 - watching must outlive a full disk and a broken file
                words = str(error) if isinstance(error, AssayError) else type(error).__name__
                if words != complaint:
                    say(f"Nights are not watched just now: {words}")
                complaint = words
            if over.wait(tick):
                return

    thread = threading.Thread(target=watch, name="assay-watch", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(2.0)  # a delivery that is under way is left behind: it is due again next time


def reread_project(project: Project) -> Project:
    """The project as its file says now; the served one while nobody can read that."""
    from assay.flows.configuration.loading import load_usable

    try:
        now, _ = load_usable(Path(project.file))
    except AssayError:
        return project
    # Prefect runs what was registered: schedules and the store are those that are served.
    return replace(project, settings=now.settings)


def check_nights(project: Project, say: Callable[[str], None], now: datetime | None = None) -> list[str]:
    """Write down nights that did not happen, and send what is to be told."""
    now, store = now or datetime.now(UTC), Store(project.store).open()
    note_crashed_runs(store)
    grace = timedelta(minutes=project.settings.notify.grace if project.settings.notify else GRACE)
    scheduled = [pipeline for pipeline in project.pipelines.values() if pipeline.schedule]
    records, before = store.runs(), missed_nights(store)
    watched: dict[str, Any] = store.folder.read_json(WATCHED) or {}
    unwatched = {
        name: {"nights": known.get("nights", [])} for name, known in watched.items() if isinstance(known, dict)
    }
    seen = unwatched | {
        pipeline.name: _watched(pipeline, watched.get(pipeline.name), records, now, grace) for pipeline in scheduled
    }
    for name, state in seen.items():
        if state.get("missed") and state["missed"] != (watched.get(name) or {}).get("missed"):
            say(f"No run of {name} came for {state['missed'][:16]}Z, {grace.total_seconds() / 60:.0f} minutes ago.")
    if seen != watched:
        store.folder.write_json(WATCHED, seen)
    if missed_nights(store) != before:
        write_index(store)
    soon = any(now < due_after(str(pipeline.schedule), now) <= now + _SOON for pipeline in scheduled)
    return send_news(project, store, now=now, due_soon=soon)


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
        (datetime.fromisoformat(run.started), now if run.status == "running" else ended_at(run))
        for run in records
        if run.pipeline == pipeline.name and not run.is_sample
    ]
    since = datetime.fromisoformat(known["since"])
    oldest = min((began for began, _ in spans), default=since)  # of what was before, runs may have been cleaned away
    after = max(since, oldest, datetime.fromisoformat(known.get("checked") or known["since"]))
    due = _dates(schedule, after, now - grace, _AT_ONCE)
    missed = [night for night in due if not any(began <= night + grace and end >= night for began, end in spans)]
    seen = max([since, *(end for began, end in spans if began <= now)])
    return with_missed_nights(known | ({"checked": due[-1].isoformat()} if due else {}), seen, missed)


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
