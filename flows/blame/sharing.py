"""A drop shared out between what changed: forecast, hybrids, and the share of each part with its interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from assay.flows.blame.changes import Changes, changes_between
from assay.flows.blame.hybrids import Hybrids
from assay.flows.blame.question import Question
from assay.flows.pipeline import Project
from assay.infra.errors import InputError
from assay.infra.manifests import RunRecord
from assay.infra.plans import CACHED, MAY_RUN, WILL_RUN
from assay.infra.progress import Progress, time_of
from assay.infra.seeds import Seeds
from assay.infra.store import Store
from assay.tasks.reporting.numerals import plural
from assay.tasks.statistics.resampling import Interval
from assay.tasks.statistics.sampled import Floats
from assay.tasks.statistics.shapley import Coalition, coalitions, share_weights, with_intervals

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
            f"{time_of(self.seconds)} to {time_of(self.at_most)} by earlier nights."
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
    recomputed: int = 0
    """Of these, stages of the two runs themselves."""


@dataclass(frozen=True)
class Sharing:
    """What is asked, what changed, and the hybrids that answer it."""

    question: Question
    changes: Changes
    hybrids: Hybrids

    @property
    def parts(self) -> list[str]:
        """The parts that are swapped."""
        return [one.part for one in self.changes.swappable]

    @property
    def _coalitions(self) -> list[Coalition]:
        return coalitions(self.parts) if self.parts else []

    def forecast(self) -> Forecast:
        """What it will cost; nothing is computed to know that."""
        hybrids = self.hybrids.planned(self._coalitions).values()
        seconds = _seconds_of(self.hybrids.store, (self.question.earlier, self.question.later))
        planned = [stage for stages in hybrids for stage in stages]
        will = {(one.stage, one.key) for one in planned if one.outlook == WILL_RUN}
        may = [one.stage for one in planned if one.outlook == MAY_RUN]
        least = sum(seconds.get(stage, 0.0) for stage, _ in will)
        at_most = least + sum(seconds.get(stage, 0.0) for stage in may)
        count = sum(any(one.outlook != CACHED for one in stages) for stages in hybrids)
        return Forecast(count, len(will), len(may), least, at_most)

    def with_forecast(self) -> tuple[Sharing, Forecast]:
        """What can be shared out, and what that costs: all in one where the settings of both runs do not mix."""
        try:
            return self, self.forecast()
        except InputError as error:
            whole = self.as_one(error)
            return whole, whole.forecast()

    def as_one(self, error: InputError) -> Sharing:
        """The same with nothing swapped: samples that new rules cannot read, and the like, change only together."""
        why = f"old and new do not go together ({error})"
        parts = tuple(replace(one, lost=one.lost or why) for one in self.changes.parts)
        changes = replace(self.changes, parts=parts)
        return Sharing(self.question, changes, replace(self.hybrids, changes=changes))

    def share_out(self, progress: Progress) -> Blame:
        """The shares, each with its interval; one for everything where a mixture of the two runs cannot be run."""
        try:
            return self._shared_out(progress)
        except InputError as error:
            if not self.parts:
                raise
            return self.as_one(error)._shared_out(progress)

    def _shared_out(self, progress: Progress) -> Blame:
        question, parts, met = self.question, self.parts, self._coalitions
        valued = self.hybrids.valued(met, progress)
        ends = [
            self.hybrids.recorded(self.changes.before, question.before),
            self.hybrids.recorded(self.changes.after, question.after),
        ]
        values = [valued[one] for one in met] + ends
        weights = _with_ends(share_weights(parts), len(met))
        intervals = with_intervals(
            weights, [one.value for one in values], [one.sampled for one in values], _generator(question)
        )
        words = {one.part: one.words for one in self.changes.parts}
        shares = [Share(part, words[part], interval) for part, interval in zip(parts, intervals, strict=False)]
        rest = intervals[len(parts)]
        if self.changes.lost or abs(rest.value) > 1e-12:
            shares.append(Share(NOT_SWAPPED, _not_swapped(self.changes), rest))
        stages = [stage for one in valued.values() for stage in one.stages if not stage.cached]
        own = [stage for one in (*met[:1], *met[-1:]) for stage in valued[one].stages if not stage.cached]
        return Blame(question, self.changes, intervals[-1], tuple(shares), len(stages), len(own))


def sharing(store: Store, project: Project, question: Question) -> Sharing:
    """What is needed to share out the difference that is asked about."""
    changes = changes_between(store, question.earlier, question.later)
    kinds = _kinds_below(project, question)
    return Sharing(question, changes, Hybrids(store, project, changes, question.key, kinds))


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
    behind = [one for one in question.later.outcomes if one["subject"] == question.after.subject]
    wanted = {
        str(one["audit"])
        for one in behind
        if one["metric"] == question.after.metric and one["of"] in ("", question.after.of)
    }
    if not wanted:  # findings without single outcomes stand on what their neighbours stand on
        wanted = {str(one["audit"]) for one in behind if one["metric"].partition(".")[0] == stage}
        wanted |= {kind.name for kind in pipeline.kinds if stage in {one.stage for one in kind.measures}}
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
    took: dict[str, list[float]] = {}
    for record in records:
        for stage in record.stages:
            manifest = store.manifest(stage.stage, stage.key)
            if manifest is not None:
                took.setdefault(stage.stage, []).append(manifest.wall_seconds)
    return {stage: sum(each) / len(each) for stage, each in took.items()}


def _not_swapped(changes: Changes) -> str:
    """What could not be put back as it was, by what it holds.

    >>> from assay.flows.blame.changes import PartChange
    >>> _not_swapped(Changes(None, None, (PartChange("weights", "the weights (big.pt)", lost="big.pt is too large"),)))
    'what could not be put back, the weights (big.pt)'
    """
    held = " and ".join(one.words for one in changes.lost)
    return f"what could not be put back, {held}" if held else "what no record holds"


def _generator(question: Question) -> np.random.Generator:
    seeds = Seeds(0, "blame")
    return seeds.generator("/".join(question.key))
