"""Gates held against a run: the baseline of each, the budget of false alarms that says how strictly they look, and what
they find.

By Bonferroni's inequality the expected number of false alarms is at most the sum of the levels of all looks,
whatever their dependence: looks at half the budget / (gates x nights due) each keep half of it. The other half is for
what samples that are new every night say together (`e_process`), an alarm at gates / half the budget.
"""

from __future__ import annotations

import operator
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cached_property, partial
from itertools import pairwise, takewhile
from pathlib import Path
from typing import Any

import numpy as np

from assay.flows.configuration.loading import Project, load_usable
from assay.flows.pipeline import CHANGES_NO_FINDING, times_due
from assay.flows.report.comparison import FindingKey, KeptOutcomes, difference_between
from assay.flows.report.ledger import checksum_of
from assay.flows.report.records import find_run, open_store
from assay.infra.errors import InputError
from assay.infra.masking import mask
from assay.infra.storage.artifacts import RunRecord
from assay.infra.storage.log import log_action, user_name
from assay.infra.storage.store import Store
from assay.infra.storage.sweep import acceptances
from assay.tasks.ingest.settings import share_in_words
from assay.tasks.reporting.numerals import plural
from assay.tasks.statistics.between_runs import Sampled, joined
from assay.tasks.statistics.e_process import NewSamples, confidence_sequence, evidence, paired_evidence
from assay.tasks.statistics.findings import Finding, findings_of
from assay.tasks.statistics.gates import (
    USUAL_LEVEL,
    GateResult,
    Look,
    Outcome,
    judge,
    look,
    looked_at_by,
    with_evidence,
)
from assay.tasks.statistics.resampling import Interval
from assay.tasks.statistics.settings import Gate

_LEAST_EVIDENCE = 10.0  # of new samples for an alarm, however large the budget is
KNOWN_NIGHTS = 200
"""Before a period of the budget so many nights are looked through for samples that are new in it."""
_POOLED = 30  # nights like a baseline that are held against a new model with it
DAYS = {"week": 7.0, "month": 365.25 / 12, "quarter": 365.25 / 4, "year": 365.25}


@dataclass(frozen=True)
class Budget:
    """So many false alarms a period, over so many looks; as it stood when a run last took its share."""

    false: float
    per: str
    looks: float
    gates: int = 0

    @property
    def level(self) -> float:
        """The one-sided level of one look; never wider than that of the usual 95 % interval.

        >>> Budget(1, "quarter", 400).level
        0.00125
        """
        return min(USUAL_LEVEL, self.false / 2 / self.looks) if self.looks else USUAL_LEVEL

    @property
    def alarm(self) -> float:
        """The evidence of new samples at which one gate raises an alarm.

        >>> Budget(1, "quarter", 400, 6).alarm
        12.0
        """
        return max(_LEAST_EVIDENCE, 2 * self.gates / self.false) if self.gates else 1 / USUAL_LEVEL

    @property
    def days(self) -> float:
        """How long a period lasts, after which what new samples add up to begins anew."""
        return DAYS.get(self.per, DAYS["quarter"])

    def period(self, run: RunRecord) -> int:
        """The number of the period in which a run began."""
        return int(datetime.fromisoformat(run.started).timestamp() / 86400 / self.days)


def budget_of(project: Project) -> Budget | None:
    """The budget of a project, over the gates on change of all pipelines of its file and the nights they are due.

    A pipeline without a schedule is taken to run once a night.
    """
    if (alarms := project.settings.alarms) is None:
        return None
    # The project of a run has one pipeline, and the budget is that of all.
    pipelines = {**load_usable(project.file)[0].pipelines, **project.pipelines}.values()
    days = DAYS[alarms.per]
    due = [days if pipeline.schedule is None else times_due(pipeline.schedule, days) for pipeline in pipelines]
    on_change = [sum(gate.is_on_change for gate in pipeline.gates) for pipeline in pipelines]
    return Budget(alarms.false, alarms.per, sum(map(operator.mul, on_change, due)), sum(on_change))


NO_BUDGET = Budget(0, "", 0)
"""Every look at the usual level."""


