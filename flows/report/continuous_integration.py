"""What a job of continuous integration shows of gates: GitHub's summary, and its marks at the lines that failed."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from assay.flows.configuration.loading import load_usable
from assay.flows.configuration.written_lines import Lines
from assay.infra.errors import InputError
from assay.infra.masking import mask
from assay.tasks.statistics.gates import GateResult

_COMMANDS = {"failed": "error", "warned": "warning", "inconclusive": "warning"}


def tell_summary(markdown: str) -> None:
    """Append to the summary of the job, where GitHub (or who does as it does) says which file that is."""
    place = os.environ.get("GITHUB_STEP_SUMMARY")
    if not place:
        return
    try:
        with Path(place).open("a", encoding="utf-8") as summary:
            summary.write(mask(markdown) + "\n")
    except OSError as error:
        raise InputError(
            f"The job's summary {place} cannot be written (GITHUB_STEP_SUMMARY): {error.strerror}."
        ) from None


def marks_of(results: Sequence[GateResult], pipeline: str, config: str) -> Iterator[str]:
    """In a GitHub job, the commands that mark each gate that did not pass at its line of the pipelines file."""
    if os.environ.get("GITHUB_ACTIONS") != "true":
        return
    lines = load_usable(config)[0].lines if Path(config).is_file() else None
    for position, result in enumerate(results):
        if result.outcome in _COMMANDS:
            where = "" if lines is None else _place(lines, pipeline, position, config)
            title = _property(f"{pipeline}: gate {result.outcome}")
            yield f"::{_COMMANDS[result.outcome]} {where}title={title}::{_message(result.sentence)}"


def _place(lines: Lines, pipeline: str, position: int, config: str) -> str:
    line = lines.document.line(("pipelines", pipeline, "gates", position))
    file = os.path.relpath(config, os.environ.get("GITHUB_WORKSPACE") or ".")
    return f"file={_property(file)}," + (f"line={line}," if line is not None else "")


def _message(text: str) -> str:
    """Text as a workflow command takes it.

    >>> _message("50 %\\nnext")
    '50 %25%0Anext'
    """
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")
