"""Commands that judge runs: `gate`, `accept`, `compare`."""

from __future__ import annotations

from pathlib import Path

import click

from assay.flows.commands.answers import command, config_option, echo, store_option


@command("gate", example="assay gate latest --junit gates.xml\nassay gate 2026-11-22-0200-k3f9 --json")
@click.argument("run", default="latest")
@click.option(
    "--junit", type=click.Path(dir_okay=False, path_type=Path), default=None, help="Also write JUnit XML here."
)
@click.option(
    "--markdown", type=click.Path(dir_okay=False, path_type=Path), default=None, help="Also write Markdown here."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of sentences.")
@config_option
@store_option
@click.pass_context
def gate(
    ctx: click.Context,
    run: str,
    junit: Path | None,
    markdown: Path | None,
    as_json: bool,
    config: str,
    store: str | None,
) -> None:
    """Judge RUN by the gates of its pipeline, for a CI job.

    The exit code is 1 if a gate failed. In a GitHub job the result also stands in the job's summary, and what failed
    at its line of the pipelines file.
    """
    from assay.flows.report.continuous_integration import marks_of, tell_summary
    from assay.flows.report.judgement import judge_run
    from assay.flows.report.records import sample_in_words
    from assay.tasks.statistics.export import gates_as_json, gates_as_junit, gates_as_markdown

    record, results = judge_run(run, config, store)
    if junit is not None:
        junit.parent.mkdir(parents=True, exist_ok=True)
        junit.write_text(gates_as_junit(results, run=record.id, pipeline=record.pipeline), encoding="utf-8")
    summary = gates_as_markdown(results, run=record.id, pipeline=record.pipeline)
    if markdown is not None:
        markdown.parent.mkdir(parents=True, exist_ok=True)
        markdown.write_text(summary, encoding="utf-8")
    tell_summary(summary)
    for line in marks_of(results, record.pipeline, config):
        echo(line, err=as_json)
    if as_json:
        echo(gates_as_json(results, run=record.id, pipeline=record.pipeline))
    else:
        of_sample = f", {sample_in_words(record)}" if record.is_sample else ""
        passed = sum(result.outcome == "passed" for result in results)
        for result in results:
            echo(f"{'FAILED' if result.outcome == 'failed' else result.outcome}  {result.sentence}")
        echo(f"{passed} of {len(results)} gates passed ({record.pipeline}, run {record.id}{of_sample})")
    ctx.exit(0 if all(result.passed for result in results) else 1)


@command(
    "accept", example="assay accept k3f9 --why 'new scanner, agreed with QA'\nassay accept latest --why 'first night'"
)
@click.argument("run")
@click.option("--why", required=True, metavar="TEXT", help="The reason, for whoever asks later.")
@config_option
@store_option
def accept(run: str, why: str, config: str, store: str | None) -> None:
    """Make RUN the baseline of its pipeline.

    Gates `against: accepted` hold later runs against it. Your name, the time and the reason stay on record.
    """
    from assay.flows.operations.stores import open_store
    from assay.flows.report.all_nights import write_index
    from assay.flows.report.baselines import accept as make_baseline
    from assay.flows.report.baselines import accepted_in_words
    from assay.flows.report.records import find_run

    opened = open_store(config, store)
    record = find_run(opened, run)
    baseline = make_baseline(opened, record, why)
    write_index(opened)
    echo(f"{record.pipeline}: {accepted_in_words(baseline)}.")


@command("compare", example="assay compare 2026-11-21-0200-a1b2 2026-11-22-0200-k3f9\nassay compare a1b2 k3f9 --all")
@click.argument("before")
@click.argument("after")
@click.option("--all", "everything", is_flag=True, help="Show the findings that did not change as well.")
@config_option
@store_option
def compare(before: str, after: str, everything: bool, config: str, store: str | None) -> None:
    """Set the findings of two runs side by side.

    What changed, what is new, what is gone.
    """
    from assay.flows.operations.stores import open_store
    from assay.flows.report.comparison import compare_runs
    from assay.flows.report.records import find_run

    opened = open_store(config, store)
    echo(compare_runs(opened, find_run(opened, before), find_run(opened, after), everything))
