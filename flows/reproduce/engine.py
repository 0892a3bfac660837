"""Fills a paper's table: the paper's number, ours with its interval, where ours come from, and how they differ."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from assay.flows.reproduce.results import Result, Results
from assay.flows.reproduce.spec import Cell, Grid, Ours, PaperTable, Source
from assay.infra.manifests import RunRecord
from assay.tasks.statistics.findings import Finding


@dataclass(frozen=True)
class FilledGrid:
    """A table as texts."""

    title: str
    headings: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass
class Filled:
    """A table with what a reader needs to judge it."""

    grids: list[FilledGrid] = field(default_factory=list)
    measured: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    differences: list[str] = field(default_factory=list)


def fill(table: PaperTable, results: Results) -> Filled:
    """The table beside the newest results that measured something of it."""
    filled = Filled()
    results.damaged.clear()
    for grid in table.grids:
        rows = [row for source, result in _pairs(grid, results) for row in _rows(filled, grid, source, result, results)]
        if rows:
            filled.grids.append(FilledGrid(grid.title, grid.headings, rows))
    filled.missing += results.damaged.values()
    return filled


def _pairs(grid: Grid, results: Results) -> Iterator[tuple[Source, Result | None]]:
    """Every source with the newest result that has a number for one of its lines, then the user's own data."""
    shown: list[RunRecord] = []
    for source in grid.sources:
        yield source, next((one for one in results.beside(source.pipelines) if _numbers(source, one)), None)
        shown += results.records(source.pipelines)
    if grid.users_own is not None:
        for name, candidates in results.of_users(grid.users_own, shown).items():
            source = grid.users_own.source(name)
            result = next((one for one in candidates if _numbers(source, one)), None)
            if result is not None:
                yield source, result


def _rows(
    filled: Filled, grid: Grid, source: Source, result: Result | None, results: Results
) -> Iterator[Sequence[str]]:
    """The lines of a source as texts; where they come from, and how they differ, goes to the table."""
    if result is not None:
        numbers = _numbers(source, result)
        filled.measured += [_origin(source, result, [finding for _, finding in numbers])]
        filled.measured += [f"  {line}" for line in source.about(result)]
        filled.differences += [*_difference(source, numbers), *source.remarks(result)]
    elif not source.extra:
        filled.missing.append(_way_to_a_run(source, results))
    for line in source.lines_with(result):
        if not line.ours or any(_measured(cell, result) is not None for cell in line.cells):
            yield [_text(cell, result, grid.absent) for cell in line.cells]


def _numbers(source: Source, result: Result) -> list[tuple[Ours, Finding]]:
    """Every number of ours in the lines of a source, each once."""
    numbers: dict[Ours, Finding] = {}
    for line in source.lines_with(result):
        for cell in line.cells:
            measured = _measured(cell, result)
            if measured is not None:
                numbers.setdefault(*measured)
    return list(numbers.items())


def _measured(cell: Cell, result: Result | None) -> tuple[Ours, Finding] | None:
    """The finding of a cell, or of what stands in its place, and which of the two it is."""
    ours: Ours | None = None if isinstance(cell, str) else cell
    while ours is not None:
        if (finding := ours.finding(result)) is not None:
            return ours, finding
        ours = ours.otherwise
    return None


def _text(cell: Cell, result: Result | None, absent: str) -> str:
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


def _difference(source: Source, numbers: Sequence[tuple[Ours, Finding]]) -> list[str]:
    """One sentence: how much of what the paper says was measured, what is furthest from it, and why."""
    held = [(ours, finding) for ours, finding in numbers if ours.paper or ours.claim is not None]
    outside = [(ours, finding) for ours, finding in held if not ours.holds(finding)]
    if not held:
        return []
    if not outside:
        return [f"{source.called}: what was measured agrees with the paper wherever it gives a number ({len(held)})."]
    sentence = f"{source.called}: {len(outside)} of {len(held)} differ from the paper by more than our interval"
    bare = sum(finding.low is None or finding.high is None for _, finding in outside)
    sentence += f" ({bare} of ours have none)" if bare else ""
    apart = {_distance(ours, finding): (ours, finding) for ours, finding in outside if ours.paper}
    if apart:
        ours, finding = apart[max(apart)]
        papers = " or ".join(ours.write(Finding(ours.metric, value=paper)) for paper in ours.paper)
        sentence += f", most {ours.place} (theirs {papers}, ours {ours.write(finding)})"
    return [f"{sentence}: {source.because or 'unexplained'}."]


def _distance(ours: Ours, finding: Finding) -> float:
    return min(abs((finding.value or 0.0) - paper) for paper in ours.paper)
