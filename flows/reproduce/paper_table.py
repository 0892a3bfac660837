"""What a reproduced table is: lines of texts and of places among our findings, and the runs and published results
that may stand beside a paper's numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import pyarrow as pa

import assay
from assay.data.published import PRINTED_TABLES, PrintedGrid, PrintedTable
from assay.flows.report.records import source_in_words, tables_of
from assay.flows.reproduce.published import (
    OverSeeds,
    over_seeds,
    published_over_seeds,
    published_result,
    runs_over_seeds,
)
from assay.infra.errors import InputError
from assay.infra.storage.artifacts import RunRecord
from assay.infra.storage.store import Store
from assay.tasks.statistics.findings import Finding, FindingIndex, findings_of

RESULTS = Path(assay.__file__).with_name("published").resolve()
"""The published results: in the repository they are those of docs/results."""


def dataset_of(settings: Mapping[str, Any]) -> str | None:
    """The data that a run was on, in words; None where its record does not say."""
    return source_in_words(settings.get("source") or {}) or None


@dataclass(frozen=True)
class Result:
    """The findings of one run, one of the user's or a published one, and how it is called."""

    name: str
    pipeline: str
    settings: Mapping[str, Any]
    findings: FindingIndex
    tables: Callable[[str], Sequence[pa.Table]] = lambda _: ()
    over_seeds: Callable[[], Sequence[OverSeeds]] = lambda: ()
    """What runs with other seeds measured beside it; none where there are none."""


class Results:
    """The runs of a store that have findings, and the published results."""

    def __init__(self, store: Store, published: Path | None = None) -> None:
        self._store = store
        self._published = RESULTS if published is None else published
        self._read: dict[str, Result] = {}
        self.damaged: dict[str, str] = {}
        """Per run whose findings cannot be read, why: it costs its lines, not the table."""

    @cached_property
    def _runs(self) -> Sequence[RunRecord]:
        return [run for run in reversed(self._store.runs()) if run.findings and not run.is_sample]

    def records(self, pipelines: Mapping[str, str | None]) -> list[RunRecord]:
        """The runs of these pipelines that are on their data sets, by pipeline, the newest first."""
        return [
            run
            for name, data_set in pipelines.items()
            for run in self._runs
            if run.pipeline == name and (data_set is None or dataset_of(run.settings) in (data_set, None))
        ]

    def beside(self, pipelines: Mapping[str, str | None]) -> Iterator[Result]:
        """The results that may stand beside a table: the user's own runs, then what is published."""
        yield from self._results(self.records(pipelines))
        for name, data_set in pipelines.items():
            folder = self._published / name
            if folder.is_dir():
                about, findings = published_result(folder)
                if data_set is None or dataset_of(about["settings"]) == data_set:
                    place = f"docs/results/{name}" if self._published == RESULTS else str(folder)
                    title, seeds = f"published run {about['run']} ({place})", partial(published_over_seeds, folder)
                    yield Result(title, name, about["settings"], FindingIndex(findings), over_seeds=seeds)

    def of_users(self, own: UsersOwn, shown: Sequence[RunRecord]) -> dict[str, Iterator[Result]]:
        """Runs that stand beside no line of a paper and whose settings ask for the same, by pipeline and data."""
        known, by_name = {run.id for run in shown}, dict[str, list[RunRecord]]()
        for run in self._runs:
            if run.id not in known and own.asks(run.settings):
                data = dataset_of(run.settings)
                by_name.setdefault(f"{run.pipeline} ({data})" if data else run.pipeline, []).append(run)
        return {
            name: self._results(records)
            for name, records in by_name.items()
            if not own.over_seeds or len({run.seed for run in records}) > 1
        }

    def on_other_data(self, pipelines: Mapping[str, str | None]) -> str:
        """A run that has the name of one of these pipelines and is of other data; empty where there is none."""
        fitting = {run.id for run in self.records(pipelines)}
        others = [run for run in self._runs if run.pipeline in pipelines and run.id not in fitting]
        return f"{others[0].id} has that name and is of {dataset_of(others[0].settings)}" if others else ""

    def _results(self, records: Sequence[RunRecord]) -> Iterator[Result]:
        for record in records:
            if record.id not in self._read:
                try:
                    self._read[record.id] = self._result(record)
                except InputError as error:
                    self.damaged[record.id] = str(error)
            if record.id in self._read:
                yield self._read[record.id]

    def _result(self, record: RunRecord) -> Result:
        def seeds() -> Sequence[OverSeeds]:
            return over_seeds(each.findings for each in self._results(runs_over_seeds(self._store, record)))

        findings = FindingIndex(findings_of(self._store, record))
        tables = partial(tables_of, self._store, record)
        return Result(f"run {record.id}", record.pipeline, record.settings, findings, tables, seeds)


Writer = Callable[[Finding], str]


def number(spec: str = ".3f") -> Writer:
    """Writes a value with its interval, as the format says.

    >>> number("+.2f")(Finding("m", value=0.5, low=0.25, high=0.75)), number(".1%")(Finding("m", value=0.5))
    ('+0.50 [+0.25, +0.75]', '50.0%')
    """
    return partial(_number, spec)


