"""What smoothing certifies: each image subject as it is, and trained anew under the noise that smoothing adds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from assay.data.image_schemas import Certified
from assay.data.schemas import Findings
from assay.flows.audits.images.attacking import Robustness
from assay.flows.audits.kind import Ground
from assay.flows.audits.subjects.flow import Examination, Examined
from assay.infra.artifacts import Artifact
from assay.infra.branches import outcomes, start
from assay.infra.subflows import subflow
from assay.tasks.defenses.smoothing_settings import Smoothing
from assay.tasks.defenses.smoothing_task import (
    AS_IT_IS,
    UNDER_NOISE,
    certify_subject,
    measure_certified,
    train_under_noise,
)


@dataclass(frozen=True)
class Certificate:
    """The certified samples of one model, and what they come to."""

    certified: Artifact[Certified]
    measured: Artifact[Findings]


@dataclass(frozen=True)
class Certificates:
    """By subject, and by whether it was trained under noise."""

    subjects: Mapping[str, Mapping[str, Certificate]]

    @property
    def certified(self) -> dict[tuple[str, str], Artifact[Certified]]:
        """The certified samples by subject, and by whether it was trained under noise."""
        return {(name, how): one.certified for name, by_how in self.subjects.items() for how, one in by_how.items()}

    @property
    def findings(self) -> list[Artifact[Findings]]:
        """How far the subjects are certified."""
        return [one.measured for by_how in self.subjects.values() for one in by_how.values()]


@subflow("smoothing")
def certify(ground: Ground) -> Certificates:
    """Certify the pipeline's own image subjects by randomised smoothing, and the defended ones where that is asked."""
    examination, settings = ground.of(Examination), ground.pipeline.asked(Smoothing) or Smoothing()
    own = {subject.name for subject in ground.pipeline.subjects}
    as_they_come = settings.model_copy(update={"train": False})
    return Certificates(
        outcomes(
            {
                subject.name: start(
                    f"smoothing of {subject.name}",
                    certify_one,
                    examination,
                    subject,
                    settings if subject.name in own else as_they_come,
                )
                for subject in ground.of(Robustness).models
                if subject.name in own or settings.defended
            }
        )
    )


def certify_one(examination: Examination, subject: Examined, settings: Smoothing) -> dict[str, Certificate]:
    """The subject's certificates as it is and, where it is ours to train, after a training under noise."""
    weights = {AS_IT_IS: subject.files}
    if settings.train and subject.resolved.settings.train is not None:
        learned = train_under_noise(subject.learned_from, examination.classes, subject.resolved, settings.sigma)
        weights[UNDER_NOISE] = learned.files
    certificates: dict[str, Certificate] = {}
    for how, files in weights.items():
        certified = certify_subject(examination.evaluation, files, subject.resolved, settings.for_certifying())
        measured = measure_certified(certified, subject.name, how, settings.for_certifying(), examination.evaluation)
        certificates[how] = Certificate(certified, measured)
    return certificates
