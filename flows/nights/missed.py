"""Nights that a schedule announced and that did not come: what `assay serve` noted of each pipeline it watches."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from assay.infra.store import Store

WATCHED = "notify/watched.json"
_KEPT = 90
"""So many missed nights of a pipeline stay on record; the page of all nights lists as many runs."""


def missed_nights(store: Store) -> dict[str, list[datetime]]:
    """When each pipeline was due and no run came, oldest first."""
    watched = store.folder.read_json(WATCHED) or {}
    return {name: _times(seen) for name, seen in watched.items() if isinstance(seen, dict)}


def missed_since_the_last_run(store: Store) -> dict[str, datetime]:
    """The pipelines that are behind their schedules now, with the first night missed since their last run."""
    watched = store.folder.read_json(WATCHED) or {}
    behind = {name: seen.get("missed") for name, seen in watched.items() if isinstance(seen, dict)}
    return {name: datetime.fromisoformat(due) for name, due in behind.items() if isinstance(due, str) and due}


def noted(known: Mapping[str, Any], seen: datetime, due: list[datetime]) -> dict[str, Any]:
    """What is known of a pipeline with these nights missed as well; `missed` is the first since it was last `seen`.

    >>> first, second = datetime(2026, 11, 21, 2), datetime(2026, 11, 22, 2)
    >>> behind = noted({}, datetime(2026, 11, 20, 3), [first, second])
    >>> behind["missed"], behind["nights"]
    ('2026-11-21T02:00:00', ['2026-11-21T02:00:00', '2026-11-22T02:00:00'])
    >>> caught_up = noted(behind, datetime(2026, 11, 22, 9), [])
    >>> caught_up["missed"], caught_up["nights"] == behind["nights"]
    ('', True)
    """
    nights = sorted({*_times(known), *due})
    missed = next((one.isoformat() for one in nights if one > seen), "")
    return {**known, "missed": missed, "nights": [one.isoformat() for one in nights[-_KEPT:]]}


def no_run_came(due: datetime) -> str:
    """A missed night as a sentence.

    >>> no_run_came(datetime(2026, 11, 21, 2))
    'No run came for 2026-11-21 02:00 UTC.'
    """
    return f"No run came for {due:%Y-%m-%d %H:%M} UTC."


def _times(seen: Mapping[str, Any]) -> list[datetime]:
    """The missed nights on record; a store of before they were kept knows the first of them."""
    nights = seen.get("nights", [seen["missed"]] if seen.get("missed") else [])
    return [datetime.fromisoformat(one) for one in nights if isinstance(one, str)]
