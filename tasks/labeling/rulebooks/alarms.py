"""Sixty-two rules on monitor alarms of infants: which are suppressible, and which need somebody at the bedside.

Each line is a rule; it is named by how its condition reads. All of them are applied to all five types of alarm. The
minute before the alarm says what is usual for the patient; seconds are counted from the alarm. To add a rule, add a
line.
"""

from assay.tasks.labeling.conditions import Condition, Signals, Vital, when
from assay.tasks.labeling.rules import ColumnRule, Rulebook

SUPPRESSIBLE, NON_SUPPRESSIBLE = 0, 1

heart = Vital("heart_rate")
breath = Vital("respiratory_rate")
oxygen = Vital("spo2")
pulse = Vital("pulse_rate")
quality = Vital("pulse_quality")


def needs_somebody(condition: Condition) -> ColumnRule[Signals]:
    """The rule that calls an alarm non-suppressible where the condition holds."""
    return when(condition, NON_SUPPRESSIBLE)


def may_be_suppressed(condition: Condition) -> ColumnRule[Signals]:
    """The rule that calls an alarm suppressible where the condition holds."""
    return when(condition, SUPPRESSIBLE)


good_pulse = (~quality.after_alarm.below(60, longer_than=5)).called("the pulse is good")
poor_pulse = quality.after_alarm.below(50, longer_than=10).called("the pulse is poor")
rates_agree = heart.after_alarm.agrees_with(pulse.after_alarm, within=6)
rates_differ = ~heart.after_alarm.agrees_with(pulse.after_alarm, within=15)
all_well_after_15s = (
    heart.between(15, 60).stays_above(90)
    & heart.between(15, 60).stays_below(185)
    & breath.between(15, 60).stays_above(18)
    & breath.between(15, 60).stays_below(65)
    & oxygen.between(15, 60).stays_above(90)
).called("heart, breath and SpO2 are within their limits from +15 s to +60 s")

