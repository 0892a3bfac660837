"""What a reproduced table is: lines of texts and of places among our findings, and the runs these may come from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from assay.flows.reproduce.results import Result
from assay.tasks.statistics.findings import Finding

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
    """What a finding concludes."""
    return finding.verdict


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
    """Lines under one heading; `absent` stands for a number of ours that nothing measured."""

    title: str
    headings: Sequence[str]
    sources: Sequence[Source]
    absent: str = "not measured"
    users_own: UsersOwn | None = None


@dataclass(frozen=True)
class PaperTable:
    """A table of a paper: its name on the command line, what it shows, its grids, and why ours differs in general."""

    name: str
    paper: str
    shows: str
    grids: Sequence[Grid]
    why: Sequence[str]


def compared(labels: Sequence[Sequence[str]], cells: Sequence[Cell]) -> list[Line]:
    """Two lines, the paper's numbers and ours beneath, each with its labels."""
    theirs, ours = labels
    return [Line((*theirs, *map(papers_number, cells))), Line((*ours, *cells), ours=True)]


def papers_number(cell: Cell) -> str:
    """The paper's number of a cell, written as ours is."""
    if isinstance(cell, str):
        return cell
    return cell.write(Finding(cell.metric, value=cell.paper[0])) if cell.paper else ""
