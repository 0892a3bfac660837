"""What state each pipeline is in, and which have changed since somebody was last told."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal

from assay.infra.manifests import RunRecord

State = Literal["green", "red", "broken", "missed"]
_OF: dict[str, State] = {"done": "green", "gate failed": "red"}
IN_WORDS: dict[State, str] = {"green": "green again", "red": "red", "broken": "broken", "missed": "missed its night"}


@dataclass(frozen=True)
class Night:
    """How a pipeline stands: its state since when, and the run that says so (of a missed night, the last one)."""

    pipeline: str
    state: State
    since: datetime
    run: RunRecord | None = None


def ended(record: RunRecord) -> datetime:
    """When a run ended, or was last known to be alive."""
    return datetime.fromisoformat(record.started) + timedelta(seconds=record.seconds)


def nights_of(records: Iterable[RunRecord], missed: Mapping[str, datetime]) -> dict[str, Night]:
    """The state of every pipeline by its latest run that has ended, or by a later night that did not happen.

    Runs with `--set` or `--sample` are trials: they change no state.
    """
    last = {one.pipeline: one for one in records if one.status != "running" and not one.is_trial}
    nights = {name: Night(name, _OF.get(one.status, "broken"), ended(one), one) for name, one in last.items()}
    for name, due in missed.items():
        if name not in nights or nights[name].since < due:
            nights[name] = Night(name, "missed", due, last.get(name))
    return nights


def changed(nights: Mapping[str, Night], told: Mapping[str, str]) -> list[Night]:
    """The nights whose state is another than was last told; of what nobody was ever told, those that are not green.

    >>> now = datetime(2026, 11, 22)
    >>> nights = {name: Night(name, state, now) for name, state in (("a", "green"), ("b", "red"), ("c", "green"))}
    >>> [night.pipeline for night in changed(nights, {"c": "red"})]
    ['b', 'c']
    """
    return [night for name, night in sorted(nights.items()) if told.get(name, "green") != night.state]
