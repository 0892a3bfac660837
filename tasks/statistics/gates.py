"""Gates held against findings: constant bounds, and bounds on change."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from assay.infra.errors import first_named, nearest
from assay.tasks.statistics.settings import Gate

if TYPE_CHECKING:
    from assay.tasks.statistics.between_runs import RunDifference
    from assay.tasks.statistics.findings import Finding

_WITHSTOOD = ("attack", "corruption")  # stages whose numbers a constant answer makes look good
_CONSTANT = "subject.degenerate"
_DEFENDED = ("defense.accuracy", "defense.gain")
_LISTED = 8  # findings named in a sentence, before "and N more"


Outcome = Literal["passed", "inconclusive", "warned", "failed", "not asked"]


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
        # Their own texts and names from data stand in it, and a CI server takes a line of its own for a command.
        object.__setattr__(self, "sentence", " ".join(self.sentence.split()))


NO_BASELINE = "no earlier run to compare with yet"
"""The verdict of what is measured against an earlier run, where there is none: nobody's fault, so no gate fails."""


def judge(gates: Sequence[Gate], findings: Sequence[Finding]) -> list[GateResult]:
    """Every gate held against the findings, in the gates' order.

    A gate passes when every finding it matches keeps to its bounds. It fails when one does not, when one was not
    measured, and when there is no such finding: a mistyped gate must not look like a passed one. It fails, too, where a
    subject withstands attacks or corruptions only because it always answers alike (`subject.degenerate`). Only a gate
    that names no `of` passes over what had no sample to be measured on (n = 0), and only where something else was
    measured.
    """
    constant = {each.subject: each.verdict for each in findings if each.metric == _CONSTANT and each.degenerate}
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
    if gate.of is not None:
        return matched
    # Nothing is asked of what nothing could be measured on, such as the red flag of a second subject where there is
    # one; the precision of a tagger that names nothing is: that it has none is its own fault.
    measured = [each for each in matched if each.value is not None or each.n != 0 or each.degenerate]
    return measured or matched


def _why_meaningless(finding: Finding, constant: Mapping[str, str]) -> str | None:
    """Why what a gate asks is kept to and means nothing, or None: a constant answer withstands everything."""
    defended = finding.metric in _DEFENDED
    withstood = finding.metric.partition(".")[0] in _WITHSTOOD and finding.metric != "attack.red_flag"
    model = f"{finding.subject}+{finding.of}" if defended else finding.subject
    if model not in constant or not (defended or withstood):
        return None
    why = "" if defended else ", and what always answers alike withstands everything"
    return f"is {_shown(finding)}, and says nothing: {model} is {constant[model]}{why}"


def _breach(gate: Gate, finding: Finding) -> str | None:
    """Why this finding breaks the gate, or None."""
    if finding.verdict == NO_BASELINE:
        return None
    value = None if finding.value is None or math.isnan(finding.value) else _judged_value(finding)
    if value is None and (gate.at_most is not None or gate.at_least is not None or gate.is_on_change):
        why = finding.verdict.removeprefix("not measured").strip(": ")
        return f"was not measured: {why}" if why else "was not measured"
    low, high, reaches = value, value, ""
    if value is not None and gate.on == "interval":
        low, high, reaches = finding.low, finding.high, "and its interval reaches "
        if low is None or high is None:
            return f"is {_shown(finding)}, and has no interval to be judged by"
    if high is not None and gate.at_most is not None and high > gate.at_most:
        return f"is {_shown(finding)}, {reaches}above {gate.at_most:g}"
    if low is not None and gate.at_least is not None and low < gate.at_least:
        return f"is {_shown(finding)}, {reaches}below {gate.at_least:g}"
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
    beside = "" if finding.low is None or finding.high is None else f" [{finding.low:.4g}, {finding.high:.4g}]"
    if _judged_value(finding) != finding.value:
        beside = f", corrected {finding.p_adjusted:.4g}"
    return f"{finding.value:.4g}{beside}" + ("" if finding.n is None else f" (n = {finding.n})")


def named(finding: Finding) -> str:
    """A finding as a sentence names it."""
    slices = (("of", finding.of), ("group", finding.group), ("subject", finding.subject))
    parts = [f"{word} {value}" for word, value in slices if value]
    return finding.metric + (f" ({', '.join(parts)})" if parts else "")


def _alternatives(gate: Gate, findings: Sequence[Finding]) -> str:
    """Which findings there are, nearest first: those of the same metric, or else the metrics."""
    siblings = [named(finding) for finding in findings if finding.metric == gate.finding]
    if siblings:
        return f"of that metric the run has {first_named(siblings, _LISTED)}"
    metrics = sorted({finding.metric for finding in findings})
    if not metrics:
        return "the run has no findings at all"
    meant = nearest(gate.finding, metrics)
    return f"the run has {first_named(metrics, _LISTED)}" + (f" (did you mean {meant}?)" if meant else "")


Raw = Literal["passed", "failed", "inconclusive"]

POWER = 0.8
USUAL_LEVEL = 0.025
"""The one-sided level of a look where no budget of false alarms says another: that of a 95 % interval."""
_MANY = 10_000_000


@dataclass(frozen=True)
class Look:
    """What a gate on change saw of one finding, and what it could have seen."""

    raw: Raw
    sentence: str
    n: int
    identical: bool
    change: float
    """How far the finding went the way that the gate forbids."""
    detectable: float
    """The smallest true change against the bound that such a look raises an alarm at in 80 % of cases."""


