"""Commands that review configuration and runs: `check`, `list`, `runs`, `report`, `history`, `gate`, `accept`,
`compare`, `blame`.
"""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.flows.commands.options import (
    FILE,
    PATH,
    command,
    config_option,
    project_options,
    reads_store,
    set_option,
    standard_output_kept_clean,
)
from assay.infra.terminal import columns, echo

if TYPE_CHECKING:
    from assay.infra.storage.store import Store


@command("check", example="assay check\nassay check --set pruning.correlation=0.4\nassay check --plugin waves.py:WAVES")
@click.option("--plugin", metavar="NAME", help="Try one plug-in: module:object, or an installed name.")
@project_options
@set_option
@click.pass_context
def check(ctx: click.Context, plugin: str | None, config: str, store: str | None, overrides: tuple[str, ...]) -> None:
    """Check the configuration and the environment, or one plug-in.

    Prints what is wrong, or what was understood; the exit code is 2 where something is wrong.
    """
    from assay.flows.check import check as check_all
    from assay.flows.check import check_one_plugin

    result = check_all(config, store, overrides) if plugin is None else check_one_plugin(plugin, config)
    if result.text:
        echo(result.text)
    if result.complaint:
        echo(result.complaint, err=True)
    ctx.exit(2 if result.complaint else 0)


@command("schema", example="assay schema --to pipelines.schema.json")
@click.option("--to", "target", type=PATH, metavar="FILE", help="Write it there.")
@config_option
def schema(target: Path | None, config: str) -> None:
    """Print the JSON Schema of the pipelines file, for editors.

    With `# yaml-language-server: $schema=pipelines.schema.json` as the first line of pipelines.yaml they complete,
    explain and underline; the plug-ins that the file names are in it.
    """
    from assay.flows.configuration.loading import read_document
    from assay.flows.configuration.menu import json_schema
    from assay.flows.reproduce.published import write_files
    from assay.infra.terminal import json_text

    text = json_text(json_schema(Path(config).absolute().parent, read_document(Path(config).absolute())), indent=1)
    if target is None:
        echo(text)
    else:
        write_files(target.parent, {target.name: text + "\n"}, "another file with --to")
        echo(f"{target} written.")


@command("list", example="assay list\nassay list --embedded")
@click.option("--embedded", is_flag=True, help="What comes with Assay, whatever the file says.")
@config_option
def list_pipelines(config: str, embedded: bool) -> None:
    """List the pipelines, their schedules and what they audit.

    Those of the pipelines file. What comes with Assay (--embedded) is run by name beside them, and is all there is
    where there is no such file.
    """
    from assay.flows.configuration.loading import EMBEDDED_FILE, embedded_pipelines, load_usable
    from assay.flows.report.records import source_in_words

    project, refused = load_usable(EMBEDDED_FILE if embedded else config)
    rows = [
        [name, pipeline.schedule or "on request", source_in_words(pipeline.source.model_dump()), pipeline.description]
        for name, pipeline in project.pipelines.items()
    ]
    rows += [[name, "refused", "", "has mistakes: assay check names them"] for name in refused]
    echo(columns(["pipeline", "schedule", "source", "what"], rows))
    more = set(embedded_pipelines().pipelines) - {*project.pipelines, *refused}
    if more:
        echo(f"{len(more)} more come with Assay, and are run by name: assay list --embedded")
    elif not project.file.exists() or embedded:
        echo(f"They come with Assay ({EMBEDDED_FILE}) and are run by name; assay init writes a file of your own.")


@command("runs", example="assay runs\nassay runs --pipeline breast-cancer --last 30")
@click.option("--pipeline", metavar="NAME", help="Only runs of this pipeline.")
@click.option("--last", type=click.IntRange(1), default=20, show_default=True, help="How many runs to show.")
@reads_store
def runs(pipeline: str | None, last: int, store: Store) -> None:
    """List the latest runs, and the nights that were missed."""
    from assay.flows.report.records import run_rows

    rows = run_rows(store, pipeline)[:last]
    if not rows:
        of = "" if pipeline is None else f" of {pipeline}"
        echo(f"There is no run{of} in {store.url} yet.  (assay run NAME makes one)")
        return
    echo(columns(["run", "pipeline", "status", "seconds", "seed", "verdict"], rows))