def budget_in_words(runs: Sequence[RunRecord]) -> str:
    """What may be spent on false alarms by the latest of these runs, and what has been, in one sentence; nothing where
    there is no budget."""
    budget = next((Budget(**run.budget) for run in reversed(runs) if run.budget), NO_BUDGET)
    if not budget.per:
        return ""
    since = datetime.now(UTC) - timedelta(days=budget.days)
    nights = [run for run in runs if not run.is_sample]
    recent = [run for run in nights if datetime.fromisoformat(run.started) >= since]
    looks = [(run.pipeline, look) for run in recent for look in looks_of(run)]
    spent = sum(float(look.get("level", 0.0)) for _, look in looks)
    # What stays beyond its bound against one run is one alarm, however many nights it is looked at.
    raised = {(name, look["gate"], look.get("against")) for name, look in looks if look.get("raw") == "failed"}
    return (
        f"Budget: {budget.false:g} false alarms a {budget.per}. Gates on change looked {len(looks)} times since "
        f"{since:%Y-%m-%d}, which spent {spent:.2g} of it, and raised {len(raised)}. Each look spends "
        f"{budget.level:.2g}, but where all outcomes are the same nothing; half of the budget is for what samples that "
        f"are new every night say together, an alarm at {budget.alarm:.3g} to 1. Gates with constant bounds look "
        "outside of it."
    )


def looks_of(run: RunRecord) -> Iterable[Mapping[str, Any]]:
    """What the gates on change of a run saw, where they had something to compare with."""
    return (seen for seen in run.gates if "detectable" in seen)


def detectable_in_words(runs: Sequence[RunRecord]) -> list[str]:
    """Of every gate on change that the latest of these runs judged: what it can still see."""
    return [
        f"Gate {look['gate']}: {look['outcome']}; where it sees least, on {look['n']} samples, a true loss of "
        f"{float(look['detectable']):.2g} shows in 8 of 10 nights."
        for latest in [run for run in runs if run.gates][-1:]
        for look in looks_of(latest)
    ]


LAST_PASSED, ACCEPTED = "last-passed", "accepted"


def accept(store: Store, record: RunRecord, why: str, *, new_level: bool = False) -> dict[str, str]:
    """Make a run what later ones of its pipeline are held against; who, when and why stay on record, and whether it
    is a `new_level`, so that no night before it is like it."""
    if not record.is_complete:
        raise InputError(f"Run {record.id} is {record.status}: only a run that came to its end can be a baseline.")
    require_whole(record, "a baseline for later nights")
    why = mask(why.strip())
    if not why:
        raise InputError(
            "Say why this run is what later ones are held against, as in --why 'new scanner, agreed with QA'."
        )
    at = datetime.now(UTC).isoformat(timespec="seconds")
    acceptance = {"run": record.id, "pipeline": record.pipeline, "by": user_name(), "at": at, "why": why}
    acceptance |= {"level": "new"} if new_level else {}
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
    name = f"accepted/{record.pipeline}/{stamp}-{record.id}.json"
    store.folder.write_json(name, acceptance)
    log_action(store, "accept", run=record.id, pipeline=record.pipeline, why=why, acceptance=checksum_of(store, name))
    return acceptance


def require_whole(record: RunRecord, wanted: str) -> RunRecord:
    """The run; raises where it looked at a share of the samples only, which is not what is `wanted`."""
    if record.is_sample:
        raise InputError(
            f"Run {record.id} looked at a sample of {share_in_words(record.share)}, which is not {wanted}: name a run "
            "without --sample.  (assay runs shows all)"
        )
    return record


def accepted(store: Store, pipeline: str) -> dict[str, str] | None:
    """The latest acceptance of a pipeline."""
    return next(iter(acceptances(store, pipeline)[-1:]), None)


