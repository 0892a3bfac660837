"""Gates: the bounds a team sets on its findings; a run passes when every gate does."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from pydantic import Field, model_validator

from assay.infra.settings import Settings

if TYPE_CHECKING:
    from assay.tasks.statistics.findings import Finding

_WITHSTOOD = ("attack", "corruption")  # stages whose numbers a constant answer makes look good
_DEFENDED = ("defense.accuracy", "defense.gain")
_LISTED = 8  # findings named in a sentence, before "and N more"


class Gate(Settings):
    """A bound on findings: what a gate leaves out (`of`, `group`, `subject`) matches all, and all must keep to it."""

    finding: str = Field(pattern=r"^[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*$")
    """Which finding, as `stage.metric`."""

    of: str | None = None
    """What the finding is about: an approach, an attack, a perturbation, a defence, `weak` or `gold`."""

    group: str | None = None
    """Which slice: a labeler, an ε, a severity, a class, a data set such as `D10`."""

    subject: str | None = None
    """Which subject, by its name in the pipeline."""

    at_most: float | None = None
    """The finding's value may not be above this."""

    at_least: float | None = None
    """The finding's value may not be below this."""

    verdict: str | None = None
    """The verdict the finding must carry, word for word."""

    @model_validator(mode="after")
    def _bounded(self) -> Self:
        if self.at_most is None and self.at_least is None and self.verdict is None:
            raise ValueError(f"the gate on {self.finding} sets no bound: give at_most, at_least or verdict")
        if self.at_most is not None and self.at_least is not None and self.at_most < self.at_least:
            raise ValueError(
                f"the gate on {self.finding} can never pass: at_most {self.at_most:g} "
                f"is below at_least {self.at_least:g}"
            )
        return self

    def title(self) -> str:
        """The gate in one line: what it looks at and what it asks.

        >>> Gate(finding="subject.accuracy", of="gold", group="D10", at_least=0.8).title()
        'subject.accuracy (of gold, group D10) at least 0.8'
        """
        return f"{self.finding}{self._slice()} {self._bounds()}"

    def matches(self, finding: Finding) -> bool:
        """Whether the finding is one that this gate looks at."""
        return finding.metric == self.finding and all(
            wanted is None or wanted == found
            for wanted, found in ((self.of, finding.of), (self.group, finding.group), (self.subject, finding.subject))
        )

    def _slice(self) -> str:
        named = (("of", self.of), ("group", self.group), ("subject", self.subject))
        parts = [f"{word} {value}" for word, value in named if value is not None]
        return f" ({', '.join(parts)})" if parts else ""

    def _bounds(self) -> str:
        bounds = [
            None if self.at_least is None else f"at least {self.at_least:g}",
            None if self.at_most is None else f"at most {self.at_most:g}",
            None if self.verdict is None else f"verdict {self.verdict!r}",
        ]
        return " and ".join(bound for bound in bounds if bound)


@dataclass(frozen=True)
class GateResult:
    """Whether a gate passed, the finding that decided it (None where none matched), and why, in one sentence."""

    gate: Gate
    passed: bool
    sentence: str
    finding: Finding | None = None
    matched: int = 0


def judge(gates: Sequence[Gate], findings: Sequence[Finding]) -> list[GateResult]:
    """Every gate held against the findings, in the gates' order.

    A gate passes when every finding it matches keeps to its bounds. It fails when one does not, when one was not
    measured, and when there is no such finding: a mistyped gate must not look like a passed one. It fails, too, where a
    subject withstands attacks or corruptions only because it always answers alike (`subject.degenerate`). Only a gate
    that names no `of` passes over what had no sample to be measured on (n = 0), and only where something else was
    measured.
    """
    constant = {
        finding.subject: finding.verdict for finding in findings
        if finding.metric == "subject.degenerate" and finding.verdict.startswith("degenerate")
    }  # fmt: skip
    return [_judge(gate, findings, constant) for gate in gates]


def _judge(gate: Gate, findings: Sequence[Finding], constant: Mapping[str, str]) -> GateResult:
    matched = [finding for finding in findings if gate.matches(finding)]
    if not matched:
        return GateResult(
            gate, False, f"There is no finding {gate.finding}{gate._slice()}; {_instead(gate, findings)}."
        )
    looked_at = [finding for finding in matched if not _passed_over(gate, finding)] or matched
    for finding in looked_at:
        complaint = _complaint(gate, finding) or _hollow(finding, constant)
        if complaint:
            return GateResult(gate, False, f"{_name(finding)} {complaint}.", finding, len(matched))
    first, rest = looked_at[0], len(matched) - len(looked_at)
    shown = f"{_name(first)} is {_shown(first)}" if len(looked_at) == 1 else f"all {len(looked_at)} findings keep to it"
    shown += f", and {rest} had nothing to be measured on" if rest else ""
    return GateResult(gate, True, f"{gate.title()}: {shown}.", first, len(matched))


def _hollow(finding: Finding, constant: Mapping[str, str]) -> str | None:
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


def _passed_over(gate: Gate, finding: Finding) -> bool:
    """Whether a gate on everything of a metric asks nothing of this finding, since there was nothing to measure it on:
    the red flag of a second subject where there is one subject.

    The precision of a tagger that names nothing is asked for: that it has none is its own fault.
    """
    silent = finding.verdict.startswith("degenerate")
    return gate.of is None and finding.value is None and finding.n == 0 and not silent


def _complaint(gate: Gate, finding: Finding) -> str | None:
    """Why this finding breaks the gate, or None."""
    value = None if finding.value is None or math.isnan(finding.value) else _judged_value(finding)
    if value is None and (gate.at_most is not None or gate.at_least is not None):
        return "was not measured"
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


def _name(finding: Finding) -> str:
    slices = (("of", finding.of), ("group", finding.group), ("subject", finding.subject))
    parts = [f"{word} {value}" for word, value in slices if value]
    return finding.metric + (f" ({', '.join(parts)})" if parts else "")


def _instead(gate: Gate, findings: Sequence[Finding]) -> str:
    """Which findings there are, nearest first: those of the same metric, or else the metrics."""
    siblings = [_name(finding) for finding in findings if finding.metric == gate.finding]
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
