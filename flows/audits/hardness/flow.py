"""Every audit says how hard it found each sample; then it is asked whether they speak of the same samples."""

from __future__ import annotations

from dataclasses import dataclass

from assay.data.hardness_schemas import HardestSamples, HardnessPairs
from assay.data.schemas import Findings
from assay.flows.audits.curation.flow import Curation
from assay.flows.audits.data import Data
from assay.flows.audits.kind import Ground
from assay.flows.audits.subjects.answered import predictions_of
from assay.infra.artifacts import Artifact
from assay.infra.runs import current_run
from assay.infra.subflows import subflow
from assay.tasks.hardness.settings import Hardness
from assay.tasks.hardness.task import relate_hardness


@dataclass(frozen=True)
class HardnessAudit:
    """Which measures agree, and the samples that are hard by all of them; nothing where none was measured."""

    findings: tuple[Artifact[Findings], ...] = ()
    pairs: Artifact[HardnessPairs] | None = None
    hardest: Artifact[HardestSamples] | None = None


@subflow("hardness")
def relate(ground: Ground) -> HardnessAudit:
    """Gather what every audit has to say, and hold it against each other."""
    pipeline, settings = ground.pipeline, ground.pipeline.asked(Hardness) or Hardness()
    measured = [
        one
        for kind in pipeline.kinds
        if kind.name in ground.results
        for one in kind.hardness(ground, ground.results[kind.name])
    ]
    if not measured:
        current_run().notice("No audit of this pipeline says how hard a sample is: there is nothing to relate.")
        return HardnessAudit()
    curation = ground.maybe(Curation)
    related = relate_hardness(
        measured,
        ground.of(Data).samples,
        predictions_of(ground),
        None if curation is None else curation.clusters,
        settings,
        pipeline.statistics.significance,
    )
    return HardnessAudit((related.findings,), related.pairs, related.hardest)
