"""Whether what a pipeline names is there, before anything starts."""

from __future__ import annotations

from assay.flows.configuration.named_things import is_subject, missing_things
from assay.flows.pipeline import Pipeline, Project
from assay.flows.report.judgement import require_baselines
from assay.infra.engines.routing import require_gpu_here
from assay.infra.errors import InputError, RunError
from assay.infra.store import Store


def check_inputs(project: Project, pipeline: Pipeline) -> None:
    """Find what the pipeline names, and the GPU, before anything starts: a typo is answered at once, with its line."""
    require_gpu_here(project.compute)
    missing = list(missing_things(pipeline, project.folder))
    lost = [one for one in missing if is_subject(one)]
    if len({one.where[:2] for one in lost}) < len(
        pipeline.subjects
    ):  # of several, one that is wrong is no reason to lose the others
        missing = [one for one in missing if one not in lost]
    if any(gate.against is not None for gate in pipeline.gates):
        require_baselines(project, pipeline.name, Store(project.store))
    if missing:
        sentences = "\n".join(one.said(project, pipeline) for one in missing)
        raise InputError(sentences) if any(one.error.exit_code == 2 for one in missing) else RunError(sentences)