@command("report", example="assay report\nassay report breast-cancer --open\nassay report k3f9 --against a1b2 --open")
@click.argument("run", default="latest")
@click.option("--against", metavar="RUN", help="Make the page of what changed since that run.")
@click.option("--times", is_flag=True, help="Print where its time went, stage by stage.")
@click.option("--open", "opened", is_flag=True, help="Open it in the browser.")
@reads_store
def report(run: str, against: str | None, times: bool, opened: bool, store: Store) -> None:
    """Print where the report of RUN lies.

    RUN is a run, the end of its name, a pipeline (its latest run), or `latest`, which is the default.
    """
    from assay.flows.report.records import find_run, page_of

    record = find_run(store, run)
    if times:
        from assay.flows.forecast.plan import forecast_part
        from assay.flows.report.records import TIME_HEADINGS, least_time, time_rows, times_of

        echo(columns(TIME_HEADINGS, time_rows(times_of(store, record))))
        if (least := least_time(store, record)) is not None:
            echo(least.sentence)
        for forecast in forecast_part(record):
            echo(forecast.sentence)
    if against is None:
        page = page_of(store, record)
    else:
        from assay.flows.report.change import RunChange, write_change

        page = write_change(RunChange(store, find_run(store, against), record))
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
@click.option("--of", help="Only what the finding says of this: an attack, an approach, …")
@click.option("--group", help="Only this slice.")
@click.option("--subject", help="Only this subject.")
@click.option("--last", type=click.IntRange(1), default=30, show_default=True, help="How many runs to draw.")
@click.option("--csv", "as_csv", is_flag=True, help="Print the rows, of all runs, as CSV.")
@reads_store
def history(pipeline: str, finding: str | None, last: int, as_csv: bool, store: Store, **slices: str | None) -> None:
    """Draw how PIPELINE's numbers went over the nights.

    Those that the report follows, or every slice of one FINDING (`attack.accuracy`), night by night where it is one.
    """
    from assay.flows.nights.history import history_as_csv, history_in_words

    if as_csv:
        echo(history_as_csv(store, pipeline, finding, slices).rstrip("\n"))
    else:
        echo(history_in_words(store, pipeline, finding, slices, last))


@command("gate", example="assay gate latest --junit gates.xml\nassay gate 2026-11-22-0200-k3f9 --json")
@click.argument("run", default="latest")
@click.option("--junit", type=FILE, help="Also write JUnit XML here.")
@click.option("--sarif", type=FILE, help="Also write SARIF here.")
@click.option("--markdown", type=FILE, help="Also write Markdown here.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of sentences.")
@project_options
@click.pass_context
def gate(ctx: click.Context, /, run: str, as_json: bool, config: str, store: str | None, **files: Path | None) -> None:
    """Judge RUN by the gates of its pipeline, for a CI job.

    The exit code is 1 if a gate failed, else 2 if a part of RUN was refused, and 3 if it broke or did not come to its
    end. In a GitHub job the result also stands in the job's summary, and what failed at its line of the pipelines file.
    """
    from assay.flows.report.gates import judge_run
    from assay.flows.report.gates_for_ci import (
        gates_as_json,
        gates_as_junit,
        gates_as_markdown,
        gates_as_sarif,
        github_annotations,
        write_job_summary,
    )
    from assay.flows.report.records import sample_in_words
    from assay.flows.reproduce.published import write_files

    record, results = judge_run(run, config, store)
    summary = gates_as_markdown(results, run=record.id, pipeline=record.pipeline)
    written = {
        "junit": gates_as_junit(results, run=record.id, pipeline=record.pipeline),
        "markdown": summary,
        "sarif": gates_as_sarif(results, record.pipeline, config),
    }
    for form, file in files.items():
        if file is not None:
            write_files(file.parent, {file.name: written[form]}, f"another file with --{form}")
    write_job_summary(summary)
    for line in github_annotations(results, record.pipeline, config):
        echo(line, err=as_json)
    if as_json:
        echo(gates_as_json(results, run=record.id, pipeline=record.pipeline))
    else:
        of_sample = f", {sample_in_words(record)}" if record.is_sample else ""
        passed = sum(result.outcome == "passed" for result in results)
        for result in results:
            echo(f"{'FAILED' if result.outcome == 'failed' else result.outcome}  {result.sentence}")
        echo(f"{passed} of {len(results)} gates passed ({record.pipeline}, run {record.id}{of_sample})")
    if not record.is_complete:
        reason = ": ".join([record.status, *record.failures[:1]])
        echo(f"Run {record.id} is {reason}", err=True)
    ended = 0 if record.is_complete else 2 if record.status == "refused" else 3
    ctx.exit(ended if all(result.passed for result in results) else 1)


