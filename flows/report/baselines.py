"""What a run is held against: the run that a person accepted, the last that passed, or one by name."""

from __future__ import annotations

import getpass
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property

from assay.flows.report.outcomes import KeptOutcomes
from assay.infra.errors import InputError
from assay.infra.manifests import RunRecord
from assay.infra.store import Store
from assay.infra.sweep import acceptances
from assay.tasks.ingest.shares import share_in_words
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.gate import Gate
from assay.tasks.statistics.gates import looked_at_by
from assay.tasks.statistics.run_findings import findings_of

LAST_PASSED, ACCEPTED = "last-passed", "accepted"
_ENDED = ("done", "gate failed")


def accept(store: Store, record: RunRecord, why: str) -> dict[str, str]:
    """Make a run what later ones of its pipeline are held against; who, when and why stay on record."""
    if record.status not in _ENDED:
        raise InputError(f"Run {record.id} is {record.status}: only a run that came to its end can be a baseline.")
    require_whole(record, "a baseline for later nights")
    if not why.strip():
        raise InputError(
            "Say why this run is what later ones are held against, as in --why 'new scanner, agreed with QA'."
        )
    at = datetime.now(UTC).isoformat(timespec="seconds")
    acceptance = {"run": record.id, "pipeline": record.pipeline, "by": getpass.getuser(), "at": at, "why": why.strip()}
    stamp = datetime.now(UTC).strftime("%Y%m%dT%H%M%S%f")
    store.folder.write_json(f"accepted/{record.pipeline}/{stamp}-{record.id}.json", acceptance)
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

    >>> accepted_in_words({"run": "r1", "by": "ada", "at": "2026-11-22T08:00:00+00:00", "why": "new scanner"})
    'r1, accepted by ada on 2026-11-22: new scanner'
    """
    return (
        f"{entry['run']}, accepted by {entry.get('by', 'somebody')} "
        f"on {entry.get('at', '')[:10]}: {entry.get('why', '')}"
    )


@dataclass(frozen=True)
class Past:
    """The nights of a pipeline before one of its runs."""

    store: Store
    record: RunRecord

    @cached_property
    def nights(self) -> Sequence[RunRecord]:
        """The runs that came to their end before this one began, the latest first; of a sample, those of its share."""
        mine = (self.record.started, self.record.id)
        return [
            run
            for run in reversed(self.store.runs(self.record.pipeline))
            if run.status in _ENDED and (run.started, run.id) < mine and run.share == self.record.share
        ]

    @cached_property
    def outcomes(self) -> KeptOutcomes:
        """What single samples add to the findings of the run itself."""
        return KeptOutcomes(self.store, self.record)

    def failures(self, gate: str, nights: int) -> int:
        """On how many of so many nights before this one that judged the gate it failed."""
        judged = [one for run in self.nights for one in run.gates if one.get("gate") == gate]
        return sum(one.get("raw") == "failed" for one in judged[:nights])

    def baseline(self, gate: Gate) -> tuple[RunRecord, list[Finding]] | None:
        """The run that a gate on change holds this one against, with those of its findings that the gate is on."""
        for run in self._candidates(gate):
            if run.share != self.record.share:
                continue  # a sample and the whole are no two nights of the same
            findings = [one for one in looked_at_by(gate, findings_of(self.store, run)) if one.value is not None]
            if findings:
                return run, findings
        return None

    def _candidates(self, gate: Gate) -> Sequence[RunRecord]:
        if gate.against == LAST_PASSED:
            return [run for run in self.nights if run.status == "done" and not _failed(run, gate)]
        if gate.against == ACCEPTED:
            acceptance = accepted(self.store, self.record.pipeline)
            run = None if acceptance is None else self.store.record(acceptance["run"])
            return [] if run is None or run.id == self.record.id else [run]
        return [self.store.run(str(gate.against))]


def _failed(run: RunRecord, gate: Gate) -> bool:
    """Whether the gate failed in a run that passed all the same, since it only warns: that is no level to hold."""
    return any(one.get("gate") == gate.title() and one.get("raw") == "failed" for one in run.gates)
