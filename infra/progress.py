"""What a person sees while a run works: bars in a terminal, and one line per stage when it is done."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple, Protocol, TextIO

from assay.infra.terminal import printable

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.progress import Progress as Bars
    from rich.progress import TaskID

WIDTH = 78
TITLE_WIDTH = 12
QUIET_SECONDS = 30.0
MOST_BARS = 8


class ShownStage(NamedTuple):
    """A stage at work: a number of its own (two of the same title may be at work), its title, and its branch's name."""

    number: int
    title: str
    branch: str = ""


class Progress(Protocol):
    """Hears how a run goes, from several threads: stages may overlap."""

    def stage_started(self, stage: ShownStage, total: int | None = None) -> None:
        """A stage computes from now on; `total` is the number of its partitions, where known."""

    def advance(self, stage: ShownStage, done: int, total: int) -> None:
        """So many of the stage's partitions are done."""

    def stage_done(self, stage: ShownStage, summary: str, seconds: float, cached: bool = False) -> None:
        """The stage is over: what came out, in one line. One that was in the store already has not been started."""

    def stage_failed(self, stage: ShownStage, reason: str) -> None:
        """The stage is over without a result."""

    def notice(self, text: str) -> None:
        """A sentence that a person should read."""

    def close(self) -> None:
        """Leave the terminal as it was."""


def line_of(title: str, summary: str, seconds: float, cached: bool, width: int = WIDTH) -> str:
    """The line that stays when a stage is done.

    >>> line_of("prune", "7 of 30 rules kept (δ = 0.5)", 0.14, cached=False, width=60)
    '  prune        7 of 30 rules kept (δ = 0.5)            0.1 s'
    >>> line_of("subject", "logistic", 0.0, cached=True, width=60)
    '  subject      logistic                               cached'
    """
    end = "cached" if cached else time_of(seconds)
    start = f"  {title:<{TITLE_WIDTH}} {summary}"
    return f"{start:<{width - len(end) - 2}}  {end}"


def time_of(seconds: float) -> str:
    """Seconds as a person says them.

    >>> [time_of(s) for s in (0.04, 12.34, 99.96, 75 * 60)]
    ['0.0 s', '12.3 s', '1 min 40 s', '1 h 15 min']
    """
    if round(seconds, 1) < 99.95:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def open_progress(stream: TextIO | None = None) -> Progress:
    """Bars where the stream (standard error by default) is a terminal, plain lines elsewhere."""
    stream = stream or sys.stderr
    if stream.isatty() and os.environ.get("TERM") != "dumb":
        return TerminalProgress(stream)
    return PlainProgress(stream)


class SilentProgress:
    """Says nothing; for tests and for callers that draw their own."""

    def stage_started(self, stage: ShownStage, total: int | None = None) -> None:
        """Nothing."""

    def advance(self, stage: ShownStage, done: int, total: int) -> None:
        """Nothing."""

    def stage_done(self, stage: ShownStage, summary: str, seconds: float, cached: bool = False) -> None:
        """Nothing."""

    def stage_failed(self, stage: ShownStage, reason: str) -> None:
        """Nothing."""

    def notice(self, text: str) -> None:
        """Nothing."""

    def close(self) -> None:
        """Nothing."""


