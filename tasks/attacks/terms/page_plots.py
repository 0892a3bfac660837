"""The drop per attack as a plot: over severity where several were tried, else a bar per attack."""

from __future__ import annotations

from collections.abc import Sequence

from assay.tasks.attacks.terms.page_findings import CALLED, Severity, Termed, severity_of
from assay.tasks.reporting.numerals import number
from assay.tasks.reporting.parts import BarPlot, Block, LinePlot, Panels, Series
from assay.tasks.statistics.findings import Finding

_NOTE = "Bands and whiskers are 95 % intervals of the paired difference: above 0, the attack does harm."
_BARE = "Without intervals: nothing here tells a drop from chance."
_ASIDE = 0.008  # of a share: marks of different attacks at one share stand beside each other


def drop_plots(found: Termed) -> list[Block]:
    """The drop of every subject under every attack."""
    title = f"Drop of {CALLED[found.headline]} under attack"
    plots = [plot for model in found.subjects if (plot := _over_share(found, model, model)) is not None]
    if plots:
        return [Panels(title, plots, _note(found))] if len(plots) > 1 else [_titled(plots[0], title, _note(found))]
    return [bars for model in found.subjects if (bars := _bars(found, model, title)) is not None]


def _titled(plot: LinePlot, title: str, note: str) -> LinePlot:
    return LinePlot(title, plot.series, plot.x_label, plot.y_label, plot.alt, plot.y_range, plot.x_ticks, note)


def _note(found: Termed) -> str:
    """What the bands and whiskers are, where there are any."""
    drops = [found.get("drop", model, key) for model in found.subjects for key in found.sets]
    return _NOTE if any(drop is not None and drop.low is not None for drop in drops) else _BARE


def _over_share(found: Termed, model: str, title: str) -> LinePlot | None:
    """A line per attack and number of changes over the share of the terms; None where only one share was tried."""
    lines: dict[str, list[tuple[Severity, Finding]]] = {}
    for attack, _ in found.attacks:
        for key in found.severities(model, attack):
            severity, drop = severity_of(key[1]), found.get("drop", model, key)
            if severity is not None and drop is not None:
                lines.setdefault(_line_name(attack, severity), []).append((severity, drop))
    shares = sorted({severity.share for points in lines.values() for severity, _ in points})
    if len(shares) < 2:
        return None
    series = [_series(name, points, place * _ASIDE) for place, (name, points) in enumerate(sorted(lines.items()))]
    worst = [f"{one.name} {number(one.y[-1], 2)}" for one in series]
    return LinePlot(
        title, series, "Share of the terms attacked", f"Drop of {CALLED[found.headline]}",
        f"{CALLED[found.headline]} lost by {model}, at the largest share: {', '.join(worst)}.",
        x_ticks={share: f"{share:g}" for share in shares},
    )  # fmt: skip


def _series(name: str, points: Sequence[tuple[Severity, Finding]], aside: float) -> Series:
    ordered = sorted(points, key=lambda point: point[0].share)
    drops = [drop for _, drop in ordered]
    return Series(
        name, [severity.share + aside for severity, _ in ordered], [one.value for one in drops],
        [one.low for one in drops], [one.high for one in drops],
    )  # fmt: skip


def _line_name(attack: str, severity: Severity) -> str:
    if severity.changes is None:
        return attack
    return f"{attack}, {severity.changes} a word"


def _bars(found: Termed, model: str, title: str) -> BarPlot | None:
    named = [
        (attack if severity is None else _line_name(attack, severity), drop)
        for attack, _ in found.attacks
        for key in found.severities(model, attack)
        if (drop := found.get("drop", model, key)) is not None
        for severity in [severity_of(key[1])]
    ]
    if not named:
        return None
    told = ", ".join(f"{name} {number(drop.value, 2)}" for name, drop in named)
    shown = title if len(found.subjects) == 1 else f"{title}, {model}"
    return BarPlot(
        shown, [name for name, _ in named], [drop.value for _, drop in named], f"Drop of {CALLED[found.headline]}",
        f"{CALLED[found.headline]} lost by {model}: {told}.", [drop.low for _, drop in named],
        [drop.high for _, drop in named], _note(found),
    )  # fmt: skip
