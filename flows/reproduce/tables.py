"""`assay reproduce`: every table of the five papers filled with our numbers, as text for a terminal or as
Markdown.
"""

from __future__ import annotations

import re
import textwrap
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from assay.data.published import PrintedGrid
from assay.data.templates import filled
from assay.flows.reproduce.paper_table import Cell, Grid, Ours, PaperTable, Result, Results, Source
from assay.flows.reproduce.papers import TABLES
from assay.flows.reproduce.published import write_files
from assay.flows.yaml_document import suggestion
from assay.infra.errors import InputError
from assay.infra.storage.artifacts import RunRecord
from assay.infra.storage.store import Store
from assay.infra.terminal import columns
from assay.tasks.statistics.findings import Finding


@dataclass
class Filled:
    """A table with what a reader needs to judge it."""

    grids: list[tuple[PrintedGrid, Sequence[Sequence[str]]]] = field(default_factory=list)
    """Each with its lines as texts."""
    measured: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)
    reasons: set[str] = field(default_factory=set)
    """Why ours may differ, as far as it stands among the differences."""


def fill(table: PaperTable, results: Results, *, measured_only: bool = False) -> Filled:
    """The table beside the newest results that measured something of it; with `measured_only`, their lines alone."""
    filled = Filled()
    results.damaged.clear()
    for grid in table.grids:
        rows: list[Sequence[str]] = []
        for source, result in _pairs(grid, results):
            lines = list(_rows(filled, grid, source, result, results))
            if measured_only:
                lines = [] if result is None else _shown_on_page(grid.printed, lines)
            rows += lines
        if rows:
            filled.grids.append((grid.printed, rows))
    filled.missing += results.damaged.values()
    return filled


def _pairs(grid: Grid, results: Results) -> Iterator[tuple[Source, Result | None]]:
    """Every source with the newest result that has a number for one of its lines, then the user's own data."""
    shown: list[RunRecord] = []
    for source in grid.sources:
        yield source, _newest(source, results.beside(source.pipelines))
        shown += results.records(source.pipelines)
    if grid.users_own is not None:
        for name, candidates in results.of_users(grid.users_own, shown).items():
            source = grid.users_own.source(name)
            if (result := _newest(source, candidates)) is not None:
                yield source, result


def _newest(source: Source, candidates: Iterable[Result]) -> Result | None:
    return next((result for result in candidates if _numbers(source, result)), None)


def _rows(
    filled: Filled, grid: Grid, source: Source, result: Result | None, results: Results
) -> Iterator[Sequence[str]]:
    """The lines of a source as texts; where they come from, and how they differ, goes to the table."""
    if result is not None:
        numbers = _numbers(source, result)
        filled.measured += [_origin(source, result, [finding for _, finding in numbers])]
        filled.measured += [f"  {line}" for line in source.about(result)]
        filled.differences += [*_difference(source, numbers, filled.reasons), *source.remarks(result)]
    elif not source.extra:
        filled.missing.append(_way_to_a_run(source, results))
    for line in source.lines_with(result):
        if not line.ours or any(_measured(cell, result) is not None for cell in line.cells):
            yield [_cell_text(cell, result, grid.printed.absent) for cell in line.cells]


def _shown_on_page(grid: PrintedGrid, lines: list[Sequence[str]]) -> list[Sequence[str]]:
    """The lines of a source that the page of all tables shows; all of them, where none is of the kind it names."""
    places = {grid.headings.index(name): cells for name, cells in grid.on_page.items()}
    return [line for line in lines if all(line[place] in cells for place, cells in places.items())] or lines


def _numbers(source: Source, result: Result) -> list[tuple[Ours, Finding]]:
    """Every number of ours in the lines of a source, each once."""
    measured = (_measured(cell, result) for line in source.lines_with(result) for cell in line.cells)
    return list(dict(filter(None, measured)).items())


def _measured(cell: Cell, result: Result | None) -> tuple[Ours, Finding] | None:
    """The finding of a cell, or of what stands in its place, and which of the two it is."""
    ours: Ours | None = None if isinstance(cell, str) else cell
    while ours is not None:
        if (finding := ours.finding(result)) is not None:
            return ours, finding
        ours = ours.otherwise
    return None