def accepted_in_words(entry: Mapping[str, str]) -> str:
    """An acceptance as one sentence.

    >>> entry = {"run": "r1", "by": "ada", "at": "2026-11-22T08:00:00+00:00", "why": "new scanner", "level": "new"}
    >>> accepted_in_words(entry)
    'r1, accepted as a new level by ada on 2026-11-22: new scanner'
    """
    level = " as a new level" if entry.get("level") == "new" else ""
    return (
        f"{entry['run']}, accepted{level} by {entry.get('by', 'somebody')} "
        f"on {entry.get('at', '')[:10]}: {entry.get('why', '')}"
    )


@dataclass(frozen=True)
class Past:
    """The nights of a pipeline before one of its runs."""

    store: Store
    record: RunRecord
    gates: Sequence[Gate] = ()
    """Those that the run is judged by."""

    @cached_property
    def nights(self) -> Sequence[RunRecord]:
        """The runs that came to their end before this one began, the latest first; of a sample, those of its share,
        and of a night without `--set` no trial with it."""
        mine = (self.record.started, self.record.id)
        return [
            run
            for run in reversed(self.store.runs(self.record.pipeline))
            if run.is_complete and (run.started, run.id) < mine and run.share == self.record.share
            if self.record.overrides or not run.overrides
        ]

    @cached_property
    def accepted(self) -> dict[str, str] | None:
        """The latest acceptance of the pipeline."""
        return accepted(self.store, self.record.pipeline)

    @property
    def _new_level(self) -> str | None:
        """The run that was accepted as a new level, if the latest acceptance was of one."""
        return self.accepted["run"] if self.accepted and self.accepted.get("level") == "new" else None

    @property
    def of_this_level(self) -> Sequence[RunRecord]:
        """The nights before this one back to the run that was accepted as a new level; all where there is none."""
        first = next((at for at, run in enumerate(self.nights) if run.id == self._new_level), len(self.nights))
        return self.nights[: first + 1]

    @cached_property
    def outcomes(self) -> KeptOutcomes:
        """What single samples add to the findings of the run itself."""
        return KeptOutcomes(self.store, self.record)

    def failures(self, gate: Gate, nights: int, against: object) -> int:
        """On how many of so many nights before this one that judged the gate it failed, held against the same run."""
        counts = ("failed", "inconclusive") if gate.inconclusive == "fail" else ("failed",)
        judged = [seen for run in self.nights if (seen := self._seen_by(gate, run)) is not None]
        return sum(look.get("raw") in counts and look.get("against") == against for look in judged[:nights])

    def _new_outcomes(
        self, findings: Sequence[Finding], runs: Sequence[RunRecord], budget: Budget
    ) -> Iterator[tuple[FindingKey, Sampled, bool]]:
        """Night by night (oldest first), per finding the outcomes of the samples that no night before had, and whether
        the night is of this period; up to the first whose samples are not simply right or wrong, and independent."""
        asked, looked_through, seen = list(findings), set[object](), set[str]()
        started = next(at for at, run in enumerate(runs) if budget.period(run) == budget.period(self.record))
        for run in runs[max(0, started - KNOWN_NIGHTS) :]:
            samples = _digests(run, "Samples")
            if samples and (run.seed, samples) in looked_through:
                continue
            looked_through.add((run.seed, samples))
            outcomes, ids = self.outcomes if run is self.record else KeptOutcomes(self.store, run), set[str]()
            for finding in tuple(asked):
                sampled = outcomes.of(finding)
                if sampled is not None and not sampled.is_simple:
                    asked.remove(finding)
                    yield finding.key, sampled, False
                elif sampled is not None:
                    new = np.flatnonzero([sample not in seen for sample in sampled.ids.tolist()])
                    ids |= set(sampled.ids.tolist())
                    yield finding.key, sampled.at(new), budget.period(run) == budget.period(self.record)
            seen |= ids

    def new_samples(
        self, findings: Sequence[Finding], runs: Sequence[RunRecord], budget: Budget
    ) -> dict[FindingKey, list[NewSamples]]:
        """Per finding what the samples that no night before had came to, night by night; without the findings of which
        none were new, or some are not simply right or wrong."""
        nights = defaultdict[FindingKey, list[NewSamples]](list)
        for key, new, counts in self._new_outcomes(findings, runs, budget):
            if new.is_simple:
                nights[key].append(NewSamples(int(new.above.sum()), len(new.ids), counts))
            else:
                nights.pop(key, None)
        return {key: each for key, each in nights.items() if sum(night.n > 0 for night in each) > 1}

    def evidence(self, gate: Gate, finding: Finding, budget: Budget) -> float | None:
        """What the samples that were new on each night say together of a loss; None where they say nothing."""
        if gate.against not in (LAST_PASSED, ACCEPTED) or gate.compared_samples == "shared":
            return None
        nights = self.new_samples([finding], self.unchanged(gate), budget).get(finding.key)
        if nights is None:
            return None
        if gate.drop_at_most is None:
            nights = [night._replace(right=night.n - night.right) for night in nights]
        return evidence(nights, round(budget.days), gate.change_at_most)[-1]

    def paired_evidence(self, gate: Gate, finding: Finding, earlier: Sampled | None, budget: Budget) -> float | None:
        """What the samples that an earlier model has answered as well say together of a loss, each once; None where
        there are none."""
        if earlier is None or not earlier.is_simple or gate.compared_samples == "new":
            return None
        changes = [np.zeros(0)]
        for _, new, counts in self._new_outcomes([finding], self.unchanged(gate), budget):
            if not new.is_simple:
                return None
            _, was, now = np.intersect1d(earlier.ids, new.ids, return_indices=True)
            changes += [new.above[now] - earlier.above[was]] if counts else []
        change = np.concatenate(changes)
        fell, rose = int((change < 0).sum()), int((change > 0).sum())
        lost, gained = (fell, rose) if gate.drop_at_most is not None else (rose, fell)
        alike = len(change) - lost - gained
        return paired_evidence(lost, gained, alike, gate.change_at_most) if len(change) else None

    def all_evidence(
        self, gate: Gate, finding: Finding, earlier: Sampled | None, baseline: RunRecord, budget: Budget
    ) -> tuple[float | None, bool]:
        """What new samples say together, where models are others than the baseline's also by pairs; and whether pairs
        are among them. Half of what may be bet is bet on the pairs of the first such models of a period, a quarter on
        the next that come or come back, and so on: a model every night is no way to look more often."""
        alone, pairs = self.evidence(gate, finding, budget), self.paired_evidence(gate, finding, earlier, budget)
        if pairs is None or gate.against not in (LAST_PASSED, ACCEPTED):
            return alone, False
        here = [run for run in (self.record, *self.nights) if budget.period(run) == budget.period(self.record)]
        models, ours = [_audited(run) for run in here], _audited(baseline)
        came = sum(model not in (ours, before) for model, before in pairwise([*models, ours]))
        share = 0.5 ** max(1, came)
        return share * pairs + (1 - share) * (1.0 if alone is None else alone), True

    def sequences(self, findings: Sequence[Finding]) -> dict[FindingKey, Interval]:
        """What all nights since models or settings changed come to together, with an interval that is meant to be read
        on every one of them; for the findings that new samples came to."""
        runs = self.unchanged()
        if len({_digests(run, "Samples") for run in runs}) < 2:
            return {}
        return {
            key: confidence_sequence(sum(night.right for night in nights), sum(night.n for night in nights))
            for key, nights in self.new_samples(findings, runs, NO_BUDGET).items()
        }

    def unchanged(self, gate: Gate | None = None) -> list[RunRecord]:
        """The nights of the same models and settings, oldest first, with this one; none before a new level, and of a
        gate against what was accepted none before that."""
        runs = [self.record, *takewhile(lambda run: _audited(run) == _audited(self.record), self.nights)]
        acceptance = self.accepted
        if acceptance and (acceptance.get("level") == "new" or (gate and gate.against == ACCEPTED)):
            ids = acceptance["run"], self.record.id  # somebody may accept a run while this one is on its way
            runs = [run for run in runs if run.id in ids or run.started >= acceptance["at"]]
        return list(reversed(runs))

    def pool(self, gate: Gate, baseline: RunRecord) -> list[RunRecord]:
        """The nights like the baseline of an earlier model: those of that model that passed, before it (as long as all
        did, and none before a new level) and since. A night that was chosen as the best of ten looks better than it is;
        with the others it does not.
        """
        alike = [run for run in self.of_this_level if _audited(run) == _audited(baseline)]
        at = next((at for at, run in enumerate(alike) if run.id == baseline.id), None)
        if at is None or gate.against not in (LAST_PASSED, ACCEPTED):
            return []
        before = takewhile(lambda run: self._passed(run, gate), alike[at:])
        since = [run for run in alike[:at] if self._passed(run, gate)]
        return [run for run in (*since, *before) if run.id != baseline.id][:_POOLED]

    def baseline(self, gate: Gate) -> tuple[RunRecord, list[Finding]] | None:
        """The run that a gate on change holds this one against, with those of its findings that the gate is on."""
        for run in self._candidates(gate):
            if run.share != self.record.share:
                continue  # a sample and the whole are no two nights of the same
            looked_at = looked_at_by(gate, findings_of(self.store, run))
            if findings := [finding for finding in looked_at if finding.value is not None]:
                return run, findings
        return None

    def _candidates(self, gate: Gate) -> Sequence[RunRecord]:
        if gate.against == LAST_PASSED:
            return [run for run in self.of_this_level if run.id == self._new_level or self._passed(run, gate)]
        if gate.against == ACCEPTED:
            run = None if self.accepted is None else self.store.record(self.accepted["run"])
            return [] if run is None or run.id == self.record.id else [run]
        return [self.store.run(str(gate.against))]

    def _passed(self, run: RunRecord, gate: Gate) -> bool:
        """Whether a run passed, and the gate as well: one that failed and only warns is no level to hold, nor is the
        night of another model of which the gate could not tell."""
        seen = self._seen_by(gate, run) or {}
        if run.status != "done" or seen.get("raw") == "failed":
            return False
        untold = seen.get("raw") == "inconclusive" and "against" in seen
        baseline = self.store.record(str(seen["against"])) if untold else None
        return baseline is None or _audited(baseline) == _audited(run)

    def _seen_by(self, gate: Gate, run: RunRecord) -> Mapping[str, Any] | None:
        """What the gate saw of a run: under its present bound, or under an earlier one, edited since, that no gate has
        any more. Two gates with one bound, of which one only warns, saw the same."""
        question, bound = _asked(gate.model_dump())
        then = zip(map(_asked, run.settings.get("gates", ())), run.gates, strict=False)
        by_bound = {then_bound: seen for (then_question, then_bound), seen in then if then_question == question}
        if bound in by_bound:
            return by_bound[bound]
        others = (_asked(other.model_dump()) for other in self.gates)
        edited = by_bound.keys() - {other_bound for other_question, other_bound in others if other_question == question}
        return by_bound[edited.pop()] if len(edited) == 1 else None