class PlainProgress:
    """A line when a stage is done; before that, a sign of life every half minute."""

    def __init__(self, stream: TextIO | None = None, quiet_seconds: float = QUIET_SECONDS) -> None:
        self._stream = stream or sys.stderr
        self._quiet = quiet_seconds
        self._spoke: dict[ShownStage, float] = {}
        self._lock = threading.Lock()

    def stage_started(self, stage: ShownStage, total: int | None = None) -> None:  # noqa: ARG002 - of the protocol
        """Remember when, for the next sign of life."""
        self._spoke[stage] = time.monotonic()

    def advance(self, stage: ShownStage, done: int, total: int) -> None:
        """A line, if the last one is long ago."""
        now = time.monotonic()
        if now - self._spoke.get(stage, now) >= self._quiet and done < total:
            self._spoke[stage] = now
            where = f" · {stage.branch}" if stage.branch else ""
            self._write(f"  {stage.title:<{TITLE_WIDTH}} {done} of {total} …{where}")

    def stage_done(self, stage: ShownStage, summary: str, seconds: float, cached: bool = False) -> None:
        """The line that stays."""
        self._spoke.pop(stage, None)
        self._write(line_of(stage.title, summary, seconds, cached))

    def stage_failed(self, stage: ShownStage, reason: str) -> None:
        """A line with the reason."""
        self._spoke.pop(stage, None)
        self._write(f"  {stage.title:<{TITLE_WIDTH}} failed: {reason}")

    def notice(self, text: str) -> None:
        """The sentence on its own line."""
        self._write(text)

    def close(self) -> None:
        """Nothing to restore."""

    def _write(self, line: str) -> None:
        with self._lock:
            print(printable(line), file=self._stream, flush=True)


class TerminalProgress:
    """A bar per stage at work, below the lines of those that are done."""

    def __init__(self, stream: TextIO | None = None) -> None:
        from rich.console import Console

        self._console = Console(file=stream or sys.stderr, highlight=False, soft_wrap=True)
        self._bars = _bars(self._console)
        self._tasks: dict[ShownStage, TaskID] = {}
        self._lock = threading.Lock()

    def stage_started(self, stage: ShownStage, total: int | None = None) -> None:
        """A bar appears; it pulses while the number of partitions is unknown."""
        with self._lock:
            if not self._tasks:
                self._bars.start()
            self._tasks[stage] = self._bars.add_task(
                printable(stage.title), total=total, branch=printable(stage.branch)
            )

    def advance(self, stage: ShownStage, done: int, total: int) -> None:
        """The bar grows."""
        with self._lock:
            if stage in self._tasks:
                self._bars.update(self._tasks[stage], completed=done, total=total)

    def stage_done(self, stage: ShownStage, summary: str, seconds: float, cached: bool = False) -> None:
        """The bar gives way to the line that stays."""
        self._leave(stage, line_of(stage.title, summary, seconds, cached, min(WIDTH, self._console.width)))

    def stage_failed(self, stage: ShownStage, reason: str) -> None:
        """The bar gives way to the reason."""
        self._leave(stage, f"  {stage.title:<{TITLE_WIDTH}} failed: {reason}")

    def notice(self, text: str) -> None:
        """The sentence, above the bars."""
        with self._lock:
            self._print(text)

    def close(self) -> None:
        """No bars, and a cursor."""
        with self._lock:
            self._tasks.clear()
            self._bars.stop()

    def _leave(self, stage: ShownStage, line: str) -> None:
        with self._lock:
            if stage in self._tasks:
                self._bars.remove_task(self._tasks.pop(stage))
            self._print(line)
            if not self._tasks:
                self._bars.stop()

    def _print(self, line: str) -> None:
        self._console.print(printable(line), markup=False)


def _bars(console: Console) -> Bars:
    """Rich's bars, one line each and no more than `MOST_BARS`: a screen that scrolls cannot be drawn anew."""
    from rich.progress import BarColumn, MofNCompleteColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bars
    from rich.table import Column
    from rich.text import Text

    class Bounded(Bars):
        """The first bars, and how many more there are."""

        def get_renderables(self) -> Iterable[RenderableType]:
            """The table of bars and, below it, a line for those that it does not hold."""
            tasks = self.tasks
            yield self.make_tasks_table(tasks[:MOST_BARS])
            if len(tasks) > MOST_BARS:
                yield Text(f"  … and {len(tasks) - MOST_BARS} more")

    return Bounded(
        TextColumn("  {task.description:<" + str(TITLE_WIDTH) + "}", markup=False),
        SpinnerColumn(),
        BarColumn(bar_width=20),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[branch]}", markup=False, table_column=Column(no_wrap=True, overflow="ellipsis")),
        console=console,
        transient=True,
    )
