"""Corruptions: how often each image subject, and each defended copy, flips for nothing."""

from __future__ import annotations

from dataclasses import dataclass

from assay.data.schemas import Findings
from assay.flows.audits.images.attacking import Robustness
from assay.flows.audits.kind import Ground
from assay.flows.audits.subjects.flow import Examination
from assay.infra.artifacts import Artifact
from assay.infra.errors import RunError
from assay.infra.subflows import subflow
from assay.tasks.corruptions.settings import Corruptions
from assay.tasks.corruptions.task import Corrupted, corrupt_subjects, measure_corruptions


@dataclass(frozen=True)
class Flips:
    """The flips along every sequence, and how often they happen."""

    corrupted: Corrupted | None
    findings: tuple[Artifact[Findings], ...]


@subflow("corruptions")
def corrupt(ground: Ground) -> Flips:
    """Perturb the audited images step by step, each frame once for all subjects, and count the flips."""
    examination, settings = ground.of(Examination), ground.pipeline.asked(Corruptions) or Corruptions()
    subjects = {one.name: one for one in ground.of(Robustness).models}
    if not subjects:
        return Flips(None, ())
    corrupted = corrupt_subjects(
        examination.evaluation,
        examination.classes,
        {name: one.files for name, one in subjects.items()},
        {name: one.resolved for name, one in subjects.items()},
        settings,
    )
    reference = settings.reference or next(iter(subjects))
    if reference not in subjects:
        raise RunError(f"The subject {reference}, which flips are compared with, could not be measured itself.")
    measured = measure_corruptions(
        corrupted.flips,
        settings,
        reference,
        examination.evaluation,
        examination.classes,
        {name: one.predictions for name, one in subjects.items()},
    )
    return Flips(corrupted, (measured,))
