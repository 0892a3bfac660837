"""What noise shows in the report: accuracy over severity for each kind, and the numbers behind it."""

from __future__ import annotations

from collections.abc import Sequence

from assay.tasks.attacks.noise.measuring import EVERY_KIND
from assay.tasks.attacks.noise.noising import SHARES
from assay.tasks.attacks.noise.rows import group_of
from assay.tasks.reporting.numerals import integer, interval, p_concluded, percent, plain
from assay.tasks.reporting.parts import Block, Cell, Column, DataTable, Estimate, LinePlot, Mark, Panels, Series, Tone
from assay.tasks.statistics.findings import Finding

_PLACES = {
    "typos": "slips in the letters", "casing": "words in another case", "punctuation": "slips after words",
    "whitespace": "blanks dropped, doubled or set", "homoglyphs": "letters that have a look-alike",
}  # fmt: skip
_OF = {"typos": 0.5, "casing": 1.0, "punctuation": 1.0, "whitespace": 1.0, "homoglyphs": 1.0}
"""What a place is of what the page counts: a slip is in one of two letters."""
_TONES: dict[str, Tone] = {"better": "good", "worse": "bad"}


class Noised:
    """The findings on noise, to be asked for one by one."""

    def __init__(self, findings: Sequence[Finding]) -> None:
        mine = [one for one in findings if one.stage == "attack" and ", severity=" in one.group]
        self._known = {(one.metric, one.subject, one.of, one.group): one for one in mine}
        self._clean = {
            one.subject: one for one in findings if (one.metric, one.of, one.group) == ("subject.accuracy", "clean", "")
        }
        self.subjects = list(dict.fromkeys(one.subject for one in mine))
        self.attacks = list(dict.fromkeys(one.of for one in mine))
        self.kinds = list(dict.fromkeys(one.group.partition(", ")[0] for one in mine))
        self.severities = sorted({int(one.group.rpartition("=")[2]) for one in mine})

    def get(self, metric: str, subject: str, attack: str, kind: str, severity: int) -> Finding | None:
        """The finding `attack.metric`, if it has a value."""
        found = self._known.get((f"attack.{metric}", subject, attack, group_of(kind, severity)))
        return None if found is None or found.value is None else found

    def clean(self, subject: str) -> Finding | None:
        """The accuracy on the texts as they are."""
        found = self._clean.get(subject)
        return None if found is None or found.value is None else found

    def hardest(self, subject: str) -> Finding | None:
        """The lowest accuracy under one kind of noise, whatever its severity."""
        found = [
            one for (metric, whose, _, group), one in self._known.items()
            if metric == "attack.accuracy" and whose == subject and one.value is not None
            and not group.startswith(EVERY_KIND)
        ]  # fmt: skip
        return min(found, key=lambda one: one.value or 0.0, default=None)


def noise_blocks(findings: Sequence[Finding]) -> list[Block]:
    """The curves over severity, one plot per kind of noise, and the table of all numbers; nothing without noise."""
    found = Noised(findings)
    return [block for attack in found.attacks for block in (_curves(found, attack), _table(found, attack))]


def _curves(found: Noised, attack: str) -> Panels:
    plots = []
    for kind in found.kinds:
        series = [one for subject in found.subjects if (one := _series(found, subject, attack, kind)) is not None]
        if series:
            said = "; ".join(f"{one.name} from {percent(one.y[0])} to {percent(one.y[-1])}" for one in series)
            plots.append(LinePlot(
                kind.capitalize(), series, "Severity", "Accuracy", f"Accuracy with {kind} by severity: {said}.",
                (0.0, 1.0), {float(place): "none" if place == 0 else str(place) for place in (0, *found.severities)},
                scale="percent",
            ))  # fmt: skip
    kinds = ", ".join(
        f"{kind} ({_PLACES[kind]}, {plain(100 * shares[0] * _OF[kind])} to {percent(shares[-1] * _OF[kind], 0)})"
        for kind, shares in SHARES.items() if kind in found.kinds
    )  # fmt: skip
    note = (
        f"Severities 1 to 5 change ever more of the same places: {kinds}. Bands are 95 % intervals (Wilson). Under "
        "every kind counts as right what is right under each of them."
    )
    return Panels(f"Accuracy under noise ({attack})" if attack != "noise" else "Accuracy under noise", plots, note)


def _series(found: Noised, subject: str, attack: str, kind: str) -> Series | None:
    points = {0: found.clean(subject)}
    points |= {severity: found.get("accuracy", subject, attack, kind, severity) for severity in found.severities}
    known = [(float(place), one) for place, one in points.items() if one is not None]
    if not any(place for place, _ in known):
        return None
    values, lows, highs = ([getattr(one, end) for _, one in known] for end in ("value", "low", "high"))
    return Series(subject, [place for place, _ in known], values, lows, highs)


def _table(found: Noised, attack: str) -> DataTable:
    columns = [
        Column("Subject"), Column("Noise"), Column("Severity", "integer"), Column("Accuracy", "percent"),
        Column("Change", "percent", "Accuracy with noise minus accuracy without, on the same texts"),
        Column("p", "p", "McNemar's exact test, not corrected"), Column("Concluded"),
        Column("Flips", "percent", "Predictions that change, right or wrong"),
        Column("No place", "percent", "Texts in which there was nothing to change"),
    ]  # fmt: skip
    rows: list[list[Cell]] = []
    for subject in found.subjects:
        for kind in found.kinds:
            for severity in found.severities:
                got = {name: found.get(name, subject, attack, kind, severity)
                       for name in ("accuracy", "accuracy_change", "mcnemar_p", "flip_rate", "unchanged")}  # fmt: skip
                if got["accuracy"] is None and got["flip_rate"] is None:
                    continue
                test, change = got["mcnemar_p"], got["accuracy_change"]
                p = None if change is None else change.p_value
                verdict: Cell = "" if test is None else Mark(after_holm(test), _TONES.get(test.verdict, "neutral"))
                shown = [estimate(got[name]) for name in ("flip_rate", "unchanged")]
                rows.append([subject, kind, severity, estimate(got["accuracy"]), estimate(change), p, verdict, *shown])
    note = "Tests are concluded from at the highest severity only. Intervals are 95 % (Wilson; of changes: Newcombe)."
    return DataTable("Noise in numbers", columns, rows, note, collapsed=True)


def after_holm(test: Finding) -> str:
    """What is concluded from a test, and its p after Holm's correction, where the run corrects.

    >>> after_holm(Finding("attack.mcnemar_p", verdict="worse", p_value=0.001, p_adjusted=0.004))
    'worse (p = 0.004 after Holm)'
    """
    if test.p_value is None:
        return test.verdict
    return f"{test.verdict} ({p_concluded(test.p_value, test.p_adjusted)})"


def noise_sentence(findings: Sequence[Finding], subject: str) -> str:
    """What noise does to a subject, in a sentence; empty where there is none."""
    found = Noised(findings)
    hardest, clean = found.hardest(subject), found.clean(subject)
    if hardest is None:
        return ""
    kind, _, severity = hardest.group.partition(", severity=")
    beside = "" if clean is None else f", where it had {percent(clean.value)}"
    return (
        f"With {kind} at severity {severity} it gets {percent(hardest.value)} {interval(hardest.low, hardest.high)} "
        f"right{beside} (n = {integer(hardest.n)})."
    )


def estimate(one: Finding | None) -> Cell:
    """A finding as a cell, with its interval and n."""
    return None if one is None or one.value is None else Estimate(one.value, one.low, one.high, one.n)
