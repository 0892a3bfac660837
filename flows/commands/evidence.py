"""Commands for evidence that somebody else can check: `commit-plan`, `attest`, `bundle`, `verify`, `log`, `ledger`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from assay.flows.commands.options import (
    FILE,
    FOLDER,
    Share,
    command,
    pipelines_that_begin,
    project_options,
    reads_store,
)
from assay.infra.terminal import columns, echo

if TYPE_CHECKING:
    from assay.flows.evidence.envelope import ByCommand
    from assay.infra.storage.store import Store

_Command = TypeVar("_Command", bound=Callable[..., Any])


def _key_of(value: str) -> Path | ByCommand:
    """A PEM file; or of NAME=COMMAND whom the command signs for, and what is run to sign, or to check that."""
    from assay.flows.evidence.envelope import ByCommand

    signer, named, command = value.partition("=")
    return ByCommand(signer, command) if named and not Path(value).exists() else Path(value)


def _key(option: str, about: str, required: bool = True) -> Callable[[_Command], _Command]:
    return click.option(option, type=_key_of, required=required, metavar="FILE", help=about)


_signing = _key("--key", "Your private key: Ed25519, in a PEM file; or NAME=COMMAND, which signs.")
_plan_key = _key("--plan-key", "The public key of the plan, where it is another.", required=False)


@command("commit-plan", example="assay commit-plan breast-cancer --key key.pem")
@click.argument("name", shell_complete=pipelines_that_begin)
@_signing
@project_options
def commit_plan(name: str, key: Path | ByCommand, config: str, store: str | None) -> None:
    """Sign the gates, families and data rules of NAME.

    Before the night: every run from then on says which of its gates stood in the plan, which came after, and what else
    is otherwise. The sha256 that is printed is for whoever will check: assay verify --plan.
    """
    from assay.flows.configuration.loading import load_project
    from assay.flows.evidence.statements import commit_plan as sign

    echo(sign(load_project(config, pipeline=name, store=store), name, key))


@command("log", example="assay log\nassay log --last 5")
@click.option("--last", type=click.IntRange(1), default=30, show_default=True, help="How many entries, newest first.")
@reads_store
def log(last: int, store: Store) -> None:
    """Check and show who did what in the store.

    Runs with their settings and plans, accepted baselines, labels taken, keys used. Each entry has the sha256 of the
    one before it; the exit code is 2 where one was changed or removed.
    """
    from assay.infra.storage.log import entries_in, entry_row, log_lines

    entries = entries_in(log_lines(store))
    echo(columns(["number", "at", "by", "did", "of"], [entry_row(entry) for entry in entries[::-1][:last]]))
    echo(f"{len(entries)} entries, none changed or missing")


@command("ledger", example="assay ledger")
@reads_store
@click.pass_context
def ledger(ctx: click.Context, store: Store) -> None:
    """Show which nights are signed, rewritten or gone.

    As the page of all nights does. The exit code is 1 where one was rewritten since it was signed, or is gone though
    nobody cleaned up.
    """
    from assay.flows.report.ledger import ledger_of

    kept, runs = ledger_of(store), reversed(store.runs())
    rows = [[run.id, run.pipeline, run.status, kept.signed.get(run.id, "not signed")] for run in runs]
    echo(columns(["run", "pipeline", "status", "evidence"], rows))
    for sentence in kept.amiss:
        echo(sentence)
    ctx.exit(1 if kept.amiss else 0)


@command("attest", example="openssl genpkey -algorithm ed25519 -out key.pem\nassay attest breast-cancer --key key.pem")
@click.argument("run", default="latest")
@_signing
@_plan_key
@reads_store
def attest(run: str, key: Path | ByCommand, plan_key: Path | ByCommand | None, store: Store) -> None:
    """Sign the gates, the findings and every file of RUN.

    Two in-toto statements in DSSE envelopes are left beside the run. The key is read and written nowhere.
    """
    from assay.flows.evidence.statements import attest as sign
    from assay.flows.report.records import find_run

    echo(sign(store, find_run(store, run), key, plan_key))


@command(
    "bundle", example="assay bundle breast-cancer --to evidence.zip\nassay bundle k3f9 --results --to evidence.zip"
)
@click.argument("run", default="latest")
@click.option("--to", "target", type=FILE, required=True, metavar="FILE", help="The file to write.")
@click.option("--results", is_flag=True, help="With the tables of stages and your own rules and code; samples too.")
@reads_store
def bundle(run: str, target: Path, results: bool, store: Store) -> None:
    """Write what was signed of RUN as one file for somebody else.

    Statements, findings, page, settings, versions and manifests; the same bytes every time. With --results it holds
    what a part of the run can be computed anew from.
    """
    from assay.flows.evidence.bundle import write_bundle
    from assay.flows.report.records import find_run

    echo(write_bundle(store, find_run(store, run), target, results))


@command(
    "verify",
    example="assay verify evidence.zip --key their.pub\n"
    "assay verify evidence.zip --key their.pub --recompute 5% --data ./patients\n"
    "assay verify evidence.zip --key their.pub --plan 5f1e…",
)
@click.argument("file", metavar="BUNDLE", type=FILE)
@_key("--key", "Their public key, that you have from them; or NAME=COMMAND, which checks.")
@_plan_key
@click.option("--plan", metavar="SHA256", help="The plan that they gave you beforehand; refused if it is another.")
@click.option("--recompute", "share", type=Share(), metavar="SHARE", help="Compute this share of the parts anew (5%).")
@click.option("--seed", type=click.IntRange(0), metavar="N", help="Draws the parts; left out, one that nobody knows.")
@click.option("--data", type=FOLDER, metavar="DIR", help="Where the data lies.")
@click.pass_context
def verify(
    ctx: click.Context,
    file: Path,
    key: Path | ByCommand,
    plan_key: Path | ByCommand | None,
    plan: str | None,
    share: float | None,
    seed: int | None,
    data: Path | None,
) -> None:
    """Check a BUNDLE that somebody gave you.

    Its signatures, that it is whole, and with --recompute, in an empty store, that parts of the run come out the same.
    Nothing of the bundle is run without --recompute. The exit code is 1 where they do not, 2 where it is refused.
    """
    from assay.flows.evidence.bundle import read_bundle

    checked = read_bundle(file, key, plan, plan_key)
    echo(checked.in_words())
    if share is None:
        echo("Verdict   signed and whole; nothing was computed anew (--recompute 5% does)")
        return
    from secrets import randbelow

    from assay.flows.evidence.recompute import code_in, recompute
    from assay.infra.environment import prepare_environment
    from assay.infra.terminal import open_progress

    prepare_environment()
    drawn_by = randbelow(1 << 32) if seed is None else seed
    runs = ", ".join(code_in(checked)) or "no code but Assay's"
    echo(f"Running   what the bundle brings, as your user: {runs}", err=True)
    came = recompute(checked, share, drawn_by, data, open_progress())
    echo(came.in_words(drawn_by))
    ctx.exit(1 if came.verdict == "not reproduced" else 0)
