"""A small vocabulary of conditions on time series, to write rules that a clinician can read.

A rule is one line: `suppressible(spo2.after_alarm.missing(longer_than=10) & ~heart_rate.after_alarm.below(90))`.
A condition holds, does not hold, or is not known (where too little was measured to say); `&`, `|` and `~` combine
them, and a rule votes only where its condition holds. Seconds are counted from the alarm.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, NoReturn

import numpy as np

from assay.tasks.labeling.rules import ABSTAIN, ColumnRule
from assay.tasks.labeling.signals import Mask, Matrix, Signals
from assay.tasks.labeling.spells import (
    Numbers,
    biggest_step,
    correlation,
    longest_spell,
    median,
    slope_per_minute,
    spread,
    well_measured,
)


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
        def both(signals: Signals) -> Truth:
            left, right = self.test(signals), other.test(signals)
            return Truth(left.holds & right.holds, left.fails | right.fails)

        return Condition(both, f"{self._within('and')} and {other._within('and')}", "and")

    def __or__(self, other: Condition) -> Condition:
        def either(signals: Signals) -> Truth:
            left, right = self.test(signals), other.test(signals)
            return Truth(left.holds | right.holds, left.fails & right.fails)

        return Condition(either, f"{self._within('or')} or {other._within('or')}", "or")

    def __invert__(self) -> Condition:
        def opposite(signals: Signals) -> Truth:
            holds, fails = self.test(signals)
            return Truth(fails, holds)

        return Condition(opposite, f"not {self._within('')}")

    def __bool__(self) -> NoReturn:
        raise TypeError("conditions are combined with &, | and ~, not with and, or and not")

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

    def slope_below(self, per_minute: float) -> Condition:
        """A straight line through its values stays below so much a minute (negative: it falls faster)."""
        return self._if(f"slopes below {per_minute:g} a minute", lambda values: slope_per_minute(values) < per_minute)

    def varies_more_than(self, deviation: float) -> Condition:
        """The standard deviation of its values is larger."""
        return self._if(f"varies by more than {deviation:g}", lambda values: spread(values) > deviation)

    def varies_less_than(self, deviation: float) -> Condition:
        """The standard deviation of its values is smaller."""
        return self._if(f"varies by less than {deviation:g}", lambda values: spread(values) < deviation)

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

    def ends_near_usual(self, within: float) -> Condition:
        """In its last quarter it is, in the median, no further than this from the patient's usual."""
        tail = View(self.vital, self.stop - max((self.stop - self.start) // 4, 1), self.stop)

        def test(signals: Signals) -> Truth:
            window = signals.window(tail.vital, tail.start, tail.stop)
            away = np.abs(median(window.values) - _usual(signals, self.vital))
            return _judged(away <= within, well_measured(window) & ~np.isnan(away))

        return Condition(test, self._text(f"ends within {within:g} of usual"))

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
            usual = _usual(signals, self.vital)
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
        return f"{_words(self.vital)} {what} {_when(self.start, self.stop)}"


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

    @property
    def before_alarm(self) -> View:
        """The minute before the alarm."""
        return View(self.column, -60, 0)

    def between(self, start: int, stop: int) -> View:
        """The seconds from `start` to before `stop`, counted from the alarm."""
        return View(self.column, start, stop)


def when(condition: Condition, vote: int, name: str | None = None) -> ColumnRule[Signals]:
    """The labelling function that votes where the condition holds; it is named by how the condition reads."""

    def ask(signals: Signals) -> object:
        return np.where(condition.test(signals).holds, vote, ABSTAIN)

    return ColumnRule(name or condition.text, ask, Signals)


_ENOUGH_TO_COMPARE = 10  # seconds


def _usual(signals: Signals, vital: str) -> Numbers:
    return median(signals.window(vital, -60, 0).values)


def _judged(answer: Mask, known: Mask) -> Truth:
    return Truth(answer & known, ~answer & known)


def _words(column: str) -> str:
    return {"spo2": "SpO2"}.get(column, column.replace("_", " "))


def _for_over(seconds: float) -> str:
    return f" for over {seconds:g} s" if seconds else ""


def _when(start: int, stop: int) -> str:
    if (start, stop) == (0, 60):
        return "after the alarm"
    if (start, stop) == (-60, 0):
        return "before the alarm"
    return f"from {start:+d} s to {stop:+d} s"
