"""What defences do to single classes, as pages of images and of texts show it: who is lost, what every class gets."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from assay.infra.errors import all_named
from assay.tasks.defenses.comparison import CLEAN, NONE
from assay.tasks.reporting.estimates import NAMED, About, ColumnOver, class_columns, column, estimate, table_of
from assay.tasks.reporting.numerals import integer, interval, p_concluded, p_equals, percent
from assay.tasks.reporting.parts import Cell, DataTable, Mark, Tone
from assay.tasks.statistics.findings import Finding, FindingIndex, distinct, measured

_PAIRED = "The recall of that class less the undefended model's, on the same samples (Tango, McNemar's mid-p)"
_CHANGE = "Accuracy less the undefended model's, on the same samples (Tango, McNemar's mid-p, corrected by Holm)"
_OVER = "Accuracy less that of a model that learned from as many unchanged copies: what is due to the attack"
_NOTE = (
    "An accuracy hides what a defence does to a class that has few samples, and one constant answer withstands every "
    "attack. p is of that class and not corrected: one that may be lost is named before it is certain."
)


def lost(findings: FindingIndex, subject: str, defence: str | None = None) -> list[Finding]:
    """The classes whose recall a defence (or any) lowers, clean or under the attacks that are concluded from, those on
    clean samples first and the largest loss first: by the 95 % interval of each, for a warning waits for no correction.

    Nothing is lost where the undefended model gives all samples one answer: it finds that class by knowing nothing.
    """
    gains = measured(findings.select("defense.recall_gain", subject=subject, of=defence))
    below = [gain for gain in gains if gain.high is not None and gain.high < 0 and not _of_a_constant(findings, gain)]
    return sorted(below, key=lambda gain: (not gain.group.startswith(f"{CLEAN}, "), gain.value))


def losses(findings: FindingIndex, subject: str, defences: Sequence[str], where: Callable[[str], str]) -> str:
    """Which defences lose a class, the worst loss of each in words; empty where none does. `where` names a group."""
    by_place: dict[tuple[str, str], list[tuple[str, Finding, Finding]]] = {}
    for defence in defences:
        for gain in lost(findings, subject, defence)[:1]:
            place, _, name = gain.group.rpartition(", ")
            after = _recall(findings, gain, defence)
            if after is not None:
                by_place.setdefault((place, name), []).append((defence, gain, after))
    lines = []
    for (place, name), each in by_place.items():
        before = _recall(findings, each[0][1], NONE)
        names = _joined([defence for defence, _, _ in each])
        left = _joined([percent(after.value, 0) for _, _, after in each])
        p = _joined([p_equals(gain.p_value) for _, gain, _ in each])
        lines.append(
            f"{names} lose{'s' if len(each) == 1 else ''} {name}: {left} of {integer(each[0][2].n)} found where "
            f"{subject} finds {percent(None if before is None else before.value, 0)} ({where(place)}, {p} uncorrected)"
        )
    return "; ".join(lines)


def _joined(parts: Sequence[str]) -> str:
    """The first few parts that differ, in words."""
    return all_named(distinct(parts)[:NAMED])


def _recall(findings: FindingIndex, gain: Finding, defence: str) -> Finding | None:
    """The recall of the class that a gain is of; of images it goes by ε alone, whatever the attack."""
    place, _, name = gain.group.rpartition(", ")
    places = (place, place.partition(", ")[0])
    recalls = (findings.get("defense.recall", gain.subject, defence, f"{group}, {name}") for group in places)
    return next((recall for recall in recalls if recall is not None), None)


def _of_a_constant(findings: FindingIndex, gain: Finding) -> bool:
    accuracy = findings.get("defense.accuracy", gain.subject, NONE, gain.group.rpartition(", ")[0])
    return accuracy is not None and accuracy.degenerate


def points(gain: Finding) -> str:
    """A paired change in points, with its interval.

    >>> points(Finding("defense.gain", value=-0.062, low=-0.12, high=-0.01))
    '−6 points [−12, −1]'
    """
    value = round(100 * (gain.value or 0.0))
    shown = f"{value:+d}".replace("-", "−") if value else "0"
    return f"{shown} points {interval(gain.low, gain.high, digits=0)}"


_TONES: dict[str, Tone] = {"better": "good", "worse": "bad"}


def _concluded(findings: FindingIndex, row: About, gain: Finding | None, test: Finding | None) -> Cell:
    """What a paired test concludes of a change, which stands below it; bad where all answers are one, or where a class
    is lost, and never good of a defence that loses a class elsewhere."""
    if gain is None:
        return ""
    accuracy, losing = findings.get("defense.accuracy", *row), lost(findings, row.subject, row.of)
    constant = accuracy.verdict if accuracy is not None and accuracy.degenerate else ""
    of_row = [each for each in losing if each.group.startswith(f"{gain.group}, ") and gain.metric == "defense.gain"]
    gone = distinct(each.group.rpartition(", ")[2] for each in of_row)
    spoilt = constant or (f"loses {', '.join(gone)}" if gone else "")
    verdict, p = ("not tested", "") if test is None else (test.verdict, p_concluded(test.p_value, test.p_adjusted))
    tone = "bad" if spoilt else "neutral" if losing else _TONES.get(verdict, "neutral")
    return Mark(spoilt or verdict, tone, ", ".join(filter(None, (f"accuracy {points(gain)}", p))), order=gain.value)


def class_table(
    findings: FindingIndex,
    title: str,
    rows: Sequence[About],
    leading: Sequence[ColumnOver],
    label: Callable[[str], str] = str,
    note: str = "",
) -> DataTable:
    """What every model gets in all and of every class, what a defence changes by a paired test, and the class that
    gains least by it; `label` is what paired findings call a group."""

    def paired(row: About, metric: str) -> Finding | None:
        return findings.get(f"defense.{metric}", row.subject, row.of, label(row.group))

    def concluded(gain: str, test: str) -> Callable[[About], Cell]:
        return lambda row: _concluded(findings, row, paired(row, gain), paired(row, test))

    over = [column("Over equal steps", concluded("gain_over_control", "control_mcnemar_p"), help=_OVER)]
    columns = [
        *leading,
        *class_columns("defense", findings),
        column("Concluded", concluded("gain", "mcnemar_p"), help=_CHANGE),
        *(over if any(paired(row, "gain_over_control") for row in rows) else []),
        column("Gains least", lambda row: getattr(paired(row, "worst_recall_gain"), "verdict", "")),
        column("Its gain", lambda row: estimate(paired(row, "worst_recall_gain"), counted=False), "percent", _PAIRED),
        column("p", lambda row: getattr(paired(row, "worst_recall_gain"), "p_value", None), "p", _PAIRED),
    ]
    return table_of(title, rows, columns, f"{note}{_NOTE}", findings=findings)
