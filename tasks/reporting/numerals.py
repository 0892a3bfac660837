"""How numbers are written in the report: a true minus, a thin space before %, p-values that never claim to be zero."""

from __future__ import annotations

import math
import re
from datetime import datetime
from typing import TypeGuard

from assay.infra.terminal import duration_text
from assay.tasks.reporting.parts import Scale

MINUS, THIN, NONE = "\N{MINUS SIGN}", "\N{NARROW NO-BREAK SPACE}", "\N{EN DASH}"

_NBSP = "\N{NO-BREAK SPACE}"
_RELATION = re.compile(r"([ρpnδ]|D\d+) ([=<…]) (?=\S)")
_BRACKETS = re.compile(r"\[([^\[\], ]{1,12}), ([^\[\], ]{1,12})\]")


def measured(value: float | None) -> TypeGuard[float]:
    """Whether there is a number at all: not None, not NaN, not infinite."""
    return value is not None and math.isfinite(value)


def number(value: float | None, digits: int = 3) -> str:
    """A number with a fixed number of decimals, integers without any.

    >>> number(-0.98765), number(4), number(0.0005), number(None)
    ('−0.988', '4', '0.0005', '–')
    """
    if value is None or not math.isfinite(value):
        return NONE
    if float(value).is_integer() and abs(value) < 1e15:
        return integer(int(value))
    if abs(value) < 10 ** (1 - digits):
        return f"{value:.2g}".replace("-", MINUS)
    return f"{value:,.{digits}f}".replace(",", THIN).replace("-", MINUS)


def coefficient(value: float | None, digits: int = 3) -> str:
    """A correlation coefficient, always with its decimals.

    >>> coefficient(-1.0), coefficient(0.5954)
    ('−1.000', '0.595')
    """
    return NONE if value is None or not math.isfinite(value) else f"{value:.{digits}f}".replace("-", MINUS)


def integer(value: int | None) -> str:
    """A count, with its thousands apart.

    >>> integer(847486).replace(THIN, "_"), integer(569)
    ('847_486', '569')
    """
    return NONE if value is None else f"{value:,}".replace(",", THIN).replace("-", MINUS)


def percent(value: float | None, digits: int = 1, sign: bool = True) -> str:
    """A share in per cent; "100" and "0" only where nothing was rounded away.

    >>> percent(0.9412).replace(THIN, " "), percent(1.0, sign=False), percent(0.99999, sign=False)
    ('94.1 %', '100', '99.9')
    """
    if value is None or not math.isfinite(value):
        return NONE
    shown = f"{100 * value:.{digits}f}"
    if 0 < value < 1:
        step = 10.0**-digits
        shown = f"{min(max(100 * value, step), 100 - step):.{digits}f}"
    elif value in (0, 1):
        shown = f"{100 * value:.0f}"
    return shown.replace("-", MINUS) + (f"{THIN}%" if sign else "")


def p_value(value: float | None) -> str:
    """A p-value: three decimals, four where it is small, never zero.

    >>> p_value(0.0004), p_value(0.5), p_value(0.0), p_value(0.0052)
    ('< 0.001', '0.500', '< 0.001', '0.005')
    """
    if value is None or not math.isfinite(value):
        return NONE
    return "< 0.001" if value < 0.001 else f"{value:.3f}"


def p_equals(value: float | None, corrected: float | None = None) -> str:
    """A p-value after the letter p, with its relation; beside it the corrected one, where that is another.

    >>> p_equals(0.0001), p_equals(0.0321), p_equals(0.009, 0.036)
    ('p < 0.001', 'p = 0.032', 'p = 0.009, corrected 0.036')
    """
    shown = p_value(value)
    beside = "" if corrected is None or corrected == value else f", corrected {p_value(corrected)}"
    return (f"p {shown}" if shown.startswith("<") else f"p = {shown}") + beside


def p_concluded(plain: float | None, corrected: float | None) -> str:
    """The p that a conclusion rests on: Holm's, and called so, where the run corrects; else the plain one.

    >>> p_concluded(0.001, 0.004), p_concluded(0.001, None)
    ('p = 0.004 after Holm', 'p = 0.001')
    """
    return p_equals(plain) if corrected is None else f"{p_equals(corrected)} after Holm"


def scaled(value: float | None, scale: Scale) -> str:
    """A number as the plot's scale writes it."""
    return percent(value) if scale == "percent" else number(value)


def interval(low: float | None, high: float | None, scale: Scale = "percent", digits: int = 1) -> str:
    """An interval in brackets; empty where there is none.

    >>> interval(0.881, 0.97), interval(-0.2, 0.1, "number"), interval(None, 0.1)
    ('[88.1, 97.0]', '[−0.200, 0.100]', '')
    """
    if not measured(low) or not measured(high):
        return ""
    if scale == "percent":
        return f"[{percent(low, digits, sign=False)}, {percent(high, digits, sign=False)}]"
    return f"[{number(low)}, {number(high)}]"


def duration(seconds: float | None) -> str:
    """How long something took, in the unit one would say it in.

    >>> duration(0.42), duration(83.0), duration(7384.0)
    ('0.4 s', '1 min 23 s', '2 h 3 min')
    """
    if seconds is None or not math.isfinite(seconds):
        return NONE
    return duration_text(seconds, minutes_from=60)


def moment(started: str) -> str:
    """An ISO time as people write it; anything else as it came.

    >>> moment("2026-11-22T02:00:04+00:00"), moment("last night")
    ('22 November 2026, 02:00 UTC', 'last night')
    """
    try:
        when = datetime.fromisoformat(started)
    except ValueError:
        return started
    zone = when.strftime("%Z")
    return f"{when.day} {when:%B %Y, %H:%M}{' ' + zone if zone else ''}"


def plain(value: float) -> str:
    """A number a person chose (δ, a level), as they would write it.

    >>> plain(0.5), plain(0.01), plain(1e-05)
    ('0.5', '0.01', '1e−05')
    """
    return f"{value:g}".replace("-", MINUS)


def unbroken(prose: str) -> str:
    """Prose whose numbers stay on one line: no break inside `p < 0.001`, `n = 569`, `[88.1, 97.0]` or `D1 … D10`.

    >>> unbroken("by chance (p < 0.001, n = 569)").count("\N{NO-BREAK SPACE}")
    4
    """
    return _BRACKETS.sub(f"[\\1,{_NBSP}\\2]", _RELATION.sub(f"\\1{_NBSP}\\2{_NBSP}", prose))


def plural(count: int, noun: str, many: str = "") -> str:
    """A count with its noun.

    >>> plural(1, "sample"), plural(0, "entry", "entries")
    ('1 sample', '0 entries')
    """
    return f"{integer(count)} {noun if count == 1 else many or noun + 's'}"


def class_called(name: str) -> str:
    """A class as sentences name it: one that is called by a number with the word before it.

    >>> class_called("benign"), class_called("5")
    ('benign', 'class 5')
    """
    return name if not name or any(map(str.isalpha, name)) else f"class {name}"


def in_bytes(size: int) -> str:
    """A size as a person says it.

    >>> in_bytes(512), in_bytes(1536)
    ('512 B', '1.5 KiB')
    """
    amount, units = float(size), ["B", "KiB", "MiB", "GiB", "TiB"]
    while amount >= 1024 and len(units) > 1:
        amount, units = amount / 1024, units[1:]
    return f"{size} B" if units[0] == "B" else f"{amount:.1f} {units[0]}"
