"""What an audit stands on, put together by hand: a pipeline, its folder, and the results of the audits below."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from assay.flows.audits.subjects_flow import Examination, examine_one
from assay.flows.audits.table import KINDS
from assay.flows.kind import Ground
from assay.flows.pipeline import Pipeline, pipeline_model
from assay.infra.storage.artifacts import Artifact
from assay.tasks.subjects.task import HeldOut


def pipeline_of(**settings: object) -> Pipeline:
    """A pipeline with these settings."""
    return pipeline_model(KINDS).model_validate(settings)


def examined(pipeline: Pipeline, folder: Path, classes: Artifact, held_out: HeldOut) -> Ground:
    """The pipeline's subjects, trained on what was set apart, as the ground of further audits."""
    ground, waiting = Ground(pipeline, folder), Examination(classes, *held_out)
    subjects = {one.name: examine_one(waiting, one, ground) for one in pipeline.subjects}
    return with_results(ground, subjects=replace(waiting, subjects=subjects))


def with_results(ground: Ground, **results: object) -> Ground:
    """The ground with further results on it."""
    return replace(
        ground, results={**ground.results, **{name: one for name, one in results.items() if one is not None}}
    )


def ground_of_page(examination: Examination | None, masked: bool) -> Any:
    """What a page asks of its ground: the classes, and whether texts are masked."""
    return SimpleNamespace(pipeline=SimpleNamespace(masked=masked), of=lambda _: examination)
