"""A simulated cohort of monitor alarms, five types, for want of the hospital recordings of paper 000 (Table 2).

An alarm goes off because a patient is unwell, or because a sensor is. Whether it is suppressible is decided by the
true physiology of the three minutes after the alarm, which neither the rules nor the monitor see: an alarm is
non-suppressible when the vital sign that it is about truly stays beyond its critical level for long enough that
somebody has to come. Everything is drawn from the seed.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pydantic import TypeAdapter

from assay.data.samples.alarms_monitor import (
    DISTURBANCES,
    SHOWN,
    Disturbance,
    displayed,
    disturb,
    loose_electrode,
    motion,
    slipped_probe,
    undisturbed,
)
from assay.data.samples.alarms_physiology import Event, Series, at_rest, happen, within_bounds
from assay.data.samples.wording import wording
from assay.infra.errors import InputError

SUPPRESSIBLE, NON_SUPPRESSIBLE = 0, 1
CLASSES = ("suppressible", "non-suppressible")

SECONDS = 300  # simulated per patient
EARLIEST = 95  # the first second in which the alarm may go off
BEFORE, AFTER = 60, 60  # what is kept around it
HORIZON = 180  # for so many seconds after the alarm the true physiology is judged
UNWELL_FOR = 20  # seconds beyond the critical level that make an alarm non-suppressible


@dataclass(frozen=True)
class Cause:
    """One reason for alarms of a type, with its share of them: an event in the patient, a disturbed sensor, or both."""

    share: float
    event: Event | None = None
    disturbance: str | None = None
    seconds: float = 25
    """The median duration of the disturbance."""


@dataclass(frozen=True)
class AlarmType:
    """A monitor alarm: on which vital sign, at which limit, from where on it is critical, how many, and why."""

    vital: str
    limit: float
    critical: float
    alarms: int
    causes: tuple[Cause, ...]
    gravest: Event
    """What happens besides to some who are watched for it."""

    @property
    def high(self) -> bool:
        """Whether the alarm is about too much rather than too little."""
        return self.critical > self.limit


ALARM_TYPES = TypeAdapter(dict[str, AlarmType]).validate_python(wording("alarms")["types"])
"""The five alarm types with as many alarms as in the paper's Table 2."""


def alarms(kind: str, seed: int = 0, count: int | None = None) -> pa.Table:
    """The alarms of one type: id, gold, when in the series the alarm went off, and five vital signs at 1 Hz.

    >>> table = alarms("heart-rate-low", count=3)
    >>> table.column_names[:4], len(table.column("heart_rate")[0]) <= BEFORE + AFTER
    (['id', 'gold', 'alarm_second', 'heart_rate'], True)
    """
    if kind not in ALARM_TYPES:
        raise InputError(f"There is no alarm type {kind!r}; there are {', '.join(ALARM_TYPES)}.")
    wanted = ALARM_TYPES[kind].alarms if count is None else count
    rng = np.random.default_rng([seed, list(ALARM_TYPES).index(kind)])
    batches: list[pa.Table] = []
    while (missing := wanted - sum(batch.num_rows for batch in batches)) > 0:
        batches.append(_recorded(rng, kind, int(1.5 * missing) + 20))
    table = pa.concat_tables(batches).slice(0, wanted).combine_chunks()
    ids = pa.array([f"{kind}-{place:05d}" for place in range(wanted)])
    return table.add_column(0, "id", ids).replace_schema_metadata({"classes": json.dumps(CLASSES)})


