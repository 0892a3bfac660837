"""The drop per attack as a plot: over severity where several were tried, else a bar per attack."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from assay.tasks.attacks.terms.page_findings import CALLED, TermFindings
from assay.tasks.reporting.estimates import series_of
from assay.tasks.reporting.numerals import number
from assay.tasks.reporting.parts import BarPlot, Block, LinePlot, Panels, Series
from assay.tasks.statistics.findings import Finding, measured

_NOTE = "Bands and whiskers are 95 % intervals of the paired difference: above 0, the attack does harm."
_BARE = "Without intervals: nothing here tells a drop from chance."
_ASIDE = 0.008  # of a share: marks of different attacks at one share stand beside each other


def drop_plots(findings: TermFindings) -> list[Block]:
    """The drop of every subject under every attack."""
    title = f"Drop of {CALLED[findings.headline]} under attack"
    plots = [plot for model in findings.subjects if (plot := _over_share(findings, model, model)) is not None]
    if plots:
        return (
            [Panels(title, plots, _note(findings))]
            if len(plots) > 1
            else [replace(plots[0], title=title, note=_note(findings))]
        )
    return [bars for model in findings.subjects if (bars := _bars(findings, model, title)) is not None]


def _note(findings: TermFindings) -> str:
    """What the bands and whiskers are, where there are any."""
    drops = measured(findings.get("drop", model, key) for model in findings.subjects for key in findings.sets)
    return _NOTE if any(drop.low is not None for drop in drops) else _BARE


def _drops(findings: TermFindings, model: str) -> list[Finding]:
    """What a model loses under every attack at every severity."""
    keys = (key for attack, _ in findings.attacks for key in findings.severities(model, attack))
    return measured(findings.get("drop", model, key) for key in keys)


def _over_share(findings: TermFindings, model: str, title: str) -> LinePlot | None:
    """A line per attack and number of changes over the share of the terms; None where only one share was tried."""
    lines: dict[str, list[Finding]] = {}
    for drop in _drops(findings, model):
        if drop.slice.share is not None:
            lines.setdefault(_line_name(drop), []).append(drop)
    shares = sorted({_share(drop) for drops in lines.values() for drop in drops})
    if len(shares) < 2:
        return None
    series = [_series(name, drops, place * _ASIDE) for place, (name, drops) in enumerate(sorted(lines.items()))]
    worst = [f"{line.name} {number(line.y[-1], 2)}" for line in series]
    return LinePlot(
        title,
        series,
        "Share of the terms attacked",
        f"Drop of {CALLED[findings.headline]}",
        f"{CALLED[findings.headline]} lost by {model}, at the largest share: {', '.join(worst)}.",
        x_ticks={share: f"{share:g}" for share in shares},
    )


def _series(name: str, drops: Sequence[Finding], aside: float) -> Series:
    ordered = sorted(drops, key=_share)
    return series_of(name, [_share(drop) + aside for drop in ordered], ordered)


def _share(drop: Finding) -> float:
    return drop.slice.share or 0.0


def _line_name(drop: Finding) -> str:
    return drop.of if drop.slice.changes is None else f"{drop.of}, {drop.slice.changes} a word"


def _bars(findings: TermFindings, model: str, title: str) -> BarPlot | None:
    drops = _drops(findings, model)
    if not drops:
        return None
    losses = ", ".join(f"{_line_name(drop)} {number(drop.value, 2)}" for drop in drops)
    shown = title if len(findings.subjects) == 1 else f"{title}, {model}"
    return BarPlot(
        shown,
        [_line_name(drop) for drop in drops],
        [drop.value for drop in drops],
        f"Drop of {CALLED[findings.headline]}",
        f"{CALLED[findings.headline]} lost by {model}: {losses}.",
        [drop.low for drop in drops],
        [drop.high for drop in drops],
        _note(findings),
    )
