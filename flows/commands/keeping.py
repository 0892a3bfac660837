"""Commands that fetch and tidy up: `data`, `store`."""

from __future__ import annotations

import click

from assay.flows.commands.answers import Answering, columns, config_option, echo, store_option


@click.group("data", cls=Answering)
def data() -> None:
    """Public data sets of the catalogue: list them, get them."""


@data.command("list", example="assay data list")
def data_list() -> None:
    """List the data sets: the embedded ones, and the catalogue."""
    from assay.flows.operations.data_sets import known_data_sets, where_from

    echo(columns(["data set", "at hand", "licence", "what"], known_data_sets()))
    if lines := where_from():
        echo("\nYours to bring, with where the originals are (assay data get NAME says how to have one here):")
        echo("\n".join(f"  {line}" for line in lines))


@data.command("get", example="assay data get youtube-spam")
@click.argument("name")
def data_get(name: str) -> None:
    """Get the data set NAME and verify its checksums.

    From its source, or from the mirror that the environment variable ASSAY_MIRROR names.
    """
    from assay.flows.operations.data_sets import get_data_set

    echo(get_data_set(name))


@click.group("store", cls=Answering)
def store() -> None:
    """The store of artifacts, runs and reports: look, tidy, rebuild."""


@store.command("info", example="assay store info")
@config_option
@store_option
def store_info(config: str, store: str | None) -> None:
    """Show what the store holds and how large it is."""
    from assay.flows.operations.stores import open_store
    from assay.flows.report.records import describe_store

    echo(columns(["store", ""], describe_store(open_store(config, store))))


@store.command("clean", example="assay store clean --dry-run\nassay store clean --keep 7")
@click.option("--keep", type=click.IntRange(0), default=30, show_default=True, help="Runs to keep of each pipeline.")
@click.option("--dry-run", is_flag=True, help="Only say what would go.")
@config_option
@store_option
def store_clean(keep: int, dry_run: bool, config: str, store: str | None) -> None:
    """Remove old runs, and what no remaining run used.

    The history of their findings is kept.
    """
    from assay.flows.operations.stores import open_store
    from assay.flows.report.records import in_bytes
    from assay.infra.sweep import clean

    swept = clean(open_store(config, store), keep=keep, dry_run=dry_run)
    verb = "Would remove" if dry_run else "Removed"
    echo(f"{verb} {len(swept.runs)} runs and {len(swept.results)} results: {in_bytes(swept.bytes)}.")


@store.command("rebuild", example="assay store rebuild")
@config_option
@store_option
def store_rebuild(config: str, store: str | None) -> None:
    """Write history and the page of all nights anew from the runs.

    What the history has of runs that were cleaned away stays.
    """
    from assay.flows.nights.history import rebuild
    from assay.flows.operations.stores import open_store
    from assay.flows.report.all_nights import write_index
    from assay.infra.errors import InputError
    from assay.tasks.reporting.numerals import plural

    opened = open_store(config, store)
    written, kept, troubles = rebuild(opened)
    write_index(opened)
    echo(f"{opened.url}/history: {plural(written, 'run')} written, {kept} kept of runs that are gone.")
    if troubles:
        raise InputError("\n".join(troubles))
