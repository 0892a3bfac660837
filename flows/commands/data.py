"""Commands on data, rules and the store: `init`, `rules try`, `data`, `store`, `export`."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assay.flows.commands.options import (
    PATH,
    Answering,
    command,
    config_option,
    pipelines_that_begin,
    project_options,
    reads_store,
)
from assay.infra.terminal import columns, echo

if TYPE_CHECKING:
    from assay.flows.starting.column_roles import Answers, Question
    from assay.flows.starting.proposal import Proposal
    from assay.infra.storage.artifacts import RunRecord
    from assay.infra.storage.store import Store


def _listed(names: str | None) -> tuple[str, ...]:
    return tuple(name.strip() for name in names.split(",")) if names else ()


def _column_options(function: Callable[..., None]) -> Callable[..., None]:
    """The options by which a person says what columns of data mean."""
    options = (
        ("--kind", click.Choice(["table", "images", "texts"]), None, "What it is, where that is not plain."),
        ("--label", str, "COLUMN", "The column with the true class; - for none."),
        ("--classes", str, "A,B", "The classes, where there is no label."),
        ("--id", str, "COLUMN", "The column that names a sample; - for none."),
        ("--text", str, "COLUMN", "The column with the text."),
        ("--group", str, "COLUMN", "The column of what is independent (patient, author); - for none."),
        ("--split", str, "COLUMN", "The column that says train or test; - for none."),
        ("--predictions", str, "COLUMN", "The column with a model's answers; - for none."),
        ("--name", str, "NAME", "What the pipeline is called; left out, as the data is."),
    )
    for flag, kind, shown, help_ in reversed(options):
        function = click.option(flag, type=kind, metavar=shown, help=help_)(function)
    return click.option("--yes", is_flag=True, help="Ask nothing: take what the data shows, or refuse.")(function)


@command(
    "audit",
    example="assay audit ./my-bert --data reviews.csv\nassay audit model.onnx --data scans --budget 10m\n"
    "assay audit org/name --data sample/reviews --yes\nassay audit model.py:night --data patients.parquet",
)
@click.argument("model")
@click.option("--data", metavar="DATA", required=True, help="A file, folder, pattern, URL, database or sample/….")
@click.option("--budget", default="5m", show_default=True, metavar="TIME", help="How long it may take: 90s, 5m, 2h.")
@click.option("--query", metavar="SELECT", help="Of a database: the rows, as in 'select * from visits'.")
@click.option("--revision", metavar="COMMIT", help="The commit of a hub model; left out, the one of now, written down.")
@click.option("--features", metavar="A,B", help="The columns that the model reads, in its order.")
@click.option("--weights", metavar="FILE", help="A safetensors file: weights of file.py:builder or timm:NAME.")
@click.option("--trusted", metavar="A,B", help="Types in a skops file that are made, since you know where it is from.")
@_column_options
@click.pass_context
def audit(
    ctx: click.Context, /, model: str, data: str, budget: str, query: str | None, yes: bool, **roles: Any
) -> None:
    """Audit MODEL on DATA now, without a file of settings.

    MODEL is a folder or id of Hugging Face, timm:NAME, torchvision:NAME, a file (ONNX, skops), models:/NAME of MLflow,
    https://… or file.py:object. Shows what it takes both for and what it would do, asks where that is not plain, runs
    it, and writes pipelines.yaml for the next night.
    """
    from assay.flows.pipeline import seconds_in
    from assay.flows.starting.first_audit import Model, Wanted, proposal_for, write_pipeline

    revision, weights = roles.pop("revision"), roles.pop("weights")
    columns_read, trusted = (_listed(roles.pop(name)) for name in ("features", "trusted"))
    try:
        seconds = seconds_in(budget)
    except ValueError as error:
        raise click.BadParameter(f"{budget!r}: {error}.", param_hint="--budget") from error
    brought = Model(model, seconds, revision, columns_read, weights, trusted)
    name, answers = roles.pop("name"), _answers_of(roles)
    proposal = proposal_for(Wanted(data, Path(), name, answers, query=query, model=brought), partial(_ask, yes))
    echo(_seen_in(proposal))
    echo("Proposed:\n" + "\n".join(f"  {line.key}: {shown}" for line, shown in proposal.in_short))
    if not yes and sys.stdin.isatty() and not click.confirm("Run this audit?", default=True, err=True):
        echo("Nothing was written.")
        return
    file = write_pipeline(proposal, Path())
    named = "" if file.name == "pipelines.yaml" else f" --config {file.name}"
    echo(f"Written   {file}: the next night is assay run {proposal.name}{named}")
    from assay.flows.configuration.loading import load_project
    from assay.flows.running import run_pipeline

    project = load_project(file, pipeline=proposal.name)
    result = run_pipeline(project, project.pipeline(proposal.name), stream=sys.stdout)
    if sys.stdout.isatty() and (os.environ.get("DISPLAY") or sys.platform == "darwin"):
        click.launch(result.report)
    ctx.exit(result.exit_code)


@command(
    "init",
    example="assay init --data patients.csv\nassay init audits --data scans --yes\n"
    "assay init --data 'comments/*.jsonl' --label verdict --text comment --yes",
)
@click.argument("directory", default=".", metavar="[DIR]", type=PATH)
@click.option("--data", metavar="PATH", help="Where the data lies: a file, a folder, a pattern or a URL.")
@_column_options
@click.option("--keep", is_flag=True, help="Where some of the files are there, keep those and write the others.")
def init(directory: Path, data: str | None, name: str | None, keep: bool, yes: bool, **roles: Any) -> None:
    """Look at data, and write a first audit of it.

    Writes pipelines.yaml, rules.yaml, a test of the rules, .gitignore and a CI job into DIR (here); overwrites nothing.
    """
    from assay.flows.starting.column_roles import Question
    from assay.flows.starting.first_audit import Wanted, files_of, proposal_for, require_free, write_files

    ask, answers = partial(_ask, yes), _answers_of(roles)
    require_free(directory, keep)
    if data is None:
        data = ask(Question("data", "Where the data lies (a file, a folder, a pattern, a URL)"))
    proposal = proposal_for(Wanted(data, directory, name, answers, keep), ask)
    echo(_seen_in(proposal))
    if not yes and sys.stdin.isatty() and not click.confirm("Write a first audit of this?", default=True, err=True):
        echo("Nothing was written.")
        return
    require_free(directory, keep)
    echo(f"Written into {directory}: {', '.join(write_files(files_of(proposal), directory))}")
    there = "" if directory == Path() else f"cd {directory}; "
    rules = f"; assay rules try rules.yaml --pipeline {proposal.name} --watch" if proposal.rules.rules else ""
    echo(f"Next: {there}assay check; assay run {proposal.name}{rules}")


def _seen_in(proposal: Proposal) -> str:
    return "\n".join([f"Seen ({proposal.looked_at}):", *(f"  {remark}" for remark in proposal.seen)])


def _answers_of(given: Mapping[str, Any]) -> Answers:
    """What a person said of the columns."""
    from assay.flows.starting.column_roles import Answers, Question
    from assay.flows.starting.first_audit import with_answer

    classes, named = given["classes"], {key: value for key, value in given.items() if key != "classes"}
    answers = Answers(**named)
    return answers if classes is None else with_answer(answers, Question("classes", ""), classes)


def _ask(yes: bool, question: Question) -> str:
    """What a person answers; the sentence with the option where there is nobody to ask."""
    from assay.infra.errors import InputError

    if yes:
        raise InputError(question.refusal())
    listed = f" ({', '.join(question.choices)}; - for none)" if question.choices else ""
    try:
        return str(click.prompt(f"{question.asked}{listed}", err=True))
    except click.Abort:
        if sys.stdin.isatty():
            raise
        raise InputError(question.refusal()) from None


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
    file: str, data: str | None, pipeline: str | None, show: int, watch: bool, config: str, **columns: str | None
) -> None:
    """Show what the rules in FILE do on data.

    Coverage, overlaps, conflicts, how many votes are right where there is gold, and samples that each rule votes on,
    misses, or stands alone on.
    """
    if (data is None) == (pipeline is None):
        raise click.UsageError("Say what to try them on: --data PATH, or --pipeline NAME.")
    if pipeline is not None and any(columns.values()):
        raise click.UsageError("--label and --id go with --data: a pipeline names its own columns.")
    from assay.flows.rule_trial import Session, require_file, samples_from_data, samples_of_pipeline, saves
    from assay.infra.errors import AssayError

    watched = require_file(file)
    samples = samples_of_pipeline(config, str(pipeline)) if data is None else samples_from_data(data, **columns)
    session = Session(file, samples, show)
    if not watch or watched is None:
        echo(session.say())
        return
    for _ in saves(watched):
        if sys.stdout.isatty():
            click.clear()
        try:
            echo(session.say())
        except AssayError as error:
            echo(str(error), err=True)


@click.group("data", cls=Answering)
def data() -> None:
    """Public data sets of the catalogue: list them, get them."""


@data.command("list", example="assay data list")
def data_list() -> None:
    """List the data sets: the embedded ones, and the catalogue."""
    from assay.flows.check import known_data_sets, where_from

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
    from assay.flows.check import get_data_set

    echo(get_data_set(name))


@click.group("store", cls=Answering)
def store() -> None:
    """The store of artifacts, runs and reports: look, tidy, rebuild."""


@store.command("info", example="assay store info")
@reads_store
def store_info(store: Store) -> None:
    """Show what the store holds and how large it is."""
    from assay.flows.report.records import describe_store

    echo(columns(["store", ""], describe_store(store)))


@store.command("clean", example="assay store clean --dry-run\nassay store clean --keep 7")
@click.option("--keep", type=click.IntRange(0), default=30, show_default=True, help="Runs to keep of each pipeline.")
@click.option("--dry-run", is_flag=True, help="Only say what would go.")
@reads_store
def store_clean(keep: int, dry_run: bool, store: Store) -> None:
    """Remove old runs, and what no remaining run used.

    The history of their findings is kept.
    """
    from assay.flows.nights.history import note_crashed_runs
    from assay.infra.storage.sweep import clean
    from assay.tasks.reporting.numerals import in_bytes, plural

    store.require_records()
    if not dry_run:
        note_crashed_runs(store)
    swept = clean(store, keep=keep, dry_run=dry_run)
    verb = "Would remove" if dry_run else "Removed"
    gone = f"{plural(len(swept.runs), 'run')} and {plural(len(swept.results), 'result')}"
    echo(f"{verb} {gone}: {in_bytes(swept.bytes)}.")


@store.command("rebuild", example="assay store rebuild")
@reads_store
def store_rebuild(store: Store) -> None:
    """Write history and the page of all nights anew from the runs.

    What the history has of runs that were cleaned away stays.
    """
    from assay.flows.nights.history import rebuild_history
    from assay.flows.report.all_nights import write_index
    from assay.infra.errors import InputError
    from assay.tasks.reporting.numerals import plural

    written, kept, troubles = rebuild_history(store)
    write_index(store)
    echo(f"{store.url}/history: {plural(written, 'run')} written, {kept} kept of runs that are gone.")
    if troubles:
        raise InputError("\n".join(troubles))


@dataclass(frozen=True)
class Form:
    """A form in which a run is handed out: how it is asked for, what writes it, and the options that go with it."""

    asked: str
    write: str
    """`module:function` below assay.flows; it takes the store, the run, and the options in this order."""
    beside: tuple[str, ...] = ()
    samples_too: bool = False
    """Whether a run that looked at a share of the samples is handed out as well: where it is told by its share."""

    def hand_out(self, store: Store, record: RunRecord, asked: Mapping[str, Any]) -> str:
        """Write the run in this form; returns a sentence on what was written."""
        module, _, function = self.write.partition(":")
        names = ([_name(self.asked)] if self.asked else []) + list(self.beside)
        write = getattr(importlib.import_module(f"assay.flows.{module}"), function)
        return str(write(store, record, *(asked.get(name) for name in names)))

    def require_fitting(self, asked: Mapping[str, Any]) -> None:
        """Nothing, or what was given that does not go with it, or is missing."""
        wrong = [name for name in asked if name not in (*self.beside, _name(self.asked))]
        if self.asked and wrong:
            beside = ", ".join(_flag(name) for name in self.beside)
            alone = "stands alone; the other choices go with --to DIR"
            raise click.UsageError(f"{self.asked} {f'goes with {beside} only' if beside else alone}.")
        if wrong:
            raise click.UsageError(f"{_flag(wrong[0])} goes with another form than the curated sets; see --help.")
        if "to" in self.beside and "to" not in asked:
            raise click.UsageError("Give a folder with --to DIR, or with --results DIR.")


FORMS = (
    Form("--mlflow URI", "nights.trackers:to_mlflow", samples_too=True),
    Form("--openlineage WHERE", "nights.trackers:to_openlineage", samples_too=True),
    Form("--results DIR", "reproduce.published:export_results"),
    Form("--lake WHERE", "export.lake:export_to_lake", ("delta",)),
    Form(
        "--label-studio N",
        "export.samples_to_review:export_for_labelling",
        ("to", "by", "subject", "labeler", "without_gold", "text", "picture_files"),
    ),
    Form("--hardest N", "export.samples_to_review:export_hardest", ("to", "subject")),
    Form("--model NAME", "export.model_cards:export_model", ("to",)),
    Form("--model-card FORM", "export.model_cards:export_model_cards", ("to",)),
    Form("", "export.curated_sets:export_run", ("to", "labeler", "licence")),
)


def _name(flag: str) -> str:
    """The name of the option of a flag with its value.

    >>> _name("--label-studio N"), _flag("picture_files")
    ('label_studio', '--picture-files')
    """
    return flag.partition(" ")[0].removeprefix("--").replace("-", "_")


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


@command(
    "label",
    example="assay label breast-cancer --budget 200\n"
    "assay label breast-cancer --take breast-cancer-to-label/answers.csv",
)
@click.argument("pipeline", metavar="NAME", shell_complete=pipelines_that_begin)
@click.option("--budget", type=click.IntRange(10), metavar="N", help="Draw so many samples for people to label.")
@click.option("--take", type=PATH, metavar="FILE", help="Take the answers back: the CSV, or Label Studio's JSON.")
@click.option("--to", "target", type=PATH, metavar="DIR", help="A new folder; else NAME-to-label.")
@click.option("--of", metavar="WHO", help="A subject or a labeler for which to draw; else the first subject.")
@click.option("--without-gold", is_flag=True, help="Draw only among samples without gold.")
@click.option("--text", metavar="COLUMN", help="Show this column of text.")
@click.option("--picture-files", is_flag=True, help="Label Studio reads pictures as files, not inside the tasks.")
@project_options
def label(pipeline: str, budget: int | None, take: Path | None, config: str, store: str | None, **options: Any) -> None:
    """Estimate from a few labels how right models and rules are.

    Samples of NAME's latest run are drawn where it may be wrong, each with a known probability, and written for Label
    Studio and as CSV. The answers are taken back whole: accuracy and recall follow, each with its interval, for all
    samples and not only for those that were drawn; they stand in the report of every run after that.
    """
    from assay.flows.export.labels import draw_to_label, take_labels
    from assay.flows.report.records import find_run, open_store

    if (budget is None) == (take is None) or (take is not None and any(options.values())):
        raise click.UsageError("Give --budget N (and what goes with it), or --take FILE.")
    opened = open_store(config, store)
    record = find_run(opened, pipeline)
    if take is not None:
        echo(take_labels(opened, record, take))
    elif budget is not None:
        echo(draw_to_label(opened, record, budget, **options))


@command(
    "export",
    example="assay export k3f9 --to curated\nassay export breast-cancer --to curated --labeler snorkel\n"
    "assay export digits-defended --model plain+maadvt-lambda=1 --to model\n"
    "assay export digits --model-card cyclonedx --to cards\n"
    "assay export digits --hardest 20 --to look-at\n"
    "assay export latest --label-studio 100 --without-gold --to ask\n"
    "assay export latest --lake s3://bucket/assay\n"
    "assay export digits --results docs/results\n"
    "assay export latest --mlflow sqlite:///mlflow.db\n"
    "assay export latest --openlineage lineage.jsonl",
)
@click.argument("run", default="latest")
@click.option("--to", type=PATH, metavar="DIR", help="A new or empty folder.")
@click.option("--labeler", metavar="NAME", help="Whose labels and order; else the first.")
@click.option("--licence", help="The licence of the data; left out, the catalogue's.")
@click.option("--model", metavar="NAME", help="A defended model, instead of the curated sets.")
@click.option(
    "--model-card", type=click.Choice(["cyclonedx", "huggingface"]), help="Instead, what was measured of each model."
)
@click.option("--hardest", type=click.IntRange(1), metavar="N", help="The N samples hard by every measure, instead.")
@click.option(
    "--label-studio",
    type=click.IntRange(1),
    metavar="N",
    help="Instead, the N hardest as tasks for Label Studio; `source: {gold: …}` reads the answers.",
)
@click.option("--by", metavar="MEASURE", help="With --label-studio: hard by what; else the labels' order (theta_l).")
@click.option("--subject", metavar="NAME", help="With --hardest or --by: for which subject; else the first.")
@click.option("--without-gold", is_flag=True, default=None, help="With --label-studio: only samples without gold.")
@click.option("--text", metavar="COLUMN", help="With --label-studio: show this column of text.")
@click.option(
    "--picture-files", is_flag=True, default=None, help="With --label-studio: pictures as files, not inside the tasks."
)
@click.option(
    "--lake", metavar="WHERE", help="Instead, votes, labels, intervals and hardness as Parquet, to a folder or URL."
)
@click.option("--delta", is_flag=True, default=None, help="With --lake: as Delta tables (extra `delta`).")
@click.option("--results", type=PATH, metavar="DIR", help="Instead, write findings and lineage to DIR/PIPELINE.")
@click.option("--mlflow", metavar="URI", help="Instead, write the run to this MLflow.")
@click.option("--openlineage", metavar="WHERE", help="Instead, send lineage to a file or http(s)://….")
@project_options
def export(run: str, config: str, store: str | None, **options: Any) -> None:
    """Write curated sets, a model, samples or findings of RUN.

    pandas and Hugging Face `datasets` read the sets in one line; a data card and Croissant metadata lie beside the
    data. A model comes with its card and the lines that name it as a subject in pipelines.yaml. Model cards are one
    ML-BOM (CycloneDX 1.7), or a README.md with a model-index per model (Hugging Face). The hardest samples
    come as a table with why, and a PNG or text file each; or as tasks for Label Studio, the weak label chosen already.
    A lake gets a table per kind of thing said of samples, parted by pipeline and run. Results are the
    findings as CSV, with settings, versions and digests: `assay reproduce` shows those in docs/results. `mlflow:` and
    `openlineage:` in pipelines.yaml send every run to where --mlflow and --openlineage send one.
    """
    from assay.flows.report.gates import require_whole
    from assay.flows.report.records import find_run, open_store

    asked = {name: value for name, value in options.items() if value is not None}
    form = next(form for form in FORMS if not form.asked or _name(form.asked) in asked)
    form.require_fitting(asked)
    opened = open_store(config, store)
    record = find_run(opened, run)
    echo(form.hand_out(opened, record if form.samples_too else require_whole(record, "handed on"), asked))
