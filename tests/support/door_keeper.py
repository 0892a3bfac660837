"""Knocks at the doors with broken projects, each in a process of its own: `python door_keeper.py FIRST STOP [NAME …]`,
of the generators that are named, or of all.

What a user would meet is written as a line of JSON per project: a process that crashed, hung or ran out of memory harms
nobody but itself. Everything heavy is imported once, before the first project.
"""

from __future__ import annotations

import json
import os
import resource
import select
import shutil
import signal
import sys
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from assay.flows.configuration.loading import Project
    from assay.flows.pipeline import Pipeline
    from assay.flows.running import RunResult

CPU_SECONDS = 20
WALL_SECONDS = float(os.environ.get("DOOR_SECONDS", "150"))  # more on a machine that is busy
MEMORY = 16 << 30
MOST_MIB = 3 << 10
OBEYED = "\x1b\x9b\x07\u202e\u2066\u200f"


@dataclass
class Knock:
    """What came of one project: `fault` says what must never be, `code` what the run answered."""

    number: int
    what: str
    seconds: float
    code: int | None
    fault: str
    said: str
    peak: int = 0
    """The most memory that it held, in MiB."""


def knock(number: int, home: Path) -> Knock:
    """Runs `assay check` on some and `assay run` on all projects, and looks at what is left behind."""
    folder = home / str(number)
    ours, theirs = os.pipe()
    began = time.monotonic()
    child = os.fork()
    if child == 0:
        os.close(ours)
        _inside(number, folder, theirs)
    os.close(theirs)
    said, hung = _heard(ours, began, child)
    _, status, used = os.wait4(child, 0)
    text = said.decode(errors="replace")
    what, _, text = text.partition("\n")
    body, _, ending = text.rpartition("\n=== ")
    code = int(ending) if ending.strip().lstrip("-").isdecimal() else None
    found = Knock(number, what, round(time.monotonic() - began, 1), code, "", body[-6000:], used.ru_maxrss >> 10)
    found.fault = _fault(found, body, hung or os.WTERMSIG(status) == signal.SIGXCPU, status, folder)
    shutil.rmtree(folder, ignore_errors=True)
    return found


def _fault(found: Knock, body: str, hung: bool, status: int, folder: Path) -> str:
    left = [one for one in folder.glob("**/runs/*.json") if json.loads(one.read_text())["status"] == "running"]
    wrong = {
        "it hung": hung,
        f"it crashed ({status})": status != 0,
        "a traceback": "Traceback" in body,
        "it called it a bug": "Assay has a bug" in body,
        "a terminal would obey it": any(one in body for one in OBEYED),
        "it is left running": bool(left),
        f"it took {found.peak} MiB": found.peak > MOST_MIB,
        "it says very much": len(body) > 60_000,
        "it broke": found.code not in (0, 1, 2),
        "no sentence": found.code == 2 and not body.strip(),
    }
    return next((name for name, is_so in wrong.items() if is_so), "")


def _heard(pipe: int, began: float, child: int) -> tuple[bytes, bool]:
    text = b""
    while True:
        ready, _, _ = select.select([pipe], [], [], max(0.1, WALL_SECONDS - (time.monotonic() - began)))
        if not ready:
            os.kill(child, signal.SIGKILL)
            os.close(pipe)
            return text, True
        more = os.read(pipe, 1 << 16)
        if not more:
            os.close(pipe)
            return text, False
        text += more


def _inside(number: int, folder: Path, pipe: int) -> None:
    os.dup2(pipe, 1)
    os.dup2(pipe, 2)
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, CPU_SECONDS + 1))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    import broken_formats  # noqa: F401  it adds its generators
    from broken_inputs import broken_project

    from assay.flows.cli import answer
    from assay.infra.user_code import supervision

    supervision._here = os.getpid()  # this copy is the process that nobody's code may end
    what, *options = broken_project(number, folder)
    os.chdir(folder)
    print(what, *(option[:60] for option in options), flush=True)
    if number % 5 == 0:
        answer(["check", *options])
    code = answer(["run", "night", *options])
    sys.stdout.flush()
    sys.stderr.flush()
    print(f"\n=== {code}", flush=True)
    os._exit(0)


def prepare() -> None:
    """Imports what runs need, and lets runs go without Prefect: it has no part in what is refused."""
    import great_expectations  # noqa: F401
    import statsmodels.api  # noqa: F401
    import torch  # noqa: F401
    import transformers  # noqa: F401

    import assay.flows.audits.table
    import assay.flows.kind
    import assay.flows.report.run_page
    import assay.tasks.ingest.task  # noqa: F401
    from assay.data import expectations
    from assay.flows import running
    from assay.infra.user_code import references
    from assay.tasks.subjects.addresses import model_files

    references.IMPORT_SECONDS = model_files.MOST_SECONDS = 5.0
    expectations.warm_up().join()
    running.run_pipeline = run_directly


def run_directly(project: Project, pipeline: Pipeline, **_: object) -> RunResult:
    """`run_pipeline` without Prefect."""
    from assay.flows import running
    from assay.infra.stages.runs import Run
    from assay.infra.storage.store import Store
    from assay.infra.terminal import open_progress

    running.check_inputs(project, pipeline)
    store, progress = Store(project.store).open(), open_progress()
    run = Run(pipeline.name, store, running.engine_of(project, progress), progress, compute=project.compute)
    run.record.settings = pipeline.model_dump(mode="json")
    with run, running._recorded(run.record):
        return running.perform(run, project, pipeline)


def main() -> None:
    """Every project from the first number to the one before the last, of the generators that are named."""
    import broken_formats  # noqa: F401  it adds its generators
    from broken_inputs import GENERATORS

    first, stop = map(int, sys.argv[1:3])
    home = Path(tempfile.mkdtemp(prefix="doors"))
    os.environ["ASSAY_HOME"], os.environ["TERM"] = str(home / "assay"), "dumb"
    prepare()
    try:
        for number in range(first, stop):
            if sys.argv[3:] and GENERATORS[number % len(GENERATORS)].__name__ not in sys.argv[3:]:
                continue
            print(json.dumps(asdict(knock(number, home))), flush=True)
    finally:
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main()