def _number(spec: str, finding: Finding) -> str:
    if finding.value is None or finding.low is None or finding.high is None:
        return "" if finding.value is None else format(finding.value, spec)
    low, high = (format(bound, spec).removesuffix("%") for bound in (finding.low, finding.high))
    return f"{format(finding.value, spec)} [{low}, {high}]"


def share(digits: int = 1) -> Writer:
    """Writes a share in percent, with its interval.

    >>> share()(Finding("m", value=0.5, low=0.4, high=0.6))
    '50.0% [40.0, 60.0]'
    """
    return number(f".{digits}%")


def small(finding: Finding) -> str:
    """A p-value that may be tiny.

    >>> small(Finding("m", value=0.00001)), small(Finding("m", value=0.5))
    ('1.0e-05', '0.500')
    """
    value = finding.value or 0.0
    return f"{value:.1e}" if value < 0.001 else f"{value:.3f}"


def verdict(finding: Finding) -> str:
    """What a finding concludes, without the p that it would have needed."""
    return finding.verdict.partition(":")[0]


PLAIN = number()


@dataclass(frozen=True)
class Ours:
    """A cell of ours: which finding stands in it, how it is written, and the paper's numbers that it is held against.

    A paper that says a thing in words is held against by `claim`; `otherwise` stands where this was not measured.
    """

    metric: str
    of: str = ""
    group: str = ""
    subject: str = ""
    write: Writer = PLAIN
    paper: tuple[float, ...] = ()
    claim: Callable[[float], bool] | None = None
    otherwise: Ours | None = None

    def finding(self, result: Result | None) -> Finding | None:
        """What was measured here, if it has a value."""
        return None if result is None else result.findings.get(self.metric, self.subject, self.of, self.group)

    def holds(self, finding: Finding) -> bool:
        """Whether the paper's number, one of them, or its claim is what was measured, within our interval.

        >>> at = Ours("subject.accuracy", paper=(0.9,))
        >>> at.holds(Finding("subject.accuracy", value=0.8, low=0.7, high=0.9)), at.holds(Finding("m", value=0.8))
        (True, False)
        """
        if self.claim is not None:
            return finding.value is not None and self.claim(finding.value)
        if finding.low is None or finding.high is None:
            bare = replace(finding, verdict="", p_value=None)
            return self.write(bare) in {self.write(Finding(self.metric, value=paper)) for paper in self.paper}
        return any(finding.low <= paper <= finding.high for paper in self.paper)

    @property
    def place(self) -> str:
        """Where it is found, in the names of findings."""
        return " ".join(filter(None, (self.subject, self.metric, self.of, self.group)))


Cell = str | Ours


@dataclass(frozen=True)
class Line:
    """A line of a table; one that is `ours` alone stands only where a number in it was measured."""

    cells: tuple[Cell, ...]
    ours: bool = False


@dataclass(frozen=True)
class Source:
    """What stands beside one data set or model of a paper.

    `pipelines` are those whose runs may, each with the data set it must be on (None: the user's own), the first to be
    preferred; `lines` are the table's, which may depend on what was measured; `because` is why ours may differ;
    `instead` is what to do where no pipeline of ours makes a run; an `extra` is in no line of the paper, and is not
    missed.
    """

    called: str
    pipelines: Mapping[str, str | None]
    lines: Sequence[Line] | Callable[[Result | None], Sequence[Line]]
    because: str = ""
    instead: str = ""
    about: Callable[[Result], Sequence[str]] = lambda _: ()
    remarks: Callable[[Result], Sequence[str]] = lambda _: ()
    extra: bool = False

    def lines_with(self, result: Result | None) -> Sequence[Line]:
        """The lines, given what was measured."""
        return self.lines(result) if callable(self.lines) else self.lines


@dataclass(frozen=True)
class UsersOwn:
    """Runs on the user's own data that stand below the paper's lines: those whose settings ask for the same.

    With `over_seeds` only what was run with several seeds.
    """

    asks: Callable[[Mapping[str, object]], bool]
    source: Callable[[str], Source]
    over_seeds: bool = False


@dataclass(frozen=True)
class Grid:
    """Lines under one heading, as `printed` has it, and what runs on the user's own data may add."""

    printed: PrintedGrid
    sources: Sequence[Source]
    users_own: UsersOwn | None = None


@dataclass(frozen=True)
class PaperTable:
    """A table of a paper: its name on the command line, where and how the paper prints it, and its grids."""

    name: str
    printed: PrintedTable
    grids: Sequence[Grid]


def paper_table(name: str, *sources: Sequence[Source], users_own: UsersOwn | None = None) -> PaperTable:
    """The table of that name: its grids in order, each made of some sources."""
    printed = PRINTED_TABLES[name]
    grids = [Grid(grid, each, users_own) for grid, each in zip(printed.grids, sources, strict=True)]
    return PaperTable(name, printed, grids)


def papers_number(cell: Cell) -> str:
    """The paper's number of a cell, written as ours is."""
    if isinstance(cell, str):
        return cell
    return cell.write(Finding(cell.metric, value=cell.paper[0])) if cell.paper else ""
