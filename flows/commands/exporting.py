"""`assay export`: what a run made, handed out in one of several forms; each form is a line of a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from assay.flows.commands.answers import command, config_option, echo, store_option

if TYPE_CHECKING:
    from assay.infra.manifests import RunRecord
    from assay.infra.store import Store

Asked = Mapping[str, Any]
"""The options that were given, by name."""


def _curated(store: Store, record: RunRecord, asked: Asked) -> str:
    from assay.flows.export.curated_sets import export_run

    return export_run(store, record, asked["to"], labeler=asked.get("labeler"), licence=asked.get("licence"))


def _model(store: Store, record: RunRecord, asked: Asked) -> str:
    from assay.flows.export.models import export_model

    return export_model(store, record, asked["model"], asked["to"])


def _hardest(store: Store, record: RunRecord, asked: Asked) -> str:
    from assay.flows.export.hardest import export_hardest

    return export_hardest(store, record, asked["hardest"], asked["to"], asked.get("subject"))


def _label_studio(store: Store, record: RunRecord, asked: Asked) -> str:
    from assay.flows.export.label_studio import export_for_labelling
    from assay.flows.export.to_look_at import Ask

    who = {name: asked.get(name) for name in ("by", "subject", "labeler")}
    ask = Ask(asked["label_studio"], **who, without_gold="without_gold" in asked)
    return export_for_labelling(store, record, asked["to"], ask, text=asked.get("text"), files="picture_files" in asked)


def _lake(store: Store, record: RunRecord, asked: Asked) -> str:
    from assay.flows.export.lake import Lake, export_to_lake

    return export_to_lake(Lake(store, record, asked["lake"], delta="delta" in asked))


def _results(store: Store, record: RunRecord, asked: Asked) -> str:
    from assay.flows.export.results import export_results

    return export_results(store, record, asked["results"])


def _mlflow(store: Store, record: RunRecord, asked: Asked) -> str:
    from assay.flows.export.elsewhere import to_mlflow

    return to_mlflow(store, record, asked["mlflow"])


def _openlineage(store: Store, record: RunRecord, asked: Asked) -> str:
    from assay.flows.export.elsewhere import to_openlineage

    return to_openlineage(store, record, asked["openlineage"])


@dataclass(frozen=True)
class Form:
    """A form in which a run is handed out: how it is asked for, what writes it, and the options that go with it."""

    asked: str
    write: Callable[[Store, RunRecord, Asked], str]
    beside: tuple[str, ...] = ()
    samples_too: bool = False
    """Whether a run that looked at a share of the samples is handed out as well: where it is told by its share."""

    def require_fitting(self, asked: Asked) -> None:
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
    Form("--mlflow URI", _mlflow, samples_too=True),
    Form("--openlineage WHERE", _openlineage, samples_too=True),
    Form("--results DIR", _results),
    Form("--lake WHERE", _lake, ("delta",)),
    Form(
        "--label-studio N",
        _label_studio,
        ("to", "by", "subject", "labeler", "text", "without_gold", "picture_files"),
    ),
    Form("--hardest N", _hardest, ("to", "subject")),
    Form("--model NAME", _model, ("to",)),
    Form("", _curated, ("to", "labeler", "licence")),
)


def _name(flag: str) -> str:
    """The name of the option of a flag with its value.

    >>> _name("--label-studio N"), _flag("picture_files")
    ('label_studio', '--picture-files')
    """
    return flag.partition(" ")[0].removeprefix("--").replace("-", "_")


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


_PATH = click.Path(path_type=Path)


@command(
    "export",
    example="assay export k3f9 --to curated\nassay export breast-cancer --to curated --labeler snorkel\n"
    "assay export digits-defended --model plain+maadvt-lambda=1 --to model\n"
    "assay export digits --hardest 20 --to look-at\n"
    "assay export latest --label-studio 100 --without-gold --to ask\n"
    "assay export latest --lake s3://bucket/assay\n"
    "assay export digits --results docs/results\n"
    "assay export latest --mlflow sqlite:///mlflow.db\n"
    "assay export latest --openlineage lineage.jsonl",
)
@click.argument("run", default="latest")
@click.option("--to", type=_PATH, metavar="DIR", help="A new or empty folder.")
@click.option("--labeler", metavar="NAME", help="Whose labels and order; else the first.")
@click.option("--licence", help="The licence of the data; left out, the catalogue's.")
@click.option("--model", metavar="NAME", help="A defended model, instead of the curated sets.")
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
@click.option("--results", type=_PATH, metavar="DIR", help="Instead, write findings and lineage to DIR/PIPELINE.")
@click.option("--mlflow", metavar="URI", help="Instead, write the run to this MLflow.")
@click.option("--openlineage", metavar="WHERE", help="Instead, send lineage to a file or http(s)://….")
@config_option
@store_option
def export(run: str, config: str, store: str | None, **options: Any) -> None:
    """Write curated sets, a model, samples or findings of RUN.

    pandas and Hugging Face `datasets` read the sets in one line; a data card and Croissant metadata lie beside the
    data. A model comes with its card and the lines that name it as a subject in pipelines.yaml. The hardest samples
    come as a table with why, and a PNG or text file each; or as tasks for Label Studio, the weak label chosen already.
    A lake gets a table per kind of thing said of samples, parted by pipeline and run. Results are the
    findings as CSV, with settings, versions and digests: `assay reproduce` shows those in docs/results. `mlflow:` and
    `openlineage:` in pipelines.yaml send every run to where --mlflow and --openlineage send one.
    """
    from assay.flows.operations.stores import open_store
    from assay.flows.report.baselines import require_whole
    from assay.flows.report.records import find_run

    asked = {name: value for name, value in options.items() if value is not None}
    form = next(form for form in FORMS if not form.asked or _name(form.asked) in asked)
    form.require_fitting(asked)
    opened = open_store(config, store)
    record = find_run(opened, run)
    echo(form.write(opened, record if form.samples_too else require_whole(record, "handed on"), asked))
