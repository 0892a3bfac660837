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


def drop_plots(found: TermFindings) -> list[Block]:
    """The drop of every subject under every attack."""
    title = f"Drop of {CALLED[found.headline]} under attack"
    plots = [plot for model in found.subjects if (plot := _over_share(found, model, model)) is not None]
    if plots:
        return (
            [Panels(title, plots, _note(found))]
            if len(plots) > 1
            else [replace(plots[0], title=title, note=_note(found))]
        )
    return [bars for model in found.subjects if (bars := _bars(found, model, title)) is not None]


def _note(found: TermFindings) -> str:
    """What the bands and whiskers are, where there are any."""
    drops = measured(found.get("drop", model, key) for model in found.subjects for key in found.sets)
    return _NOTE if any(drop.low is not None for drop in drops) else _BARE


def _drops(found: TermFindings, model: str) -> list[Finding]:
    """What a model loses under every attack at every severity."""
    keys = (key for attack, _ in found.attacks for key in found.severities(model, attack))
    return measured(found.get("drop", model, key) for key in keys)


def _over_share(found: TermFindings, model: str, title: str) -> LinePlot | None:
    """A line per attack and number of changes over the share of the terms; None where only one share was tried."""
    lines: dict[str, list[Finding]] = {}
    for drop in _drops(found, model):
        if drop.slice.share is not None:
            lines.setdefault(_line_name(drop), []).append(drop)
    shares = sorted({_share(drop) for drops in lines.values() for drop in drops})
    if len(shares) < 2:
        return None
    series = [_series(name, drops, place * _ASIDE) for place, (name, drops) in enumerate(sorted(lines.items()))]
    worst = [f"{one.name} {number(one.y[-1], 2)}" for one in series]
    return LinePlot(
        title,
        series,
        "Share of the terms attacked",
        f"Drop of {CALLED[found.headline]}",
        f"{CALLED[found.headline]} lost by {model}, at the largest share: {', '.join(worst)}.",
        x_ticks={share: f"{share:g}" for share in shares},
    )


def _series(name: str, drops: Sequence[Finding], aside: float) -> Series:
    ordered = sorted(drops, key=_share)
    return series_of(name, [_share(drop) + aside for drop in ordered], ordered)


def _share(drop: Finding) -> float:
    return drop.slice.share or 0.0


def _line_name(drop: Finding) -> str:
    return drop.of if drop.slice.changes is None else f"{drop.of}, {drop.slice.changes} a word"


def _bars(found: TermFindings, model: str, title: str) -> BarPlot | None:
    drops = _drops(found, model)
    if not drops:
        return None
    told = ", ".join(f"{_line_name(drop)} {number(drop.value, 2)}" for drop in drops)
    shown = title if len(found.subjects) == 1 else f"{title}, {model}"
    return BarPlot(
        shown,
        [_line_name(drop) for drop in drops],
        [drop.value for drop in drops],
        f"Drop of {CALLED[found.headline]}",
        f"{CALLED[found.headline]} lost by {model}: {told}.",
        [drop.low for drop in drops],
        [drop.high for drop in drops],
        _note(found),
    )
