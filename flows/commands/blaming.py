"""The command that shares out a drop: `blame`."""

from __future__ import annotations

import contextlib
import sys

import click

from assay.flows.commands.answers import command, config_option, echo, standard_output_kept_clean, store_option


@command(
    "blame",
    example="assay blame latest\nassay blame k3f9 --against a1b2 --finding attack.accuracy --of worst-case --yes",
)
@click.argument("run", default="latest")
@click.option("--against", default=None, metavar="RUN", help="The earlier run; else what the gates hold RUN against.")
@click.option("--finding", default=None, metavar="METRIC", help="Which finding; else the worst change.")
@click.option("--of", "of", default=None, help="What the finding is of: an attack, an approach, …")
@click.option("--group", default=None, help="Its slice.")
@click.option("--subject", default=None, help="Its subject.")
@click.option("--yes", is_flag=True, help="Go on without asking, whatever it costs.")
@click.option("--json", "as_json", is_flag=True, help="End with one JSON object on standard output.")
@config_option
@store_option
def blame(
    run: str,
    against: str | None,
    finding: str | None,
    of: str | None,
    group: str | None,
    subject: str | None,
    yes: bool,
    as_json: bool,
    config: str,
    store: str | None,
) -> None:
    """Say what a drop of RUN comes from.

    What changed since an earlier run (samples, rules, models, weights, settings, seed, libraries), and how much of the
    drop each is to blame for: it is swapped for what it was, in every order. What the store has is taken from there;
    what the rest costs is said before it starts.
    """
    from assay.flows.blame import words
    from assay.flows.blame.answering import answered, asked
    from assay.infra.errors import InputError

    sharing = asked(config, store, run, against, {"finding": finding, "of": of, "group": group, "subject": subject})
    with standard_output_kept_clean() if as_json else contextlib.nullcontext():
        sharing, forecast = sharing.with_forecast()
        for line in words.changed_in_words(sharing.changes):
            echo(line)
        echo(forecast.in_words(), err=True)
        if forecast.costs and not yes:
            if not sys.stdin.isatty():
                raise InputError("Nobody is there to be asked whether that is worth it: add --yes to go on.")
            click.confirm("Go on?", abort=True, err=True)
        result = answered(sharing, forecast.costs)
    if as_json:
        echo(words.as_json(result))
        return
    for line in words.lost_in_words(result.changes) if not sharing.changes.lost else ():
        echo(line)
    echo(f"{words.before_and_after(result)}\n\n{words.table(result)}\n\n{words.sentence(result)}")
