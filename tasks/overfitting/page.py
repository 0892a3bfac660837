"""The overfitting test in the report and over the nights: a verdict on every subject with the gap that could have
been found, the error over the offset, and the synthetic experiment (Figure 5).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import log10

from assay.tasks.overfitting.independence import ORBIT, Record
from assay.tasks.overfitting.synthetic import Runs, spread
from assay.tasks.overfitting.verdicts import Judged
from assay.tasks.reporting.estimates import series_of
from assay.tasks.reporting.numerals import integer, number, p_equals, percent
from assay.tasks.reporting.parts import BarPlot, Block, LinePlot, Panels, Paragraph, Part, Series, Tone
from assay.tasks.reporting.report import Headline, headline_of
from assay.tasks.statistics.findings import Finding, FindingIndex, distinct
from assay.tasks.statistics.metrics import metrics_of

_SYNTHETIC_ERRORS = {
    "error": "test error",
    "adversarial_error": "adversarial error",
    "estimate": "estimate",
    "risk": "true error",
}
_MIDDLE = "Bands hold the middle 95 % of the runs"


def synthetic_blocks(simulated: Sequence[Runs], alpha: float) -> list[Block]:
    """The p-values of single models and of N, and the errors behind them, over ε (the first two rows of Figure 5)."""
    if not simulated:
        return []
    return [
        Panels(
            "p-values over ε (Figure 5, first row)",
            list(map(_p_plot, simulated)),
            f"{_MIDDLE} for N = 1, all bins for more models. At {alpha:g} or below independence is rejected.",
        ),
        Panels(
            "Errors over ε (second row)",
            list(map(_mean_plot, simulated)),
            f"{_MIDDLE}. Under independence the estimate is the test error, however often examples succeed.",
        ),
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
        series_of(
            f"N = {models}", _places(runs), [spread(runs.p(eps, models), extremes=models > 1) for eps in runs.eps]
        )
        for models in runs.models or [1]
    ]
    alt = "; ".join(f"ε = {eps:g}: {_p(float(runs.p(eps).mean()))}" for eps in runs.eps)
    return _plot(runs, series, "Mean p", f"Mean p of one model over ε. {alt}.")


def _mean_plot(runs: Runs) -> LinePlot:
    series = [
        series_of(name, _places(runs), [spread(runs.column(column, eps)) for eps in runs.eps])
        for column, name in _SYNTHETIC_ERRORS.items()
    ]
    alt = "; ".join(f"{line.name} from {number(line.y[0])} to {number(line.y[-1])}" for line in series)
    return _plot(runs, series, "Error", f"Means over ε of {alt}.")


def _places(runs: Runs) -> list[float]:
    return [log10(eps) for eps in runs.eps]


def _plot(runs: Runs, series: Sequence[Series], y_label: str, alt: str) -> LinePlot:
    ticks = {log10(eps): f"{eps:g}" for eps in runs.eps}
    return LinePlot(runs.experiment, series, "ε (logarithmic)", y_label, alt, (0.0, 1.0), ticks)


def _p(value: float) -> str:
    return f"{value:.1e}" if value < 0.001 else number(value)


_CURVE = "overfitting.error_by_offset"
_SETS: dict[str, str] = {
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
    """The error over the offset of each subject, and what the copy is for; nothing where no window was shifted."""
    subjects = findings.distinct("subject", _CURVE)
    blocks: list[Block] = [_curve(findings.select(_CURVE, subject=subject), subject) for subject in subjects]
    return [*blocks, Paragraph(_COPY)] if findings.select(_CURVE, of="dishonest") else blocks


def _curve(errors: Sequence[Finding], subject: str) -> LinePlot:
    """The error over the offset, one line per set of samples."""
    lines = {role: [error for error in errors if error.of == role] for role in distinct(error.of for error in errors)}
    series = [
        series_of(_SETS[role], list(map(_offset, line)), line, "dashed" if role == "dishonest" else "line")
        for role, line in lines.items()
    ]
    reach = max(map(_offset, errors))
    ends = [(_SETS[role], min(line, key=_offset), max(line, key=_offset)) for role, line in lines.items()]
    alt = "; ".join(
        f"{name} {percent(first.value)} where it is, {percent(last.value)} at {last.slice.offset}"
        for name, first, last in ends
    )
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


def _offset(error: Finding) -> float:
    return float(error.slice.offset or 0)


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
    "overfit is inconclusive. Choose nothing by what they show, and bring new samples once models were chosen."
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
        blocks += [_gaps(judged), *(Paragraph(_why(test)) for test in judged if test.verdict is not None)]
        blocks.append(Paragraph(_SPENT))
        if any(test.record.generator != ORBIT for test in judged):
            blocks.append(Paragraph(_WARNING))
        if any(test.record.role == "fresh" for test in judged):
            blocks.append(Paragraph(_FRESH))
    blocks += [*window_blocks(findings), *synthetic_blocks(simulated, alpha)]
    names = [test.verdict.name for test in judged if test.verdict is not None]
    sentences = [*(_sentence(test) for test in judged if test.verdict is not None), *synthetic_line(simulated, alpha)]
    sentence = " ".join(sentences) or "No test could be made."
    tone: Tone = "bad" if "overfit" in names else "good" if set(names) == {"no evidence"} else "neutral"
    return Part("Overfitting", sentence, blocks, "overfitting", tone, ", ".join(dict.fromkeys(names)))


def _gaps(judged: Sequence[Judged]) -> BarPlot:
    """The gap of every test and control, with the smallest that would have been significant on either side."""
    several = len({test.record.subject for test in judged}) > 1
    names = [_test_name(test.record, several) for test in judged]
    gaps = [test.record.tested.mean for test in judged]
    floors = [test.record.tested.finite_gap for test in judged]
    return BarPlot(
        "The gap of each test, and of its controls",
        names,
        gaps,
        "gap: estimate of the error less the error seen",
        f"Gaps: {'; '.join(f'{name} {number(gap, 4)}' for name, gap in zip(names, gaps, strict=True))}.",
        [None if floor is None else gap - floor for gap, floor in zip(gaps, floors, strict=True)],
        [None if floor is None else gap + floor for gap, floor in zip(gaps, floors, strict=True)],
        "Whiskers reach as far as the smallest gap that would have been significant: only a whole interval above zero "
        "rejects independence. A verdict stands on tests of the test set; the others are controls, or shown beside it.",
    )


def _test_name(record: Record, several: bool) -> str:
    """By which generator a test is, on which samples, and of which of several subjects."""
    by = _generator(record.generator) + (f" ({record.bound})" if record.generator == ORBIT else "")
    seeds = f", {record.models} seeds" if record.models > 1 else ""
    return f"{_SETS[record.role]}, {by}{f', {record.subject}' if several else ''}{seeds}"


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
        f"Look-up {judged.look} at this test set.{counts}"
    )


def followed(findings: FindingIndex) -> Iterator[Headline]:
    """Per subject and generator the p-value and the gap on the test set; controls, and what is only shown, are not."""
    for test in findings.select("overfitting.p_value"):
        if test.verdict:
            for finding in (test, findings.get("overfitting.gap", *test.about)):
                yield from headline_of(metrics_of("overfitting"), finding, *test.about)
