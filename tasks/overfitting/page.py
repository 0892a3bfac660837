"""The overfitting test in the report and over the nights: a verdict on every subject with the gap that could have
been found, the error over the offset, and the synthetic experiment (Figures 5 and 6).
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from math import log10
from typing import Any

import numpy as np
import numpy.typing as npt

from assay.tasks.overfitting.independence import Record, Role, bernstein_bound
from assay.tasks.overfitting.orbits import GENERATOR as ORBIT
from assay.tasks.overfitting.settings import METRICS
from assay.tasks.overfitting.synthetic import SPAN, Runs, Spread, spread
from assay.tasks.overfitting.verdicts import Judged
from assay.tasks.reporting.estimates import ColumnOver, column, estimate, series_of, share_estimate, table_of
from assay.tasks.reporting.numerals import integer, number, p_equals, p_value, percent, plain
from assay.tasks.reporting.parts import (
    Block,
    Cell,
    DataTable,
    Estimate,
    LinePlot,
    Mark,
    Panels,
    Paragraph,
    Part,
    Series,
    Tone,
    Verdict,
)
from assay.tasks.reporting.report import Headline, headline_of
from assay.tasks.statistics.findings import Finding, FindingIndex, distinct, lowest, measured

_BINS = 10
_SHOWN = (5.0, 10.0, 20.0, 50.0, 75.0)
_SYNTHETIC_ERRORS = {
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
            [_p_plot(runs) for runs in simulated],
            f"{_MIDDLE} for N = 1, all bins for more models. At {alpha:g} or below independence is rejected.",
        ),
        Panels(
            "Errors over ε (second row)",
            [_mean_plot(runs, _SYNTHETIC_ERRORS, "Error") for runs in simulated],
            f"{_MIDDLE}. Under independence the estimate is the test error, however often examples succeed.",
        ),
        Panels(
            "Densities over ε (third row)",
            [_mean_plot(runs, _DENSITIES, "Mean h") for runs in simulated],
            f"{_MIDDLE}. h weighs an adversarial error; 1 is a point that nothing else is moved to.",
        ),
        Panels(
            "One run (fourth row)",
            [_one_run(runs) for runs in simulated],
            "Bands are the 97.5 % intervals of the basic test: it rejects where they do not overlap.",
        ),
        *(_histograms(runs, alpha) for runs in simulated),
        *(_n_model_histograms(runs, alpha) for runs in simulated if len(runs.models) > 1),
        *(_synthetic_table(runs, alpha) for runs in simulated),
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
    alt = "; ".join(f"{line.name} from {number(line.y[0])} to {number(line.y[-1])}" for line in series)
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
        eps = min(runs.eps, key=lambda distance: abs(log10(distance) - 1))
    else:
        eps = min(runs.eps, key=lambda distance: abs(float(runs.p(distance).mean()) - 0.5))
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


def _synthetic_table(runs: Runs, alpha: float) -> DataTable:
    def floors(eps: float) -> npt.NDArray[np.float64]:
        counted = zip(runs.column("n", eps), runs.column("sigma", eps), strict=True)
        return np.array([bernstein_bound(int(n), sigma, SPAN, alpha) for n, sigma in counted])

    def mean_p(models: int) -> Callable[[float], Cell]:
        return lambda eps: float(runs.p(eps, models).mean())

    def spread_of(name: str) -> Callable[[float], Cell]:
        return lambda eps: _cell(spread(runs.column(name, eps)))

    columns = [
        column("ε", lambda eps: Mark(f"{eps:g}", order=eps)),
        column("Mean p", mean_p(1), "p"),
        *(column(f"N = {n}", mean_p(n), "p", f"Mean p of {n} models") for n in runs.models if n > 1),
        column(
            "Rejected", lambda eps: _rejected(runs.p(eps), alpha), "percent", f"Share of the runs with p ≤ {alpha:g}"
        ),
        column("by the basic test", lambda eps: _rejected(runs.column("basic_p", eps), alpha), "percent", _BASIC_HELP),
        column("Gap", spread_of("mean"), "number", "Mean T̄"),
        column("Smallest gap", lambda eps: _cell(spread(floors(eps))), "number", "What would have been significant"),
        column("Test error", spread_of("error"), "percent"),
        column("Adversarial error", spread_of("adversarial_error"), "percent"),
        column("Estimate", spread_of("estimate"), "percent"),
    ]
    note = _MIDDLE.replace("Bands", "Intervals") + "."
    return table_of(f"The {runs.experiment} experiment", runs.eps, columns, note)


_BASIC_HELP = "The same by two intervals that do not overlap"


def _rejected(p: npt.NDArray[np.float64], alpha: float) -> Cell:
    return share_estimate(int((p <= alpha).sum()), len(p))


def _cell(values: Spread | None) -> Cell:
    return None if values is None else Estimate(values.mean, values.low, values.high, values.n)


def _series(name: str, runs: Runs, spreads: Sequence[Spread | None]) -> Series:
    mean, low, high = ([getattr(spread, end, None) for spread in spreads] for end in ("mean", "low", "high"))
    return Series(name, _places(runs), mean, low, high)


def _places(runs: Runs) -> list[float]:
    return [log10(eps) for eps in runs.eps]


def _plot(runs: Runs, title: str, series: Sequence[Series], y_label: str, alt: str) -> LinePlot:
    ticks = {log10(eps): f"{eps:g}" for eps in runs.eps}
    return LinePlot(title, series, "ε (logarithmic)", y_label, alt, (0.0, 1.0), ticks)


def _p(value: float) -> str:
    return f"{value:.1e}" if value < 0.001 else number(value)


_CURVE = "overfitting.error_by_offset"
_SETS = {
    "test": "test set",
    "training": "training samples",
    "fresh": "fresh samples",
    "dishonest": "copy fitted to the test set",
}
_COPY = (
    "The copy fitted to the test set is no subject: it is the subject trained further on the very crops that it is "
    "tested on, to show that the test would have noticed. A subject that was trained on windows all over its images "
    "knows its training samples as well at every offset, so that they cannot show what a fit to exact pixels looks "
    "like; the copy can."
)


def window_blocks(findings: FindingIndex) -> list[Block]:
    """Plots, tables and words on the tests by shifted windows; nothing where there were none."""
    subjects = findings.distinct("subject", _CURVE)
    blocks: list[Block] = []
    for subject in subjects:
        blocks += [_curve(findings.select(_CURVE, subject=subject), subject), *_seeds(findings, subject)]
    if findings.select(_CURVE, of="dishonest"):
        blocks.append(Paragraph(_COPY))
    if subjects:
        blocks += [_cost(findings), _densities(findings)]
    return blocks


def _curve(errors: Sequence[Finding], subject: str) -> LinePlot:
    """The error over the offset, one line per set of samples."""
    lines = {role: [error for error in errors if error.of == role] for role in distinct(error.of for error in errors)}
    series = [
        series_of(_SETS[role], list(map(_offset, line)), line, "dashed" if role == "dishonest" else "line")
        for role, line in lines.items()
    ]
    reach = max(map(_offset, errors))
    alt = "; ".join(_endpoints(role, line) for role, line in lines.items())
    return LinePlot(
        f"How wrong {subject} is when its window moves",
        series,
        "pixels that the window is moved by, at most",
        "error",
        f"Error of {subject} over the offset: {alt}.",
        scale="percent",
        x_ticks={step: str(int(step)) for step in range(int(reach) + 1)},
        note="A subject that knows the test set by its pixels is better at offset 0 than next to it; one that was only "
        "tuned to centred objects is so too, on fresh samples as well. Bands are 95 % intervals over samples.",
    )


def _endpoints(role: str, line: Sequence[Finding]) -> str:
    first, last = min(line, key=_offset), max(line, key=_offset)
    return f"{_SETS[role]} {percent(first.value)} where it is, {percent(last.value)} at {last.slice.offset}"


def _offset(error: Finding) -> float:
    return float(error.slice.offset or 0)


def _seeds(findings: FindingIndex, subject: str) -> list[Block]:
    """Each seed's p against its error on the test set."""
    errors = {error.group: error.value for error in findings.select("overfitting.seed_error", subject=subject)}
    if not errors:
        return []
    p_values = findings.select("overfitting.seed_p_value", subject=subject)
    series = [
        Series(
            generator,
            [errors[p.group] or 0.0 for p in p_values if p.of == generator],
            [p.value for p in p_values if p.of == generator],
            style="points",
        )
        for generator in distinct(p.of for p in p_values)
    ]
    least = lowest(p_values)
    p_least = number(least.value if least is not None else None)
    return [
        LinePlot(
            f"p of each seed of {subject} against its error on the test set",
            series,
            "error on the test set",
            "p",
            f"{len(errors)} seeds; the smallest p is {p_least}.",
            y_range=(0.0, 1.0),
            note="Were the best seeds those that fit the test set, small p would lie on the left. The N-model test in "
            "the table averages over the seeds.",
        )
    ]