def _cell_text(cell: Cell, result: Result | None, absent: str) -> str:
    if isinstance(cell, str):
        return cell
    measured = _measured(cell, result)
    if measured is None:
        return absent if cell.paper or cell.claim is not None else ""
    ours, finding = measured
    return ours.write(finding)


def _origin(source: Source, result: Result, findings: Sequence[Finding]) -> str:
    """Which run it was, and of how many samples its numbers are."""
    sizes = sorted({finding.n for finding in findings if finding.n})
    n = "n unknown" if not sizes else f"n = {sizes[0]}" + (f" to {sizes[-1]}" if len(sizes) > 1 else "")
    pipeline = "" if len(source.pipelines) < 2 else f" of {result.pipeline}"
    return f"{source.called}: {result.name}{pipeline}, {n}"


def _way_to_a_run(source: Source, results: Results) -> str:
    """How what is missing is made; a run of that name that cannot stand here is named as such."""
    if source.instead:
        return f"{source.called}: {source.instead}"
    why = results.on_other_data(source.pipelines)
    if results.records(source.pipelines):
        why = f"{results.records(source.pipelines)[0].id} measured nothing of this"
    commands = "  or  ".join(f"assay run {name}" for name in source.pipelines)
    return f"{source.called}: no run yet; make one with  {commands}" + (f"  ({why})" if why else "")


def _difference(source: Source, numbers: Sequence[tuple[Ours, Finding]], reasons: set[str]) -> list[str]:
    """One sentence: how much of what the paper says was measured, what is furthest, and why (once each)."""
    held = [(ours, finding) for ours, finding in numbers if ours.paper or ours.claim is not None]
    outside = [(ours, finding) for ours, finding in held if not ours.holds(finding)]
    if not held:
        return []
    if not outside:
        return [f"{source.called}: what was measured agrees with the paper wherever it gives a number ({len(held)})."]
    sentence = f"{source.called}: {len(outside)} of {len(held)}{_BEYOND}"
    bare = sum(finding.low is None or finding.high is None for _, finding in outside)
    sentence += f" ({bare} of ours have none)" if bare else ""
    apart = {
        min(abs((finding.value or 0.0) - paper) for paper in ours.paper): (ours, finding)
        for ours, finding in outside
        if ours.paper
    }
    if apart:
        ours, finding = apart[max(apart)]
        papers = " or ".join(ours.write(Finding(ours.metric, value=paper)) for paper in ours.paper)
        sentence += f", most {ours.place} (theirs {papers}, ours {ours.write(finding)})"
    why = "as above" if source.because in reasons else source.because or "unexplained"
    reasons.update([source.because] if source.because else [])
    return [f"{sentence}: {why}."]


_BEYOND = " differ from the paper by more than our interval"
_PUBLISHED = re.compile(r": published run \S+ \((.*?)\)(.*)")
_fill = partial(textwrap.fill, width=118, break_long_words=False, break_on_hyphens=False)


def table_as_text(table: PaperTable, filled: Filled) -> str:
    """The table for a terminal."""
    blocks = [f"{grid.title}\n\n{columns(grid.headings, rows)}" for grid, rows in filled.grids]
    for heading, lines in _notes(table, filled):
        whole = lines is filled.measured  # a run's place is copied as it stands
        blocks.append("\n".join([heading, *(f"  {line}" if whole else _wrapped(line) for line in lines)]))
    return "\n\n".join(blocks)


def table_as_markdown(table: PaperTable, filled: Filled, stated: set[str]) -> str:
    """The table as a section of a document; a line or note that was `stated` in an earlier one is not repeated."""
    blocks = [f"## {table.printed.paper}: {table.name}", *([table.printed.shows] if len(filled.grids) != 1 else [])]
    for grid, rows in filled.grids:
        title, shown = _on_page(grid, rows)
        head, *lines = (f"| {' | '.join(row)} |" for row in shown)
        new = [line for line in lines if f"{head}\n{line}" not in stated]
        stated.update(f"{head}\n{line}" for line in lines)
        blocks += [f"**{title}**", "\n".join([head, "|---" * len(shown[0]) + "|", *new])]
    for heading, notes in _notes(table, filled):
        new = [note for note in notes if note not in stated and not note.startswith(" ")]
        stated.update(notes)
        items = [_escaped_text(_PUBLISHED.sub(r" (\1\2)", note.replace(_BEYOND, ""))) for note in new]
        if notes is filled.measured:
            blocks += [_fill(f"Ours come from {'; '.join(items)}.")] if items else []
        else:
            heading = "Outside our interval" if any(_BEYOND in note for note in new) else heading
            bullets = [_fill(f"- {item}", subsequent_indent="  ") for item in items]
            blocks += ["\n".join([f"{heading}:", "", *bullets])] if items else []
    return "\n\n".join(blocks)


