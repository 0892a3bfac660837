"""The history of all nights' findings: one Parquet data set, a file per run, which outlives the runs; and its trends
as text.

`history/pipeline=NAME/month=YYYY-MM/RUN.parquet`, as pandas and DuckDB read partitions. Every run has at least
one row, `run.seconds`, whose verdict is how it ended. The pipeline stands in the path alone: readers take it from
there.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

import pyarrow as pa

from assay.data.schemas import Findings
from assay.flows.audits.table import KINDS
from assay.flows.report.all_nights import followed_in
from assay.flows.report.comparison import value_in_words
from assay.flows.report.records import missed_nights
from assay.infra.errors import InputError, suggestion
from assay.infra.storage.artifacts import RunRecord, by_date
from assay.infra.storage.store import Store
from assay.infra.storage.sweep import close_crashed_runs
from assay.infra.terminal import columns
from assay.tasks.reporting.numerals import measured, plural
from assay.tasks.reporting.report import MISSED
from assay.tasks.statistics.findings import Finding, FindingIndex, findings_of, findings_table

HISTORY = "history"
HISTORY_SCHEMA = pa.schema(
    [
        pa.field("run", pa.string(), nullable=False),
        pa.field("started", pa.timestamp("ms", tz="UTC"), nullable=False),
        pa.field("status", pa.string(), nullable=False),
        pa.field("seed", pa.int64(), nullable=False),
        pa.field("overrides", pa.string(), nullable=False),
        *(field for field in Findings.schema if field.name not in ("run", "pipeline")),
    ]
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


def note_crashed_runs(store: Store) -> None:
    """Mark runs that were killed as crashed, and put them into the history: they themselves no longer can."""
    for record in close_crashed_runs(store):
        with suppress(InputError):  # of findings that are damaged: assay store rebuild names them
            append_to_history(store, record)


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


def read_history(store: Store, pipeline: str) -> pa.Table:
    """The history of a pipeline, oldest run first."""
    known = [name.removeprefix("pipeline=") for name in store.folder.folders(HISTORY)]
    if not known:
        raise InputError(f"There is no history in {store.url} yet.  (assay store rebuild makes it of the runs there)")
    if pipeline not in known:
        meant = suggestion(pipeline, known)
        raise InputError(f'There is no pipeline "{pipeline}" in the history of {store.url}: {meant}')
    nights = (_read_file(store, name) for name in _files(store, pipeline))
    begun = sorted(filter(len, nights), key=lambda night: by_date(str(night["started"][0]), str(night["run"][0])))
    return pa.concat_tables([HISTORY_SCHEMA.empty_table(), *begun])


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


def sparkline(values: Sequence[float | None]) -> str:
    """One letter a night, from the lowest to the highest; a dot where there is no number.

    >>> sparkline([0.1, 0.2, None, 0.8]), sparkline([0.5, 0.5])
    ('▁▂·█', '▄▄')
    """
    known = [value for value in values if measured(value)]
    low = min(known, default=0.0)
    span = max(known, default=0.0) - low

    def letter(value: float | None) -> str:
        if not measured(value):
            return "·"
        return _BARS[min(len(_BARS) - 1, int((value - low) / span * len(_BARS)))] if span > 0 else _BARS[3]

    return "".join(map(letter, values))


def interval_bar(finding: Finding | None, low: float, high: float) -> str:
    """Where a night's value lies between the ends of the scale, with its interval as a line through it.

    >>> interval_bar(Finding("m", value=0.5, low=0.25, high=0.75), 0.0, 1.0)
    '      ──────●─────'
    """
    if finding is None or not measured(finding.value) or high <= low:
        return ""
    ends = (end if measured(end) else finding.value for end in (finding.low, finding.value, finding.high))
    first, at, last = (round((min(max(end, low), high) - low) / (high - low) * (_WIDTH - 1)) for end in ends)
    letters = [" "] * first + ["─"] * (last - first + 1)
    letters[at] = "●"
    return "".join(letters)


Slices = Mapping[str, str | None]
Series = Mapping[str, Sequence[Finding | None]]
"""By name what each night measured; None where it measured nothing."""


class PastNight(NamedTuple):
    """A night of the history; one that did not come has the status `no run came` and no findings."""

    started: str
    status: str
    findings: list[Finding]


def history_as_csv(store: Store, pipeline: str, finding: str | None, slices: Slices) -> str:
    """The rows as CSV, oldest first, those of trials with their `overrides`."""
    import pyarrow.csv

    table = read_history(store, pipeline)
    asked = {"metric": None if finding is None else _require_metric(finding, table), **slices}
    for name, wanted in asked.items():
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
    due = missed_nights(store).get(pipeline, [])
    missed = [PastNight(f"{night:%Y-%m-%d %H:%M}", MISSED, []) for night in due]
    shown = sorted([*nights, *missed], key=lambda night: by_date(night.started, ""))[-last:]
    series = _followed(shown) if metric is None else _slices(shown, metric, slices)
    if not series:
        raise InputError(_why_no_series(pipeline, metric, slices, nights))
    heading = f"{pipeline} · {plural(len(shown), 'night')}, {shown[0].started} to {shown[-1].started} UTC"
    heading += f" · {plural(trials, 'trial')} (--set) not drawn" if trials else ""
    states = "".join({"done": "✓", "gate failed": "✗", MISSED: "–"}.get(night.status, "!") for night in shown)
    key = "✓ done  ✗ gate failed  ! broken, refused or crashed  – no run came"
    lines = [heading, "", f"nights  {states}   {key}", ""]
    if metric is not None and len(series) == 1:
        return "\n".join([*lines, _night_by_night(shown, *next(iter(series.items())))])
    rows = []
    for name, found in series.items():
        known: list[Finding | None] = [finding for finding in found if finding is not None] or [None]
        values = [None if finding is None else finding.value for finding in found]
        rows.append([name, value_in_words(known[0]), value_in_words(known[-1]), sparkline(values)])
    return "\n".join([*lines, columns(["finding", "first", "last", "trend"], rows)])


def _nights_and_trials(table: pa.Table) -> tuple[list[PastNight], int]:
    """The runs of the history with their findings, and how many were trials."""
    nights = dict[str, PastNight]()
    names = [name for name in Finding.__dataclass_fields__ if name != "pipeline"]
    is_night = pa.compute.equal(table["overrides"], "")
    for row in table.filter(is_night).to_pylist():
        night = nights.setdefault(row["run"], PastNight(f"{row['started']:%Y-%m-%d %H:%M}", row["status"], []))
        night.findings.append(Finding(**{name: row[name] for name in names}))
    return list(nights.values()), len(table.filter(pa.compute.invert(is_night))["run"].unique())


def _followed(nights: Sequence[PastNight]) -> Series:
    """The numbers that the page of all nights follows."""
    followed = [followed_in(KINDS, FindingIndex(night.findings)) for night in nights]
    names = dict.fromkeys(number.name for numbers in reversed(followed) for number in numbers if not number.spare)
    by_name = [
        {each.name: Finding("", value=each.value, low=each.low, high=each.high, n=each.n) for each in numbers}
        for numbers in followed
    ]
    return {name: [night.get(name) for night in by_name] for name in names}


def _slices(nights: Sequence[PastNight], metric: str, slices: Slices) -> Series:
    """Every slice of a metric that was asked for."""
    asked = {"metric": metric} | {name: wanted for name, wanted in slices.items() if wanted is not None}
    found: list[dict[tuple[str, str, str], Finding | None]] = [
        {
            (finding.subject, finding.of, finding.group): finding if finding.value is not None else None
            for finding in night.findings
            if all(getattr(finding, name) == wanted for name, wanted in asked.items())
        }
        for night in nights
    ]
    keys = dict.fromkeys(key for night in reversed(found) for key in night)
    return {" · ".join(filter(None, key)) or metric: [night.get(key) for night in found] for key in keys}


def _night_by_night(nights: Sequence[PastNight], name: str, found: Sequence[Finding | None]) -> str:
    ends = [end for finding in found if finding for end in (finding.value, finding.low, finding.high) if measured(end)]
    low, high = min(ends, default=0.0), max(ends, default=0.0)
    rows = [
        [night.started, night.status, value_in_words(finding), interval_bar(finding, low, high)]
        for night, finding in zip(nights, found, strict=True)
    ]
    return columns(["started", "status", name, f"{low:.4g} … {high:.4g}"], rows).replace("\t", " ")


def _require_metric(finding: str, table: pa.Table) -> str:
    """The metric, if the history has it; else an error that says which was probably meant."""
    known = sorted(set(table["metric"].to_pylist()))
    if finding in known:
        return finding
    raise InputError(f'There is no finding "{finding}" in this history: {suggestion(finding, known)}')


def _why_no_series(pipeline: str, metric: str | None, slices: Slices, nights: Sequence[PastNight]) -> str:
    if metric is None:
        return f"No run of {pipeline} in the history measured anything that is followed; name a finding (stage.metric)."
    found = [finding for night in nights for finding in night.findings if finding.metric == metric]
    for name, wanted in slices.items():
        known = {getattr(finding, name) for finding in found} - {""}
        if wanted is not None and wanted not in known:
            return f'{metric} was measured for no {name} "{wanted}": {suggestion(wanted, sorted(known))}'
    return f"The last runs of {pipeline} have no such {metric}: ask for more of them with --last."
