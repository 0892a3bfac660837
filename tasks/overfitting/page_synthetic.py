"""The synthetic experiment in the report: Figures 5 and 6 of the paper, and the numbers behind them."""

from __future__ import annotations

from collections.abc import Sequence
from math import log10

import numpy as np
import numpy.typing as npt

from assay.tasks.overfitting.bernstein import bernstein_bound
from assay.tasks.overfitting.synthetic_findings import Runs, Spread, spread
from assay.tasks.overfitting.translation_of_points import SPAN
from assay.tasks.reporting.estimates import share_estimate
from assay.tasks.reporting.numerals import number, percent
from assay.tasks.reporting.parts import Block, Cell, Column, DataTable, Estimate, LinePlot, Mark, Panels, Series

_BINS = 10
_SHOWN = (5.0, 10.0, 20.0, 50.0, 75.0)
_ERRORS = {
    "error": "test error",
    "adversarial_error": "adversarial error",
    "estimate": "estimate",
    "risk": "true error",
}
_DENSITIES = {"h_original": "misclassified originals", "h_adversarial": "adversarial examples"}
_MIDDLE = "Bands hold the middle 95 % of the runs"


def synthetic_blocks(simulated: Sequence[Runs], alpha: float) -> list[Block]:
    """The five rows of Figure 5, Figure 6, and a table per experiment."""
    if not simulated:
        return []
    return [
        Panels(
            "p-values over ε (Figure 5, first row)",
            [_p_plot(one) for one in simulated],
            f"{_MIDDLE} for N = 1, all bins for more models. At {alpha:g} or below independence is rejected.",
        ),
        Panels(
            "Errors over ε (second row)",
            [_mean_plot(one, _ERRORS, "Error") for one in simulated],
            f"{_MIDDLE}. Under independence the estimate is the test error, however often examples succeed.",
        ),
        Panels(
            "Densities over ε (third row)",
            [_mean_plot(one, _DENSITIES, "Mean h") for one in simulated],
            f"{_MIDDLE}. h weighs an adversarial error; 1 is a point that nothing else is moved to.",
        ),
        Panels(
            "One run (fourth row)",
            [_one_run(one) for one in simulated],
            "Bands are the 97.5 % intervals of the basic test: it rejects where they do not overlap.",
        ),
        *(_histograms(one, alpha) for one in simulated),
        *(_n_model_histograms(one, alpha) for one in simulated if len(one.models) > 1),
        *(_table(one, alpha) for one in simulated),
    ]


def synthetic_line(simulated: Sequence[Runs], alpha: float) -> list[str]:
    """A sentence per experiment: where the test rejects most often."""
    lines = []
    for experiment in simulated:
        means = {eps: float(experiment.p(eps).mean()) for eps in experiment.eps}
        least = min(means, key=lambda eps: means[eps])
        p = experiment.p(least)
        lines.append(
            f"Of {len(p)} {experiment.experiment} models, {int((p <= alpha).sum())} are rejected at ε = {least:g}, "
            f"where the mean p is least ({_p(means[least])})."
        )
    return lines


def _p_plot(runs: Runs) -> LinePlot:
    series = [
        _series(f"N = {models}", runs, [spread(runs.p(eps, models), extremes=models > 1) for eps in runs.eps])
        for models in runs.models or [1]
    ]
    alt = "; ".join(f"ε = {eps:g}: {_p(float(runs.p(eps).mean()))}" for eps in runs.eps)
    return _plot(runs, runs.experiment, series, "Mean p", f"Mean p of one model over ε. {alt}.")


def _mean_plot(runs: Runs, columns: dict[str, str], y_label: str) -> LinePlot:
    series = [
        _series(name, runs, [spread(runs.column(column, eps)) for eps in runs.eps]) for column, name in columns.items()
    ]
    alt = "; ".join(f"{one.name} from {number(one.y[0])} to {number(one.y[-1])}" for one in series)
    return _plot(runs, runs.experiment, series, y_label, f"Means over ε of {alt}.")


def _one_run(runs: Runs) -> LinePlot:
    """The first run, with the intervals of both estimates (Bernstein, 97.5 % each)."""

    def bounded(column: str, sigma: str) -> list[Spread | None]:
        intervals: list[Spread | None] = []
        for eps in runs.eps:
            value, n = float(runs.column(column, eps)[0]), int(runs.column("n", eps)[0])
            bound = bernstein_bound(n, float(runs.column(sigma, eps)[0]), 1.0, 0.025)
            intervals.append(Spread(value, value - bound, value + bound, n))
        return intervals

    series = [
        _series("test error", runs, bounded("error", "error_sigma")),
        _series("estimate", runs, bounded("estimate", "estimate_sigma")),
        Series("adversarial error", _places(runs), [float(runs.column("adversarial_error", e)[0]) for e in runs.eps]),
        Series("true error", _places(runs), [float(runs.column("risk", e)[0]) for e in runs.eps], style="dashed"),
    ]
    return _plot(runs, runs.experiment, series, "Error", "Both estimates of one run with their intervals over ε.")


