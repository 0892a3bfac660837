"""A small vocabulary of conditions on time series, to write rules that a clinician can read.

A rule is one line: `suppressible(spo2.after_alarm.missing(longer_than=10) & ~heart_rate.after_alarm.below(90))`.
A condition holds, does not hold, or is not known (where too little was measured to say); `&`, `|` and `~` combine
them, and a rule votes only where its condition holds. Seconds are counted from the alarm. Series are cut into windows
of fixed width, NaN where nothing was recorded, so that the verdict on a sample is the same in every partition.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, NoReturn

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from assay.infra.errors import InputError
from assay.tasks.labeling.rules import ABSTAIN, ColumnRule

Matrix = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_]

ALARM_SECOND = "alarm_second"
"""The column that says in which second of its series (counted from 0) a sample's alarm went off."""


class Window(NamedTuple):
    """What a vital sign did in some seconds: `values` [n, w], NaN where not measured; `recorded` [n, w]."""

    values: Matrix
    recorded: Mask

    @property
    def measured(self) -> Mask:
        """Where there is a value, [n, w]."""
        return ~np.isnan(self.values)


class Signals:
    """The samples' vital signs at one value a second, aligned at their alarms; each window is cut once.

    >>> table = pa.table({"id": ["a"], "alarm_second": [2], "heart_rate": [[90.0, None, 99.0, 100.0]]})
    >>> Signals(table).window("heart_rate", -2, 3).values.tolist()
    [[90.0, nan, 99.0, 100.0, nan]]
    """

    def __init__(self, table: pa.Table) -> None:
        if ALARM_SECOND not in table.column_names:
            raise InputError(
                f"The samples have no column {ALARM_SECOND}, which says in which second of its series each alarm went "
                f"off; their columns are {', '.join(table.column_names)}."
            )
        self.samples: int = table.num_rows
        self._table = table
        self._alarm: npt.NDArray[np.int64] = table.column(ALARM_SECOND).to_numpy().astype(np.int64)
        self._names = [field.name for field in table.schema if _is_series(field.type)]
        self._lengths: npt.NDArray[np.int64] = np.max(
            [self._length_of(name) for name in self._names] or [np.zeros(self.samples, np.int64)], axis=0
        )
        self._padded: dict[str, Matrix] = {}
        self._windows: dict[tuple[str, int, int], Window] = {}

    def window(self, vital: str, start: int, stop: int) -> Window:
        """The seconds from `start` to before `stop`, counted from the alarm (negative: before it)."""
        asked = (vital, start, stop)
        if asked not in self._windows:
            values = np.full((self.samples, stop - start), np.nan)
            padded = self._pad(vital)
            seconds = self._alarm[:, None] + np.arange(start, stop)
            recorded = (seconds >= 0) & (seconds < self._lengths[:, None])
            rows, places = np.nonzero(recorded)
            values[rows, places] = padded[rows, seconds[rows, places]]
            self._windows[asked] = Window(values, recorded)
        return self._windows[asked]

    def _pad(self, vital: str) -> Matrix:
        """The whole series of a vital sign, each from its own beginning, NaN behind its end."""
        if vital not in self._padded:
            if vital not in self._names:
                raise InputError(
                    f"The samples have no series {vital!r} (a list of one number a second); they have "
                    f"{', '.join(self._names) or 'none'}."
                )
            lengths, column = self._length_of(vital), self._table.column(vital).combine_chunks()
            flat = column.flatten().to_numpy(zero_copy_only=False).astype(np.float64)
            starts, rows = np.cumsum(lengths) - lengths, np.repeat(np.arange(self.samples), lengths)
            padded = np.full((self.samples, int(self._lengths.max(initial=0))), np.nan)
            padded[rows, np.arange(len(flat)) - starts[rows]] = flat
            self._padded[vital] = padded
        return self._padded[vital]

    def _length_of(self, vital: str) -> npt.NDArray[np.int64]:
        return np.asarray(pc.list_value_length(self._table.column(vital)).fill_null(0).to_numpy().astype(np.int64))