def look(gate: Gate, finding: Finding, usual: RunDifference, strict: RunDifference, against: str, level: float) -> Look:
    """What a gate on change sees of a finding by its difference from an earlier run, at the `usual` level and with the
    interval that is wide enough for an alarm (`strict`): failed where the whole interval at the alarm's level lies
    beyond the bound, passed where the whole 95 % interval keeps to it; between them there are too few samples to tell.

    >>> from assay.tasks.statistics.between_runs import RunDifference
    >>> from assay.tasks.statistics.findings import Finding
    >>> gate = Gate(finding="a.b", against="accepted", drop_at_most=0.02)
    >>> far = RunDifference(-0.1, -0.12, -0.08, 0.001, 500, "McNemar")
    >>> look(gate, Finding("a.b", value=0.8), far, far, "r1", 0.025).raw
    'failed'
    """
    from scipy.special import ndtri

    bound = gate.change_at_most
    loss, _, most = _loss(gate, usual)
    _, least, _ = _loss(gate, strict)
    spread = (usual.high - usual.low) / (-2 * float(ndtri(0.025)))
    reach = float(-ndtri(level) - ndtri(1 - POWER))
    detectable = _detectable(bound, reach, spread, usual)
    way = "fell" if gate.drop_at_most is not None else "rose"
    shown = f"{named(finding)} {way} by {_rounded(loss)} [{_rounded(least)}, {_rounded(most)}] against {against}"
    change = f"{shown} ({_paired(usual)})"
    raw: Raw = "passed"
    if usual.identical:
        sentence = f"{named(finding)} is the same on every one of {usual.n} samples as in {against}."
    elif least > bound:
        raw, sentence = "failed", f"{change}: more than {bound:g}."
    elif most <= bound:
        sentence = f"{change}: not more than {bound:g}."
    else:
        needed = _needed(loss, least, most, bound, usual.n)
        raw, sentence = "inconclusive", f"{change}: too few samples to tell whether by more than {bound:g}; {needed}."
    return Look(raw, sentence, usual.n, usual.identical, loss, detectable)


def with_evidence(seen: Look, evidence: float | None, alarm: float, decides: bool, paired: bool = False) -> Look:
    """The look with what new samples say together: an alarm where they say it, and where that `decides` none but
    theirs. It does where two nights of the same models have no sample in common: a baseline that was picked as the best
    of several looks better than it is. `paired`: samples that an earlier model answered as well are among them."""
    if evidence is None:
        return seen
    who = "Samples that are new every night"
    who = f"{who}, and those that the earlier model answered as well," if paired else who
    said = f" {who} speak against it {evidence:.3g} to 1; {alarm:.3g} raise an alarm."
    raw = "failed" if evidence >= alarm else "inconclusive" if decides and seen.raw == "failed" else seen.raw
    if raw == "failed" and seen.raw != "failed":
        said += " It fails by all nights together, not by this one; assay accept, or a new period, begins them anew."
    return replace(seen, raw=raw, sentence=seen.sentence + said)


def _detectable(bound: float, reach: float, spread: float, difference: RunDifference) -> float:
    """The change δ that lies `reach` standard errors beyond the bound, with the standard error that it would have.

    Of paired samples those that are lost differ, and what differs is what spreads: σ² grows by (δ − what changed
    already) / n, so that δ = bound + reach·√(σ² + (δ − change) / n).

    >>> from assay.tasks.statistics.between_runs import RunDifference
    >>> few, many = (RunDifference(0.0, -0.01, 0.01, 1.0, n, "McNemar") for n in (450, 45_000))
    >>> round(_detectable(0.0, 4.0, 0.0067, few), 3), round(_detectable(0.0, 4.0, 0.0067, many), 3)
    (0.05, 0.027)
    """
    if not difference.is_paired or not math.isfinite(spread):
        return bound + reach * spread
    grown = spread**2 + max(0.0, bound - abs(difference.value)) / difference.n
    half = reach**2 / (2 * difference.n)
    return bound + half + math.sqrt(half**2 + reach**2 * grown)


def _loss(gate: Gate, difference: RunDifference) -> tuple[float, float, float]:
    """How far it went the way that the gate forbids, and the interval of that."""
    if gate.drop_at_most is None:
        return difference.value, difference.low, difference.high
    return -difference.value, -difference.high, -difference.low


def _needed(loss: float, least: float, most: float, bound: float, n: int) -> str:
    """How many samples would tell, if everything else stayed: intervals shrink with the root of their number."""
    apart = abs(loss - bound)
    half = most - loss if loss <= bound else loss - least
    wanted = math.inf if apart == 0 else n * (half / apart) ** 2
    if not math.isfinite(wanted) or wanted > _MANY:
        return "it lies so close to the bound that no number of samples would"
    digits = 10 ** max(0, len(str(math.ceil(wanted))) - 2)
    return f"about {math.ceil(wanted / digits) * digits:,} would"


def _paired(difference: RunDifference) -> str:
    if difference.how == "other samples":
        return f"other samples, so not paired; n = {difference.n}"
    if difference.how == "intervals":
        return f"single outcomes are not kept, so by both intervals; n = {difference.n}"
    if difference.how == "all samples":
        parts = [
            f"{part.n} {which} {part.value:+.3g} [{part.low:+.3g}, {part.high:+.3g}]"
            for part, which in ((difference.shared, "in both runs"), (difference.new, "new ones beside the earlier"))
            if part is not None
        ]
        return "; ".join(["over all samples of each run", *parts])
    return f"paired on {difference.n} samples"


def _rounded(value: float) -> str:
    return f"{value + 0.0:.3g}" if math.isfinite(value) else "−∞" if value < 0 else "∞"  # − 0.0 becomes 0
