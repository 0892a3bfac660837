"""What a report rests on: every finding, every artifact, the settings, the versions and the machine."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from assay.infra.settings import Settings
from assay.tasks.reporting import numerals
from assay.tasks.reporting.markup import Markup, tag
from assay.tasks.reporting.parts import Cell, Column
from assay.tasks.reporting.reading import ANCHOR as READING
from assay.tasks.reporting.reading import TITLE as READING_TITLE
from assay.tasks.reporting.reading import reading_section
from assay.tasks.reporting.report import LineageRow, Report, SettingRow
from assay.tasks.reporting.tables import grid, scroller
from assay.tasks.statistics.findings import Finding

_LINEAGE_NOTE = (
    "Keys name the work (stage, settings, inputs), digests the content: runs with equal digests saw equal data. "
    "The first twelve digits of each are shown."
)


@dataclass(frozen=True)
class Section:
    """A section at the end of the report: where it is, what it is called, and its HTML."""

    anchor: str
    title: str
    markup: Markup


def appendix_sections(report: Report) -> Iterator[Section]:
    """The sections at the end of the report, those that have something to show."""
    yield Section(READING, READING_TITLE, reading_section())
    if report.findings:
        yield _section("findings", "Findings", _findings(report.findings))
    if report.lineage:
        yield _section("lineage", "Lineage", _lineage(report.lineage))
    if report.settings or report.versions or report.machine:
        yield _section("settings", "Settings and versions", *_settings(report))


def settings_rows(stage: str, settings: Settings) -> list[SettingRow]:
    """A stage's options as rows, in the order in which the settings declare them.

    >>> from assay.infra.settings import Settings
    >>> class Pruning(Settings):
    ...     correlation: float = 0.5
    >>> settings_rows("prune", Pruning())
    [SettingRow(stage='prune', option='correlation', value='0.5')]
    """
    return [
        SettingRow(stage, name, _written(value))
        for name, value in settings.model_dump(mode="json", by_alias=True).items()
    ]


def _written(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(_written(item) for item in value) or "none"
    if isinstance(value, dict):
        return ", ".join(f"{name}: {_written(item)}" for name, item in value.items()) or "none"
    return "none" if value is None else str(value)


def _section(anchor: str, title: str, *content: Markup) -> Section:
    heading = tag("h2", title, id=f"{anchor}-h")
    return Section(anchor, title, tag("section", heading, *content, id=anchor, aria_labelledby=f"{anchor}-h"))


def _folded(summary: str, *content: Markup) -> Markup:
    return tag("details", tag("summary", summary), *content, class_="fold")


def _findings(findings: Sequence[Finding]) -> Markup:
    columns = [
        Column("Metric"),
        Column("Of"),
        Column("Group"),
        Column("Subject"),
        Column("Value", "number"),
        Column("Interval"),
        Column("n", "integer"),
        Column("p", "p"),
        Column("p, corrected", "p", "After Holm's correction for the tests of this run, where it was one of them"),
        Column("Verdict"),
        Column("Unit"),
    ]
    rows: list[list[Cell]] = [
        [
            one.metric,
            one.of,
            one.group,
            one.subject,
            one.value,
            numerals.interval(one.low, one.high, "number"),
            one.n,
            "" if one.p_value is None else one.p_value,
            "" if one.p_adjusted is None else one.p_adjusted,
            one.verdict,
            one.unit,
        ]
        for one in findings
    ]
    summary = f"All {numerals.plural(len(rows), 'finding')}: every measured thing of this run, one row each"
    table = scroller("All findings", grid(columns, rows, "All findings", "sortable filterable dense"))
    return _folded(summary, table)


def _lineage(lineage: Sequence[LineageRow]) -> Markup:
    columns = [
        Column("Stage"),
        Column("Kind"),
        Column("Key"),
        Column("Digest"),
        Column("Rows", "integer"),
        Column("Origin", "text", "Computed in this run, or found in the store because no input had changed"),
        Column("Seconds", "number"),
        Column("Said"),
    ]
    rows: list[list[Cell]] = [
        [
            one.stage,
            one.kind,
            one.key[:12],
            one.digest[:12],
            one.rows,
            "cached" if one.cached else "computed",
            None if one.seconds is None else round(one.seconds, 2),
            one.note,
        ]
        for one in lineage
    ]
    cached = sum(one.cached for one in lineage)
    summary = f"{numerals.plural(len(rows), 'artifact')}, {cached} of them cached: what each stage made, by content"
    return _folded(
        summary,
        tag("p", _LINEAGE_NOTE, class_="note"),
        scroller("Lineage", grid(columns, rows, "Lineage", "sortable dense mono")),
    )


def _settings(report: Report) -> Iterator[Markup]:
    if report.settings:
        rows: list[list[Cell]] = [[one.stage, one.option, one.value] for one in report.settings]
        columns = [Column("Stage"), Column("Option"), Column("Value")]
        summary = f"{numerals.plural(len(rows), 'setting')} this run used"
        yield _folded(summary, scroller("Settings", grid(columns, rows, "Settings", "sortable dense")))
    machine = {**report.machine, "seed": str(report.seed)}
    yield _folded("Machine and seed", _pairs(machine))
    if report.versions:
        yield _folded(f"{numerals.plural(len(report.versions), 'package')} and their versions", _pairs(report.versions))


def _pairs(values: Mapping[str, str]) -> Markup:
    return tag("dl", *(tag("div", tag("dt", name), tag("dd", value)) for name, value in values.items()), class_="pairs")
