"""How commands are made: examples under `--help`, `--debug` everywhere, and the options that several of them
share.
"""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import click

PATH, FILE = click.Path(path_type=Path), click.Path(dir_okay=False, path_type=Path)
FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
SEED = click.IntRange(0, 2**63 - 1)
BUG = "Assay has a bug"
INTERRUPTED = "Interrupted. What was finished is kept: the same command goes on from there."


class Answer(click.Command):
    """A command that shows examples under its help and takes `--debug`."""

    def __init__(self, *args: Any, example: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.example = example
        debug = click.Option(["--debug"], is_flag=True, expose_value=False, help="Show the traceback of an error.")
        self.params.append(debug)

    def format_epilog(self, _ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The examples, one a line."""
        with formatter.section("Example" if "\n" not in self.example else "Examples"):
            for line in self.example.splitlines():
                formatter.write_text(line.strip())


class Answering(click.Group):
    """A group whose error for an unknown command says which one was probably meant."""

    command_class = Answer

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """The command that the arguments name, in the order it was added."""
        if args and not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            from assay.infra.errors import suggestion

            ctx.fail(f"There is no command {args[0]!r}; {suggestion(args[0], self.commands)}")
        return super().resolve_command(ctx, args)

    def list_commands(self, _ctx: click.Context) -> list[str]:
        """The commands in the order a newcomer meets them."""
        return list(self.commands)


Answering.group_class = Answering


def command(name: str, example: str, help: str | None = None) -> Callable[[Callable[..., Any]], Answer]:  # noqa: A002
    """A command of `assay`; its docstring is its help, unless that is given."""
    return click.command(name, cls=Answer, example=example, help=help)


def pipelines_that_begin(ctx: click.Context, _param: click.Parameter, begun: str) -> list[str]:
    """What a shell offers for the name of a pipeline: those of the file, and those that come with Assay."""
    from assay.flows.configuration.loading import embedded_pipelines, read_document

    file = Path(str(ctx.params.get("config") or "pipelines.yaml")).absolute()
    names = {**(read_document(file).pipelines if file.is_file() else {}), **embedded_pipelines().pipelines}
    return [name for name in names if name.startswith(begun)]


config_option = click.option(
    "--config", default="pipelines.yaml", show_default=True, metavar="FILE", help="The pipelines file."
)


def project_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options that say which project is meant, and which store."""
    store = click.option("--store", metavar="DIR", help="Another store: a folder or an fsspec URL.")
    return config_option(store(function))


_SET = "Change a setting for this time, as in pruning.correlation=0.4; may be given several times."
set_option = click.option("--set", "overrides", multiple=True, metavar="KEY=VALUE", help=_SET)


def reads_store(function: Callable[..., None]) -> Callable[..., None]:
    """The options that say which store is meant; the command is handed it open, as `store`."""

    @functools.wraps(function)
    def call(*args: Any, config: str, store: str | None, **kwargs: Any) -> None:
        from assay.flows.report.records import open_store

        function(*args, store=open_store(config, store), **kwargs)

    return project_options(call)


seed_option = click.option(
    "--seed", type=SEED, default=0, show_default=True, metavar="N", help="The seed of every random draw."
)


class Share(click.ParamType):  # type: ignore[type-arg]  # generic only in the newest click
    """A share of the samples: `5%` or `0.05`."""

    name = "share"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The share as a number."""
        from assay.tasks.ingest.settings import share_of

        try:
            return value if isinstance(value, float) else share_of(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


_SAMPLE = "Only this share of the samples (5%), drawn by the seed, groups whole; no night that is followed."
sample_option = click.option("--sample", "share", type=Share(), default=1.0, metavar="SHARE", help=_SAMPLE)


@contextlib.contextmanager
def standard_output_kept_clean() -> Iterator[None]:
    """Whatever is printed inside, by us, a library or a child process, goes to standard error."""
    sys.stdout.flush()
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.redirect_stdout(sys.stderr))
        kept = os.dup(1)
        os.dup2(2, 1)
        try:
            yield
        finally:
            os.dup2(kept, 1)
            os.close(kept)