_QUESTION = ("finding", "of", "group", "subject", "against")
_BOUNDS = ("at_most", "at_least", "verdict", "drop_at_most", "rise_at_most")


def _asked(gate: Mapping[str, Any]) -> tuple[tuple[object, ...], tuple[object, ...]]:
    """What a gate asks, whatever its bound is, and its bound: a gate with an edited bound is the same gate."""
    bounds = tuple(gate.get(name) for name in _BOUNDS)
    question = *(gate.get(name) for name in _QUESTION), *(bound is None for bound in bounds)
    return question, (*bounds, gate.get("on"))


def _digests(run: RunRecord, kind: str) -> tuple[str, ...]:
    """The digests of everything of one kind that a run stood on."""
    outputs = [output for stage in run.stages for output in stage.outputs.values()]
    return tuple(sorted(str(output["digest"]) for output in outputs if output.get("kind") == kind))


def _audited(run: RunRecord) -> tuple[object, ...]:
    """The models that a run audited, the team's own code (rules), and its settings but for those that change nothing
    that is measured."""
    settings = {name: value for name, value in run.settings.items() if name not in CHANGES_NO_FINDING}
    code = sorted((file["name"], file["sha256"]) for file in run.ingredients if file.get("what") == "code")
    return _digests(run, "SubjectFiles"), code, settings


