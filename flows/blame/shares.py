"""A drop between two runs shared out over what changed: which finding is asked about, what the hybrids cost, the
share of each change with its interval, and the answer as sentence, table and JSON.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from statistics import fmean
from typing import TypeVar, cast

import numpy as np
from toolz import groupby

from assay.data.arrays import Floats
from assay.flows.blame.changes import Changes, changes_between
from assay.flows.blame.hybrids import Hybrids
from assay.flows.configuration.loading import Project, load_project
from assay.flows.nights.notify import worst_changes
from assay.flows.report.comparison import Change, KeptOutcomes, compared_findings, finding_in_words, value_in_words
from assay.flows.report.gates import Past, gates_for, judge_night, require_whole
from assay.flows.report.records import find_run, open_store
from assay.infra.environment import prepare_environment
from assay.infra.errors import InputError, UnwritableError
from assay.infra.stages.branches import CACHED, MAY_RUN, WILL_RUN
from assay.infra.stages.exact import Seeds
from assay.infra.storage.artifacts import RunRecord
from assay.infra.storage.store import Store
from assay.infra.terminal import Progress, ShownStage, columns, duration_text, json_text, json_value, open_progress
from assay.tasks.reporting.numerals import plural
from assay.tasks.statistics.between_runs import Coalition, coalitions, share_weights, with_intervals
from assay.tasks.statistics.findings import Finding, findings_of
from assay.tasks.statistics.gates import GateResult
from assay.tasks.statistics.resampling import Interval

_RANK = {"failed": 0, "warned": 1, "inconclusive": 2, "not asked": 3, "passed": 4}
_LISTED = 6
V = TypeVar("V")
_ASKED = ("finding", "of", "group", "subject")


@dataclass(frozen=True)
class Question:
    """A finding in two runs of a pipeline."""

    earlier: RunRecord
    later: RunRecord
    before: Finding
    after: Finding


def question_about(
    store: Store, config: str, later: RunRecord, against: RunRecord | None, asked: Mapping[str, str | None]
) -> Question:
    """The finding that is asked for (`finding`, `of`, `group`, `subject`), else the worst change.

    That is the worst that the gates on change judged, in the run that they hold this one against; where they judged
    none, the finding that got worse by most since `against` or the run before.
    """
    by_gates = not asked.get("finding") and later.findings is not None
    gate = _worst_judged(store, config, later, against, asked) if by_gates else None
    if gate is not None and gate.finding is not None:
        earlier = store.run(str(gate.looked["against"]))
        asked = dict(zip(_ASKED, gate.finding.key, strict=True))
    else:
        earlier = against or _baseline(store, config, later)
    if earlier.pipeline != later.pipeline or earlier.id == later.id:
        raise InputError(f"Run {earlier.id} is no other run of {later.pipeline}: name one with --against.")
    compared = compared_findings(KeptOutcomes(store, earlier), KeptOutcomes(store, later))
    chosen = _chosen([change for change in compared if change.values], asked, store, earlier, later)
    if chosen.before is None or chosen.after is None:
        raise LookupError("a change that both runs have")
    return Question(earlier, later, chosen.before, chosen.after)


def _is_asked_for(key: Sequence[str], asked: Mapping[str, str | None]) -> bool:
    return all(asked.get(name) in (None, part) for name, part in zip(_ASKED, key, strict=True))


def _worst_judged(
    store: Store, config: str, later: RunRecord, against: RunRecord | None, asked: Mapping[str, str | None]
) -> GateResult | None:
    """The gate on change that did worst, of those that failed, warned or could not tell on what is asked for."""
    gates, budget = gates_for(later, config, store)
    on_change = [gate for gate in gates if gate.is_on_change]
    judged = [
        result
        for result in judge_night(on_change, findings_of(store, later), Past(store, later), budget)
        if result.outcome != "passed"
        and (result.finding is None or _is_asked_for(result.finding.key, asked))
        and result.looked.get("against") not in (None, later.id)
        and (against is None or result.looked["against"] == against.id)
    ]
    return min(judged, key=lambda result: _RANK[result.outcome], default=None)


def _baseline(store: Store, config: str, later: RunRecord) -> RunRecord:
    """What the gates hold the run against, else the run before."""
    past = Past(store, later)
    gates, _ = gates_for(later, config, store)
    for gate in gates:
        held_against = past.baseline(gate) if gate.is_on_change else None
        if held_against is not None and held_against[0].id != later.id:
            return held_against[0]
    if not past.nights:
        raise InputError(f"Run {later.id} is the first of {later.pipeline}: there is nothing to hold it against.")
    return past.nights[0]


def _chosen(
    both: Sequence[Change], asked: Mapping[str, str | None], store: Store, earlier: RunRecord, later: RunRecord
) -> Change:
    metric = asked.get("finding")
    if not both:
        raise InputError(f"Run {later.id} ({later.status}) measured nothing that run {earlier.id} did.")
    if not metric:
        for change in worst_changes(store, earlier, later):
            if _is_asked_for(change.key, asked):
                return change
        what = "Nothing like that on the scorecard" if any(asked.values()) else "Nothing on the scorecard"
        raise InputError(f"{what} got worse between {earlier.id} and {later.id}: name the finding with --finding.")
    fitting = [change for change in both if _is_asked_for(change.key, asked)]
    if len(fitting) > 1:
        shown = "; ".join(", ".join(part for part in change.key[1:] if part) or "alone" for change in fitting[:_LISTED])
        more = f" and {len(fitting) - _LISTED} more" if len(fitting) > _LISTED else ""
        raise InputError(
            f"{len(fitting)} findings are called {metric} ({shown}{more}): say which with --of, --group and --subject."
        )
    if not fitting:
        raise InputError(
            f"Runs {earlier.id} and {later.id} have no {metric} like that in common.  (assay compare "
            f"{earlier.id} {later.id} --all shows what they have)"
        )
    return fitting[0]


NOT_SWAPPED = "not swapped"


@dataclass(frozen=True)
class Forecast:
    """What the hybrids will cost, by how long the two runs took: at least, and at the most."""

    hybrids: int
    stages: int
    perhaps: int
    seconds: float
    at_most: float

    @property
    def costs(self) -> bool:
        """Whether anything is computed."""
        return self.stages + self.perhaps > 0

    def in_words(self) -> str:
        """The forecast as a sentence.

        >>> Forecast(2, 3, 9, 4.0, 65.0).in_words()
        'To be run: 2 hybrids, 3 stages and up to 9 that follow from them; 4.0 s to 65.0 s by earlier nights.'
        >>> Forecast(0, 0, 0, 0.0, 0.0).in_words()
        'Nothing has to be computed.'
        """
        if not self.costs:
            return "Nothing has to be computed."
        following = f" and up to {self.perhaps} that follow from them" if self.perhaps else ""
        return (
            f"To be run: {plural(self.hybrids, 'hybrid')}, {plural(self.stages, 'stage')}{following}; "
            f"{duration_text(self.seconds)} to {duration_text(self.at_most)} by earlier nights."
        )


@dataclass(frozen=True)
class Share:
    """The part of a difference that one thing is to blame for."""

    part: str
    words: str
    interval: Interval


@dataclass(frozen=True)
class Blame:
    """A difference and its shares, which add up to it."""

    question: Question
    changes: Changes
    total: Interval
    shares: tuple[Share, ...]
    computed: int = 0
    """Stages that were not in the store."""


@dataclass(frozen=True)
class Sharing:
    """What is asked, what changed, and the hybrids that answer it."""

    question: Question
    changes: Changes
    hybrids: Hybrids

    @property
    def parts(self) -> list[str]:
        """The parts that are swapped."""
        return [change.part for change in self.changes.swappable]

    @property
    def _coalitions(self) -> list[Coalition]:
        return coalitions(self.parts) if self.parts else []

    def forecast(self) -> Forecast:
        """What it will cost; nothing is computed to know that."""
        hybrids = self.hybrids.planned(self._coalitions).values()
        seconds = _seconds_of(self.hybrids.store, (self.question.earlier, self.question.later))
        planned = [stage for stages in hybrids for stage in stages]
        will = {(stage.stage, stage.key) for stage in planned if stage.outlook == WILL_RUN}
        may = [stage.stage for stage in planned if stage.outlook == MAY_RUN]
        least = sum(seconds.get(stage, 0.0) for stage, _ in will)
        at_most = least + sum(seconds.get(stage, 0.0) for stage in may)
        count = sum(any(stage.outlook != CACHED for stage in stages) for stages in hybrids)
        return Forecast(count, len(will), len(may), least, at_most)

    def with_forecast(self) -> tuple[Sharing, Forecast]:
        """What can be shared out, and what that costs: all in one where the settings of both runs do not mix."""
        return self._or_as_one(lambda sharing: (sharing, sharing.forecast()))

    def _or_as_one(self, work: Callable[[Sharing], V]) -> V:
        """What the work gives of these parts, or of all in one where the settings of both runs do not mix."""
        try:
            return work(self)
        except UnwritableError:
            raise
        except InputError as error:
            if not self.parts:
                raise
            return work(self.as_one(error))

    def as_one(self, error: InputError) -> Sharing:
        """The same with nothing swapped: samples that new rules cannot read, and the like, change only together."""
        why = f"old and new do not go together ({error})"
        parts = tuple(replace(change, lost=change.lost or why) for change in self.changes.parts)
        changes = replace(self.changes, parts=parts)
        return Sharing(self.question, changes, replace(self.hybrids, changes=changes))

    def share_out(self, progress: Progress) -> Blame:
        """The shares, each with its interval; one for everything where a mixture of the two runs cannot be run."""
        return self._or_as_one(lambda sharing: sharing._shared_out(progress))

    def _shared_out(self, progress: Progress) -> Blame:
        question, parts, met = self.question, self.parts, self._coalitions
        valued = self.hybrids.valued(met, progress)
        ends = ((self.changes.before, question.before), (self.changes.after, question.after))
        values = [valued[coalition] for coalition in met] + [self.hybrids.recorded(*end) for end in ends]
        weights = _with_ends(share_weights(parts), len(met))
        generator = Seeds(0, "blame").generator("/".join(question.after.key))
        sampled = [result.sampled for result in values]
        intervals = with_intervals(weights, [result.value for result in values], sampled, generator)
        words = {change.part: change.words for change in self.changes.parts}
        shares = [Share(part, words[part], interval) for part, interval in zip(parts, intervals, strict=False)]
        rest = intervals[len(parts)]
        if self.changes.lost or abs(rest.value) > 1e-12:
            shares.append(Share(NOT_SWAPPED, _not_swapped(self.changes), rest))
        stages = [stage for hybrid in valued.values() for stage in hybrid.stages if not stage.cached]
        return Blame(question, self.changes, intervals[-1], tuple(shares), len(stages))


def _with_ends(shares: Floats, hybrids: int) -> Floats:
    """The weights with two more values behind, the finding on record in both runs: rows for what the hybrids leave
    unexplained, and for the whole."""
    parts = shares.shape[0]
    weights = np.zeros((parts + 2, hybrids + 2))
    if hybrids:
        weights[:parts, :hybrids] = shares
    weights[parts + 1, hybrids:] = (-1, 1)
    weights[parts] = weights[parts + 1] - weights[:parts].sum(axis=0)
    return weights


def _kinds_below(project: Project, question: Question) -> list[str] | None:
    """The kinds of audit that the finding stands on: whose outcomes it is, and those below it."""
    pipeline = project.pipeline(question.later.pipeline)
    stage = question.after.metric.partition(".")[0]
    behind = [outcomes for outcomes in question.later.outcomes if outcomes["subject"] == question.after.subject]
    wanted = {
        str(outcomes["audit"])
        for outcomes in behind
        if outcomes["metric"] == question.after.metric and outcomes["of"] in ("", question.after.of)
    }
    if not wanted:  # findings without single outcomes stand on what their neighbours stand on
        wanted = {str(outcomes["audit"]) for outcomes in behind if outcomes["metric"].partition(".")[0] == stage}
        wanted |= {kind.name for kind in pipeline.kinds if stage in {measured.stage for measured in kind.measures}}
    kinds, waiting = {kind.name: kind for kind in pipeline.kinds}, list(wanted)
    while waiting:
        kind = kinds.get(waiting.pop())
        if kind is None:
            return None
        below = [name for name in (*kind.below(pipeline), *kind.after) if name not in wanted]
        wanted |= set(below)
        waiting += below
    return sorted(wanted) or None


def _seconds_of(store: Store, records: Sequence[RunRecord]) -> dict[str, float]:
    """How long each stage took whoever computed it; of several with that name, on average."""
    manifests = (store.manifest(stage.stage, stage.key) for record in records for stage in record.stages)
    by_stage = groupby(attrgetter("stage"), filter(None, manifests))
    return {stage: fmean(each.wall_seconds for each in made) for stage, made in by_stage.items()}


def _not_swapped(changes: Changes) -> str:
    """What could not be put back as it was, by what it holds.

    >>> from assay.flows.blame.changes import PartChange
    >>> _not_swapped(Changes(None, None, (PartChange("weights", "the weights (big.pt)", lost="big.pt is too large"),)))
    'what could not be put back, the weights (big.pt)'
    """
    held = " and ".join(change.words for change in changes.lost)
    return f"what could not be put back, {held}" if held else "what no record holds"


class OnlyComputed:
    """Passes on how hybrids go, but for the stages that came from the store: those are most."""

    def __init__(self, to: Progress) -> None:
        self._to = to
        self.stage_started, self.advance, self.stage_failed = to.stage_started, to.advance, to.stage_failed
        self.notice, self.close = to.notice, to.close

    def stage_done(self, stage: ShownStage, summary: str, seconds: float, cached: bool = False) -> None:
        """The line of a stage that was computed."""
        if not cached:
            self._to.stage_done(stage, summary, seconds)


def sharing_between(
    config: str, store: str | None, run: str, against: str | None, finding: Mapping[str, str | None]
) -> Sharing:
    """What is asked about two runs, and what changed between them."""
    prepare_environment()
    opened = open_store(config, store)
    later = require_whole(find_run(opened, run), "blamed on anything")
    earlier = None if against is None else require_whole(find_run(opened, against), "blamed on anything")
    project = load_project(config, pipeline=later.pipeline)
    return sharing(Store(opened.url), project, question_about(opened, config, later, earlier, finding))


def sharing(store: Store, project: Project, question: Question) -> Sharing:
    """A question, and what changed between its runs."""
    changes, kinds = changes_between(store, question.earlier, question.later), _kinds_below(project, question)
    return Sharing(question, changes, Hybrids(store, project, changes, question.after.key, kinds))


def shared_out(sharing: Sharing, costs: bool) -> Blame:
    """The shares; where it `costs` something, told on standard error as they are computed."""
    progress = cast(Progress, OnlyComputed(open_progress())) if costs else Progress()
    try:
        return sharing.share_out(progress)
    finally:
        progress.close()


_MINUS = "\N{MINUS SIGN}"
_SHARE = "share"


def changed_in_words(changes: Changes) -> list[str]:
    """One line per thing that is not the same in the two runs."""
    lines = []
    for change in changes.parts:
        lines.append(f"{change.part:<9} {change.words}")
        lines += [f"{'':<9} {detail}" for detail in change.details]
    if changes.libraries:
        lines.append(f"{'versions':<9} {', '.join(changes.libraries)}")
    if not lines:
        return ["Nothing that a run knows of changed: the same samples, rules, models, settings and seed."]
    return [*lines, *not_swapped_in_words(changes)]


def not_swapped_in_words(changes: Changes) -> list[str]:
    """Why parts are not shared out: one sentence for those that have the same reason."""
    reasons = dict.fromkeys(change.lost for change in changes.lost)
    return [
        f"Not swapped: {' and '.join(change.part for change in changes.lost if change.lost == why)}, since {why}."
        for why in reasons
    ]


def blame_sentence(blame: Blame) -> str:
    """The sentence for the message: a share counts as the whole does, so that what pulled the other way is below 0."""
    unit = blame.question.after.unit or blame.question.before.unit
    finding = finding_in_words(blame.question.after.key)
    whole = _number(blame.total.value, unit)
    if not blame.shares:
        return f"{finding}: nothing to share out of {whole}."
    signed = [(_signed_share(blame, share), share.words) for share in blame.shares]
    parts = [
        f"{_number(share.value, unit)}{_bounds_text(share, unit)} {'from' if at else 'come from'} {words}"
        for at, (share, words) in enumerate(sorted(signed, key=lambda pair: -pair[0].value))
    ]
    points = " points" if unit == _SHARE else ""
    return f"{finding}: of {whole}{points}{_bounds_text(blame.total, unit)}, {', '.join(parts)}."


def blame_table(blame: Blame) -> str:
    """The shares as they are, with the sum that they add up to."""
    rows = [[share.words, _signed(share.interval.value), *_ends(share.interval)] for share in blame.shares]
    rows.append(["together", _signed(sum(share.interval.value for share in blame.shares)), *_ends(blame.total)])
    return columns(["from", "change", "low", "high"], rows)


def blame_as_json(blame: Blame) -> str:
    """Everything as one JSON object."""
    question = blame.question
    return json_text(
        {
            "run": question.later.id,
            "against": question.earlier.id,
            "sentence": blame_sentence(blame),
            "finding": dict(zip(("metric", *_ASKED[1:]), question.after.key, strict=True)),
            "before": question.before.value,
            "after": question.after.value,
            "change": _finite(blame.total),
            "changed": [
                {"part": change.part, "what": change.words, "details": list(change.details), "lost": change.lost}
                for change in blame.changes.parts
            ],
            "samples": vars(blame.changes.samples),
            "versions": list(blame.changes.libraries),
            "shares": [{"part": share.part, "what": share.words} | _finite(share.interval) for share in blame.shares],
            "computed_stages": blame.computed,
        }
    )


def before_and_after(blame: Blame) -> str:
    """The finding in both runs."""
    before, after = blame.question.before, blame.question.after
    runs = f"{blame.question.earlier.id} → {blame.question.later.id}"
    return f"{runs}: {value_in_words(before)} → {value_in_words(after)}"


def _signed_share(blame: Blame, share: Share) -> Interval:
    """The share, counted in the direction of the whole."""
    interval = share.interval
    return Interval(-interval.value, -interval.high, -interval.low) if blame.total.value < 0 else interval


def _bounds_text(interval: Interval, unit: str) -> str:
    return "" if math.isnan(interval.low) else f" [{_number(interval.low, unit)}, {_number(interval.high, unit)}]"


def _number(number: float, unit: str) -> str:
    text = f"{number * 100:.1f}" if unit == _SHARE else f"{number:.3g}"
    text = text.lstrip("-") if float(text) == 0 else text
    return text.replace("-", _MINUS)


def _signed(number: float) -> str:
    return f"{round(number, 4) + 0.0:+.4f}"


def _ends(interval: Interval) -> list[str]:
    return ["", ""] if math.isnan(interval.low) else [_signed(interval.low), _signed(interval.high)]


def _finite(interval: Interval) -> dict[str, object]:
    return {name: json_value(number) for name, number in interval._asdict().items()}
