"""Findings as a page draws them: cells of a table, and lines of a plot."""

from __future__ import annotations

from collections.abc import Sequence

from assay.tasks.reporting.parts import Estimate, Series, SeriesStyle
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.proportions import wilson


def estimate(finding: Finding | None, *, counted: bool = True) -> Estimate | None:
    """A finding as a cell, with its interval and (`counted`) its n; None where it was not measured."""
    if finding is None or finding.value is None:
        return None
    return Estimate(finding.value, finding.low, finding.high, finding.n if counted else None)


def share_estimate(hits: int, n: int, *, counted: bool = True) -> Estimate | None:
    """So many of n as a cell, with Wilson's 95 % interval; None of nothing."""
    if not n:
        return None
    (low,), (high,) = wilson([hits], [n])
    return Estimate(hits / n, float(low), float(high), n if counted else None)


def series_of(
    name: str,
    places: Sequence[float],
    findings: Sequence[Finding | None],
    style: SeriesStyle = "line",
    names: Sequence[str] | None = None,
) -> Series:
    """Findings as a line with their intervals; a gap where one is missing."""
    y, low, high = ([getattr(one, end, None) for one in findings] for end in ("value", "low", "high"))
    return Series(name, places, y, low, high, style, names)
