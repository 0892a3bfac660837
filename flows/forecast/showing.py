"""A forecast as rows of a table: of a plan, and beside what a run then took."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from assay.flows.forecast.foreseeing import in_words
from assay.flows.forecast.scaling import Range
from assay.flows.forecast.stages import StageForecast
from assay.flows.forecast.whole import Forecast
from assay.flows.report.records import in_bytes
from assay.infra.manifests import RunRecord
from assay.tasks.reporting.numerals import duration, plural
from assay.tasks.reporting.parts import Cell, Column, DataTable, Part

HEADINGS = ["stage", "of", "will", "where", "takes", "range", "CPU", "GPU", "partitions", "keeps", "from"]
NEAR = 1.25
"""A forecast is near that is off by less than this factor, or by less than half a second."""
_SHORT = 0.5


def in_rows(expected: Forecast) -> list[list[str]]:
    """The plan as rows of text, a stage each."""
    return [_row(one) for one in expected.stages]


def _row(forecast: StageForecast) -> list[str]:
    planned = forecast.planned
    about = [planned.title, planned.about, planned.outlook, planned.where]
    if not forecast.costs:
        return [*about, "", "", "", "", "", "", forecast.basis or ""]
    seconds, gpu = forecast.clock, forecast.costs["gpu"].value
    return [
        *about,
        duration(seconds.value),
        f"{duration(seconds.low)} to {duration(seconds.high)}",
        duration(forecast.costs["cpu"].value),
        duration(gpu) if gpu else "",
        str(round(forecast.costs["partitions"].value)),
        in_bytes(round(forecast.costs["bytes"].value)),
        f"{plural(forecast.earlier, 'result')}, {forecast.basis}",
    ]


def summary(expected: Forecast) -> str:
    """What the whole run will take, in one sentence."""
    if not any(one.basis for one in expected.stages):
        return "Nothing is left to compute."
    if not expected.dearest:
        return "No forecast: none of what will run was run before over this store."
    gpu = expected.total("gpu")
    processors = f"{duration(expected.total('cpu'))} of processors" + (f", {duration(gpu)} of GPUs" if gpu else "")
    unknown = f" Not run yet, and not counted: {', '.join(expected.unknown)}." if expected.unknown else ""
    kept = in_bytes(round(expected.total("bytes")))
    slots = plural(expected.slots, "slot")
    return f"Forecast: {in_words(expected)} on {slots}; {processors}; {kept} kept.{unknown}"


@dataclass(frozen=True)
class Came:
    """A computed stage: what was expected (None: nobody knew) and what it took, in seconds."""

    title: str
    expected: Range | None
    took: float

    @property
    def is_near(self) -> bool:
        """Whether the forecast was near.

        >>> Came("a", Range(10.0, 8.0, 12.0), 12.4).is_near, Came("a", Range(10.0, 8.0, 12.0), 12.6).is_near
        (True, False)
        """
        if self.expected is None:
            return False
        off = abs(self.took - self.expected.value)
        return off <= _SHORT or self.took / NEAR <= self.expected.value <= self.took * NEAR


def came_of(record: RunRecord) -> list[Came]:
    """Every stage that the run computed, beside its forecast."""
    known = record.forecast.get("stages", {})
    return [
        Came(one.title, Range(*known[one.place]) if one.place in known else None, one.worked)
        for one in record.stages
        if not one.cached
    ]


def part(record: RunRecord) -> Iterator[Part]:
    """What the page says of the forecast; nothing where there was none, or nothing was computed."""
    came = came_of(record)
    known = [one for one in came if one.expected is not None]
    if not known:
        return
    value, low, high = record.forecast["seconds"]
    near = sum(one.is_near for one in known)
    unknown = (
        f" {plural(len(came) - len(known), 'stage')} had never run and were not in it."
        if len(known) < len(came)
        else ""
    )
    sentence = (
        f"The run was expected to take {duration(value)} ({duration(low)} to {duration(high)}) and took "
        f"{duration(record.seconds)}; {near} of {len(known)} stages came within a quarter of their forecast, or half a "
        f"second.{unknown}"
    )
    columns = [
        Column("Stage"),
        Column("Computed", "integer"),
        Column("Expected, s", "number"),
        Column("At least", "number"),
        Column("At most", "number"),
        Column("Took, s", "number"),
        Column("Near", "integer", "How many were off by less than a quarter, or half a second."),
    ]
    note = (
        "Expected from earlier runs over this store, before this one began; sums over the stages of one title, without "
        "what the first stage that needs them waits for workers and libraries."
    )
    yield Part("Forecast", sentence, [DataTable("Forecast and fact", columns, _by_title(known), note, collapsed=True)])


def _by_title(came: list[Came]) -> list[list[Cell]]:
    rows: list[list[Cell]] = []
    for title in dict.fromkeys(one.title for one in came):
        ones = [one for one in came if one.title == title]
        ranges = [one.expected for one in ones if one.expected is not None]
        sums = [round(sum(getattr(one, end) for one in ranges), 2) for end in ("value", "low", "high")]
        rows.append(
            [title, len(ones), *sums, round(sum(one.took for one in ones), 2), sum(one.is_near for one in ones)]
        )
    return sorted(rows, key=lambda row: -float(str(row[5])))
