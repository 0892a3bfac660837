"""Gates: the bounds a team sets on its findings; a run passes when every gate does."""

from __future__ import annotations

import difflib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Self

from pydantic import Field, field_validator, model_validator

from assay.infra.settings import Settings

if TYPE_CHECKING:
    from assay.tasks.statistics.findings import Finding

_WITHSTOOD = ("attack", "corruption")  # stages whose numbers a constant answer makes look good
_DEFENDED = ("defense.accuracy", "defense.gain")
_NIGHTS = re.compile(r"(?P<wanted>\d{1,2}) of (?P<nights>\d{1,2})( nights)?")
_MOST_NIGHTS = 30
_LISTED = 8  # findings named in a sentence, before "and N more"


class Gate(Settings, populate_by_name=True):
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

    on: Literal["value", "interval"] = "value"
    """What keeps to a constant bound: the value, or the whole 95 % interval (`at_least` asks it of the lower end,
    `at_most` of the upper)."""

    against: str | None = Field(
        default=None, min_length=1, examples=["last-passed", "accepted", "2026-11-22-0200-k3f9"]
    )
    """For a bound on change: the earlier run, by name, or `last-passed` (the latest that passed) or `accepted` (what
    `assay accept` made the baseline)."""

    drop_at_most: float | None = Field(default=None, ge=0)
    """The finding may not have fallen by more than this since that run, judged by the interval of the drop."""

    rise_at_most: float | None = Field(default=None, ge=0)
    """The same for what should not rise."""

    inconclusive: Literal["pass", "warn", "fail"] = "warn"
    """What becomes of a gate on change that has too few samples to tell."""

    for_: str | None = Field(default=None, alias="for", examples=["2 of 3 nights"])
    """On how many of the latest nights, this one included, it must have failed before it fails the run."""

    severity: Literal["warn", "fail"] = "fail"
    """Whether a failure fails the run or only warns."""

    owner: str = ""
    """Whom a failure concerns; shown with it."""

    @model_validator(mode="after")
    def _bounded(self) -> Self:
        constant = not (self.at_most is None and self.at_least is None and self.verdict is None)
        if self.is_on_change:
            self._require_change(constant)
            return self
        if self.against is not None:
            raise ValueError(f"the gate against {self.against} bounds no change: give drop_at_most or rise_at_most")
        if not constant:
            raise ValueError(
                f"the gate on {self.finding} sets no bound: give at_most, at_least or verdict, or against an earlier "
                "run drop_at_most"
            )
        if self.on == "interval" and self.at_most is None and self.at_least is None:
            raise ValueError(f"the gate on {self.finding} asks nothing of an interval: give at_most or at_least")
        if self.at_most is not None and self.at_least is not None and self.at_most < self.at_least:
            raise ValueError(
                f"the gate on {self.finding} can never pass: at_most {self.at_most:g} "
                f"is below at_least {self.at_least:g}"
            )
        return self

    def _require_change(self, constant: bool) -> None:
        """Raises where a bound on change lacks what it is held against, or is not alone."""
        if self.against is None:
            raise ValueError(
                f"the gate on the change of {self.finding} names no run: give against: last-passed, accepted or a run"
            )
        if constant or None not in (self.drop_at_most, self.rise_at_most):
            raise ValueError(
                f"the gate on the change of {self.finding} sets several bounds: give each a gate of its own"
            )

    @field_validator("for_")
    @classmethod
    def _countable(cls, written: str | None) -> str | None:
        if written is not None:
            match = _NIGHTS.fullmatch(written)
            if match is None:
                raise ValueError(f'expected so many of the latest nights, as in "2 of 3 nights", not {written!r}')
            if not 1 <= int(match["wanted"]) <= int(match["nights"]) <= _MOST_NIGHTS:
                raise ValueError(
                    f"{written} cannot be: write at least 1 of at most {_MOST_NIGHTS}, and no more than there are"
                )
        return written

    @property
    def is_on_change(self) -> bool:
        """Whether it bounds the change since another run."""
        return self.drop_at_most is not None or self.rise_at_most is not None

    @property
    def change_at_most(self) -> float:
        """The bound on change, whichever way it goes."""
        return self.drop_at_most if self.drop_at_most is not None else self.rise_at_most or 0.0

    @property
    def nights(self) -> tuple[int, int]:
        """On how many of how many nights it must have failed.

        >>> Gate.model_validate({"finding": "a.b", "at_most": 1, "for": "2 of 3 nights"}).nights
        (2, 3)
        """
        match = _NIGHTS.fullmatch(self.for_ or "")
        return (1, 1) if match is None else (int(match["wanted"]), int(match["nights"]))

    def title(self) -> str:
        """The gate in one line: what it looks at and what it asks.

        >>> Gate(finding="subject.accuracy", of="gold", group="D10", at_least=0.8).title()
        'subject.accuracy (of gold, group D10) at least 0.8'
        """
        return f"{self.finding}{self._slice()} {self._bounds()}"

    def matches(self, finding: Finding) -> bool:
        """Whether the finding is one that this gate looks at."""
        return finding.metric == self.finding and all(
            wanted is None or wanted == actual
            for wanted, actual in ((self.of, finding.of), (self.group, finding.group), (self.subject, finding.subject))
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
            None if self.drop_at_most is None else f"drop against {self.against} at most {self.drop_at_most:g}",
            None if self.rise_at_most is None else f"rise against {self.against} at most {self.rise_at_most:g}",
            "by its interval" if self.on == "interval" else None,
        ]
        return " and ".join(bound for bound in bounds if bound)


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
            gate, False, f"There is no finding {gate.finding}{gate._slice()}; {_alternatives(gate, findings)}."
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
