"""What the report shows of the people who labelled the samples."""

from __future__ import annotations

from collections.abc import Sequence

from assay.tasks.reporting.estimates import bars_of, share_text
from assay.tasks.reporting.numerals import integer, interval, number
from assay.tasks.reporting.parts import BarPlot, Paragraph, Part
from assay.tasks.statistics.findings import Finding, FindingIndex, lowest, measured

_NOTE = (
    "Krippendorff's α of samples with two labels or more: 1 is full agreement, 0 is what chance alone would give, less "
    "is disagreement. Intervals are 95 %, over ten samples or more, resampled, or over groups where there are some."
)


def page(findings: FindingIndex) -> Part:
    """The part of the report about annotators, from the findings `annotators.*`."""
    whole = findings.get("annotators.alpha")
    people = findings.distinct("of", "annotators.labelled")
    sentence = f"The agreement of {len(people)} annotators was not measured: no sample has two of their labels."
    if whole is not None:
        counted = f"{integer(whole.n)} samples with two labels or more"
        sentence = f"{len(people)} annotators agree with {_alpha(whole)} on {counted}."
    pairs = [alpha for alpha in measured(findings.select("annotators.alpha")) if alpha.of]
    if (least := lowest(pairs)) is not None and pairs[1:]:
        sentence += f" Least of all pairs agree {least.of}: {_alpha(least)}."
    return Part("Annotators", sentence, [*_plots(findings, people), Paragraph(_NOTE)], "annotators")


def _alpha(agreement: Finding) -> str:
    return f"α = {number(agreement.value)} {interval(agreement.low, agreement.high, 'number')}".strip()


def _plots(findings: FindingIndex, people: Sequence[str]) -> list[BarPlot]:
    """How often each annotator says what gold says; none without gold."""
    shares = measured(findings.get("annotators.with_gold", of=name) for name in people)
    if not shares:
        return []
    alt = "; ".join(f"{share.of} {share_text(share)} of {integer(share.n)}" for share in shares) + "."
    title = "How often each annotator says what gold says"
    x_label = "of the samples with a known class that they labelled"
    return [bars_of(title, [share.of for share in shares], shares, x_label, alt, "Whiskers are 95 % intervals.")]
