"""Commands that keep audits running every night: `deploy`, `serve`, `notify`, `worker`."""

from __future__ import annotations

import click

from assay.flows.commands.answers import command, config_option, echo, store_option


@command("deploy", example="assay deploy")
@config_option
def deploy(config: str) -> None:
    """Register the scheduled pipelines with your Prefect server.

    One deployment per pipeline; the workers of your pool run them.
    """
    _prepare()
    from assay.flows.configuration.loading import load_usable
    from assay.flows.deployments import deploy as deploy_all

    project, refused = load_usable(config)
    for mistakes in refused.values():
        echo(f"Left out until it is corrected:\n{mistakes}", err=True)
    deploy_all(project, project.file)


@command("serve", example="assay serve")
@config_option
def serve(config: str) -> None:
    """Stay, and run every pipeline on its schedule.

    A night that still runs when the next one is due is not started twice; one that does not come is noticed, and told
    where pipelines.yaml says whom (`notify:`).
    """
    _prepare()
    from assay.flows.configuration.loading import load_usable
    from assay.flows.deployments import serve as serve_all

    project, refused = load_usable(config)
    for mistakes in refused.values():
        echo(f"Left out until it is corrected:\n{mistakes}", err=True)
    serve_all(project, project.file)


@command("notify", example="assay notify --test\nassay notify")
@click.option("--test", "trial", is_flag=True, help="Send a test message, whatever the nights did.")
@config_option
@store_option
@click.pass_context
def notify(ctx: click.Context, trial: bool, config: str, store: str | None) -> None:
    """Send what has changed and was not told yet.

    To whom pipelines.yaml says under `notify`. The exit code is 3 if a message did not arrive.
    """
    from assay.flows.nights.asking import send_now, send_trial

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
def worker(address: str, gpu: bool, memory: str, tls_ca: str | None, tls_cert: str | None, tls_key: str | None) -> None:
    """Join the Dask scheduler at ADDRESS and work for it."""
    from assay.flows.operations.workers import work

    work(address, gpu=gpu, memory=memory, tls=(tls_ca, tls_cert, tls_key), ready=echo)


def _prepare() -> None:
    """Before Prefect is imported: no telemetry and one thread, for us and for the runs that are started from here."""
    from assay.infra.environment import prepare_environment

    prepare_environment()