def _recorded(rng: np.random.Generator, kind: str, patients: int) -> pa.Table:
    """The alarms that go off while so many patients are watched, with gold and what was recorded around each."""
    alarm = ALARM_TYPES[kind]
    true, shown = _watch(rng, kind, patients)
    second = _first_alarm(_beyond(shown[alarm.vital], alarm.limit, alarm.high))
    went_off = np.flatnonzero(second >= 0)
    second = second[went_off]
    unwell = _beyond(true[alarm.vital][went_off], alarm.critical, alarm.high)
    judged = np.take_along_axis(unwell, np.minimum(second[:, None] + np.arange(HORIZON), SECONDS - 1), axis=1)
    gold = np.where(judged.sum(axis=1) >= UNWELL_FOR, NON_SUPPRESSIBLE, SUPPRESSIBLE)
    late = rng.random(len(second)) < 0.12  # the recording began late
    before = np.where(late, rng.integers(20, BEFORE, len(second)), BEFORE)
    columns = {"gold": pa.array(gold, pa.int16()), "alarm_second": pa.array(before, pa.int16())}
    return pa.table(columns | {name: _cut(shown[name][went_off], second, before) for name in SHOWN})


def _watch(rng: np.random.Generator, kind: str, patients: int) -> tuple[dict[str, Series], dict[str, Series]]:
    """The true vital signs of so many patients, and what a monitor shows of them."""
    alarm = ALARM_TYPES[kind]
    true = at_rest(rng, patients, SECONDS)
    shares = [cause.share for cause in alarm.causes]
    reason = rng.choice(len(shares), patients, p=np.array(shares) / sum(shares))
    onset = rng.uniform(EARLIEST + 5, EARLIEST + 20, patients)
    for place, cause in enumerate(alarm.causes):
        if cause.event is not None:
            rows = np.flatnonzero(reason == place)
            happen(rng, true, rows, cause.event, alarm.limit, onset[rows])
    unlucky = np.flatnonzero(rng.random(patients) < 0.2)  # something grave happens besides
    happen(rng, true, unlucky, alarm.gravest, alarm.limit, rng.uniform(EARLIEST, 240, len(unlucky)))
    true = within_bounds(true)
    shown = undisturbed(rng, true)
    for place, cause in enumerate(alarm.causes):
        if cause.disturbance is not None:
            rows = np.flatnonzero(reason == place)
            disturb(rng, shown, rows, DISTURBANCES[cause.disturbance], onset[rows], cause.seconds)
    everyday: tuple[tuple[Disturbance, float], ...] = ((motion, 0.35), (slipped_probe, 0.1), (loose_electrode, 0.06))
    for disturbance, share in everyday:
        rows = np.flatnonzero(rng.random(patients) < share)
        disturb(rng, shown, rows, disturbance, rng.uniform(20, 200, len(rows)), 15)
    return true, displayed(shown)


def _beyond(series: Series, level: float, high: bool) -> npt.NDArray[np.bool_]:
    beyond: npt.NDArray[np.bool_] = series > level if high else series < level
    return beyond


def _first_alarm(beyond: npt.NDArray[np.bool_]) -> npt.NDArray[np.int64]:
    """The second of each patient's first alarm: three seconds beyond the limit after ten within it; -1 without one."""
    counted = np.concatenate([np.zeros((len(beyond), 1), np.int64), np.cumsum(beyond, axis=1)], axis=1)
    seconds = np.arange(EARLIEST, EARLIEST + 70)
    now = counted[:, seconds + 1] - counted[:, seconds - 2] == 3
    before = counted[:, seconds - 2] - counted[:, seconds - 12] == 0
    alarm = now & before
    return np.where(alarm.any(axis=1), seconds[np.argmax(alarm, axis=1)], -1)


def _cut(series: Series, second: npt.NDArray[np.int64], before: npt.NDArray[np.int64]) -> pa.Array:
    """What was recorded around each alarm, as lists; null where the monitor showed nothing."""
    lengths = before + AFTER
    ends = np.cumsum(lengths)
    place = np.arange(int(lengths.sum())) - np.repeat(ends - lengths, lengths)
    values = series[np.repeat(np.arange(len(second)), lengths), place + np.repeat(second - before, lengths)]
    offsets = np.concatenate([[0], ends]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(values, mask=np.isnan(values)))
