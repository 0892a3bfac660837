"""What a run would do: the flow walked against the store, without workers and without Prefect."""

from __future__ import annotations

from assay.flows.audit import audit
from assay.flows.operations.inputs import check_inputs
from assay.flows.pipeline import Pipeline, Project
from assay.infra.engines.opening import engine_to_look_with
from assay.infra.plans import Plan, PlannedStage
from assay.infra.progress import SilentProgress
from assay.infra.runs import Run
from assay.infra.store import Store


def plan(project: Project, pipeline: Pipeline, seed: int = 0) -> list[PlannedStage]:
    """The stages of a run in order: cached, will run, or runs unless its input is unchanged."""
    check_inputs(project, pipeline)
    return walked(project, pipeline, seed)[0]


def walked(
    project: Project, pipeline: Pipeline, seed: int = 0, *, share: float = 1.0, fresh: bool = False
) -> tuple[list[PlannedStage], int]:
    """The stages of a run in order, and how many of them may compute at once; inputs have been checked."""
    progress, planned = SilentProgress(), Plan()
    run = Run(
        pipeline.name,
        Store(project.store).look(),
        lambda: engine_to_look_with(project.compute),
        progress,
        seed=seed,
        compute=project.compute,
        conductor=planned,
        share=share,
        fresh=fresh,
    )
    with run.unrecorded():
        audit(pipeline, project.folder)
        return planned.stages, run.most_at_once()
