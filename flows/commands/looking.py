"""Commands that only look: `check`, `list`, `runs`, `report`, `history`."""

from __future__ import annotations

import click

from assay.flows.commands.answers import columns, command, config_option, echo, set_option, store_option


@command("check", example="assay check\nassay check --set pruning.correlation=0.4\nassay check --plugin waves.py:WAVES")
@click.option("--plugin", default=None, metavar="NAME", help="Try one plug-in: module:object, or an installed name.")
@config_option
@store_option
@set_option
@click.pass_context
def check(ctx: click.Context, plugin: str | None, config: str, store: str | None, overrides: tuple[str, ...]) -> None:
    """Check the configuration and the environment, or one plug-in.

    Prints what is wrong, or what was understood; the exit code is 2 where something is wrong.
    """
    from assay.flows.operations.checking import check as check_all
    from assay.flows.operations.checking import check_one_plugin

    result = check_all(config, store, overrides) if plugin is None else check_one_plugin(plugin, config)
    if result.text:
        echo(result.text)
    if result.complaint:
        echo(result.complaint, err=True)
    ctx.exit(2 if result.complaint else 0)


@command("list", example="assay list")
@config_option
def list_pipelines(config: str) -> None:
    """List the pipelines, their schedules and what they audit."""
    from assay.flows.configuration.loading import load_usable
    from assay.flows.operations.checking import source_in_words

    project, refused = load_usable(config)
    rows = [
        [name, one.schedule or "on request", source_in_words(one.source), one.description]
        for name, one in project.pipelines.items()
    ]
    rows += [[name, "refused", "", "has mistakes: assay check names them"] for name in refused]
    echo(columns(["pipeline", "schedule", "source", "what"], rows))


@command("runs", example="assay runs\nassay runs --pipeline breast-cancer --last 30")
@click.option("--pipeline", default=None, metavar="NAME", help="Only runs of this pipeline.")
@click.option("--last", type=click.IntRange(1), default=20, show_default=True, help="How many runs to show.")
@config_option
@store_option
def runs(pipeline: str | None, last: int, config: str, store: str | None) -> None:
    """List the latest runs, and the nights that were missed."""
    from assay.flows.operations.stores import open_store
    from assay.flows.report.records import listed

    opened = open_store(config, store)
    rows = listed(opened, pipeline)[:last]
    if not rows:
        of = "" if pipeline is None else f" of {pipeline}"
        echo(f"There is no run{of} in {opened.url} yet.  (assay run NAME makes one)")
        return
    echo(columns(["run", "pipeline", "status", "seconds", "seed", "verdict"], rows))


@command("report", example="assay report\nassay report breast-cancer --open\nassay report k3f9 --times")
@click.argument("run", default="latest")
@click.option("--times", is_flag=True, help="Print where its time went, stage by stage.")
@click.option("--open", "opened", is_flag=True, help="Open it in the browser.")
@config_option
@store_option
def report(run: str, times: bool, opened: bool, config: str, store: str | None) -> None:
    """Print where the report of RUN lies.

    RUN is a run, the end of its name, a pipeline (its latest run), or `latest`, which is the default.
    """
    from assay.flows.operations.stores import open_store
    from assay.flows.report.records import find_run, page_of

    kept = open_store(config, store)
    record = find_run(kept, run)
    if times:
        from assay.flows.forecast.showing import part
        from assay.flows.report.times import HEADINGS, in_rows, times_of

        echo(columns(HEADINGS, in_rows(times_of(kept, record))))
        for forecast in part(record):
            echo(forecast.sentence)
    page = page_of(kept, record)
    echo(page)
    if opened:
        click.launch(page)


@command(
    "history",
    example="assay history digits\nassay history digits attack.accuracy --of pgd --last 14\n"
    "assay history digits --csv > digits.csv",
)
@click.argument("pipeline")
@click.argument("finding", required=False)
@click.option("--of", "of", default=None, help="Only what the finding says of this: an attack, an approach, …")
@click.option("--group", default=None, help="Only this slice.")
@click.option("--subject", default=None, help="Only this subject.")
@click.option("--last", type=click.IntRange(1), default=30, show_default=True, help="How many runs to draw.")
@click.option("--csv", "as_csv", is_flag=True, help="Print the rows, of all runs, as CSV.")
@config_option
@store_option
def history(
    pipeline: str,
    finding: str | None,
    of: str | None,
    group: str | None,
    subject: str | None,
    last: int,
    as_csv: bool,
    config: str,
    store: str | None,
) -> None:
    """Draw how PIPELINE's numbers went over the nights.

    Those that the report follows, or every slice of one FINDING (`attack.accuracy`), night by night where it is one.
    """
    from assay.flows.nights.asking import history_as_csv, history_in_words
    from assay.flows.operations.stores import open_store

    opened, slices = open_store(config, store), {"of": of, "group": group, "subject": subject}
    if as_csv:
        echo(history_as_csv(opened, pipeline, finding, slices).rstrip("\n"))
    else:
        echo(history_in_words(opened, pipeline, finding, slices, last))