def _cost(findings: FindingIndex) -> DataTable:
    def attackable(passes: Finding) -> Cell:
        return estimate(findings.first("overfitting.attackable", subject=passes.subject, of=passes.of))

    columns = [
        column("Subject", "subject"),
        column("Samples", lambda passes: _SETS[passes.of]),
        column("Turn wrong", attackable, "percent", "Right where they are, and wrong at some offset"),
        column("Forward passes", estimate, "number", _PASSES_HELP),
        column("Whole lattice", lambda passes: int("".join(filter(str.isdigit, passes.verdict))), "integer"),
    ]
    note = (
        "A robust image is looked at on the inner box of offsets only; the density of one that turns wrong needs more."
    )
    rows = measured(findings.select("overfitting.passes"))
    return table_of("What moving the window did, and what it cost", rows, columns, note)


_PASSES_HELP = "Per image; the whole lattice would cost as many as the last column says"


def _densities(findings: FindingIndex) -> DataTable:
    columns = [
        column("Subject", "subject"),
        column("Generator", "of"),
        column("Samples", lambda mean: "wrong already" if mean.group == "original" else "made wrong"),
        column("Mean density h", estimate, "number"),
    ]
    rows = findings.select("overfitting.density")
    note = "h = 1/(1 + n), n being the number of images that the generator would move to the same one."
    return table_of("Densities", rows, columns, f"{note} {integer(len(rows))} means over the test set.", collapsed=True)


