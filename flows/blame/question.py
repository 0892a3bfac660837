"""What is asked: which finding of a run, held against which other run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from assay.flows.nights.message import Worse, worst_changes
from assay.flows.report.baselines import Past
from assay.flows.report.comparison import Change, Key, changes
from assay.flows.report.judgement import gates_for, judge_night
from assay.flows.report.outcomes import KeptOutcomes, between
from assay.infra.errors import InputError
from assay.infra.manifests import RunRecord
from assay.infra.store import Store
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.gates import GateResult
from assay.tasks.statistics.run_findings import findings_of

_RANK = {"failed": 0, "warned": 1, "inconclusive": 2, "passed": 3}
_LISTED = 6


@dataclass(frozen=True)
class Question:
    """A finding in two runs of a pipeline."""

    earlier: RunRecord
    later: RunRecord
    before: Finding
    after: Finding

    @property
    def key(self) -> Key:
        """The finding's name and slice."""
        return self.after.metric, self.after.of, self.after.group, self.after.subject


def question_about(
    store: Store, config: str, later: RunRecord, against: RunRecord | None, asked: Mapping[str, str | None]
) -> Question:
    """The finding that is asked for (`finding`, `of`, `group`, `subject`), else the worst change.

    That is the worst that the gates on change judged, in the run that they hold this one against; where they judged
    none, the finding that got worse by most since `against` or the run before.
    """
    gate = None if asked.get("finding") or later.findings is None else _worst_judged(store, config, later, against)
    if gate is not None and gate.finding is not None:
        earlier = store.run(str(gate.looked["against"]))
        finding = gate.finding
        asked = {"finding": finding.metric, "of": finding.of, "group": finding.group, "subject": finding.subject}
    else:
        earlier = against or _baseline(store, config, later)
    if earlier.pipeline != later.pipeline or earlier.id == later.id:
        raise InputError(f"Run {earlier.id} is no other run of {later.pipeline}: name one with --against.")
    paired = partial(between, KeptOutcomes(store, earlier), KeptOutcomes(store, later))
    both = [
        one
        for one in changes(findings_of(store, earlier), findings_of(store, later), paired)
        if one.before is not None and one.after is not None and None not in (one.before.value, one.after.value)
    ]
    chosen = _chosen(both, asked, store, earlier, later)
    if chosen.before is None or chosen.after is None:
        raise LookupError("a change that both runs have")
    return Question(earlier, later, chosen.before, chosen.after)


def _worst_judged(store: Store, config: str, later: RunRecord, against: RunRecord | None) -> GateResult | None:
    """The gate on change that did worst, of those that failed, warned or could not tell."""
    gates, level = gates_for(later, config, store)
    on_change = [gate for gate in gates if gate.is_on_change]
    judged = [
        one
        for one in judge_night(on_change, findings_of(store, later), Past(store, later), level)
        if one.outcome != "passed"
        and one.looked.get("against") not in (None, later.id)
        and (against is None or one.looked["against"] == against.id)
    ]
    return min(judged, key=lambda one: _RANK[one.outcome], default=None)


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
    names = ("finding", "of", "group", "subject")
    fitting = [
        one for one in both if all(asked.get(name) in (None, part) for name, part in zip(names, one.key, strict=True))
    ]
    if asked.get("finding") and len(fitting) == 1:
        return fitting[0]
    if asked.get("finding") and fitting:
        shown = "; ".join(", ".join(part for part in one.key[1:] if part) or "alone" for one in fitting[:_LISTED])
        more = f" and {len(fitting) - _LISTED} more" if len(fitting) > _LISTED else ""
        raise InputError(
            f"{len(fitting)} findings are called {asked['finding']} ({shown}{more}): say which with --of, --group and "
            "--subject."
        )
    if asked.get("finding"):
        raise InputError(
            f"Runs {earlier.id} and {later.id} have no {asked['finding']} like that in common.  (assay compare "
            f"{earlier.id} {later.id} --all shows what they have)"
        )
    worst: Sequence[Worse] = worst_changes(store, [earlier], later)
    if not worst:
        raise InputError(
            f"Nothing got worse between {earlier.id} and {later.id}: name what you ask about with --finding."
        )
    return worst[0].change
