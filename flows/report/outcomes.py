"""What single samples add to the findings of a run, found through its record: what two runs are compared by."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from assay.flows.audits.kind import AuditKind, Ground
from assay.flows.audits.outcomes import Outcomes
from assay.flows.audits.table import KINDS
from assay.infra.artifacts import Artifact
from assay.infra.errors import RunError
from assay.infra.manifests import RunRecord
from assay.infra.seeds import Seeds
from assay.infra.store import Store
from assay.tasks.statistics.between_runs import LEVEL, RunDifference, by_intervals, difference
from assay.tasks.statistics.findings import Finding
from assay.tasks.statistics.sampled import Sampled

if TYPE_CHECKING:
    import pyarrow as pa

_KEPT = 6  # tables in memory at a time: findings that stand together read the same ones


def outcomes_in(ground: Ground) -> Iterator[dict[str, Any]]:
    """Where the outcomes of a run lie, for its record."""
    for kind in ground.pipeline.kinds:
        if kind.name in ground.results:
            for outcomes in kind.outcomes(ground, ground.results[kind.name]):
                yield replace(outcomes, audit=kind.name).to_json()


@dataclass(frozen=True)
class KeptTables:
    """The tables of outcomes as the store keeps them."""

    store: Store
    handles: Mapping[str, Artifact[Any]]
    read_before: dict[tuple[str, tuple[str, ...]], pa.Table]

    def read(self, name: str, columns: Sequence[str]) -> pa.Table:
        """Those of the columns that the table of that name has, in sample order."""
        import pyarrow as pa

        from assay.infra.parquet import open_parquet, read_part

        handle = self.handles[name]
        key = (f"{handle.uri}/{handle.digest}", tuple(columns))
        if key not in self.read_before:
            output = self.store.output(handle)
            parts = [part.files[output.place] for part in sorted(output.parts, key=lambda part: part.index)]
            with open_parquet(self.store.folder, parts[0].file) as first:
                there = [one for one in columns if one in first.schema_arrow.names]
            while len(self.read_before) >= _KEPT:
                self.read_before.pop(next(iter(self.read_before)))
            self.read_before[key] = pa.concat_tables(
                [read_part(self.store.folder, part, there) for part in parts]
            ).combine_chunks()
        return self.read_before[key]


@dataclass(frozen=True)
class KeptOutcomes:
    """The outcomes of one run, finding by finding; `gone` collects why some cannot be had."""

    store: Store
    record: RunRecord
    kinds: Sequence[AuditKind[Any]] = KINDS
    gone: list[str] = field(default_factory=list)
    _tables: dict[tuple[str, tuple[str, ...]], Any] = field(default_factory=dict)

    @cached_property
    def declared(self) -> dict[tuple[str, str], list[Outcomes]]:
        """Where they lie, by metric and subject."""
        declared: dict[tuple[str, str], list[Outcomes]] = {}
        for value in self.record.outcomes:
            outcomes = Outcomes.from_json(value)
            declared.setdefault((outcomes.metric, outcomes.subject), []).append(outcomes)
        return declared

    @cached_property
    def results(self) -> frozenset[tuple[str, str]]:
        """The digest of everything that the stages of the run came to: where all are the same, nothing differs."""
        return frozenset(
            (one.stage, str(out.get("digest"))) for one in self.record.stages for out in one.outputs.values()
        )

    def of(self, finding: Finding) -> Sampled | None:
        """What single samples add to a finding; None where nobody says, or it is in the store no more."""
        kinds = {kind.name: kind for kind in self.kinds}
        for outcomes in self.declared.get((finding.metric, finding.subject), ()):
            if outcomes.of in ("", finding.of) and outcomes.audit in kinds:
                tables = KeptTables(self.store, outcomes.tables, self._tables)
                try:
                    per_sample = kinds[outcomes.audit].sampled(outcomes, tables, finding.of, finding.group)
                except (RunError, OSError) as error:
                    self.gone.append(str(error))
                    continue
                if per_sample is not None:
                    return per_sample
        return None


def between(
    before: KeptOutcomes, after: KeptOutcomes, finding_before: Finding, finding_after: Finding, level: float = LEVEL
) -> RunDifference | None:
    """The later run's finding less the earlier one's: by sample where both can be had, else by their intervals."""
    was, now = before.of(finding_before), after.of(finding_after)
    if was is not None and now is not None:
        name = "/".join((finding_after.metric, finding_after.subject, finding_after.of, finding_after.group))
        return difference(was, now, _generator(name), level)
    unpaired = by_intervals(finding_before, finding_after, level)
    if unpaired is None or before.results != after.results:
        return unpaired
    return replace(unpaired, identical=True)


def _generator(name: str) -> np.random.Generator:
    return Seeds(0, "between runs").generator(name)
