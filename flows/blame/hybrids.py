"""Hybrids of two runs: some parts as they are now, the others as they were, run through the stages that are needed.

They are ordinary stages in the same store, so that what either run made is taken from there. No record of a
hybrid counts as a night.
"""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from pathlib import Path
from typing import Any

from assay.data.schemas import Findings
from assay.flows.audit import run_kinds
from assay.flows.audits.data import DATA
from assay.flows.blame.changes import SAMPLES, SEED, Changes, Side, mixed_settings
from assay.flows.configuration.loading import Project
from assay.flows.kind import Ground
from assay.flows.pipeline import Pipeline, pipeline_of_record
from assay.flows.report.comparison import FindingKey, KeptOutcomes, outcomes_in
from assay.flows.running import engine_of
from assay.infra.engines.opening import engine_for_plan
from assay.infra.errors import InputError
from assay.infra.stages.branches import Plan, PlannedStage
from assay.infra.stages.partitions import collect
from assay.infra.stages.runs import Conductor, Run
from assay.infra.storage.artifacts import RunRecord, StageRecord
from assay.infra.storage.folders import contained
from assay.infra.storage.store import INGREDIENTS, Store
from assay.infra.terminal import Progress
from assay.tasks.statistics.between_runs import Coalition, Sampled
from assay.tasks.statistics.findings import Finding, findings_from


def lay_out(place: Path, today: Path, files: Mapping[str, bytes]) -> Path:
    """The folder `place`, in which everything is as in `today` (by symbolic link) but for these files.

    Files that code opens beside itself are found there under the names that their keys know.
    """
    files = {contained(None, name, "The record of a run"): content for name, content in files.items()}
    place.mkdir(parents=True)
    above = {name.split("/", 1)[0] for name in files if "/" in name}
    for entry in sorted(today.iterdir()) if today.is_dir() else ():
        if entry.name not in above and entry.name not in files and entry.name != "__pycache__":
            (place / entry.name).symlink_to(entry.absolute())
    for folder in sorted(above):
        below = {name.split("/", 1)[1]: content for name, content in files.items() if name.startswith(f"{folder}/")}
        lay_out(place / folder, today / folder, below)
    for name, content in files.items():
        if "/" not in name:
            (place / name).write_bytes(content)
    return place


@dataclass(frozen=True)
class Valued:
    """The finding in one hybrid: its value, and what single samples add to it."""

    value: float
    sampled: Sampled | None
    stages: tuple[StageRecord, ...] = ()


@dataclass(frozen=True)
class Hybrids:
    """The hybrids of two runs, as far as one finding needs them."""

    store: Store
    project: Project
    changes: Changes
    finding: FindingKey
    kinds: Sequence[str] | None = field(default=None)
    """The kinds of audit that it stands on; None for all of them."""

    def valued(self, coalitions: Sequence[Coalition], progress: Progress) -> dict[Coalition, Valued]:
        """The finding in every hybrid, by the parts that are as in the later run."""
        values: dict[Coalition, Valued] = {}
        for seed, together in groupby(sorted(coalitions, key=self._seed), key=self._seed):
            with tempfile.TemporaryDirectory(prefix="assay-blame-") as place, self._run(seed, progress) as run:
                for coalition in together:
                    parts = ", ".join(change.part for change in self.changes.swappable if change.part in coalition)
                    progress.notice(f"as in the later run: {parts or 'nothing'}")
                    values[coalition] = self._value(run, coalition, Path(place))
        return values

    def planned(self, coalitions: Sequence[Coalition]) -> dict[Coalition, list[PlannedStage]]:
        """The stages that every hybrid comes across, and whether the store has them."""
        plans: dict[Coalition, list[PlannedStage]] = {}
        for seed, together in groupby(sorted(coalitions, key=self._seed), key=self._seed):
            walked = Plan()
            looking = self._run(seed, Progress(), walked).unrecorded()
            with tempfile.TemporaryDirectory(prefix="assay-blame-") as place, looking as run:
                for coalition in together:
                    begun = len(walked.stages)
                    self._perform(run, coalition, Path(place))
                    plans[coalition] = walked.stages[begun:]
        return plans

    def recorded(self, side: Side, finding: Finding) -> Valued:
        """The finding as a run has it on record."""
        value = float("nan") if finding.value is None else finding.value
        return Valued(value, KeptOutcomes(self.store, side.record, self._pipeline(frozenset()).kinds).of(finding))

    def _run(self, seed: int, progress: Progress, conductor: Conductor | None = None) -> Run:
        compute = self.project.compute
        engine = engine_of(self.project, progress) if conductor is None else lambda: engine_for_plan(compute)
        name = self.changes.after.record.pipeline
        return Run(name, self.store, engine, progress, seed=seed, compute=compute, conductor=conductor, aside=True)

    def _side(self, part: str, coalition: Collection[str]) -> Side:
        """The run that a part is taken from; what cannot be swapped is as in the later one."""
        swapped = {change.part for change in self.changes.swappable}
        return self.changes.after if part in coalition or part not in swapped else self.changes.before

    def _seed(self, coalition: Coalition) -> int:
        return self._side(SEED, coalition).record.seed

    def _pipeline(self, coalition: Coalition) -> Pipeline:
        new = coalition | {change.part for change in self.changes.lost}
        settings = mixed_settings(self.changes.before, self.changes.after, new)
        known = self.project.pipeline(self.changes.after.record.pipeline)
        try:
            return pipeline_of_record(type(known), settings)
        except ValueError as error:
            reasons = str(error).splitlines()[-2:]
            raise InputError(f"The settings of the two runs cannot be mixed: {' '.join(reasons)}.") from error

    def _files(self, coalition: Coalition) -> dict[str, bytes]:
        """The team's files as they were in the runs that their parts are taken from, as far as they were kept."""
        files: dict[str, bytes] = {}
        for name, part in self.changes.roles.items():
            file = next((kept for kept in self._side(part, coalition).files if kept.name == name and kept.kept), None)
            if file is not None and self.store.folder.exists(f"{INGREDIENTS}/{file.sha256}"):
                files[name] = self.store.folder.read(f"{INGREDIENTS}/{file.sha256}")
        return files

    def _perform(self, run: Run, coalition: Coalition, place: Path) -> Ground:
        """What the kinds of audit make of a hybrid."""
        pipeline = self._pipeline(coalition)
        run.masked = pipeline.masked
        folder = lay_out(place / f"{len(list(place.iterdir()))}", self.project.folder, self._files(coalition))
        data = self._side(SAMPLES, coalition).data
        results: Mapping[str, Any] = {DATA.name: data} | run_kinds(pipeline, folder, data, self.kinds)
        if run.failures:
            raise run.failures[0]
        return Ground(pipeline, folder, results)

    def _value(self, run: Run, coalition: Coalition, place: Path) -> Valued:
        before = len(run.record.stages)
        ground, kinds = self._perform(run, coalition, place), self.project.pipeline(run.record.pipeline).kinds
        record: RunRecord = replace(run.record, outcomes=list(outcomes_in(kinds, ground)))
        measured = [table for result in ground.results.values() for table in result.findings]
        rows = [row for table in measured for row in findings_from(collect(table, Findings.schema.names))]
        finding = next((row for row in rows if row.key == self.finding), None)
        if finding is None or finding.value is None:
            raise InputError(f"A hybrid of the two runs has no {self.finding[0]}: name another one with --finding.")
        sampled = KeptOutcomes(self.store, record, kinds).of(finding)
        return Valued(finding.value, sampled, tuple(run.record.stages[before:]))
