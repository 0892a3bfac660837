"""The state of each pipeline, and one message about all whose state has changed: the verdict's sentence, the worst
changes, the link.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from assay.flows.audits.table import KINDS
from assay.flows.notifiers.choice import Message
from assay.flows.report.comparison import Change, KeptOutcomes, compared_findings
from assay.flows.report.head import gain_of, runs_before
from assay.infra.errors import InputError
from assay.infra.storage.artifacts import RunRecord
from assay.infra.storage.store import Store

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
    last = {
        earlier_run.pipeline: earlier_run
        for earlier_run in records
        if earlier_run.status != "running" and not earlier_run.is_trial
    }
    nights = {name: Night(name, _STATE_OF.get(run.status, "broken"), ended_at(run), run) for name, run in last.items()}
    for name, due in missed.items():
        if name not in nights or nights[name].since < due:
            nights[name] = Night(name, "missed", due, last.get(name))
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
        finding and {name: getattr(finding, name) for name in ("value", "low", "high", "n")} for finding in change.sides
    )
    low, high = (getattr(change.difference, end, None) for end in ("low", "high"))
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
        plain = ("pipeline", "state", "status", "run", "sentence", "report")
        about = {name: getattr(self, name) for name in plain}
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