RULEBOOK = Rulebook(
    "alarms",
    ("suppressible", "non-suppressible"),
    [
        # The heart is too fast.
        needs_somebody(heart.after_alarm.above(220, longer_than=10)),
        needs_somebody(heart.after_alarm.above(205, longer_than=15)),
        needs_somebody(heart.after_alarm.above(195, longer_than=20)),
        needs_somebody(heart.after_alarm.above(190, longer_than=30)),
        needs_somebody(heart.after_alarm.rises_by(45, longer_than=20)),
        needs_somebody(heart.after_alarm.above(185, longer_than=15) & rates_agree),
        # The heart is too slow.
        needs_somebody(heart.after_alarm.below(60, longer_than=5)),
        needs_somebody(heart.after_alarm.below(75, longer_than=12) & ~heart.after_alarm.jumps_by(30)),
        needs_somebody(heart.after_alarm.below(80, longer_than=10)),
        needs_somebody(heart.after_alarm.below(85, longer_than=20)),
        needs_somebody(heart.after_alarm.falls_by(45, longer_than=15)),
        needs_somebody(heart.after_alarm.below(84, longer_than=15) & rates_agree),
        needs_somebody(pulse.after_alarm.below(80, longer_than=10)),
        # Breathing is too slow, or stops.
        needs_somebody(breath.after_alarm.below(6, longer_than=10)),
        needs_somebody(breath.after_alarm.below(10, longer_than=12)),
        needs_somebody(
            oxygen.after_alarm.moves_with(heart.after_alarm, 0.6) & oxygen.after_alarm.falls_by(5, longer_than=10)
        ),
        needs_somebody(breath.after_alarm.falls_by(25, longer_than=15)),
        needs_somebody(breath.after_alarm.below(14, longer_than=10) & oxygen.after_alarm.falls_by(3, longer_than=10)),
        needs_somebody(breath.after_alarm.below(14, longer_than=10) & heart.after_alarm.falls_by(15, longer_than=10)),
        # Breathing is too fast.
        needs_somebody(breath.after_alarm.above(85, longer_than=20) & good_pulse),
        needs_somebody(breath.after_alarm.above(80, longer_than=20)),
        needs_somebody(breath.after_alarm.above(72, longer_than=30)),
        needs_somebody(breath.after_alarm.rises_by(30, longer_than=25)),
        needs_somebody(breath.after_alarm.above(70, longer_than=15) & heart.after_alarm.rises_by(10, longer_than=15)),
        # Oxygen is too low.
        needs_somebody(oxygen.after_alarm.below(75, longer_than=5)),
        needs_somebody(oxygen.after_alarm.below(80, longer_than=10)),
        needs_somebody(oxygen.after_alarm.below(85, longer_than=15)),
        needs_somebody(oxygen.after_alarm.below(87, longer_than=25)),
        needs_somebody(oxygen.after_alarm.below(85, longer_than=10) & good_pulse),
        needs_somebody(oxygen.after_alarm.falls_by(12, longer_than=10) & ~poor_pulse),
        needs_somebody(oxygen.after_alarm.falls_by(8, longer_than=20)),
        needs_somebody(oxygen.after_alarm.falls_by(6, longer_than=15) & heart.after_alarm.falls_by(10, longer_than=10)),
        needs_somebody(oxygen.between(30, 60).below(87, longer_than=10)),
        # It does not get better.
        needs_somebody(heart.between(40, 60).below(85, longer_than=10)),
        needs_somebody(heart.between(40, 60).above(190, longer_than=10)),
        needs_somebody(breath.between(30, 60).below(12, longer_than=10) & ~oxygen.after_alarm.stays_above(93)),
        needs_somebody(breath.between(40, 60).above(72, longer_than=10)),
        # The patient is soon well again.
        may_be_suppressed(all_well_after_15s),
        may_be_suppressed(all_well_after_15s & good_pulse),
        may_be_suppressed(oxygen.between(15, 60).stays_above(90) & oxygen.after_alarm.below(90, longer_than=2)),
        may_be_suppressed(heart.after_alarm.below(90, longer_than=2) & heart.between(15, 60).stays_above(90)),
        may_be_suppressed(heart.after_alarm.above(185, longer_than=2) & heart.between(20, 60).stays_below(185)),
        may_be_suppressed(breath.after_alarm.below(18, longer_than=2) & breath.between(15, 60).stays_above(18)),
        may_be_suppressed(breath.after_alarm.above(65, longer_than=2) & breath.between(20, 60).stays_below(65)),
        may_be_suppressed(oxygen.after_alarm.slope_above(6) & oxygen.between(30, 60).stays_above(90)),
        # The signal is not to be trusted.
        may_be_suppressed(oxygen.after_alarm.missing(longer_than=10)),
        may_be_suppressed(heart.after_alarm.missing(longer_than=10)),
        may_be_suppressed(breath.after_alarm.missing(longer_than=10)),
        may_be_suppressed(pulse.after_alarm.missing(longer_than=15)),
        may_be_suppressed(poor_pulse),
        may_be_suppressed(quality.after_alarm.below(30, longer_than=5)),
        may_be_suppressed(quality.between(-20, 10).below(50, longer_than=12)),
        may_be_suppressed(quality.between(-10, 20).below(45, longer_than=10)),
        may_be_suppressed(quality.after_alarm.varies_more_than(16)),
        may_be_suppressed(oxygen.after_alarm.jumps_by(6)),
        may_be_suppressed(heart.between(-5, 20).jumps_by(35)),
        may_be_suppressed(breath.after_alarm.jumps_by(20)),
        may_be_suppressed(pulse.after_alarm.jumps_by(30)),
        # Two signals contradict each other.
        may_be_suppressed(rates_differ),
        may_be_suppressed(
            heart.after_alarm.below(90, longer_than=5)
            & pulse.after_alarm.stays_above(90)
            & oxygen.after_alarm.stays_above(90)
        ),
        may_be_suppressed(heart.after_alarm.above(185, longer_than=3) & ~pulse.after_alarm.above(185, longer_than=10)),
        may_be_suppressed(oxygen.after_alarm.varies_more_than(4) & poor_pulse),
    ],
)
