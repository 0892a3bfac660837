"""Commands that run pipelines, now or every night: `run`, `plan`, `reproduce`, `deploy`, `serve`, `notify`,
`worker`.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Mapping
from functools import partial
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click

from assay.flows.commands.options import (
    FOLDER,
    PATH,
    command,
    config_option,
    pipelines_that_begin,
    project_options,
    sample_option,
    seed_option,
    set_option,
    standard_output_kept_clean,
)
from assay.infra.errors import InputError
from assay.infra.terminal import columns, echo, json_text

if TYPE_CHECKING:
    from assay.flows.configuration.loading import Project

_VERIFY = "Compute N of the partitions that a stage takes from earlier nights again, others each day, and compare."


@command(
    "run", example="assay run breast-cancer\nassay run breast-cancer --set pruning.correlation=0.4 --seed 2 --json"
)
@click.argument("name", shell_complete=pipelines_that_begin)
@project_options
@set_option
@seed_option
@click.option("--fresh", is_flag=True, help="Compute every stage again, whatever the store holds.")
@click.option("--verify", type=click.IntRange(min=0), default=0, metavar="N", help=_VERIFY)
@sample_option
@click.option("--json", "as_json", is_flag=True, help="End with one JSON object on standard output.")
@click.pass_context
def run(
    ctx: click.Context,
    /,
    name: str,
    config: str,
    store: str | None,
    overrides: tuple[str, ...],
    as_json: bool,
    **how: Any,
) -> None:
    """Run the pipeline NAME now, from its data to its report.

    A `budget` in pipelines.yaml bounds how long: what is not begun when it is over is left to the next run, and the
    exit code is 3.
    """
    from assay.infra.errors import AssayError

    answer: dict[str, object] = dict.fromkeys(("run", "status", "report", "findings", "seconds"))
    try:
        with standard_output_kept_clean() if as_json else contextlib.nullcontext():
            from assay.flows.configuration.loading import load_project

            project = load_project(config, pipeline=name, overrides=overrides, store=store)
            from assay.flows.running import run_pipeline

            result = run_pipeline(project, project.pipeline(name), **how, stream=sys.stderr if as_json else sys.stdout)
        answer = {key: getattr(result, key) for key in answer}
        code = result.exit_code
    except AssayError as error:
        answer |= {"status": "refused" if error.exit_code == 2 else "broken", "error": str(error)}
        raise
    finally:
        if as_json and answer["status"] is not None:
            echo(json_text(answer))
    ctx.exit(code)


@command("plan", example="assay plan breast-cancer --set pruning.correlation=0.4\nassay plan digits --sample 5%")
@click.argument("name", shell_complete=pipelines_that_begin)
@project_options
@set_option
@seed_option
@sample_option
def plan(name: str, config: str, store: str | None, overrides: tuple[str, ...], seed: int, share: float) -> None:
    """Show what a run of NAME would do and cost, without doing it.

    Which stages are cached, which will run, where, and for how long: from earlier runs over the same store, scaled by
    rows, epochs, steps and ε. The exit code is 2 where a subject would be refused.
    """
    from assay.flows.configuration.loading import load_project

    project = load_project(config, pipeline=name, overrides=overrides, store=store)
    from assay.flows.forecast.plan import (
        check_inputs,
        expected_questions,
        forecast_before_run,
        forecast_summary,
        forecast_table,
    )
    from assay.flows.starting.first_look import read_samples

    pipeline = project.pipeline(name)
    refused = check_inputs(project, pipeline)
    expected, of_budget = forecast_before_run(project, pipeline, seed, share=share)
    read = partial(read_samples, pipeline.source, project.folder)
    asked = expected_questions(pipeline, project.folder, lambda: attrgetter("samples", "rows")(read()), share)
    echo("\n".join([columns(*forecast_table(expected)), forecast_summary(expected), *of_budget, *asked]))
    if refused:
        raise InputError("\n".join(["A run would refuse this, and go on without it:", *refused]))


TABLES = (
    *("pugh-1", "xu-1", "xu-2", "xu-3", "xu-4", "xu-5", "toki-3", "toki-4", "werpachowski-5", "werpachowski-6"),
    *("araujo-2", "araujo-3", "araujo-4", "araujo-5", "araujo-6", "robustbench", "medmnist-c", "seeds"),
)


@command(
    "reproduce",
    example="assay reproduce\nassay reproduce pugh-1\nassay reproduce --all --to results.md",
    help=f"""Set a paper's TABLE beside your latest runs.

    Where there is none, beside the published results. Without a TABLE it says what each shows.
    The tables are {", ".join(TABLES)}.""",
)
@click.argument("table", required=False)
@click.option("--all", "every", is_flag=True, help="Every table, as Markdown.")
@click.option("--to", "target", type=PATH, metavar="FILE", help="With --all: write it there.")
@click.option("--results", type=FOLDER, metavar="DIR", help="Published results; left out, those in docs/results.")
@project_options
def reproduce(
    table: str | None, every: bool, target: Path | None, results: Path | None, config: str, store: str | None
) -> None:
    """Set a paper's table beside the latest runs."""
    from assay.flows.report.records import open_store
    from assay.flows.reproduce.tables import list_of_tables, reproduce_all, write_page
    from assay.flows.reproduce.tables import reproduce as beside

    if every and table is not None:
        raise click.UsageError("Give a TABLE, or --all, not both.")
    if target is not None and not every:
        raise click.UsageError("--to FILE goes with --all, which writes Markdown.")
    if every:
        page = reproduce_all(open_store(config, store), results)
        echo(page.rstrip() if target is None else write_page(target, page))
        return
    echo(list_of_tables() if table is None else beside(table, open_store(config, store), results))


