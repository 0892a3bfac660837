"""A filled table as text for a terminal, and as Markdown."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence

from assay.flows.commands.answers import columns
from assay.flows.reproduce.engine import Filled
from assay.flows.reproduce.spec import PaperTable

WIDTH = 118


def as_text(table: PaperTable, filled: Filled) -> str:
    """The table for a terminal."""
    blocks = [f"{grid.title}\n\n{columns(grid.headings, grid.rows)}" for grid in filled.grids]
    for heading, lines in _notes(table, filled):
        whole = lines is filled.measured  # a run's place is copied as it stands
        blocks.append("\n".join([heading, *(f"  {line}" if whole else _wrapped(line) for line in lines)]))
    return "\n\n".join(blocks)


def as_markdown(table: PaperTable, filled: Filled) -> str:
    """The table as a section of a document."""
    blocks = [f"## {table.paper}: {table.name}", f"{table.shows}"]
    for grid in filled.grids:
        lines = [_row(grid.headings), _row(["---"] * len(grid.headings)), *(map(_row, map(_escaped, grid.rows)))]
        blocks += [f"**{_plain(grid.title)}**", "\n".join(lines)]
    for heading, notes in _notes(table, filled):
        blocks.append("\n".join([f"{heading}:", "", *(f"{_indent(note)}- {_plain(note.strip())}" for note in notes)]))
    return "\n\n".join(blocks)


def _notes(table: PaperTable, filled: Filled) -> list[tuple[str, Sequence[str]]]:
    notes = [
        ("Ours come from", filled.measured),
        ("Where they differ", filled.differences),
        ("Not measured yet", filled.missing),
        ("Why they differ", table.why),
    ]
    return [(heading, lines) for heading, lines in notes if lines]


def _wrapped(line: str) -> str:
    """A note indented by two, and its further lines by two more; a command in it is never broken."""
    if "  " in line.strip():
        return f"  {line}"
    indent = " " * (2 + len(_indent(line)))
    return textwrap.fill(
        line.strip(),
        WIDTH,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _indent(line: str) -> str:
    return line[: len(line) - len(line.lstrip())]


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _escaped(row: Sequence[str]) -> list[str]:
    return [_plain(cell) for cell in row]


def _plain(text: str) -> str:
    """Text that Markdown shows as it is.

    >>> _plain("a|b of my_run <3")
    'a\\\\|b of my\\\\_run &lt;3'
    """
    for mark in "\\|*_`":
        text = text.replace(mark, f"\\{mark}")
    return text.replace("<", "&lt;")
