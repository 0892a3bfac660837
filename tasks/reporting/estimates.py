"""How findings are shown: as cells of a table, as lines of a plot, and in words."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from assay.data.arrays import Integers
from assay.tasks.reporting import parts
from assay.tasks.reporting.numerals import class_called, integer, interval, number, percent, plural
from assay.tasks.statistics.clusters import kish
from assay.tasks.statistics.findings import Finding, FindingIndex
from assay.tasks.statistics.metrics import Metric
from assay.tasks.statistics.proportions import share


def estimate(finding: Finding | None, *, counted: bool = True) -> parts.Estimate | None:
    """A finding as a cell, with its interval and (`counted`) its n; None where it was not measured."""
    if finding is None or finding.value is None:
        return None
    return parts.Estimate(finding.value, finding.low, finding.high, finding.n if counted else None)


def share_estimate(hits: int, n: int, *, counted: bool = True) -> parts.Estimate | None:
    """So many of n as a cell, with Wilson's 95 % interval; None of nothing."""
    return estimate(share("", hits, n), counted=counted)


def series_of(
    name: str,
    places: Sequence[float],
    findings: Sequence[Finding | parts.Estimate | None],
    style: parts.SeriesStyle = "line",
    names: Sequence[str] | None = None,
) -> parts.Series:
    """Findings as a line with their intervals; a gap where one is missing."""
    y, low, high = ([getattr(finding, end, None) for finding in findings] for end in ("value", "low", "high"))
    return parts.Series(name, places, y, low, high, style, names)


def bars_of(
    title: str,
    names: Sequence[str],
    findings: Sequence[Finding],
    x_label: str,
    alt: str,
    note: str = "",
    scale: parts.Scale = "percent",
) -> parts.BarPlot:
    """Shares, or other numbers, as bars with their intervals."""
    values, low, high = ([getattr(finding, end) for finding in findings] for end in ("value", "low", "high"))
    return parts.BarPlot(title, names, values, x_label, alt, low, high, note, scale)


class About(NamedTuple):
    """What findings are about: the row of a table whose cells are findings."""

    subject: str = ""
    of: str = ""
    group: str = ""


@dataclass(frozen=True)
class ColumnOver:
    """A column and what stands in it: a function of the row, a field of the row by name, or, by the name of a metric
    (`stage.metric`), the finding that is about the row."""

    column: parts.Column
    cell: Callable[[Any], parts.Cell] | str

    def of_row(self, row: Any, findings: FindingIndex | None) -> parts.Cell:
        """What stands in the column for a row."""
        if not isinstance(self.cell, str):
            return self.cell(row)
        if "." in self.cell and findings is not None:
            return estimate(findings.entry(self.cell, *row))
        value: parts.Cell = row[self.cell] if isinstance(row, Mapping) else getattr(row, self.cell)
        return value


def column(
    name: str,
    cell: Callable[[Any], parts.Cell] | str,
    kind: parts.ColumnKind = "text",
    help: str = "",  # noqa: A002
) -> ColumnOver:
    """A column of `table_of`, declared once with its cells: its heading, what stands in it, and how that is written."""
    return ColumnOver(parts.Column(name, kind, help), cell)


def columns_over(metrics: Iterable[Metric], *names: str) -> list[ColumnOver]:
    """Columns of findings about the rows, each headed and written as its metric is declared.

    >>> from assay.tasks.statistics.metrics import metric
    >>> [over] = columns_over([metric("slices.accuracy", unit="share", title="Right")], "slices.accuracy")
    >>> over.column
    Column(name='Right', kind='percent', help='')
    """
    declared = {each.name: each for each in metrics}
    return [column(declared[name].title, name, "percent" if declared[name].in_percent else "number") for name in names]


def table_of(
    title: str,
    rows: Sequence[Any],
    columns: Sequence[ColumnOver],
    note: str = "",
    *,
    findings: FindingIndex | None = None,
    collapsed: bool = False,
) -> parts.DataTable:
    """The rows as a table, each column with its cells.

    >>> index = FindingIndex([Finding("slices.accuracy", "age", subject="net", value=0.5)])
    >>> columns = [column("Subject", "subject"), column("Right", "slices.accuracy", "percent")]
    >>> table_of("Slices", [About("net", "age")], columns, findings=index).rows
    [['net', Estimate(value=0.5, low=None, high=None, n=None)]]
    """
    cells = [[column.of_row(row, findings) for column in columns] for row in rows]
    return parts.DataTable(title, [column.column for column in columns], cells, note, collapsed)


_COST = "Of errors per sample, by what `classes` says that a miss of each class costs"
_BALANCED = "The mean of all classes' recalls: each class counts the same, however rare it is"
_WORST = (
    "The share of that class's samples that are recognised; the interval allows for its having been named afterwards"
)


def class_columns(stage: str, findings: FindingIndex) -> list[ColumnOver]:
    """What stands beside every accuracy: balanced accuracy, the worst class by name with its recall, and what one
    constant answer gets. Rows are `About`."""

    def worst_class(row: About) -> parts.Cell:
        finding = findings.get(f"{stage}.worst_recall", *row)
        return "" if finding is None else finding.verdict

    cost = f"{stage}.expected_cost"
    return [
        *([column("Expected cost", cost, "number", _COST)] if findings.select(cost) else []),
        column("Accuracy", f"{stage}.accuracy", "percent"),
        column("Balanced", f"{stage}.balanced_accuracy", "percent", _BALANCED),
        column("Worst class", worst_class),
        column("Its recall", f"{stage}.worst_recall", "percent", _WORST),
        column("One answer", f"{stage}.constant_accuracy", "percent", "What one constant answer gets"),
    ]