@command(
    "accept", example="assay accept k3f9 --why 'new scanner, agreed with QA'\nassay accept latest --why 'first night'"
)
@click.argument("run")
@click.option("--why", required=True, metavar="TEXT", help="The reason, for whoever asks later.")
@click.option("--new-level", is_flag=True, help="No night before RUN is like it (another scanner): pool none with it.")
@reads_store
def accept(run: str, why: str, new_level: bool, store: Store) -> None:
    """Make RUN the baseline of its pipeline.

    Gates `against: accepted` hold later runs against it. Your name, the time and the reason stay on record.
    """
    from assay.flows.report.all_nights import write_index
    from assay.flows.report.gates import accept as make_baseline
    from assay.flows.report.gates import accepted_in_words
    from assay.flows.report.records import find_run

    record = find_run(store, run)
    baseline = make_baseline(store, record, why, new_level=new_level)
    write_index(store)
    echo(f"{record.pipeline}: {accepted_in_words(baseline)}.")


@command("compare", example="assay compare 2026-11-21-0200-a1b2 2026-11-22-0200-k3f9\nassay compare a1b2 k3f9 --all")
@click.argument("before")
@click.argument("after")
@click.option("--all", "everything", is_flag=True, help="Show the findings that did not change as well.")
@reads_store
def compare(before: str, after: str, everything: bool, store: Store) -> None:
    """Set the findings of two runs side by side.

    What changed, what is new, what is gone.
    """
    from assay.flows.report.change import RunChange, change_as_text
    from assay.flows.report.records import find_run

    echo(change_as_text(RunChange(store, find_run(store, before), find_run(store, after)), everything))


@command(
    "blame",
    example="assay blame latest\nassay blame k3f9 --against a1b2 --finding attack.accuracy --of worst-case --yes",
)
@click.argument("run", default="latest")
@click.option("--against", metavar="RUN", help="The earlier run; else what the gates hold RUN against.")
@click.option("--finding", metavar="METRIC", help="Which finding; else the worst change.")
@click.option("--of", help="What the finding is of: an attack, an approach, …")
@click.option("--group", help="Its slice.")
@click.option("--subject", help="Its subject.")
@click.option("--yes", is_flag=True, help="Go on without asking, whatever it costs.")
@click.option("--json", "as_json", is_flag=True, help="End with one JSON object on standard output.")
@project_options
def blame(
    run: str, against: str | None, yes: bool, as_json: bool, config: str, store: str | None, **finding: str | None
) -> None:
    """Say what a drop of RUN comes from.

    What changed since an earlier run (samples, rules, models, weights, settings, seed, libraries), and how much of the
    drop each is to blame for: it is swapped for what it was, in every order. What the store has is taken from there;
    what the rest costs is said before it starts.
    """
    from assay.flows.blame import shares
    from assay.flows.blame.shares import shared_out, sharing_between
    from assay.infra.errors import InputError

    sharing = sharing_between(config, store, run, against, finding)
    with standard_output_kept_clean() if as_json else contextlib.nullcontext():
        sharing, forecast = sharing.with_forecast()
        for line in shares.changed_in_words(sharing.changes):
            echo(line)
        echo(forecast.in_words(), err=True)
        if forecast.costs and not yes:
            if not sys.stdin.isatty():
                raise InputError("Nobody is there to be asked whether that is worth it: add --yes to go on.")
            click.confirm("Go on?", abort=True, err=True)
        result = shared_out(sharing, forecast.costs)
    if as_json:
        echo(shares.blame_as_json(result))
        return
    for line in shares.not_swapped_in_words(result.changes) if not sharing.changes.lost else ():
        echo(line)
    echo(f"{shares.before_and_after(result)}\n\n{shares.blame_table(result)}\n\n{shares.blame_sentence(result)}")
