"""Cron lines: whether one can be read, and what is wrong where not. No more than what Prefect understands."""

from __future__ import annotations

import re
from datetime import date, timedelta

_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
_FIELDS: tuple[tuple[str, int, int, list[str]], ...] = (
    ("minute", 0, 59, []),
    ("hour", 0, 23, []),
    ("day of the month", 1, 31, []),
    ("month", 1, 12, _MONTHS),
    ("day of the week", 0, 7, _DAYS),
)
_WRITTEN_OUT = {
    "@hourly": "0 * * * *",
    "@daily": "0 0 * * *",
    "@midnight": "0 0 * * *",
    "@weekly": "0 0 * * 0",
    "@monthly": "0 0 1 * *",
    "@yearly": "0 0 1 1 *",
    "@annually": "0 0 1 1 *",
}
_FOUR_YEARS = 1461
_PART = re.compile(r"(?P<low>\*|\w+)(?:-(?P<high>\w+))?(?:/(?P<step>\d+))?")


def trouble_with(cron: str) -> str | None:
    """What is wrong with a cron line, or nothing.

    >>> trouble_with("0 2 * * *"), trouble_with("*/15 8-18 * * mon-fri"), trouble_with("@daily")
    (None, None, None)
    >>> trouble_with("0 25 * * *")
    'its hour is 25, and hours go from 0 to 23'
    """
    if cron in _WRITTEN_OUT:
        return None
    fields = cron.split()
    if len(fields) != len(_FIELDS):
        return f"it has {len(fields)} fields, and cron has five (minute, hour, day, month, weekday)"
    for text, (name, low, high, names) in zip(fields, _FIELDS, strict=True):
        for part in text.split(","):
            trouble = _part_error(part, name, low, high, names)
            if trouble:
                return trouble
    return None


def _part_error(part: str, name: str, low: int, high: int, names: list[str]) -> str | None:
    match = _PART.fullmatch(part)
    if not match or (match["low"] == "*" and match["high"]):
        return f"its {name} is {part!r}, which is no number, range (1-5), list (1,3) or step (*/15)"
    ends: list[int] = []
    for end in (match["low"], match["high"]):
        if end is None or end == "*":
            continue
        number = _number(end, names, low)
        if number is None or not low <= number <= high:
            return f"its {name} is {end}, and {name.split()[0]}s go from {low} to {high}"
        ends.append(number)
    if len(ends) == 2 and ends[0] > ends[1]:
        return f"its {name} runs backwards: {part}"
    if match["step"] is not None and not 1 <= int(match["step"]) <= high:
        return f"its {name} takes steps of {match['step']}, and steps go from 1 to {high}"
    return None


def times_due(cron: str, days: float) -> float:
    """How often a cron line that can be read comes due in so many days, on average over four years.

    >>> [round(times_due(line, 28), 1) for line in ("0 2 * * *", "0 2,14 * * mon-fri", "@weekly", "0 0 1 * mon")]
    [28.0, 40.1, 4.0, 4.8]
    """
    minutes, hours, in_month, months, in_week = (
        _chosen(text, *field[1:]) for text, field in zip(_WRITTEN_OUT.get(cron, cron).split(), _FIELDS, strict=True)
    )
    weekdays = {day % 7 for day in in_week}
    either = len(in_month) < 31 and len(weekdays) < 7  # cron takes a day that either field names
    first = date(2024, 1, 1)
    due = 0
    for day in (first + timedelta(days=number) for number in range(_FOUR_YEARS)):
        named = day.day in in_month, day.isoweekday() % 7 in weekdays
        due += day.month in months and (any(named) if either else all(named))
    return due * len(minutes) * len(hours) * days / _FOUR_YEARS


def _chosen(text: str, low: int, high: int, names: list[str]) -> set[int]:
    """The numbers that a field of a cron line names."""
    chosen: set[int] = set()
    for part in text.split(","):
        match = _PART.fullmatch(part)
        assert match is not None  # the line has been read before
        start = low if match["low"] == "*" else _number(match["low"], names, low) or 0
        to_the_end = match["low"] == "*" or (match["high"] is None and match["step"] is not None)
        end = high if to_the_end else start if match["high"] is None else _number(match["high"], names, low) or 0
        chosen |= set(range(start, end + 1, int(match["step"] or 1)))
    return chosen


def _number(text: str, names: list[str], low: int) -> int | None:
    if text.isdecimal() and text.isascii():
        return int(text)
    word = text.lower()
    return names.index(word) + low if word in names else None