_TONES: dict[str, Tone] = {"overfit": "bad", "no evidence": "good"}
_ROLES: dict[Role, str] = {
    "test": "test set",
    "training": "what it learned from",
    "fresh": "fresh samples",
    "dishonest": "fitted to the test set",
}
_WARNING = (
    "A rejection says that model and test set are not independent, or that shifted images are not as likely as the "
    "originals: a model tuned to centred objects on an honest test set shows the same as one that memorised it. Hence "
    "the controls: fresh samples should not be rejected, a copy that was fitted to the test set should be, and the "
    "error should not jump from offset 0 to 1. Samples that the model learned from should be rejected too, if it "
    "learned them where they stand: one that was trained on windows all over its images (augment: [window]) knows "
    "them at every offset."
)
_FRESH = (
    "Fresh samples are fresh once. From the second night on models have been measured on them, and whoever chooses "
    "models by what is said of them here fits models to them too: both sets then show the same gap, and what should be "
    "overfit is inconclusive. Their error is therefore left out of the table; the curve over the offset shows it, "
    "since it is the control: choose nothing by it, and bring new samples once models were chosen."
)
_SPENT = (
    "Night after night the same samples are asked. Look-up t may spend α / (t (t + 1)); all tests of a subject in one "
    "night are one look-up, and the same model on the same samples again is none."
)