@dataclass(frozen=True)
class PooledOutcomes(KeptOutcomes):
    """The outcomes of a run, and of nights like it the samples that it has not."""

    others: Sequence[RunRecord] = ()

    def of(self, finding: Finding) -> Sampled | None:
        """What single samples add to a finding, each as the first of the nights has it."""
        nights = [super().of(finding), *(KeptOutcomes(self.store, run).of(finding) for run in self.others)]
        return joined([sampled for sampled in nights if sampled is not None])


_NOTHING_YET = {
    LAST_PASSED: "there is no earlier run of this pipeline that passed and has the finding",
    ACCEPTED: "no earlier run that has the finding is accepted (assay accept RUN --why TEXT)",
}


def judge_run(name: str, config: str, store: str | None) -> tuple[RunRecord, list[GateResult]]:
    """A run and what its gates say: those of pipelines.yaml as it is now, or else those the run was started with."""
    opened = open_store(config, store)
    record = find_run(opened, name)
    gates, budget = gates_for(record, config, opened)
    return record, judge_night(gates, findings_of(opened, record), Past(opened, record), budget)


def gates_for(record: RunRecord, config: str, store: Store) -> tuple[list[Gate], Budget]:
    """The gates that hold for a run, and the budget of those on change."""
    if Path(config).is_file():
        project, refused = load_usable(config)
        if record.pipeline in refused:
            raise InputError(refused[record.pipeline])
        if record.pipeline in project.pipelines:
            require_baselines(project, record.pipeline, store)
            return list(project.pipelines[record.pipeline].gates), budget_of(project) or NO_BUDGET
    return [Gate.model_validate(gate) for gate in record.settings.get("gates", ())], NO_BUDGET


