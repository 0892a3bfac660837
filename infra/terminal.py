"""What a person sees and presses: text that is safe to print, bars and a line per stage while a run works, and Ctrl-C
or SIGTERM, which end a run in words.
"""

from __future__ import annotations

import json
import logging
import math
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from traceback import walk_stack
from types import FrameType
from typing import TYPE_CHECKING, NamedTuple, TextIO

from assay.infra.masking import mask, masked_in

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.progress import Progress as Bars
    from rich.progress import TaskID


_UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]")
"""Control letters but for tab and new line, marks of direction, and halves of letters that no encoding can write."""


def printable(text: str) -> str:
    """The text with a replacement mark for each letter that a terminal would obey instead of showing it.

    >>> printable("a\\x1b[31mb\\u202ec\\r\\nd")
    'a�[31mb�c\\nd'
    """
    return _UNSEEN.sub("\ufffd", mask(text).replace("\r\n", "\n"))


def json_text(value: object, indent: int | None = None) -> str:
    """The value as JSON, the same letters escaped: nothing is lost, and nothing is obeyed.

    >>> json_text({"name": "a\\u202eb"})
    '{"name": "a\\\\u202eb"}'
    """
    written = json.dumps(masked_in(value), ensure_ascii=False, indent=indent, allow_nan=False)
    return _UNSEEN.sub(lambda letter: f"\\u{ord(letter[0]):04x}", written)