def page(findings: FindingIndex, judged: Sequence[Judged], simulated: Sequence[Runs] = (), alpha: float = 0.05) -> Part:
    """The part of the report about overfitting: judged tests, what else was seen of them, synthetic experiments.

    `alpha` is the level of the latter; each judged test has its own.
    """
    blocks: list[Block] = []
    if judged:
        blocks += [_tests_table(judged), *(Paragraph(_why(test)) for test in judged if test.verdict is not None)]
        blocks += [_errors(judged), Paragraph(_SPENT)]
        if any(test.record.generator != ORBIT for test in judged):
            blocks.append(Paragraph(_WARNING))
        if any(test.record.role == "fresh" for test in judged):
            blocks.append(Paragraph(_FRESH))
    blocks += [*window_blocks(findings), *synthetic_blocks(simulated, alpha)]
    names = [test.verdict.name for test in judged if test.verdict is not None]
    sentences = [*(_sentence(test) for test in judged if test.verdict is not None), *synthetic_line(simulated, alpha)]
    sentence = " ".join(sentences) or "No test could be made."
    return Part("Overfitting", sentence, blocks, "overfitting", _tone(names), ", ".join(dict.fromkeys(names)))


_CONCLUDED = {
    "overfit": "{0} is fitted to its {1} test samples: its score on them is too good",
    "no evidence": "Nothing says that {0} is fitted to its {1} test samples",
    "inconclusive": "Whether {0} is fitted to its {1} test samples cannot be told from this test",
    "underpowered": "The {1} test samples are too few to tell whether {0} is fitted to them",
}


def verdict(findings: FindingIndex) -> tuple[Verdict, ...]:
    """The line about overfitting for the terminal and the head of the page; none where nothing was tested.

    It says p coarsely: whoever tunes a model by it should learn as little of the test set as possible.
    """
    judged = [test for test in findings.select("overfitting.p_value") if test.verdict]
    lines = []
    for test in judged:
        beside = (findings.get(f"overfitting.{metric}", *test.about) for metric in ("minimum_gap", "level"))
        floor, level = (None if finding is None else finding.value for finding in beside)
        corrected = "" if test.concluded_p == test.p_value else "corrected "
        lines.append(
            f"{_CONCLUDED[test.verdict].format(test.subject, integer(test.n))} (by {_generator(test.of)}: "
            f"{corrected}{coarse(test.concluded_p, level)}; a gap from {number(floor)} on would be significant)"
        )
    lines += _synthetic_verdict(findings)
    if not lines:
        return ()
    return (Verdict("; ".join(lines), _tone({test.verdict for test in judged})),)


def _tone(verdicts: Collection[str]) -> Tone:
    return "bad" if "overfit" in verdicts else "good" if set(verdicts) == {"no evidence"} else "neutral"


def coarse(p: float | None, level: float | None) -> str:
    """A p-value as a step of a short ladder, or only that it is above the level of its look-up.

    >>> coarse(0.0004, 0.025), coarse(0.02, 0.025), coarse(0.03, 0.025)
    ('p < 0.001', 'p < 0.05', 'p above the level 0.025')
    """
    if p is None or level is None or p > level:
        return f"p above the level {level or 0:.2g}"
    return next((f"p < {step:g}" for step in (0.001, 0.01, 0.05) if p < step), "p < 1")


def _synthetic_verdict(findings: FindingIndex) -> list[str]:
    lines = []
    for experiment in findings.distinct("of", "overfitting.rejected"):
        shares = measured(findings.select("overfitting.rejected", of=experiment))
        most = max((share.value or 0.0 for share in shares), default=0.0)
        where = [share.slice.eps_text for share in shares if share.value == most]
        runs = shares[0].n if shares else 0
        at = f"at ε = {', '.join(where)}" if most else "at any ε"
        lines.append(f"{round(most * (runs or 0))} of {runs} {experiment} models rejected {at}")
    return lines


def _tests_table(judged: Sequence[Judged]) -> DataTable:
    columns = [
        *_named(lambda test: test.record),
        column("Verdict", lambda test: _marked(test.verdict.name) if test.verdict is not None else ""),
        column("p", _p_cell, "p", _P_HELP),
        column("Gap", _gap_cell, "number", "T̄ = R_g − R_S, ± the smallest gap; only above zero is it overfitting"),
        column("Smallest gap", lambda test: test.record.tested.finite_gap, "number", _FLOOR_HELP),
        column("n", lambda test: test.record.tested.n, "integer"),
    ]
    note = "Where no verdict stands, the test is a control, or is shown beside the one that decides."
    return table_of("Tests of independence", judged, columns, note)


