"""What `assay history` and `assay notify` answer."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence

import pyarrow as pa

from assay.flows.audits.table import KINDS
from assay.flows.commands.answers import columns
from assay.flows.configuration.loading import load_usable
from assay.flows.nights.history import read
from assay.flows.nights.message import trial_message
from assay.flows.nights.missed import missed_nights
from assay.flows.nights.notifiers import notifiers_of
from assay.flows.nights.telling import tell
from assay.flows.nights.trend import Point, ends, interval_bar, sparkline
from assay.flows.report.at_a_glance import followed_in
from assay.infra.errors import InputError
from assay.infra.store import Store
from assay.infra.suggestions import suggestion
from assay.tasks.reporting.numerals import plural
from assay.tasks.reporting.run_entry import MISSED
from assay.tasks.statistics.findings import Finding, FindingIndex

Slices = Mapping[str, str | None]
Nights = list[tuple[str, str, str, list[Finding]]]
"""Run, start, status, findings."""


def history_as_csv(store: Store, pipeline: str, finding: str | None, slices: Slices) -> str:
    """The rows as CSV, oldest first, those of trials with their `overrides`."""
    import pyarrow.csv

    table = read(store, pipeline)
    if finding is not None:
        table = table.filter(pa.compute.equal(table["metric"], _known(finding, table)))
    for name, wanted in slices.items():
        if wanted is not None:
            table = table.filter(pa.compute.equal(table[name], wanted))
    sink = io.BytesIO()
    pyarrow.csv.write_csv(table, sink)
    return sink.getvalue().decode()


def history_in_words(store: Store, pipeline: str, finding: str | None, slices: Slices, last: int) -> str:
    """The trends as text: a line each, or a row a night where there is one."""
    table = read(store, pipeline)
    metric = None if finding is None else _known(finding, table)
    nights, trials = _nights(table)
    if not nights:
        raise InputError(f"The history of {pipeline} has trials (--set) only: assay history {pipeline} --csv has them.")
    missed: Nights = [("", f"{due:%Y-%m-%d %H:%M}", MISSED, []) for due in missed_nights(store).get(pipeline, [])]
    shown = sorted([*nights, *missed], key=lambda night: night[1])[-last:]
    series = _followed(shown) if metric is None else _slices(shown, metric, slices)
    if not series:
        raise InputError(_nothing(pipeline, metric, slices, nights))
    heading = f"{pipeline} · {plural(len(shown), 'night')}, {shown[0][1]} to {shown[-1][1]} UTC"
    heading += f" · {plural(trials, 'trial')} (--set) not drawn" if trials else ""
    states = "".join({"done": "✓", "gate failed": "✗", MISSED: "–"}.get(status, "!") for _, _, status, _ in shown)
    key = "✓ done  ✗ gate failed  ! broken, refused or crashed  – no run came"
    lines = [heading, "", f"nights  {states}   {key}", ""]
    if metric is not None and len(series) == 1:
        return "\n".join([*lines, _night_by_night(shown, *next(iter(series.items())))])
    rows = [[name, *_ends_of(points), sparkline([one.value for one in points])] for name, points in series.items()]
    return "\n".join([*lines, columns(["finding", "first", "last", "trend"], rows)])


def _nights(table: pa.Table) -> tuple[Nights, int]:
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
    numbers = [{one.name: one for one in followed_in(KINDS, FindingIndex(found))} for *_, found in nights]
    names = [name for night in reversed(numbers) for name, one in night.items() if not one.spare]
    return {
        name: [
            Point(one.value, one.low, one.high, one.n) if (one := night.get(name)) is not None else Point(None)
            for night in numbers
        ]
        for name in dict.fromkeys(names)
    }


def _slices(nights: Nights, metric: str, slices: Slices) -> dict[str, list[Point]]:
    """Every slice of a metric that was asked for."""
    keyed = [
        {(one.subject, one.of, one.group): one for one in found if one.metric == metric and _wanted(one, slices)}
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
    known = [one for one in points if one.value is not None] or [Point(None)]
    return str(known[0]), str(known[-1])


def _night_by_night(nights: Nights, name: str, points: Sequence[Point]) -> str:
    low, high = ends(points)
    rows = [
        [started, status, str(point), interval_bar(point, low, high)]
        for (_, started, status, _), point in zip(nights, points, strict=True)
    ]
    return columns(["started", "status", name, f"{low:.4g} … {high:.4g}"], rows).replace("\t", " ")


def _known(finding: str, table: pa.Table) -> str:
    """The metric, if the history has it; else an error that says which was probably meant."""
    known = sorted(set(table["metric"].to_pylist()))
    if finding in known:
        return finding
    raise InputError(f'There is no finding "{finding}" in this history: {suggestion(finding, known)}')


def _nothing(pipeline: str, metric: str | None, slices: Slices, nights: Nights) -> str:
    if metric is None:
        return f"No run of {pipeline} in the history measured anything that is followed; name a finding (stage.metric)."
    findings_of = [one for *_, findings in nights for one in findings if one.metric == metric]
    for name, wanted in slices.items():
        known = {getattr(one, name) for one in findings_of} - {""}
        if wanted is not None and wanted not in known:
            return f'{metric} was measured for no {name} "{wanted}": {suggestion(wanted, sorted(known))}'
    return f"The last runs of {pipeline} have no such {metric}: ask for more of them with --last."


def send_trial(config: str) -> tuple[list[str], bool]:
    """What became of a test message to everybody, and whether all of it arrived."""
    project, _ = load_usable(config)
    if project.notify is None:
        raise InputError(f"{project.file.name} says nobody to tell: give notify: {{webhook: …}} or {{apprise: …}}.")
    outcomes = {one.name: one.deliver(trial_message()) for one in notifiers_of(project.notify)}
    return [trouble or f"{name}: delivered" for name, trouble in outcomes.items()], not any(outcomes.values())


def send_now(config: str, store: str | None) -> tuple[list[str], bool]:
    """What was sent of what nobody was told yet, and whether all of it arrived."""
    import dataclasses

    project, _ = load_usable(config)
    if project.notify is None:
        raise InputError(f"{project.file.name} says nobody to tell: give notify: {{webhook: …}} or {{apprise: …}}.")
    place = Store(store or project.store).look()
    sentences = tell(dataclasses.replace(project, store=place.url), place, at_once=True)
    return sentences or ["Nothing has changed since the last message."], all(
        one.startswith("Told by") for one in sentences
    )
