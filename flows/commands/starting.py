"""The command with which a team begins: `init`."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from assay.flows.commands.answers import command, echo

if TYPE_CHECKING:
    from assay.flows.starting.roles import Question


@command(
    "init",
    example="assay init --data patients.csv\nassay init audits --data scans --yes\n"
    "assay init --data 'comments/*.jsonl' --label verdict --text comment --yes",
)
@click.argument("directory", default=".", metavar="[DIR]", type=click.Path(path_type=Path))
@click.option("--data", metavar="PATH", help="Where the data lies: a file, a folder, a pattern or a URL.")
@click.option("--kind", type=click.Choice(["table", "images", "texts"]), help="What it is, where that is not plain.")
@click.option("--label", metavar="COLUMN", help="The column with the true class; - for none.")
@click.option("--classes", metavar="A,B", help="The classes, where there is no label.")
@click.option("--id", "identity", metavar="COLUMN", help="The column that names a sample; - for none.")
@click.option("--text", metavar="COLUMN", help="The column with the text.")
@click.option("--group", metavar="COLUMN", help="The column of what is independent (patient, author); - for none.")
@click.option("--split", metavar="COLUMN", help="The column that says train or test; - for none.")
@click.option("--name", metavar="NAME", help="What the pipeline is called; left out, as the data is.")
@click.option("--keep", is_flag=True, help="Where some of the files are there, keep those and write the others.")
@click.option("--yes", is_flag=True, help="Ask nothing: take what the data shows, or refuse.")
def init(
    directory: Path,
    data: str | None,
    kind: str | None,
    label: str | None,
    classes: str | None,
    identity: str | None,
    text: str | None,
    group: str | None,
    split: str | None,
    name: str | None,
    keep: bool,
    yes: bool,
) -> None:
    """Look at data, and write a first audit of it.

    Writes pipelines.yaml, rules.yaml, a test of the rules, .gitignore and a CI job into DIR (here); overwrites nothing.
    """
    from assay.flows.starting.beginning import Wanted, answered, proposal_for, write
    from assay.flows.starting.placing import require_free
    from assay.flows.starting.roles import Answers, Question

    ask = partial(_asked, yes)
    require_free(directory, keep)
    answers = Answers(kind, label, (), identity, text, group, split)  # type: ignore[arg-type]  # one of the choices
    if classes is not None:
        answers = answered(answers, Question("classes", ""), classes)
    place = (
        data if data is not None else ask(Question("data", "Where the data lies (a file, a folder, a pattern, a URL)"))
    )
    wanted = Wanted(place, directory, name, answers, keep)
    proposal = proposal_for(wanted, ask)
    echo("\n".join([f"Seen ({proposal.looked_at}):", *(f"  {one}" for one in proposal.seen)]))
    if not yes and sys.stdin.isatty() and not click.confirm("Write a first audit of this?", default=True, err=True):
        echo("Nothing was written.")
        return
    echo(f"Written into {directory}: {', '.join(write(proposal, wanted))}")
    there = "" if directory == Path() else f"cd {directory}; "
    called = proposal.name
    echo(f"Next: {there}assay check; assay run {called}; assay rules try rules.yaml --pipeline {called} --watch")


def _asked(yes: bool, question: Question) -> str:
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
