"""The `assay` command. Light on purpose: a command imports what it needs when it runs, so `--help` answers at once."""

from __future__ import annotations

import errno
import gc
import sys
from collections.abc import Sequence
from contextlib import nullcontext

import click

from assay import __version__
from assay.flows.commands import data as data_commands
from assay.flows.commands import evidence, review
from assay.flows.commands import run as run_commands
from assay.flows.commands.options import BUG, INTERRUPTED, Answering
from assay.infra.errors import AssayError
from assay.infra.masking import mask_complaints
from assay.infra.terminal import TerminatedError, echo, lose_output, signals_as_errors


@click.group(
    cls=Answering,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Start here:  assay run breast-cancer",
)
@click.version_option(__version__, prog_name="assay")
def assay() -> None:
    """Audit models for robustness every night, and curate data sets that are hard on purpose."""


BEGINNING = (data_commands.audit, data_commands.init, data_commands.rules)
RUNNING = (run_commands.run, run_commands.plan, review.check, review.list_pipelines, review.schema)
REVIEWING = (review.runs, review.report, review.history, review.compare, review.gate, review.accept, review.blame)
EVERY_NIGHT = (run_commands.deploy, run_commands.serve, run_commands.notify, run_commands.worker)
HANDING_ON = (data_commands.data, data_commands.label, data_commands.export, run_commands.reproduce)
PROVING = (evidence.commit_plan, evidence.attest, evidence.bundle, evidence.verify, evidence.log, evidence.ledger)
ALL = (*BEGINNING, *RUNNING, *REVIEWING, *EVERY_NIGHT, *HANDING_ON, *PROVING, data_commands.store)
"""The commands in the order a newcomer meets them."""
for command in ALL:
    assay.add_command(command)


def main() -> None:
    """The entry point of the `assay` command."""
    mask_complaints()
    gc.set_threshold(100_000)  # new objects: Python's 700 make a quarter of what importing takes, and find no garbage
    code = answer(sys.argv[1:])
    gc.freeze()  # all of it goes with the process: looking through it once more takes a fifth of a second
    sys.exit(code)


def answer(arguments: Sequence[str]) -> int:
    """Does what the arguments ask and returns the exit code: 0 done, 1 a gate failed, 2 wrong input, 3 the run broke.

    Errors become one sentence on standard error; with `--debug` the traceback stands above it.
    """
    debug = "--debug" in arguments
    with signals_as_errors() if list(arguments[:1]) == ["run"] else nullcontext():
        return _answered(arguments, debug)


_OF_THE_MACHINE = {
    *(errno.EACCES, errno.EDQUOT, errno.EIO, errno.ELOOP, errno.EMFILE, errno.ENAMETOOLONG),
    *(errno.ENFILE, errno.ENOMEM, errno.ENOSPC, errno.EPERM, errno.EROFS, errno.ESTALE),
}
"""Errors that no code of ours makes."""


def _answered(arguments: Sequence[str], debug: bool) -> int:
    try:
        code = assay.main(list(arguments) or ["--help"], prog_name="assay", standalone_mode=False)
        sys.stdout.flush()
        return code if isinstance(code, int) else 0
    except click.exceptions.Exit as leaving:
        return leaving.exit_code
    except click.ClickException as error:
        context = error.ctx if isinstance(error, click.UsageError) else None
        command = "assay" if context is None else context.command_path
        return _report_failure(f"{error.format_message()}  ({command} --help shows how)", 2, debug)
    except AssayError as error:
        return _report_failure(str(error), error.exit_code, debug)
    except (KeyboardInterrupt, click.Abort) as ending:
        terminated = isinstance(ending, TerminatedError) or isinstance(ending.__cause__, TerminatedError)
        return _report_failure(INTERRUPTED, 143 if terminated else 130, debug=False)
    except BrokenPipeError:
        return _on_broken_pipe()
    except SystemExit as leaving:
        if isinstance(leaving.__context__, BrokenPipeError):
            return _on_broken_pipe()
        raise
    except Exception as error:  # noqa: BLE001 - the last door: whatever comes here is our mistake, and is said to be
        if isinstance(error, OSError) and error.errno in _OF_THE_MACHINE:
            return _report_failure(
                f"{error.filename or 'This machine'}: {error.strerror}; mend that, and run again.", 3, debug
            )
        line = (str(error).strip().splitlines() or ["no message"])[0]
        advice = "report it with the lines above." if debug else "run again with --debug, and report what it says."
        return _report_failure(f"{BUG}: {type(error).__name__}: {line} — please {advice}", 3, debug)


def _on_broken_pipe() -> int:
    """Whoever read our output has gone (`assay runs | head`)."""
    lose_output(sys.stdout)
    return 141


def _report_failure(sentence: str, code: int, debug: bool) -> int:
    if debug:
        import traceback

        echo(traceback.format_exc(), err=True)
    echo(sentence, err=True)
    return code


if __name__ == "__main__":
    main()
