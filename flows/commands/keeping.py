"""Commands that fetch, hand out and tidy up: `data`, `export`, `store`."""

from __future__ import annotations

from pathlib import Path

import click

from assay.flows.commands.answers import Answering, columns, command, config_option, echo, store_option


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


@command(
    "export",
    example="assay export k3f9 --to curated\nassay export breast-cancer --to curated --labeler snorkel\n"
    "assay export digits-defended --model plain+maadvt-lambda=1 --to model\n"
    "assay export digits --hardest 20 --to look-at\n"
    "assay export digits --results docs/results\n"
    "assay export latest --mlflow sqlite:///mlflow.db\n"
    "assay export latest --openlineage lineage.jsonl",
)
@click.argument("run", default="latest")
@click.option("--to", "target", type=click.Path(path_type=Path), metavar="DIR", help="A new or empty folder.")
@click.option(
    "--results",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Instead, write findings and lineage to DIR/PIPELINE.",
)
@click.option("--mlflow", default=None, metavar="URI", help="Instead, write the run to this MLflow.")
@click.option("--openlineage", default=None, metavar="WHERE", help="Instead, send lineage to a file or http(s)://….")
@click.option("--model", default=None, metavar="NAME", help="A defended model, instead of the curated sets.")
@click.option(
    "--hardest", type=click.IntRange(1), default=None, metavar="N", help="The N samples hard by every measure, instead."
)
@click.option("--subject", default=None, metavar="NAME", help="With --hardest: for which subject; else the first.")
@click.option("--labeler", type=click.Choice(["majority", "snorkel"]), default=None, help="Whose labels and order.")
@click.option("--licence", default=None, help="The licence of the data; left out, the catalogue's.")
@config_option
@store_option
def export(
    run: str,
    target: Path | None,
    results: Path | None,
    mlflow: str | None,
    openlineage: str | None,
    model: str | None,
    hardest: int | None,
    subject: str | None,
    labeler: str | None,
    licence: str | None,
    config: str,
    store: str | None,
) -> None:
    """Write curated sets, a model, samples or findings of RUN.

    pandas and Hugging Face `datasets` read the sets in one line; a data card and Croissant metadata lie beside the
    data. A model comes with its card and the lines that name it as a subject in pipelines.yaml. The hardest samples
    come as a table with why, and a PNG or text file each. Results are the
    findings as CSV, with settings, versions and digests: `assay reproduce` shows those in docs/results. `mlflow:` and
    `openlineage:` in pipelines.yaml send every run to where --mlflow and --openlineage send one.
    """
    from assay.flows.export.curated_sets import export_run
    from assay.flows.export.hardest import export_hardest
    from assay.flows.export.models import export_model
    from assay.flows.export.results import export_results
    from assay.flows.operations.stores import open_store
    from assay.flows.report.baselines import require_whole
    from assay.flows.report.records import find_run

    opened = open_store(config, store)
    if mlflow is not None or openlineage is not None:
        if target or results or model or hardest or subject or labeler or licence or (mlflow and openlineage):
            raise click.UsageError("--mlflow URI and --openlineage WHERE each stand alone.")
        from assay.flows.export.elsewhere import to_mlflow, to_openlineage

        record = find_run(opened, run)
        echo(to_mlflow(opened, record, mlflow) if mlflow else to_openlineage(opened, record, str(openlineage)))
        return
    record = require_whole(find_run(opened, run), "handed on")
    if results is not None:
        if target or model or hardest or subject or labeler or licence:
            raise click.UsageError("--results DIR stands alone; the other choices go with --to DIR.")
        echo(export_results(opened, record, results))
        return
    if target is None:
        raise click.UsageError("Give a folder with --to DIR, or with --results DIR.")
    if subject is not None and hardest is None:
        raise click.UsageError("--subject NAME goes with --hardest N.")
    if hardest is not None:
        if model or labeler or licence:
            raise click.UsageError("--hardest N goes with --subject NAME and --to DIR only.")
        echo(export_hardest(opened, record, hardest, target, subject))
        return
    if model is not None:
        echo(export_model(opened, record, model, target))
        return
    echo(export_run(opened, record, target, labeler=labeler, licence=licence))


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
