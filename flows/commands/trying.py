"""Commands about rules outside a run: `rules try`."""

from __future__ import annotations

import sys

import click

from assay.flows.commands.answers import Answering, config_option, echo


@click.group("rules", cls=Answering)
def rules() -> None:
    """Try labelling functions while they are written."""


@rules.command(
    "try",
    example="assay rules try rules.yaml --data patients.csv --label diagnosis --watch\n"
    "assay rules try rules.py --pipeline patients --show 3",
)
@click.argument("file")
@click.option("--data", metavar="PATH", help="What to try them on: a file, a folder, a pattern or a URL.")
@click.option("--label", metavar="COLUMN", help="The column with the true class; left out, the one called like one.")
@click.option("--id", "identity", metavar="COLUMN", help="The column that names a sample.")
@click.option("--pipeline", metavar="NAME", help="In place of --data: the source of this pipeline.")
@click.option("--show", type=click.IntRange(0), default=10, show_default=True, help="So many samples of each sort.")
@click.option("--watch", is_flag=True, help="Again at every save, until Ctrl-C.")
@config_option
def try_(
    file: str,
    data: str | None,
    label: str | None,
    identity: str | None,
    pipeline: str | None,
    show: int,
    watch: bool,
    config: str,
) -> None:
    """Show what the rules in FILE do on data.

    Coverage, overlaps, conflicts, how many votes are right where there is gold, and samples that each rule votes on,
    misses, or stands alone on.
    """
    if (data is None) == (pipeline is None):
        raise click.UsageError("Say what to try them on: --data PATH, or --pipeline NAME.")
    if pipeline is not None and (label is not None or identity is not None):
        raise click.UsageError("--label and --id go with --data: a pipeline names its own columns.")
    from assay.flows.trying.session import Session, require_file, samples_from_data, samples_of_pipeline
    from assay.infra.errors import AssayError

    watched = require_file(file)
    samples = (
        samples_from_data(data, label, identity) if data is not None else samples_of_pipeline(config, str(pipeline))
    )
    session = Session(file, samples, show)
    if not watch or watched is None:
        echo(session.say())
        return
    from assay.flows.trying.watching import saves

    for _ in saves(watched):
        if sys.stdout.isatty():
            click.clear()
        try:
            echo(session.say())
        except AssayError as error:
            echo(str(error), err=True)
