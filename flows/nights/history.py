"""The history of all nights' findings: one Parquet data set, a file per run, which outlives the runs; and its trends
as text.

`history/pipeline=NAME/month=YYYY-MM/RUN.parquet`, as pandas and DuckDB read partitions. Every run has at least
one row, `run.seconds`, whose verdict is how it ended. The pipeline stands in the path alone: readers take it from
there.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

import pyarrow as pa

from assay.data.schemas import Findings
from assay.flows.audits.table import KINDS
from assay.flows.report.all_nights import followed_in
from assay.flows.report.records import missed_nights
from assay.infra.errors import InputError, nearest, suggestion
from assay.infra.storage.artifacts import RunRecord
from assay.infra.storage.store import Store
from assay.infra.terminal import columns
from assay.tasks.reporting.numerals import measured, plural
from assay.tasks.reporting.report import MISSED
from assay.tasks.statistics.findings import Finding, FindingIndex, findings_of, findings_table

HISTORY = "history"
_OF_THE_RUN = pa.schema(
    [
        pa.field("run", pa.string(), nullable=False),
        pa.field("started", pa.timestamp("ms", tz="UTC"), nullable=False),
        pa.field("status", pa.string(), nullable=False),
        pa.field("seed", pa.int64(), nullable=False),
        pa.field("overrides", pa.string(), nullable=False),
    ]
)
HISTORY_SCHEMA = pa.schema(
    [*_OF_THE_RUN, *(field for field in Findings.schema if field.name not in ("run", "pipeline"))]
)
"""The columns of a file: what is known of the run, then those of its findings."""


def append_to_history(store: Store, record: RunRecord) -> None:
    """Put the run's file there, or the same one again; a reader sees all of it or nothing. A sample is no night."""
    import pyarrow.parquet as pq

    if record.is_sample:
        return
    findings = [] if record.findings is None else findings_of(store, record)
    with store.folder.writing(_place(record)) as sink:
        pq.write_table(history_rows(record, findings), sink)


def history_rows(record: RunRecord, findings: list[Finding]) -> pa.Table:
    """The rows of one run: how it ended, then its findings."""
    ended = Finding("run.seconds", value=record.seconds, verdict=record.status, unit="s")
    rows = findings_table([replace(finding, run=record.id) for finding in (ended, *findings)])
    known = {
        "started": datetime.fromisoformat(record.started),
        "status": record.status,
        "seed": record.seed,
        "overrides": ", ".join(record.overrides),
    }
    constant = {name: pa.array([value] * len(rows), HISTORY_SCHEMA.field(name).type) for name, value in known.items()}
    return pa.table(
        [constant.get(name, rows[name] if name in rows.schema.names else None) for name in HISTORY_SCHEMA.names],
        schema=HISTORY_SCHEMA,
    )


def rebuild_history(store: Store) -> tuple[int, int, list[str]]:
    """Write the file of every run in the store anew: how many, how many files stay of runs that are gone, what failed.

    A run that `store clean` removed has only its file in the history left: that is kept.
    """
    written, troubles = set[str](), list[str]()
    for record in store.runs():
        if record.status == "running" or record.is_sample:
            continue
        try:
            append_to_history(store, record)
        except InputError as error:
            troubles.append(str(error))
        written.add(_place(record))
    return len(written) - len(troubles), len(set(_files(store)) - written), troubles


def pipelines_in(store: Store) -> list[str]:
    """The pipelines that the history knows."""
    return [name.removeprefix("pipeline=") for name in store.folder.folders(HISTORY)]


def read_history(store: Store, pipeline: str) -> pa.Table:
    """The history of a pipeline, oldest run first."""
    known = pipelines_in(store)
    if pipeline not in known:
        if not known:
            raise InputError(
                f"There is no history in {store.url} yet.  (assay store rebuild makes it of the runs there)"
            )
        match = nearest(pipeline, known)
        meant = f" Did you mean {match}?" if match else f" It has {', '.join(known)}."
        raise InputError(f'There is no pipeline "{pipeline}" in the history of {store.url}.{meant}')
    tables = [_read_file(store, name) for name in _files(store, pipeline)]
    whole = pa.concat_tables(tables) if tables else HISTORY_SCHEMA.empty_table()
    return whole.take(pa.compute.sort_indices(whole, [("started", "ascending"), ("run", "ascending")]))