def json_value(value: object) -> object:
    """The value, or None for a number that JSON cannot write."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def echo(text: str, err: bool = False) -> None:
    """Say it, without what a terminal would obey: every command speaks through here.

    What nobody can hear on standard error changes no exit code, and ends no `assay serve`.
    """
    import click

    with suppress(OSError) if err else nullcontext():
        click.echo(printable(text), err=err)


def lose_output(stream: TextIO) -> None:
    """From now on nothing of the stream arrives: whoever read it has gone, or its disk is full. Python must not
    complain about it at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def columns(headings: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """A table as text, its columns aligned; numbers to the right.

    >>> print(columns(["name", "n"], [["a", 1], ["bcd", 20]]))
    name   n
    a      1
    bcd   20
    """
    texts = [["" if cell is None else printable(" ".join(str(cell).split())) for cell in row] for row in rows]
    lines = [list(headings), *texts]
    aligned = []
    for at, cells in enumerate(zip(*lines, strict=True)):
        width = max(map(len, cells))
        to_right = bool(rows) and all(isinstance(row[at], int | float | None) for row in rows)
        aligned.append([cell.rjust(width) if to_right else cell.ljust(width) for cell in cells])
    return "\n".join("  ".join(line).rstrip() for line in zip(*aligned, strict=True))


WIDTH = 78
TITLE_WIDTH = 12
QUIET_SECONDS = 30.0
MOST_BARS = 8


class ShownStage(NamedTuple):
    """A stage at work: a number of its own (two of the same title may be at work), its title, and its branch's name."""

    number: int
    title: str
    branch: str = ""


class Progress:
    """Hears how a run goes, from several threads (stages may overlap), and says nothing of it."""

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


def stage_line(title: str, summary: str, seconds: float, cached: bool, width: int = WIDTH) -> str:
    """The line that stays when a stage is done.

    >>> stage_line("prune", "7 of 30 rules kept (δ = 0.5)", 0.14, cached=False, width=60)
    '  prune        7 of 30 rules kept (δ = 0.5)            0.1 s'
    >>> stage_line("subject", "logistic", 0.0, cached=True, width=60)
    '  subject      logistic                               cached'
    """
    end = "cached" if cached else duration_text(seconds)
    start = f"  {title:<{TITLE_WIDTH}} {summary}"
    return f"{start:<{width - len(end) - 2}}  {end}"


def duration_text(seconds: float, minutes_from: float = 100) -> str:
    """Seconds as a person says them; in minutes from so many seconds on.

    >>> [duration_text(s) for s in (0.04, 12.34, 99.96, 75 * 60)]
    ['0.0 s', '12.3 s', '1 min 40 s', '1 h 15 min']
    """
    if round(seconds, 1) < minutes_from:
        return f"{seconds:.1f} s"
    whole = round(seconds)
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"


def open_progress(stream: TextIO | None = None, prefix: str = "") -> Progress:
    """Bars on a terminal, elsewhere plain lines that begin with `prefix`; on standard error by default."""
    stream = stream or sys.stderr
    if stream.isatty() and os.environ.get("TERM") != "dumb":
        return TerminalProgress(stream)
    return PlainProgress(stream, prefix=prefix)


class PlainProgress(Progress):
    """A line when a stage is done; before that, a sign of life every half minute."""

    def __init__(self, stream: TextIO, quiet_seconds: float = QUIET_SECONDS, prefix: str = "") -> None:
        self._stream, self._prefix = stream, prefix
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
        self._write(stage_line(stage.title, summary, seconds, cached))

    def stage_failed(self, stage: ShownStage, reason: str) -> None:
        """A line with the reason."""
        self._spoke.pop(stage, None)
        self._write(f"  {stage.title:<{TITLE_WIDTH}} failed: {reason}")

    def notice(self, text: str) -> None:
        """The sentence on its own line."""
        self._write(text)

    def _write(self, line: str) -> None:
        with self._lock:
            try:
                print(printable(self._prefix + line), file=self._stream, flush=True)
            except OSError:  # a night outlives its log; the record and the report have what matters
                lose_output(self._stream)


class TerminalProgress(Progress):
    """A bar per stage at work, below the lines of those that are done."""

    def __init__(self, stream: TextIO) -> None:
        from rich.console import Console

        self._console = Console(file=stream, highlight=False, soft_wrap=True)
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
        self._leave(stage, stage_line(stage.title, summary, seconds, cached, min(WIDTH, self._console.width)))

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


@contextmanager
def quietened(*names: str) -> Iterator[None]:
    """Within the block these loggers say nothing."""
    levels = {logger: logger.level for logger in map(logging.getLogger, names)}
    for logger in levels:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in levels.items():
            logger.setLevel(level)


class TerminatedError(KeyboardInterrupt):
    """SIGTERM came: whoever started the run, or the machine that goes down, wants it to end."""


_CLOSING_SECONDS = 30.0
_heard = threading.Event()
_watched = threading.Event()


def is_interrupted(fault: BaseException) -> bool:
    """Whether a signal may have raised what this thread caught; a KeyboardInterrupt without one is somebody's code's.

    Python hears signals in the main thread only, and there, unless `signals_as_errors` looks after them, nobody knows.
    Inside its flows Prefect hears SIGTERM in our place, and raises an error of its own.
    """
    by_prefect = (type(fault).__module__, type(fault).__name__) == ("prefect.exceptions", "TerminationSignal")
    by_us = isinstance(fault, KeyboardInterrupt) and (_heard.is_set() or not _watched.is_set())
    return threading.current_thread() is threading.main_thread() and (by_prefect or by_us)


def interruption_text(kind: type[BaseException]) -> str:
    """What a record says of a run that a signal ended.

    >>> interruption_text(KeyboardInterrupt)
    'Interrupted (Ctrl-C).'
    """
    return "Interrupted (SIGTERM)." if issubclass(kind, TerminatedError) else "Interrupted (Ctrl-C)."


@contextmanager
def signals_as_errors() -> Iterator[None]:
    """Within the block SIGINT and SIGTERM raise in the main thread, once each; what stood there before comes back."""
    if _watched.is_set() or threading.current_thread() is not threading.main_thread():
        yield
        return
    _heard.clear()
    last_heard = 0.0
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def raise_it(number: int, frame: FrameType | None) -> None:
        nonlocal last_heard
        if any(each.f_code.co_name == "__del__" for each, _ in walk_stack(frame)):  # what is raised there is lost
            threading.Timer(0.1, os.kill, (os.getpid(), number)).start()
            return
        if _heard.is_set() and time.monotonic() - last_heard < _CLOSING_SECONDS:
            return  # the run is closing: hurried twice it would leave its workers and its record as they are
        last_heard = time.monotonic()
        _heard.set()
        raise TerminatedError if number == signal.SIGTERM else KeyboardInterrupt

    for number in before:
        if before[number] is not signal.SIG_IGN:
            signal.signal(number, raise_it)
    _watched.set()
    try:
        yield
    finally:
        _watched.clear()
        for number, handler in before.items():
            signal.signal(number, handler)
