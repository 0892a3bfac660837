"""Cron lines: whether one can be read, and what is wrong where not. No more than what Prefect understands."""

from __future__ import annotations

import re

_MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
_DAYS = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"]
_FIELDS: tuple[tuple[str, int, int, list[str]], ...] = (
    ("minute", 0, 59, []),
    ("hour", 0, 23, []),
    ("day of the month", 1, 31, []),
    ("month", 1, 12, _MONTHS),
    ("day of the week", 0, 7, _DAYS),
)
_SHORTHANDS = frozenset({"@hourly", "@daily", "@midnight", "@weekly", "@monthly", "@yearly", "@annually"})
_PART = re.compile(r"(?P<low>\*|\w+)(?:-(?P<high>\w+))?(?:/(?P<step>\d+))?")


def trouble_with(cron: str) -> str | None:
    """What is wrong with a cron line, or nothing.

    >>> trouble_with("0 2 * * *"), trouble_with("*/15 8-18 * * mon-fri"), trouble_with("@daily")
    (None, None, None)
    >>> trouble_with("0 25 * * *")
    'its hour is 25, and hours go from 0 to 23'
    """
    if cron in _SHORTHANDS:
        return None
    fields = cron.split()
    if len(fields) != len(_FIELDS):
        return f"it has {len(fields)} fields, and cron has five (minute, hour, day, month, weekday)"
    for text, (name, low, high, names) in zip(fields, _FIELDS, strict=True):
        for part in text.split(","):
            trouble = _trouble_with_part(part, name, low, high, names)
            if trouble:
                return trouble
    return None


def _trouble_with_part(part: str, name: str, low: int, high: int, names: list[str]) -> str | None:
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


def _number(text: str, names: list[str], low: int) -> int | None:
    if text.isdecimal() and text.isascii():
        return int(text)
    word = text.lower()
    return names.index(word) + low if word in names else None