def cost_text(stage: str, findings: FindingIndex, about: About) -> str:
    """The expected cost beside that of the cheapest constant answer; empty where errors have no price."""
    cost, constant = (findings.get(f"{stage}.{name}_cost", *about) for name in ("expected", "constant"))
    if cost is None or constant is None:
        return ""
    shown = f"{number(cost.value)} {interval(cost.low, cost.high, 'number')}"
    return f"errors cost {shown} per sample, always {class_called(constant.verdict)} {number(constant.value)}"


def class_text(stage: str, findings: FindingIndex, about: About) -> str:
    """The worst class, balanced accuracy and one constant answer, as a sentence has them; empty where unknown.

    >>> worst = Finding("attack.worst_recall", "pgd", "", "net", 0.3, 0.2, 0.4, 36, verdict="malignant")
    >>> half = [Finding(f"attack.{name}_accuracy", "pgd", "", "net", 0.5) for name in ("balanced", "constant")]
    >>> class_text("attack", FindingIndex([worst, *half]), About("net", "pgd")).replace(chr(0x202F), " ")
    'malignant 30 % [20, 40], the worst class; balanced accuracy 50 %; one constant answer gets 50 %'
    """
    names = ("worst_recall", "balanced_accuracy", "constant_accuracy")
    worst, balanced, constant = (findings.get(f"{stage}.{name}", *about) for name in names)
    if worst is None or balanced is None or constant is None:
        return ""
    cost = cost_text(stage, findings, about)
    return (f"{cost}; " if cost else "") + (
        f"{class_called(worst.verdict)} {share_text(worst, 0)}, the worst class; balanced accuracy "
        f"{percent(balanced.value, 0)}; one constant answer gets {percent(constant.value, 0)}"
    )


NAMED = 3
"""Subjects that a line names; how many more there are stands behind them."""


def groups_text(sizes: Integers | Sequence[int], name: str = "group") -> str:
    """How many groups of such sizes there are, and as how many of one size they count where they differ (Kish 1965).

    >>> groups_text([4] * 75), groups_text([170, 10, 10, 10], "document")
    ('75 groups', '4 documents of unequal size (they count as 1.4 equal ones, by Kish)')
    """
    text, equal = plural(len(sizes), name), kish(sizes)
    unequal = f" of unequal size (they count as {equal:.1f} equal ones, by Kish)"
    return text + (unequal if equal < 0.9 * len(sizes) else "")


def counted_by(sizes: Integers | Sequence[int], name: str = "group") -> str:
    """That intervals do not count samples one by one, where these stand in groups of such sizes.

    >>> counted_by([4] * 75)
    'The audited samples stand in 75 groups, and these are what intervals and tests count.'
    """
    return f"The audited samples stand in {groups_text(sizes, name)}, and these are what intervals and tests count."


def share_text(finding: Finding, digits: int = 1) -> str:
    """A share with its interval, as a sentence has it.

    >>> share_text(Finding("subject.accuracy", value=0.941, low=0.881, high=0.97), 0).replace(chr(0x202F), " ")
    '94 % [88, 97]'
    """
    if finding.low is not None and finding.low == finding.high:
        return f"{percent(finding.value, digits)}, all alike ({integer(finding.n)})"
    return f"{percent(finding.value, digits)} {interval(finding.low, finding.high, digits=digits)}".strip()


def seen_text(seen: Finding | None) -> str:
    """From which area on an order of so many samples would have been seen, behind a semicolon; empty where unknown.

    >>> seen_text(Finding("along.auc_seen_from", value=0.74, n=30)).replace(chr(0x202F), " "), seen_text(None)
    ('; of 30 samples, an AUC of 74 % would have been seen', '')
    """
    if seen is None:
        return ""
    return f"; of {plural(seen.n or 0, 'sample')}, an AUC of {percent(seen.value, 0)} would have been seen"


def first_few(of_subjects: Sequence[str]) -> str:
    """What is said of each subject, of the first few.

    >>> first_few(["a", "b"]), first_few(["a", "b", "c", "d"])
    ('a, b', 'a, b, c; 1 more subject below')
    """
    more = len(of_subjects) - NAMED
    return ", ".join(of_subjects[:NAMED]) + (f"; {plural(more, 'more subject')} below" if more > 0 else "")


def answer_tone(answer: object, truth: object) -> parts.Tone:
    """How an answer is marked: `good` if it is right, `bad` if it is wrong, `neutral` where nobody knows (None).

    >>> answer_tone("benign", "malignant"), answer_tone(1, None)
    ('bad', 'neutral')
    """
    return "neutral" if truth is None else "good" if answer == truth else "bad"


def capital(text: str) -> str:
    """The text with a capital at its head.

    >>> capital("at ε = 0.1"), capital("")
    ('At ε = 0.1', '')
    """
    return text[:1].upper() + text[1:]