def _on_page(grid: PrintedGrid, rows: Sequence[Sequence[str]]) -> tuple[str, Sequence[Sequence[str]]]:
    """The title and, headings first, the lines of a page; what every line says stands in the title."""
    columns = [column for column in zip(grid.headings, *rows, strict=True) if column[0] not in grid.off_page]
    same = [column for column in columns if len(rows) > 1 and len({*column[1:]}) == 1]
    always = ", ".join(f"{heading}: {cell}" for heading, cell, *_ in same if heading and cell)
    lines = list(zip(*(column for column in columns if column not in same), strict=True))
    title = _escaped_text(f"{grid.title} ({always})" if always else grid.title)
    return title, [[_escaped_text(cell) for cell in line] for line in _side_by_side(lines, grid.across)]


def _side_by_side(lines: Sequence[Sequence[str]], across: Sequence[str]) -> Sequence[Sequence[str]]:
    """Lines, headings first, that differ only in the columns `across`, as one line with their numbers side by side.

    >>> _side_by_side([("data", "on", "f1", ""), ("a", "swap", "0.5", "lower"), ("a", "typo", "0.6", "")], ["on"])
    [['data', 'swap', 'typo'], ['a', '0.5 lower', '0.6']]
    """
    at = [place for place, heading in enumerate(lines[0]) if heading in across]
    wide: defaultdict[tuple[str, ...], dict[str, str]] = defaultdict(dict)
    for line in lines[1:] if at else ():
        numbers = " ".join(filter(None, line[at[-1] + 1 :]))
        wide[tuple(line[: at[0]])][", on ".join(line[place] for place in at)] = numbers
    names = list(dict.fromkeys(name for cells in wide.values() for name in cells))
    rows = ([*labels, *(cells.get(name, "") for name in names)] for labels, cells in wide.items())
    return [[*lines[0][: at[0]], *names], *rows] if at else lines


def _notes(table: PaperTable, filled: Filled) -> list[tuple[str, Sequence[str]]]:
    notes = [
        ("Ours come from", filled.measured),
        ("Where they differ", filled.differences),
        ("Not measured yet", filled.missing),
        ("Why they differ", table.printed.why),
    ]
    return [(heading, lines) for heading, lines in notes if lines]


def _wrapped(line: str) -> str:
    """A note indented by two, and its further lines by two more; a command in it is never broken."""
    if "  " in line.strip():
        return f"  {line}"
    indent = " " * (2 + len(line) - len(line.lstrip()))
    return _fill(line.strip(), initial_indent=indent, subsequent_indent=indent)


def _escaped_text(text: str) -> str:
    """Text that Markdown shows as it is.

    >>> _escaped_text("a|b of my_run <3")
    'a\\\\|b of my\\\\_run &lt;3'
    """
    for mark in "\\|*_`":
        text = text.replace(mark, f"\\{mark}")
    return text.replace("<", "&lt;")


def reproduce(table: str, store: Store, published: Path | None = None) -> str:
    """A table as text for a terminal."""
    if table not in TABLES:
        raise InputError(f"There is no table {table!r} to reproduce; {suggestion(table, TABLES)}")
    return table_as_text(TABLES[table], fill(TABLES[table], Results(store, published)))


def reproduce_all(store: Store, published: Path | None = None) -> str:
    """Every table as Markdown."""
    results, stated = Results(store, published), set[str]()
    sections = [table_as_markdown(each, fill(each, results, measured_only=True), stated) for each in TABLES.values()]
    return "\n\n".join([filled("reproduced.md").strip(), *sections]) + "\n"


def write_page(target: Path, page: str) -> str:
    """Writes the page of all tables; returns a sentence on it."""
    write_files(target.parent, {target.name: page}, "another file with --to")
    return f"{target}: {len(TABLES)} tables"


def list_of_tables() -> str:
    """The tables that can be reproduced, with what each shows."""
    rows = [[table.name, table.printed.shows] for table in TABLES.values()]
    return columns(["table", "what it shows, the paper's numbers beside those of your latest runs"], rows)