def judge_night(gates: Sequence[Gate], findings: Sequence[Finding], past: Past, budget: Budget) -> list[GateResult]:
    """Every gate held against a run's findings and, where it bounds a change, against an earlier run.

    One that finds nothing in a run of which a part failed was not asked: it lets no run pass, and has not failed.
    """
    past = replace(past, gates=gates)
    return [
        replace(alone, outcome="not asked", sentence=f"{gate.title()}: not asked, for {past.record.failures[0]}")
        if past.record.failures and not alone.matched
        else _weighed(
            _on_change(gate, alone, findings, past, budget) if gate.is_on_change and alone.passed else alone, past
        )
        for gate, alone in zip(gates, judge(gates, findings), strict=True)
    ]


def as_recorded(results: Iterable[GateResult]) -> list[dict[str, Any]]:
    """What gates said, for the record of their run."""
    return [
        {"gate": result.gate.title(), "outcome": result.outcome, "sentence": result.sentence} | dict(result.looked)
        for result in results
    ]


def _on_change(gate: Gate, alone: GateResult, findings: Sequence[Finding], past: Past, budget: Budget) -> GateResult:
    held_against = past.baseline(gate)
    if held_against is None:
        otherwise = f"run {gate.against} has no such finding, or saw another share of the samples"
        why = _NOTHING_YET.get(str(gate.against), otherwise)
        sentence = f"{gate.title()}: {why}, so there is nothing to compare with yet."
        raw = "passed" if gate.against == LAST_PASSED else "inconclusive"
        return replace(alone, sentence=sentence, looked={"raw": raw})
    baseline, before = held_against
    alike = baseline.id in {run.id for run in past.unchanged(gate)}
    others = [] if alike else past.pool(gate, baseline)
    earlier, pooled = KeptOutcomes(past.store, baseline), PooledOutcomes(past.store, baseline, others=others)
    known = {finding.key[1:]: finding for finding in before}
    pairs = [(known[now.key[1:]], now) for now in looked_at_by(gate, findings) if now.key[1:] in known]
    looks: list[tuple[Finding, Look]] = []
    for was, now in pairs:
        share = budget.level / len(pairs)  # several findings of one gate share its alarms
        levels, against = (0.95, 1 - 2 * share), f"run {baseline.id}"
        differ = partial(difference_between, after=past.outcomes, finding_before=was, finding_after=now)
        usual, strict = (differ(earlier, level=level, on=gate.compared_samples) for level in levels)
        if usual is not None and usual.how == "other samples" and others:
            usual, strict = (differ(pooled, level=level, on=gate.compared_samples) for level in levels)
            against += f" and {plural(len(others), 'night')} like it"
        if usual is not None and strict is not None:
            seen = look(gate, now, usual, strict, against, share)
            both = None if alike else (earlier if usual.is_paired else pooled).of(was)
            odds, by_pairs = past.all_evidence(gate, now, both, baseline, budget)
            decides = alike and usual.how == "other samples"
            looks.append((now, with_evidence(seen, odds, budget.alarm * len(pairs), decides, by_pairs)))
    if not looks:
        sentence = f"{gate.title()}: neither single outcomes nor intervals say how far it is from run {baseline.id}."
        if gate.compared_samples != "all":
            sentence = f"{gate.title()}: no such samples can be compared with run {baseline.id}."
        return replace(alone, sentence=sentence, looked={"raw": "inconclusive", "against": baseline.id})
    return _decided(gate, looks, baseline.id, against, budget.level)


