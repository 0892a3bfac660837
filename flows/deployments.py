"""Every night: one Prefect deployment per pipeline, run by a process that stays (`serve`) or by your own pool.

Who may ask Prefect's API may start the flow, and pass it what they like. So the flow looks at its parameters itself: it
runs what its deployment registered, of the project that registered it, and nothing else.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, cast

from prefect import flow

from assay.flows.nights.after_run import SERVED
from assay.infra.errors import AssayError, InputError, RunError
from assay.infra.terminal import echo

if TYPE_CHECKING:
    from prefect.deployments.runner import RunnerDeployment

    from assay.flows.configuration.loading import Project


_STARTED_BY_PREFECT = "PREFECT__FLOW_RUN_ID"
"""In the environment of a process that Prefect started for a flow run: the id of that run."""


@flow(name="assay", flow_run_name="{pipeline}", persist_result=False)
def nightly(pipeline: str, config: str, store: str | None = None, seed: int = 0) -> dict[str, object]:
    """One scheduled run of a pipeline: its settings are read anew, so that tonight's pipelines.yaml counts."""
    from assay.flows.configuration.loading import Project, load_project
    from assay.flows.running import record_refusal, run_pipeline

    project = Project(Path(config), str(store), {})  # until its file can be read
    try:
        refuse_other_parameters({"pipeline": pipeline, "config": config, "store": store, "seed": seed})
        try:
            project = load_project(config, pipeline=pipeline, store=store)
            result = run_pipeline(project, project.pipeline(pipeline), seed=seed, in_flow=True)
        except AssayError as error:
            if store is not None and not error.on_record:
                record_refusal(project, pipeline, seed, error)
            raise
        if result.exit_code:
            raise RunError(f"Run {result.run} of {pipeline} ended with a failed gate: see {result.report}")
    except AssayError as error:
        echo(f"{pipeline}: {error}", err=True)  # Prefect shows it in its UI alone
        raise
    return {"run": result.run, "status": result.status, "report": result.report}


def refuse_other_parameters(given: Mapping[str, object]) -> None:
    """Nothing, where the parameters of this flow run are those that its deployment registered; a `RunError` else."""
    registered = registered_parameters(str(given["pipeline"]))
    if registered is None:
        return
    expected = {"store": None, "seed": 0, **registered}
    other = [name for name, value in given.items() if value != expected.get(name)]
    if other:
        listed = ", ".join(f"{name} {str(given[name])!r:.80}" for name in other)
        raise RunError(
            f"This flow run was refused: it asks for {listed}, which its deployment did not register. A flow run "
            "names a registered pipeline and changes nothing else; edit pipelines.yaml, or use assay run."
        )


def registered_parameters(pipeline: str) -> Mapping[str, object] | None:
    """The parameters that the deployment of this flow run registered; None where somebody's own program calls the flow.

    Under `assay serve` they are what the serving process wrote down, whatever Prefect's server says by now.
    """
    from prefect.context import FlowRunContext

    if SERVED in os.environ:
        served: dict[str, dict[str, object]] = json.loads(os.environ[SERVED])
        return served.get(pipeline, {})
    context = FlowRunContext.get()
    if context is None or context.flow_run is None:
        return None
    if context.flow_run.deployment_id is None:
        # Where a flow of somebody's own was started by Prefect, and calls this one, the id is that of their flow run.
        return {} if os.environ.get(_STARTED_BY_PREFECT) == str(context.flow_run.id) else None
    from prefect.client.orchestration import get_client

    with get_client(sync_client=True) as client:
        return client.read_deployment(context.flow_run.deployment_id).parameters


def serve(project: Project, file: Path) -> None:
    """Stay, and run each pipeline on its schedule; a night that still runs makes the next one skip, not pile up."""
    from assay.flows.nights.notify import nights_watched

    scheduled = deployments_of(project, file)
    os.environ[SERVED] = json.dumps({each.name: each.parameters for each in scheduled})
    with _api() as link, nights_watched(project, lambda text: echo(text, err=True)):
        echo(f"Serving {', '.join(each.name for each in scheduled)}. Ctrl-C ends it.")
        if link is not None:
            echo(f"Prefect's UI: open {link.as_uri()} in a browser; nobody else can read that file.")
        _serve_until_stopped(scheduled)


