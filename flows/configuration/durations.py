"""How long something may take, as a person writes it."""

from __future__ import annotations

import re

_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}
_DURATION = re.compile(r"(?:(\d{1,4}(?:\.\d{1,3})?)h)?(?:(\d{1,6}(?:\.\d{1,3})?)m)?(?:(\d{1,8}(?:\.\d{1,3})?)s)?")


def seconds_in(text: str) -> float:
    """The seconds of a duration; raises ValueError where it is none, or nothing.

    >>> [seconds_in(text) for text in ("90s", "40m", "2h", "1h30m")]
    [90.0, 2400.0, 7200.0, 5400.0]
    """
    match = _DURATION.fullmatch(text.replace(" ", ""))
    parts = match.groups() if match else ()
    seconds = sum(float(number) * _UNITS[unit] for number, unit in zip(parts, "hms", strict=False) if number)
    if not seconds:
        raise ValueError("expected hours, minutes or seconds, as in 2h, 40m, 90s or 1h30m")
    return seconds
