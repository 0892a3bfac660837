"""What every stage that trains a subject gives back: its files, and how it learned."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from assay.data.image_schemas import TrainingCurve
from assay.data.schemas import Samples, SubjectFiles
from assay.infra.artifacts import Artifact
from assay.infra.partitions import collect
from assay.infra.stage import write_files, write_table
from assay.infra.trainings import train_on_worker


class TrainedSubject(NamedTuple):
    """A subject's files, and how it learned (no rows where it came trained, or needed no epochs)."""

    files: Artifact[SubjectFiles]
    curve: Artifact[TrainingCurve]

    def last_epoch(self) -> dict[str, Any]:
        """The last row of the curve; empty where nothing was learned by epochs."""
        rows = collect(self.curve, None).sort_by("epoch").to_pylist()
        return dict(rows[-1]) if rows else {}


def trained_on_worker(function: Callable[..., Any], training: Artifact[Samples], **constants: Any) -> TrainedSubject:
    """The subject that `function` makes of these samples on one worker; constants are handed to it."""
    return TrainedSubject(*train_on_worker(function, training, into=SubjectFiles, curve=TrainingCurve, **constants))


def without_epochs(files: Mapping[str, bytes]) -> TrainedSubject:
    """A subject that is as it is: these files, and a curve without rows."""
    curve = write_table(TrainingCurve.schema.empty_table(), into=TrainingCurve)
    return TrainedSubject(write_files(files, into=SubjectFiles), curve)