def _decided(gate: Gate, looks: Sequence[tuple[Finding, Look]], run: str, against: str, level: float) -> GateResult:
    """What the looks of one gate come to: the worst of them decides, of several alike the furthest change."""
    rank = ("failed", "inconclusive", "passed")
    finding, worst = min(looks, key=lambda pair: (rank.index(pair[1].raw), -pair[1].change))
    sentence = worst.sentence
    if worst.raw == "passed" and len(looks) > 1:
        sentence = f"{gate.title()}: none of {len(looks)} findings changed by more against {against}."
    identical = all(look.identical for _, look in looks)
    least_seen = max((look for _, look in looks), key=lambda look: look.detectable)
    looked = {
        "raw": worst.raw,
        "against": run,
        "identical": identical,
        "level": 0.0 if identical else level,
        "n": least_seen.n,
        "detectable": least_seen.detectable,
    }
    return GateResult(gate, worst.raw != "failed", sentence, finding, len(looks), looked=looked)


def _weighed(result: GateResult, past: Past) -> GateResult:
    """The result as far as it counts: what cannot be told, what has not failed often enough, what only warns."""
    gate, raw = result.gate, result.looked.get("raw") or ("passed" if result.passed else "failed")
    result = replace(result, looked={**result.looked, "raw": raw})
    if raw == "passed" or (raw == "inconclusive" and gate.inconclusive == "pass"):
        return result
    owner = f" Concerns {gate.owner}." if gate.owner else ""
    if raw == "inconclusive" and gate.inconclusive == "warn":
        return replace(result, passed=True, outcome="inconclusive", sentence=result.sentence + owner)
    wanted, nights = gate.nights
    failed = 1 + (past.failures(gate, nights - 1, result.looked.get("against")) if nights > 1 else 0)
    history = f" Failed on {failed} of the latest {nights} nights; {wanted} fail the run." if nights > 1 else ""
    waits = failed < wanted or gate.severity == "warn"
    outcome: Outcome = "warned" if waits else "failed"
    return replace(result, passed=waits, outcome=outcome, sentence=result.sentence + history + owner)


def require_baselines(project: Project, pipeline: str, store: Store) -> None:
    """Raises where a gate is held against a run that is not there, or that has no such finding."""
    wrong = list[str]()
    for at, gate in enumerate(project.pipelines[pipeline].gates):
        if gate.against in (None, LAST_PASSED, ACCEPTED):
            continue
        place = project.lines.place(("pipelines", pipeline, "gates", at, "against"))
        try:
            run = store.run(str(gate.against))
            (alone,) = judge([gate], findings_of(store, run))
            why = f"in run {run.id}: {alone.sentence}" if alone.finding is None else ""
        except InputError as error:
            why = str(error)
        if why:
            wrong.append(f"{place}: gates.{at}.against: {gate.against!r} — {why}")
    if wrong:
        raise InputError("\n".join(wrong))