_P_HELP = "Of this test; of several generators the corrected one (Holm), and below it the plain one"
_FLOOR_HELP = "What would have been significant, observed on this many samples"


def _errors(judged: Sequence[Judged]) -> DataTable:
    """What a test compares, once for each set of samples; of fresh ones nothing, so that they stay what they are."""

    def unless_fresh(cell: Callable[[Record], Cell]) -> Callable[[Record], Cell]:
        return lambda record: None if record.role == "fresh" else cell(record)

    columns = [
        *_named(lambda record: record),
        column(
            "Error",
            unless_fresh(lambda record: _share(record.error, record.tested.n)),
            "percent",
            "R_S with Wilson's 95 % interval",
        ),
        column(
            "Adversarial error",
            unless_fresh(lambda record: _share(record.adversarial_error, record.tested.n)),
            "percent",
            "R_adv: where the generator may choose; no estimate of the error",
        ),
        column(
            "Estimate",
            unless_fresh(lambda record: record.estimate),
            "percent",
            "R_g: adversarial errors weighted by density; under independence the error",
        ),
    ]
    shown = [test.record for test in judged if test.record.generator != ORBIT or test.record.bound == "exact"]
    return table_of("The errors behind the tests", shown, columns)


def _marked(name: str) -> Mark:
    return Mark(name, _TONES.get(name, "neutral"))


def _gap_cell(judged: Judged) -> Cell:
    mean, floor = judged.record.tested.mean, judged.record.tested.finite_gap
    return Estimate(mean) if floor is None else Estimate(mean, mean - floor, mean + floor)


def _p_cell(judged: Judged) -> Cell:
    plain_p = judged.record.tested.p
    if judged.p_adjusted is None or judged.p_adjusted == plain_p:
        return plain_p
    return Mark(p_value(judged.p_adjusted), below=f"plain {p_value(plain_p)}", order=judged.p_adjusted)


def _named(record_of: Callable[[Any], Record]) -> list[ColumnOver]:
    """Whose test it is, on which samples, and by which generator."""

    def subject(row: Any) -> str:
        record = record_of(row)
        return record.subject + (f", {record.models} seeds" if record.models > 1 else "")

    def generator(row: Any) -> str:
        record = record_of(row)
        return _generator(record.generator) + (f" ({record.bound})" if record.generator == ORBIT else "")

    return [
        column("Subject", subject),
        column("Samples", lambda row: _ROLES[record_of(row).role]),
        column("Generator", generator),
    ]


def _share(value: float | None, n: int) -> Cell:
    hits = None if value is None else share_estimate(round(value * n), n)
    return None if value is None or hits is None else replace(hits, value=value)  # a mean of several models' shares


def _generator(name: str) -> str:
    return {"orbit": "orbits"}.get(name, name)


def _sentence(judged: Judged) -> str:
    assert judged.verdict is not None
    record, tested = judged.record, judged.record.tested
    return (
        f"{record.subject}: {judged.verdict.name} ({_generator(record.generator)}, gap {number(tested.mean, 4)}, "
        f"{p_equals(tested.p, judged.p_adjusted)}, at level {judged.level:.2g}, n = {integer(tested.n)}; an observed "
        f"gap from {number(tested.minimum_gap, 4)} on would have been significant)."
    )


def _why(judged: Judged) -> str:
    assert judged.verdict is not None
    record, counts = judged.record, ""
    if judged.counts is not None:
        least = number(judged.counts, 4)
        counts = f" A gap counts as overfitting from {least} on: there it can be told from that of these fresh samples."
    return (
        f"{record.subject}, {_generator(record.generator)}: {judged.verdict.name}, because {judged.verdict.why}. "
        f"Look-up {judged.look} at this test set, level {plain(round(judged.level, 6))}.{counts}"
    )


def followed(findings: FindingIndex) -> Iterator[Headline]:
    """Per subject and generator the p-value and the gap on the test set; controls, and what is only shown, are not."""
    for test in findings.select("overfitting.p_value"):
        if test.verdict:
            for finding in (test, findings.get("overfitting.gap", *test.about)):
                yield from headline_of(METRICS, finding, *test.about)