def _serve_until_stopped(scheduled: list[RunnerDeployment]) -> None:
    """Until Ctrl-C or SIGTERM: runs under way are asked to end, and have the time to record how."""
    import asyncio

    from prefect.runner import Runner

    class RunnerOfNights(Runner):
        """As Prefect's, which kills the runs under way when a signal comes."""

        def handle_sigterm(self, *_: object) -> None:
            if not self.started and not self.stopping:
                raise KeyboardInterrupt
            if self.started:  # at a second signal Prefect would kill the runs
                asyncio.run_coroutine_threadsafe(self.astop(), asyncio.get_running_loop())

    # One process at a time for all pipelines would make a long night delay the others: each may run once.
    runner = RunnerOfNights(pause_on_shutdown=True, limit=len(scheduled))
    for deployment in scheduled:
        runner.add_deployment(deployment)
    signal.signal(signal.SIGINT, runner.handle_sigterm)  # to SIGTERM it listens by itself
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(runner.start())


def deploy(project: Project, file: Path) -> None:
    """Register one deployment per scheduled pipeline with the configured Prefect server."""
    from assay.infra.prefect.server import configured_api

    if configured_api() is None:
        raise InputError("There is no Prefect server to deploy to: set PREFECT_API_URL, or use assay serve.")
    for deployment in deployments_of(project, file):
        deployment.apply()
        echo(f"{deployment.name}: {project.pipelines[deployment.name].schedule}")


def deployments_of(project: Project, file: Path) -> list[RunnerDeployment]:
    """A deployment for each pipeline that has a schedule."""
    scheduled = [pipeline for pipeline in project.pipelines.values() if pipeline.schedule]
    if not scheduled:
        raise InputError(f"No pipeline in {file.name} has a schedule: give one, for example schedule: '0 2 * * *'.")
    from prefect.client.schemas.objects import ConcurrencyLimitConfig, ConcurrencyLimitStrategy
    from prefect.types.entrypoint import EntrypointType

    deployments = [
        nightly.to_deployment(
            name=pipeline.name,
            cron=pipeline.schedule,
            parameters={"pipeline": pipeline.name, "config": str(file), "store": project.store},
            description=pipeline.description or f"The audit {pipeline.name}.",
            tags=["assay", pipeline.name],
            entrypoint_type=EntrypointType.MODULE_PATH,
            concurrency_limit=ConcurrencyLimitConfig(limit=1, collision_strategy=ConcurrencyLimitStrategy.CANCEL_NEW),
        )
        for pipeline in scheduled
    ]
    return cast("list[RunnerDeployment]", deployments)  # coroutines only where an event loop runs already


@contextlib.contextmanager
def _api() -> Iterator[Path | None]:
    """The user's Prefect server, or one of ours for as long as we serve, and the file that opens its UI."""
    from assay.infra.environment import environment_with
    from assay.infra.prefect.server import PrefectServer, configured_api, prefect_api

    if configured_api() is not None:
        yield None
        return
    server = PrefectServer(schedules=True).launch()
    try:
        # The runs are processes of their own: they find the server, and its secret, through their environment.
        with prefect_api(server), environment_with(server.environment):
            _end_runs_of_an_earlier_server()
            yield server.write_link()
    finally:
        server.stop()


def _end_runs_of_an_earlier_server() -> None:
    """Runs that were killed together with their server are still under way in its database: while one is, every later
    night of its pipeline would be skipped."""
    from prefect.client.orchestration import get_client
    from prefect.client.schemas.filters import FlowRunFilter
    from prefect.states import Crashed

    under_way = FlowRunFilter.model_validate({"state": {"type": {"any_": ["PENDING", "RUNNING", "CANCELLING"]}}})
    with get_client(sync_client=True) as client:
        for night in client.read_flow_runs(flow_run_filter=under_way):
            client.set_flow_run_state(night.id, Crashed(message="Killed together with its server."), force=True)