def _is_series(kind: pa.DataType) -> bool:
    if not (pa.types.is_list(kind) or pa.types.is_large_list(kind)):
        return False
    return bool(pa.types.is_floating(kind.value_type) or pa.types.is_integer(kind.value_type))


Numbers = npt.NDArray[np.float64]


def well_measured(window: Window) -> Mask:
    """Whether at least half of the recorded seconds hold a value, [n]; no where nothing was recorded."""
    measured = window.measured.sum(axis=1)
    return np.asarray((measured > 0) & (2 * measured >= window.recorded.sum(axis=1)))


def longest_spell(true: Mask) -> npt.NDArray[np.int64]:
    """The length of the longest run of True in each row, [n].

    >>> longest_spell(np.array([[True, True, False, True], [False, False, False, False]])).tolist()
    [2, 0]
    """
    seconds = np.arange(1, true.shape[1] + 1)
    last_false = np.maximum.accumulate(np.where(true, 0, seconds), axis=1)
    return np.asarray(np.max(seconds - last_false, axis=1, initial=0))


def median(values: Matrix) -> Numbers:
    """The median of what was measured in each row; NaN where nothing was.

    >>> median(np.array([[3.0, np.nan, 1.0], [np.nan, np.nan, np.nan]])).tolist()
    [2.0, nan]
    """
    ordered = np.sort(values, axis=1)  # NaN comes last
    count = (~np.isnan(values)).sum(axis=1)
    rows = np.arange(len(values))
    middle: Numbers = (ordered[rows, np.maximum(count - 1, 0) // 2] + ordered[rows, np.maximum(count // 2, 0)]) / 2
    return np.where(count > 0, middle, np.nan)


def slope_per_minute(values: Matrix) -> Numbers:
    """The slope of the least-squares line through what was measured, per minute; NaN with fewer than two values.

    >>> slope_per_minute(np.array([[1.0, 2.0, np.nan, 4.0], [5.0, np.nan, np.nan, np.nan]])).tolist()
    [60.0, nan]
    """
    seconds = np.broadcast_to(np.arange(values.shape[1], dtype=np.float64), values.shape)
    x, y = _centred(np.where(np.isnan(values), np.nan, seconds)), _centred(values)
    return 60 * _ratio((x * y).sum(axis=1), (x * x).sum(axis=1))


def spread(values: Matrix) -> Numbers:
    """The standard deviation of what was measured in each row; NaN where nothing was.

    >>> spread(np.array([[1.0, 3.0, np.nan], [np.nan, np.nan, np.nan]])).tolist()
    [1.0, nan]
    """
    centred = _centred(values)
    return np.sqrt(_ratio((centred * centred).sum(axis=1), (~np.isnan(values)).sum(axis=1).astype(np.float64)))


def biggest_step(values: Matrix) -> Numbers:
    """The largest change between two consecutive measured seconds; NaN where there are no two.

    >>> biggest_step(np.array([[1.0, 4.0, np.nan, 90.0], [1.0, np.nan, 2.0, np.nan]])).tolist()
    [3.0, nan]
    """
    steps = np.abs(np.diff(values, axis=1))
    largest = np.max(steps, axis=1, initial=-1.0, where=~np.isnan(steps))
    return np.where(largest < 0, np.nan, largest)


def correlation(first: Matrix, second: Matrix, at_least: int) -> Numbers:
    """Pearson's correlation over the seconds that both measured; NaN with too few of them or where one is constant.

    >>> rows = np.array([[1.0, 2.0, 3.0, np.nan]])
    >>> correlation(rows, -rows, 3).tolist(), correlation(rows, rows, 4).tolist()
    ([-1.0], [nan])
    """
    both = ~np.isnan(first) & ~np.isnan(second)
    x, y = _centred(np.where(both, first, np.nan)), _centred(np.where(both, second, np.nan))
    scale = np.sqrt((x * x).sum(axis=1) * (y * y).sum(axis=1))
    return np.where(both.sum(axis=1) >= at_least, _ratio((x * y).sum(axis=1), scale), np.nan)


def _centred(values: Matrix) -> Matrix:
    """Each row minus its mean, 0 where not measured (so that it adds nothing to a sum)."""
    measured = ~np.isnan(values)
    known = np.where(measured, values, 0.0)
    mean = known.sum(axis=1) / np.maximum(measured.sum(axis=1), 1)
    return np.where(measured, known - mean[:, None], 0.0)


def _ratio(above: Numbers, below: Numbers) -> Numbers:
    return np.asarray(np.divide(above, below, out=np.full(len(above), np.nan), where=below > 0))


class Truth(NamedTuple):
    """Of which samples something holds and of which it is known not to hold, [n] each; unknown of the others."""

    holds: Mask
    fails: Mask


@dataclass(frozen=True)
class Condition:
    """Something that may hold of an alarm; `text` is how a person reads it."""

    test: Callable[[Signals], Truth]
    text: str
    glue: str = ""

    def called(self, text: str) -> Condition:
        """The same condition under a name of its own."""
        return Condition(self.test, text)

    def __and__(self, other: Condition) -> Condition:
        return self._glued("and", other, lambda left, right: Truth(left.holds & right.holds, left.fails | right.fails))

    def __or__(self, other: Condition) -> Condition:
        return self._glued("or", other, lambda left, right: Truth(left.holds | right.holds, left.fails & right.fails))

    def __invert__(self) -> Condition:
        return Condition(lambda signals: Truth(*reversed(self.test(signals))), f"not {self._within('')}")

    def __bool__(self) -> NoReturn:
        raise TypeError("conditions are combined with &, | and ~, not with and, or and not")

    def _glued(self, glue: str, other: Condition, judge: Callable[[Truth, Truth], Truth]) -> Condition:
        text = f"{self._within(glue)} {glue} {other._within(glue)}"
        return Condition(lambda signals: judge(self.test(signals), other.test(signals)), text, glue)

    def _within(self, glue: str) -> str:
        return self.text if self.glue in ("", glue) else f"({self.text})"


@dataclass(frozen=True)
class View:
    """A vital sign in some seconds around the alarm: what conditions are about."""

    vital: str
    start: int
    stop: int

    def above(self, level: float, longer_than: float = 0) -> Condition:
        """The vital sign is above the level for more than so many seconds without a break."""
        return self._spell(f"above {level:g}", longer_than, lambda values: values > level)

    def below(self, level: float, longer_than: float = 0) -> Condition:
        """The vital sign is below the level for more than so many seconds without a break."""
        return self._spell(f"below {level:g}", longer_than, lambda values: values < level)

    def stays_above(self, level: float) -> Condition:
        """Whenever it was measured, the vital sign was above the level."""
        return self._if(f"stays above {level:g}", lambda values: longest_spell(values <= level) == 0)

    def stays_below(self, level: float) -> Condition:
        """Whenever it was measured, the vital sign was below the level."""
        return self._if(f"stays below {level:g}", lambda values: longest_spell(values >= level) == 0)

    def rises_by(self, amount: float, longer_than: float = 0) -> Condition:
        """It is more than `amount` above the patient's usual (the median of the minute before) for so many seconds."""
        return self._against_usual(f"more than {amount:g} above usual", longer_than, lambda change: change > amount)

    def falls_by(self, amount: float, longer_than: float = 0) -> Condition:
        """It is more than `amount` below the patient's usual (the median of the minute before) for so many seconds."""
        return self._against_usual(f"more than {amount:g} below usual", longer_than, lambda change: change < -amount)

    def slope_above(self, per_minute: float) -> Condition:
        """A straight line through its values rises by more than so much a minute."""
        return self._if(
            f"rises faster than {per_minute:g} a minute", lambda values: slope_per_minute(values) > per_minute
        )

    def varies_more_than(self, deviation: float) -> Condition:
        """The standard deviation of its values is larger."""
        return self._if(f"varies by more than {deviation:g}", lambda values: spread(values) > deviation)

    def jumps_by(self, step: float) -> Condition:
        """It changes by more than so much from one second to the next."""
        return self._if(f"jumps by more than {step:g}", lambda values: biggest_step(values) > step)

    def missing(self, longer_than: float = 0) -> Condition:
        """The recording goes on, but without a value of this vital sign, for more than so many seconds."""

        def test(signals: Signals) -> Truth:
            window = signals.window(self.vital, self.start, self.stop)
            gone = longest_spell(window.recorded & ~window.measured) > longer_than
            seen = window.recorded.any(axis=1)
            return Truth(gone & seen, ~gone & seen)

        return Condition(test, self._text("missing" + _for_over(longer_than)))

    def agrees_with(self, other: View, within: float) -> Condition:
        """In the median of the seconds that both measured, the two are no further apart than this."""

        def test(signals: Signals) -> Truth:
            apart = np.abs(self._values(signals) - other._values(signals))
            enough = (~np.isnan(apart)).sum(axis=1) >= _ENOUGH_TO_COMPARE
            return _judged(median(apart) <= within, enough)

        return Condition(test, self._text(f"within {within:g} of {_words(other.vital)}"))

    def moves_with(self, other: View, correlation_above: float) -> Condition:
        """Over the seconds that both measured, the two are correlated (Pearson) by more than this."""

        def test(signals: Signals) -> Truth:
            together = correlation(self._values(signals), other._values(signals), _ENOUGH_TO_COMPARE)
            return _judged(together > correlation_above, ~np.isnan(together))

        return Condition(test, self._text(f"moves with {_words(other.vital)} (r > {correlation_above:g})"))

    def _values(self, signals: Signals) -> Matrix:
        return signals.window(self.vital, self.start, self.stop).values

    def _spell(self, what: str, longer_than: float, test: Callable[[Matrix], Mask]) -> Condition:
        return self._if(what + _for_over(longer_than), lambda values: longest_spell(test(values)) > longer_than)

    def _against_usual(self, what: str, longer_than: float, test: Callable[[Matrix], Mask]) -> Condition:
        def compare(signals: Signals) -> Truth:
            usual = median(signals.window(self.vital, -60, 0).values)
            window = signals.window(self.vital, self.start, self.stop)
            spell = longest_spell(test(window.values - usual[:, None]))
            return _judged(spell > longer_than, well_measured(window) & ~np.isnan(usual))

        return Condition(compare, self._text(what + _for_over(longer_than)))

    def _if(self, what: str, test: Callable[[Matrix], Mask]) -> Condition:
        def judge(signals: Signals) -> Truth:
            window = signals.window(self.vital, self.start, self.stop)
            return _judged(test(window.values), well_measured(window))

        return Condition(judge, self._text(what))

    def _text(self, what: str) -> str:
        known = {(0, 60): "after the alarm", (-60, 0): "before the alarm"}
        when = known.get((self.start, self.stop), f"from {self.start:+d} s to {self.stop:+d} s")
        return f"{_words(self.vital)} {what} {when}"


@dataclass(frozen=True)
class Vital:
    """A series of the samples by its column name, at one value a second.

    >>> Vital("heart_rate").after_alarm.above(220, longer_than=10).text
    'heart rate above 220 for over 10 s after the alarm'
    """

    column: str

    @property
    def after_alarm(self) -> View:
        """The minute that begins with the alarm."""
        return View(self.column, 0, 60)

    def between(self, start: int, stop: int) -> View:
        """The seconds from `start` to before `stop`, counted from the alarm."""
        return View(self.column, start, stop)


def when(condition: Condition, vote: int, name: str | None = None) -> ColumnRule[Signals]:
    """The labelling function that votes where the condition holds; it is named by how the condition reads."""

    def ask(signals: Signals) -> object:
        return np.where(condition.test(signals).holds, vote, ABSTAIN)

    return ColumnRule(name or condition.text, ask, Signals)


_ENOUGH_TO_COMPARE = 10  # seconds


def _judged(answer: Mask, known: Mask) -> Truth:
    return Truth(answer & known, ~answer & known)


def _words(column: str) -> str:
    return {"spo2": "SpO2"}.get(column, column.replace("_", " "))


def _for_over(seconds: float) -> str:
    return f" for over {seconds:g} s" if seconds else ""
