"""Commands that run pipelines: `run`, `plan`, `reproduce`."""

from __future__ import annotations

import contextlib
from pathlib import Path

import click

from assay.flows.commands.answers import (
    columns,
    command,
    config_option,
    echo,
    sample_option,
    seed_option,
    set_option,
    standard_output_kept_clean,
    store_option,
)
from assay.infra.terminal import json_text


@command(
    "run", example="assay run breast-cancer\nassay run breast-cancer --set pruning.correlation=0.4 --seed 2 --json"
)
@click.argument("name")
@config_option
@store_option
@set_option
@seed_option
@click.option("--fresh", is_flag=True, help="Compute every stage again, whatever the store holds.")
@click.option(
    "--verify",
    type=click.IntRange(min=0),
    default=0,
    metavar="N",
    help="Compute N of the partitions that a stage takes from earlier nights again, drawn by the seed, and compare.",
)
@sample_option
@click.option("--json", "as_json", is_flag=True, help="End with one JSON object on standard output.")
@click.pass_context
def run(
    ctx: click.Context,
    name: str,
    config: str,
    store: str | None,
    overrides: tuple[str, ...],
    seed: int,
    fresh: bool,
    verify: int,
    share: float,
    as_json: bool,
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
            from rich.console import Console

            from assay.flows.running import run_pipeline

            console = Console(stderr=as_json, soft_wrap=True, highlight=False)
            asked = project.pipeline(name)
            result = run_pipeline(project, asked, seed=seed, fresh=fresh, verify=verify, share=share, console=console)
        answer = {key: _plain(getattr(result, key)) for key in answer}
        code = result.exit_code
    except AssayError as error:
        answer |= {"status": "refused" if error.exit_code == 2 else "broken", "error": str(error)}
        raise
    finally:
        if as_json and answer["status"] is not None:
            echo(json_text(answer))
    ctx.exit(code)


@command("plan", example="assay plan breast-cancer --set pruning.correlation=0.4\nassay plan digits --sample 5%")
@click.argument("name")
@config_option
@store_option
@set_option
@seed_option
@sample_option
def plan(name: str, config: str, store: str | None, overrides: tuple[str, ...], seed: int, share: float) -> None:
    """Show what a run of NAME would do and cost, without doing it.

    Which stages are cached, which will run, where, and for how long: from earlier runs over the same store, scaled by
    rows, epochs, steps and ε.
    """
    from assay.flows.configuration.loading import load_project

    project = load_project(config, pipeline=name, overrides=overrides, store=store)
    from assay.flows.forecast.foreseeing import foresee
    from assay.flows.forecast.showing import HEADINGS, in_rows, summary
    from assay.flows.operations.inputs import check_inputs

    check_inputs(project, project.pipeline(name))
    expected, of_budget = foresee(project, project.pipeline(name), seed, share=share)
    rows = in_rows(expected)
    filled = [at for at, heading in enumerate(HEADINGS) if heading in HEADINGS[:4] or any(row[at] for row in rows)]
    echo(columns([HEADINGS[at] for at in filled], [[row[at] for at in filled] for row in rows]))
    for sentence in (summary(expected), *of_budget):
        echo(sentence)


TABLES = (
    "pugh-1",
    "xu-1",
    "xu-2",
    "xu-3",
    "xu-4",
    "xu-5",
    "toki-3",
    "toki-4",
    "werpachowski-5",
    "werpachowski-6",
    "araujo-2",
    "araujo-3",
    "araujo-4",
    "araujo-5",
    "araujo-6",
    "seeds",
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
@click.option("--to", "target", type=click.Path(path_type=Path), metavar="FILE", help="With --all: write it there.")
@click.option(
    "--results",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    metavar="DIR",
    help="Published results; left out, those in docs/results.",
)
@config_option
@store_option
def reproduce(
    table: str | None, every: bool, target: Path | None, results: Path | None, config: str, store: str | None
) -> None:
    """Set a paper's table beside the latest runs."""
    from assay.flows.operations.stores import open_store
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


def _plain(value: object) -> object:
    return value if isinstance(value, str | int | float | None) else str(value)