def _histograms(runs: Runs, alpha: float) -> Panels:
    shown = [eps for eps in _SHOWN if eps in runs.eps] or runs.eps[-3:]
    plots = [_histogram(f"ε = {eps:g}", {"N = 1": runs.p(eps)}, alpha) for eps in shown]
    return Panels(
        f"p-values of single models, {runs.experiment} (fifth row)", plots, "Share of the runs in each tenth."
    )


def _n_model_histograms(runs: Runs, alpha: float) -> Panels:
    """The p-values of N models at ε = 10 where they are independent, else at the ε that is least settled (Figure 6)."""
    if runs.experiment == "independent":
        eps = min(runs.eps, key=lambda one: abs(log10(one) - 1))
    else:
        eps = min(runs.eps, key=lambda one: abs(float(runs.p(one).mean()) - 0.5))
    plots = [_histogram(f"N = {models}", {f"N = {models}": runs.p(eps, models)}, alpha) for models in runs.models]
    return Panels(
        f"p-values of N models, {runs.experiment}, ε = {eps:g} (Figure 6)", plots, "Share of the bins in each tenth."
    )


def _histogram(title: str, values: dict[str, npt.NDArray[np.float64]], alpha: float) -> LinePlot:
    edges = [bin_ / _BINS for bin_ in range(_BINS + 1)]
    series = []
    for name, p in values.items():
        counts, _ = np.histogram(p, bins=edges)
        shares = [float(count) / max(1, len(p)) for count in counts]
        series.append(Series(name, edges, [*shares, shares[-1]], style="steps"))
    p = next(iter(values.values()))
    low = percent(float((p <= alpha).mean()))
    alt = f"{len(p)} p-values, {low} of them at most {alpha:g}, mean {_p(float(p.mean()))}."
    ticks = {0.0: "0", 0.5: "0.5", 1.0: "1"}
    return LinePlot(title, series, "p", "Share", alt, (0.0, 1.0), ticks, scale="percent")


def _table(runs: Runs, alpha: float) -> DataTable:
    columns = [
        Column("ε"),
        Column("Mean p", "p"),
        *(Column(f"N = {models}", "p", f"Mean p of {models} models") for models in runs.models if models > 1),
        Column("Rejected", "percent", f"Share of the runs with p ≤ {alpha:g}"),
        Column("by the basic test", "percent", "The same by two intervals that do not overlap"),
        Column("Gap", "number", "Mean T̄"),
        Column("Smallest gap", "number", "What would have been significant"),
        Column("Test error", "percent"),
        Column("Adversarial error", "percent"),
        Column("Estimate", "percent"),
    ]
    rows = [_row(runs, eps, alpha) for eps in runs.eps]
    return DataTable(f"The {runs.experiment} experiment", columns, rows, _MIDDLE.replace("Bands", "Intervals") + ".")


def _row(runs: Runs, eps: float, alpha: float) -> list[Cell]:
    p, basic, sigma, n = (runs.p(eps), *(runs.column(name, eps) for name in ("basic_p", "sigma", "n")))
    floors = np.array([bernstein_bound(int(m), s, SPAN, alpha) for m, s in zip(n, sigma, strict=True)])
    return [
        Mark(f"{eps:g}", order=eps),
        float(p.mean()),
        *(float(runs.p(eps, models).mean()) for models in runs.models if models > 1),
        _rejected(p, alpha),
        _rejected(basic, alpha),
        _cell(spread(runs.column("mean", eps))),
        _cell(spread(floors)),
        *(_cell(spread(runs.column(name, eps))) for name in ("error", "adversarial_error", "estimate")),
    ]


def _rejected(p: npt.NDArray[np.float64], alpha: float) -> Cell:
    return share_estimate(int((p <= alpha).sum()), len(p))


def _cell(values: Spread | None) -> Cell:
    return None if values is None else Estimate(values.mean, values.low, values.high, values.n)


def _series(name: str, runs: Runs, spreads: Sequence[Spread | None]) -> Series:
    mean, low, high = ([getattr(one, end, None) for one in spreads] for end in ("mean", "low", "high"))
    return Series(name, _places(runs), mean, low, high)


def _places(runs: Runs) -> list[float]:
    return [log10(eps) for eps in runs.eps]


def _plot(runs: Runs, title: str, series: Sequence[Series], y_label: str, alt: str) -> LinePlot:
    ticks = {log10(eps): f"{eps:g}" for eps in runs.eps}
    return LinePlot(title, series, "ε (logarithmic)", y_label, alt, (0.0, 1.0), ticks)


def _p(value: float) -> str:
    return f"{value:.1e}" if value < 0.001 else number(value)
