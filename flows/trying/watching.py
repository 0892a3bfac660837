"""A file that a person edits: looked at again at every save, by the time of its last change."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

SECONDS = 0.3


def saves(folder_or_file: Path, seconds: float = SECONDS, sleep: Callable[[float], None] = time.sleep) -> Iterator[int]:
    """Counts the saves of a file, and of the Python files beside one, for ever; the first is how it is now."""
    known, number = stamps(folder_or_file), 0
    yield number
    while True:
        sleep(seconds)
        now = stamps(folder_or_file)
        if now != known and now:  # an editor that replaces the file leaves none for a moment
            known, number = now, number + 1
            yield number


def stamps(file: Path) -> dict[str, tuple[int, int]]:
    """When the file, and the modules that it may import, changed last, and how large they are."""
    watched = [file, *sorted(file.parent.glob("*.py"))] if file.suffix == ".py" else [file]
    states = {}
    for path in watched:
        try:
            state = path.stat()
        except OSError:
            continue
        states[str(path)] = (state.st_mtime_ns, state.st_size)
    return states if str(file) in states else {}