def _read_file(store: Store, name: str) -> pa.Table:
    from assay.infra.storage.parquet import read_parquet

    try:
        return read_parquet(store.folder, name).select(HISTORY_SCHEMA.names).cast(HISTORY_SCHEMA)
    except (pa.ArrowInvalid, KeyError, OSError, ValueError) as error:
        raise InputError(
            f"{store.url}/{name} is damaged ({error}): delete it, then assay store rebuild writes it anew."
        ) from None


def _place(record: RunRecord) -> str:
    return f"{HISTORY}/pipeline={record.pipeline}/month={record.started[:7]}/{record.id}.parquet"


def _files(store: Store, pipeline: str = "") -> Iterator[str]:
    below = f"{HISTORY}/pipeline={pipeline}" if pipeline else HISTORY
    return (name for name in store.folder.sizes(below) if name.endswith(".parquet"))


_BARS = "▁▂▃▄▅▆▇█"
_WIDTH = 24


@dataclass(frozen=True)
class Point:
    """One night's value, with its interval and n as far as they are known."""

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int | None = None

    def __str__(self) -> str:
        """The value as a person reads it."""
        if self.value is None:
            return "–"
        interval = "" if self.low is None or self.high is None else f" [{self.low:.4g}, {self.high:.4g}]"
        return f"{self.value:.4g}{interval}" + ("" if self.n is None else f" n={self.n}")


def sparkline(values: Sequence[float | None]) -> str:
    """One letter a night, from the lowest to the highest; a dot where there is no number.

    >>> sparkline([0.1, 0.2, None, 0.8]), sparkline([0.5, 0.5])
    ('▁▂·█', '▄▄')
    """
    known = [value for value in values if value is not None and measured(value)]
    low, high = min(known, default=0.0), max(known, default=0.0)
    span = high - low
    return "".join(
        "·"
        if value is None or not measured(value)
        else _BARS[3]
        if span <= 0
        else _BARS[min(len(_BARS) - 1, int((value - low) / span * len(_BARS)))]
        for value in values
    )


def interval_bar(point: Point, low: float, high: float) -> str:
    """Where a night's value lies between the ends of the scale, with its interval as a line through it.

    >>> interval_bar(Point(0.5, 0.25, 0.75), 0.0, 1.0)
    '      ──────●─────'
    """
    if point.value is None or not measured(point.value) or high <= low:
        return ""

    def place(value: float) -> int:
        return round((min(max(value, low), high) - low) / (high - low) * (_WIDTH - 1))

    first = place(point.low if measured(point.low) and point.low is not None else point.value)
    last = place(point.high if measured(point.high) and point.high is not None else point.value)
    letters = [" "] * first + ["─"] * (last - first + 1)
    letters[place(point.value)] = "●"
    return "".join(letters)


def scale_ends(points: Sequence[Point]) -> tuple[float, float]:
    """The ends of the scale on which all the points and their intervals have room."""
    values = [
        value
        for point in points
        for value in (point.value, point.low, point.high)
        if value is not None and measured(value)
    ]
    return min(values, default=0.0), max(values, default=0.0)


Slices = Mapping[str, str | None]
Nights = list[tuple[str, str, str, list[Finding]]]
"""Run, start, status, findings."""


def history_as_csv(store: Store, pipeline: str, finding: str | None, slices: Slices) -> str:
    """The rows as CSV, oldest first, those of trials with their `overrides`."""
    import pyarrow.csv

    table = read_history(store, pipeline)
    if finding is not None:
        table = table.filter(pa.compute.equal(table["metric"], _require_metric(finding, table)))
    for name, wanted in slices.items():
        if wanted is not None:
            table = table.filter(pa.compute.equal(table[name], wanted))
    sink = io.BytesIO()
    pyarrow.csv.write_csv(table, sink)
    return sink.getvalue().decode()


