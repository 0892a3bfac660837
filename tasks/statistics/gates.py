"""Gates held against findings: a run passes when every gate does."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from assay.tasks.statistics.gate import Gate

if TYPE_CHECKING:
    from assay.tasks.statistics.findings import Finding

_WITHSTOOD = ("attack", "corruption")  # stages whose numbers a constant answer makes look good
_DEFENDED = ("defense.accuracy", "defense.gain")
_LISTED = 8  # findings named in a sentence, before "and N more"


Outcome = Literal["passed", "inconclusive", "warned", "failed"]


@dataclass(frozen=True)
class GateResult:
    """Whether a gate lets the run pass, the finding that decided (None where none matched), and why, in one sentence.

    `outcome` says more: what warned, or could not be told, may still let the run pass.
    """

    gate: Gate
    passed: bool
    sentence: str
    finding: Finding | None = None
    matched: int = 0
    outcome: Outcome = "passed"
    looked: Mapping[str, object] = field(default_factory=dict)
    """Of a gate on change: what it was held against, how closely it could look, and how often by chance."""

    def __post_init__(self) -> None:
        if not self.passed and self.outcome == "passed":
            object.__setattr__(self, "outcome", "failed")


def judge(gates: Sequence[Gate], findings: Sequence[Finding]) -> list[GateResult]:
    """Every gate held against the findings, in the gates' order.

    A gate passes when every finding it matches keeps to its bounds. It fails when one does not, when one was not
    measured, and when there is no such finding: a mistyped gate must not look like a passed one. It fails, too, where a
    subject withstands attacks or corruptions only because it always answers alike (`subject.degenerate`). Only a gate
    that names no `of` passes over what had no sample to be measured on (n = 0), and only where something else was
    measured.
    """
    constant = {
        finding.subject: finding.verdict
        for finding in findings
        if finding.metric == "subject.degenerate" and finding.verdict.startswith("degenerate")
    }
    return [_judge(gate, findings, constant) for gate in gates]


def _judge(gate: Gate, findings: Sequence[Finding], constant: Mapping[str, str]) -> GateResult:
    matched = [finding for finding in findings if gate.matches(finding)]
    if not matched:
        return GateResult(
            gate, False, f"There is no finding {gate.finding}{gate.slice_in_words()}; {_alternatives(gate, findings)}."
        )
    looked_at = looked_at_by(gate, findings)
    for finding in looked_at:
        breach = _breach(gate, finding) or _why_meaningless(finding, constant)
        if breach:
            return GateResult(gate, False, f"{named(finding)} {breach}.", finding, len(matched))
    first, rest = looked_at[0], len(matched) - len(looked_at)
    shown = f"{named(first)} is {_shown(first)}" if len(looked_at) == 1 else f"all {len(looked_at)} findings keep to it"
    shown += f", and {rest} had nothing to be measured on" if rest else ""
    return GateResult(gate, True, f"{gate.title()}: {shown}.", first, len(matched))


def looked_at_by(gate: Gate, findings: Sequence[Finding]) -> list[Finding]:
    """The findings that a gate asks something of."""
    matched = [finding for finding in findings if gate.matches(finding)]
    return [finding for finding in matched if not _is_skipped(gate, finding)] or matched


def _why_meaningless(finding: Finding, constant: Mapping[str, str]) -> str | None:
    """Why what a gate asks is kept to and means nothing, or None: a constant answer withstands everything."""
    if finding.metric in _DEFENDED:
        model = constant.get(f"{finding.subject}+{finding.of}")
        return (
            None
            if model is None
            else f"is {_shown(finding)}, and says nothing: {finding.subject}+{finding.of} is {model}"
        )
    if finding.subject not in constant or finding.metric.partition(".")[0] not in _WITHSTOOD:
        return None
    if finding.metric == "attack.red_flag":
        return None
    return (
        f"is {_shown(finding)}, and says nothing: {finding.subject} is {constant[finding.subject]}, "
        "and what always answers alike withstands everything"
    )


def _is_skipped(gate: Gate, finding: Finding) -> bool:
    """Whether a gate on everything of a metric asks nothing of this finding, since there was nothing to measure it on:
    the red flag of a second subject where there is one subject.

    The precision of a tagger that names nothing is asked for: that it has none is its own fault.
    """
    silent = finding.verdict.startswith("degenerate")
    return gate.of is None and finding.value is None and finding.n == 0 and not silent


def _breach(gate: Gate, finding: Finding) -> str | None:
    """Why this finding breaks the gate, or None."""
    value = None if finding.value is None or math.isnan(finding.value) else _judged_value(finding)
    if value is None and (gate.at_most is not None or gate.at_least is not None or gate.is_on_change):
        why = finding.verdict.removeprefix("not measured").strip(": ")
        return f"was not measured: {why}" if why else "was not measured"
    if value is not None and gate.on == "interval" and (breach := _interval_breach(gate, finding)):
        return breach
    if value is not None and gate.at_most is not None and value > gate.at_most:
        return f"is {_shown(finding)}, above {gate.at_most:g}"
    if value is not None and gate.at_least is not None and value < gate.at_least:
        return f"is {_shown(finding)}, below {gate.at_least:g}"
    if gate.verdict is not None and finding.verdict != gate.verdict:
        return f"has the verdict {finding.verdict!r}, not {gate.verdict!r}"
    return None


def _judged_value(finding: Finding) -> float | None:
    """The value that a gate judges: of a test the p that its verdict rests on, so that the two agree."""
    rests_on_p = finding.value == finding.p_value and finding.p_adjusted is not None
    return finding.p_adjusted if rests_on_p else finding.value


def _interval_breach(gate: Gate, finding: Finding) -> str | None:
    """Why its interval does not keep to the bound."""
    if finding.low is None or finding.high is None:
        return f"is {_shown(finding)}, and has no interval to be judged by"
    if gate.at_most is not None and finding.high > gate.at_most:
        return f"is {_shown(finding)}, and its interval reaches above {gate.at_most:g}"
    if gate.at_least is not None and finding.low < gate.at_least:
        return f"is {_shown(finding)}, and its interval reaches below {gate.at_least:g}"
    return None


def _shown(finding: Finding) -> str:
    """The value with its interval and n, as far as they are known."""
    if finding.value is None:
        return finding.verdict or "not measured"
    if _judged_value(finding) != finding.value:
        return f"{finding.value:.4g}, corrected {finding.p_adjusted:.4g}" + (
            "" if finding.n is None else f" (n = {finding.n})"
        )
    interval = "" if finding.low is None or finding.high is None else f" [{finding.low:.4g}, {finding.high:.4g}]"
    return f"{finding.value:.4g}{interval}" + ("" if finding.n is None else f" (n = {finding.n})")


def named(finding: Finding) -> str:
    """A finding as a sentence names it."""
    slices = (("of", finding.of), ("group", finding.group), ("subject", finding.subject))
    parts = [f"{word} {value}" for word, value in slices if value]
    return finding.metric + (f" ({', '.join(parts)})" if parts else "")


def _alternatives(gate: Gate, findings: Sequence[Finding]) -> str:
    """Which findings there are, nearest first: those of the same metric, or else the metrics."""
    siblings = [named(finding) for finding in findings if finding.metric == gate.finding]
    if siblings:
        return f"of that metric the run has {_listed(siblings)}"
    metrics = sorted({finding.metric for finding in findings})
    if not metrics:
        return "the run has no findings at all"
    near = difflib.get_close_matches(gate.finding, metrics, n=1)
    return f"the run has {_listed(metrics)}" + (f" (did you mean {near[0]}?)" if near else "")


def _listed(names: Sequence[str]) -> str:
    rest = len(names) - _LISTED
    return ", ".join(names[:_LISTED]) + (f" and {rest} more" if rest > 0 else "")
