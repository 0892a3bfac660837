"""What the subjects of a pipeline say of the samples, whether they look at tables, images or texts."""

from __future__ import annotations

from assay.data.schemas import Predictions
from assay.flows.audits.kind import Ground
from assay.flows.audits.subjects.flow import Examination
from assay.flows.audits.subjects.on_tables import TableSubjects
from assay.infra.artifacts import Artifact


def predictions_of(ground: Ground) -> dict[str, Artifact[Predictions]]:
    """What the pipeline's subjects say of the samples, in the order of the pipeline."""
    below = (ground.maybe(TableSubjects), ground.maybe(Examination))
    predictions = {name: one for result in below if result is not None for name, one in result.predictions.items()}
    return {
        subject.name: predictions[subject.name] for subject in ground.pipeline.subjects if subject.name in predictions
    }