def history_in_words(store: Store, pipeline: str, finding: str | None, slices: Slices, last: int) -> str:
    """The trends as text: a line each, or a row a night where there is one."""
    table = read_history(store, pipeline)
    metric = None if finding is None else _require_metric(finding, table)
    nights, trials = _nights_and_trials(table)
    if not nights:
        raise InputError(f"The history of {pipeline} has trials (--set) only: assay history {pipeline} --csv has them.")
    missed: Nights = [("", f"{due:%Y-%m-%d %H:%M}", MISSED, []) for due in missed_nights(store).get(pipeline, [])]
    shown = sorted([*nights, *missed], key=lambda night: night[1])[-last:]
    series = _followed(shown) if metric is None else _slices(shown, metric, slices)
    if not series:
        raise InputError(_why_no_series(pipeline, metric, slices, nights))
    heading = f"{pipeline} · {plural(len(shown), 'night')}, {shown[0][1]} to {shown[-1][1]} UTC"
    heading += f" · {plural(trials, 'trial')} (--set) not drawn" if trials else ""
    states = "".join({"done": "✓", "gate failed": "✗", MISSED: "–"}.get(status, "!") for _, _, status, _ in shown)
    key = "✓ done  ✗ gate failed  ! broken, refused or crashed  – no run came"
    lines = [heading, "", f"nights  {states}   {key}", ""]
    if metric is not None and len(series) == 1:
        return "\n".join([*lines, _night_by_night(shown, *next(iter(series.items())))])
    rows = [[name, *_ends_of(points), sparkline([point.value for point in points])] for name, points in series.items()]
    return "\n".join([*lines, columns(["finding", "first", "last", "trend"], rows)])


def _nights_and_trials(table: pa.Table) -> tuple[Nights, int]:
    """The runs of the history with their findings, and how many were trials."""
    nights: dict[str, tuple[str, str, str, list[Finding]]] = {}
    trials = set()
    names = [name for name in Finding.__dataclass_fields__ if name != "pipeline"]
    for row in table.to_pylist():
        if row["overrides"]:
            trials.add(row["run"])
            continue
        started = f"{row['started']:%Y-%m-%d %H:%M}"
        night = nights.setdefault(row["run"], (row["run"], started, row["status"], []))
        night[3].append(Finding(**{name: row[name] for name in names}))
    return list(nights.values()), len(trials)


def _followed(nights: Nights) -> dict[str, list[Point]]:
    """The numbers that the page of all nights follows."""
    numbers = [
        {headline.name: headline for headline in followed_in(KINDS, FindingIndex(found))} for *_, found in nights
    ]
    names = [name for night in reversed(numbers) for name, headline in night.items() if not headline.spare]
    return {
        name: [
            Point(headline.value, headline.low, headline.high, headline.n)
            if (headline := night.get(name)) is not None
            else Point(None)
            for night in numbers
        ]
        for name in dict.fromkeys(names)
    }


def _slices(nights: Nights, metric: str, slices: Slices) -> dict[str, list[Point]]:
    """Every slice of a metric that was asked for."""
    keyed = [
        {
            (finding.subject, finding.of, finding.group): finding
            for finding in found
            if finding.metric == metric and _wanted(finding, slices)
        }
        for *_, found in nights
    ]
    keys = dict.fromkeys(key for night in reversed(keyed) for key in night)
    return {
        " · ".join(part for part in key if part) or metric: [_point(night.get(key)) for night in keyed] for key in keys
    }


def _wanted(finding: Finding, slices: Slices) -> bool:
    return all(wanted is None or getattr(finding, name) == wanted for name, wanted in slices.items())


def _point(finding: Finding | None) -> Point:
    return Point(None) if finding is None else Point(finding.value, finding.low, finding.high, finding.n)


def _ends_of(points: Sequence[Point]) -> tuple[str, str]:
    """The first and the last night that have a number."""
    known = [point for point in points if point.value is not None] or [Point(None)]
    return str(known[0]), str(known[-1])


def _night_by_night(nights: Nights, name: str, points: Sequence[Point]) -> str:
    low, high = scale_ends(points)
    rows = [
        [started, status, str(point), interval_bar(point, low, high)]
        for (_, started, status, _), point in zip(nights, points, strict=True)
    ]
    return columns(["started", "status", name, f"{low:.4g} … {high:.4g}"], rows).replace("\t", " ")


def _require_metric(finding: str, table: pa.Table) -> str:
    """The metric, if the history has it; else an error that says which was probably meant."""
    known = sorted(set(table["metric"].to_pylist()))
    if finding in known:
        return finding
    raise InputError(f'There is no finding "{finding}" in this history: {suggestion(finding, known)}')


def _why_no_series(pipeline: str, metric: str | None, slices: Slices, nights: Nights) -> str:
    if metric is None:
        return f"No run of {pipeline} in the history measured anything that is followed; name a finding (stage.metric)."
    findings_of = [finding for *_, findings in nights for finding in findings if finding.metric == metric]
    for name, wanted in slices.items():
        known = {getattr(finding, name) for finding in findings_of} - {""}
        if wanted is not None and wanted not in known:
            return f'{metric} was measured for no {name} "{wanted}": {suggestion(wanted, sorted(known))}'
    return f"The last runs of {pipeline} have no such {metric}: ask for more of them with --last."