def _scheduled(config: str) -> Project:
    """The project, before Prefect is imported: no telemetry and one thread, for us and for the runs that start here."""
    from assay.flows.configuration.loading import load_usable
    from assay.infra.environment import prepare_environment

    prepare_environment()
    project, refused = load_usable(config, own=True)
    for mistakes in refused.values():
        echo(f"Left out until it is corrected:\n{mistakes}", err=True)
    return project


@command("deploy", example="assay deploy")
@config_option
def deploy(config: str) -> None:
    """Register the scheduled pipelines with your Prefect server.

    One deployment per pipeline; the workers of your pool run them.
    """
    project = _scheduled(config)
    from assay.flows.deployments import deploy as deploy_all

    deploy_all(project, project.file)


@command("serve", example="assay serve")
@config_option
def serve(config: str) -> None:
    """Stay, and run every pipeline on its schedule.

    A night that still runs when the next one is due is not started twice; one that does not come is noticed, and told
    where pipelines.yaml says whom (`notify:`).
    """
    project = _scheduled(config)
    from assay.flows.deployments import serve as serve_all

    serve_all(project, project.file)


@command("notify", example="assay notify --test\nassay notify")
@click.option("--test", "trial", is_flag=True, help="Send a test message, whatever the nights did.")
@project_options
@click.pass_context
def notify(ctx: click.Context, trial: bool, config: str, store: str | None) -> None:
    """Send what has changed and was not told yet.

    To whom pipelines.yaml says under `notify`. The exit code is 3 if a message did not arrive.
    """
    from assay.flows.nights.notify import send_now, send_trial

    sentences, arrived = send_trial(config) if trial else send_now(config, store)
    for sentence in sentences:
        echo(sentence, err=not arrived)
    ctx.exit(0 if arrived else 3)


@command("worker", example="assay worker tls://scheduler:8786\nassay worker tls://scheduler:8786 --gpu")
@click.argument("address")
@click.option("--gpu", is_flag=True, help="Offer this machine's GPU: stages that want one are sent here.")
@click.option("--memory", default="auto", show_default=True, help="The worker's memory, as in 4GiB.")
@click.option("--tls-ca", type=click.Path(exists=True, dir_okay=False), help="The certificate authority's file.")
@click.option("--tls-cert", type=click.Path(exists=True, dir_okay=False), help="This worker's certificate.")
@click.option("--tls-key", type=click.Path(exists=True, dir_okay=False), help="This worker's private key.")
def worker(address: str, gpu: bool, memory: str, **tls: str | None) -> None:
    """Join the Dask scheduler at ADDRESS and work for it."""
    refuse_open_lines(address, tls)
    # Dask reads its configuration from the environment when it is imported, and so do the processes it starts.
    for name, file in tls.items():
        if file is not None:
            os.environ[f"DASK_DISTRIBUTED__COMM__TLS__{TLS[name]}"] = os.path.abspath(file)
    from assay.infra.engines.dask_worker import run_worker

    run_worker(address, gpu=gpu, memory=memory, ready=echo)


TLS = {"tls_ca": "CA_FILE", "tls_cert": "WORKER__CERT", "tls_key": "WORKER__KEY"}


def refuse_open_lines(address: str, tls: Mapping[str, str | None]) -> None:
    """An address without TLS is refused, on loopback too: a worker does whatever it is sent, by any user of a machine.

    >>> refuse_open_lines("tls://scheduler:8786", {"tls_ca": "ca.pem", "tls_cert": "cert.pem", "tls_key": "key.pem"})
    """
    try:
        parts = urlsplit(address)
        is_address = parts.scheme in ("tcp", "tls") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number, or half a pair of brackets
        is_address = False
    if not is_address:
        raise InputError(f"{address} is no address of a scheduler; write it as tls://host:8786.")
    if parts.scheme == "tcp":
        raise InputError(
            f"{address} is not encrypted, and a Dask worker does whatever it is sent: use tls://, with --tls-ca, "
            "--tls-cert and --tls-key."
        )
    if not all(file or os.environ.get(f"DASK_DISTRIBUTED__COMM__TLS__{TLS[name]}") for name, file in tls.items()):
        raise InputError(f"{address} needs --tls-ca, --tls-cert and --tls-key: the files this worker trusts and shows.")
