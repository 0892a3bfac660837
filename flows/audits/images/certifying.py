"""What smoothing certifies: each image subject as it is, and trained anew under the noise that smoothing adds."""

from __future__ import annotations

from dataclasses import dataclass, field

from assay.data.image_schemas import Certified
from assay.data.schemas import Findings
from assay.flows.audits.subjects.flow import Examination, Examined
from assay.flows.pipeline import Pipeline
from assay.infra.artifacts import Artifact
from assay.infra.branches import Branches
from assay.infra.subflows import subflow
from assay.tasks.defenses.smoothing_settings import Smoothing
from assay.tasks.defenses.smoothing_task import (
    AS_IT_IS,
    UNDER_NOISE,
    certify_subject,
    measure_certified,
    train_under_noise,
)


@dataclass
class Certificates:
    """The certified samples as handles: by subject, and by whether it was trained under noise."""

    certified: dict[tuple[str, str], Artifact[Certified]] = field(default_factory=dict)
    findings: list[Artifact[Findings]] = field(default_factory=list)


@subflow("smoothing")
def certify(pipeline: Pipeline, examination: Examination, branches: Branches) -> Certificates:
    """Certify the pipeline's own image subjects by randomised smoothing, and the defended ones where that is asked."""
    result = Certificates()
    settings, own = pipeline.smoothing, {subject.name for subject in pipeline.subjects}
    for subject in examination.of("network") if settings is not None else ():
        if settings is not None and (subject.name in own or settings.defended):
            chosen = settings if subject.name in own else settings.model_copy(update={"train": False})
            branches.attempt(f"smoothing of {subject.name}", certify_one, result, examination, subject, chosen)
    return result


def certify_one(result: Certificates, examination: Examination, subject: Examined, settings: Smoothing) -> None:
    """The subject's certificates as it is and, where it is ours to train, after a training under noise."""
    files = {AS_IT_IS: subject.files}
    if settings.train and subject.resolved.settings.train is not None:
        files[UNDER_NOISE] = train_under_noise(
            examination.training, examination.classes, subject.resolved, settings.sigma
        ).files
    for how, one in files.items():
        certified = certify_subject(examination.evaluation, one, subject.resolved, settings.for_certifying())
        result.certified[subject.name, how] = certified
        result.findings.append(measure_certified(certified, subject.name, how, settings.for_certifying()))
