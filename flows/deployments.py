"""Every night: one Prefect deployment per pipeline, run by a process that stays (`serve`) or by your own pool."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, cast

from prefect import flow

from assay.flows.commands.answers import echo
from assay.infra.errors import InputError, RunError

if TYPE_CHECKING:
    from prefect.deployments.runner import RunnerDeployment

    from assay.flows.pipeline import Pipeline, Project


@flow(name="assay", flow_run_name="{pipeline}", persist_result=False)
def nightly(pipeline: str, config: str, store: str | None = None, seed: int = 0) -> dict[str, object]:
    """One scheduled run of a pipeline: its settings are read anew, so that tonight's pipelines.yaml counts."""
    from assay.flows.configuration.loading import load_project
    from assay.flows.running import run_inside_prefect

    project = load_project(config, pipeline=pipeline, store=store)
    result = run_inside_prefect(project, project.pipeline(pipeline), seed=seed)
    if result.exit_code:
        raise RunError(f"Run {result.run} of {pipeline} ended with a failed gate: see {result.report}")
    return {"run": result.run, "status": result.status, "report": result.report}


def serve(project: Project, file: Path) -> None:
    """Stay, and run each pipeline on its schedule; a night that still runs makes the next one skip, not pile up."""
    from prefect import serve as serve_deployments

    from assay.flows.nights.afterwards import SERVED
    from assay.flows.nights.watching import Watch

    scheduled = deployments_of(project, file)
    os.environ[SERVED] = "1"  # the runs, processes of their own, leave messages to us: one a night for all of them
    with _api(), Watch(project, lambda text: echo(text, err=True)):
        echo(f"Serving {', '.join(each.name for each in scheduled)}. Ctrl-C ends it.")
        # One process at a time for all pipelines would make a long night delay the others: each may run once.
        serve_deployments(*scheduled, pause_on_shutdown=True, print_starting_message=False, limit=len(scheduled))


def deploy(project: Project, file: Path) -> None:
    """Register one deployment per scheduled pipeline with the configured Prefect server."""
    from assay.infra.prefect_server import configured_api

    if configured_api() is None:
        raise InputError("There is no Prefect server to deploy to: set PREFECT_API_URL, or use assay serve.")
    for deployment in deployments_of(project, file):
        deployment.apply()
        echo(f"{deployment.name}: {project.pipelines[deployment.name].schedule}")


def deployments_of(project: Project, file: Path) -> list[RunnerDeployment]:
    """A deployment for each pipeline that has a schedule."""
    scheduled = [one for one in project.pipelines.values() if one.schedule]
    if not scheduled:
        raise InputError(f"No pipeline in {file.name} has a schedule: give one, for example schedule: '0 2 * * *'.")
    return [_deployment(one, project, file) for one in scheduled]


def _deployment(pipeline: Pipeline, project: Project, file: Path) -> RunnerDeployment:
    from prefect.client.schemas.objects import ConcurrencyLimitConfig, ConcurrencyLimitStrategy
    from prefect.types.entrypoint import EntrypointType

    deployment = nightly.to_deployment(
        name=pipeline.name,
        cron=pipeline.schedule,
        parameters={"pipeline": pipeline.name, "config": str(file), "store": project.store},
        description=pipeline.description or f"The audit {pipeline.name}.",
        tags=["assay", pipeline.name],
        entrypoint_type=EntrypointType.MODULE_PATH,
        concurrency_limit=ConcurrencyLimitConfig(limit=1, collision_strategy=ConcurrencyLimitStrategy.CANCEL_NEW),
    )
    return cast("RunnerDeployment", deployment)  # a coroutine only where an event loop runs already


@contextlib.contextmanager
def _api() -> Iterator[None]:
    """The user's Prefect server, or one of ours for as long as we serve."""
    from assay.infra.prefect_server import PrefectServer, configured_api, prefect_api

    if configured_api() is not None:
        yield
        return
    server = PrefectServer(schedules=True).launch()
    try:
        with prefect_api(server) as url:
            # The runs are processes of their own: they find the server through their environment.
            os.environ["PREFECT_API_URL"] = url
            yield
    finally:
        os.environ.pop("PREFECT_API_URL", None)
        server.stop()
