"""What defences do to single classes, as pages of images and of texts show it: who is lost, what every class gets."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from assay.tasks.defenses.comparison import CLEAN, NONE
from assay.tasks.reporting.estimates import NAMED, About, ColumnOver, class_columns, column, estimate, table_of
from assay.tasks.reporting.numerals import integer, p_equals, percent
from assay.tasks.reporting.parts import DataTable
from assay.tasks.statistics.findings import Finding, FindingIndex, distinct, measured

_PAIRED = "The recall of that class less the undefended model's, on the same samples (Tango, McNemar's mid-p)"
_NOTE = (
    "An accuracy hides what a defence does to a class that has few samples, and one constant answer withstands every "
    "attack. p is not corrected: a class that may be lost is named before it is certain."
)


def lost(findings: FindingIndex, subject: str, defence: str) -> list[Finding]:
    """The classes whose recall a defence lowers, clean or under the attacks that are concluded from, those on clean
    samples first and the largest loss first: by the 95 % interval of each, for a warning waits for no correction."""
    gains = measured(findings.select("defense.recall_gain", subject=subject, of=defence))
    below = [gain for gain in gains if gain.high is not None and gain.high < 0]
    return sorted(below, key=lambda gain: (not gain.group.startswith(f"{CLEAN}, "), gain.value))


def lost_classes(findings: FindingIndex, subject: str, defence: str) -> str:
    """The names of these classes; empty where none is lost."""
    return ", ".join(distinct(gain.group.rpartition(", ")[2] for gain in lost(findings, subject, defence)))


def losses(findings: FindingIndex, subject: str, defences: Sequence[str], where: Callable[[str], str]) -> str:
    """Which defences lose a class, the worst loss of each in words; empty where none does. `where` names a group."""
    told: dict[tuple[str, str], list[tuple[str, Finding, Finding]]] = {}
    for defence in defences:
        for gain in lost(findings, subject, defence)[:1]:
            place, _, name = gain.group.rpartition(", ")
            after = _recall(findings, gain, defence)
            if after is not None:
                told.setdefault((place, name), []).append((defence, gain, after))
    lines = []
    for (place, name), each in told.items():
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
    first = distinct(parts)[:NAMED]
    return f"{', '.join(first[:-1])} and {first[-1]}" if len(first) > 1 else first[0]


def _recall(findings: FindingIndex, gain: Finding, defence: str) -> Finding | None:
    """The recall of the class that a gain is of; of images it goes by ε alone, whatever the attack."""
    place, _, name = gain.group.rpartition(", ")
    places = (place, place.partition(", ")[0])
    recalls = (findings.get("defense.recall", gain.subject, defence, f"{group}, {name}") for group in places)
    return next((recall for recall in recalls if recall is not None), None)


def class_table(
    findings: FindingIndex,
    title: str,
    rows: Sequence[About],
    leading: Sequence[ColumnOver],
    label: Callable[[str], str] = str,
    note: str = "",
) -> DataTable:
    """What every model gets of every class, and the class that gains least by a defence; `label` is what paired
    findings call a group."""

    def paired(row: About, metric: str) -> Finding | None:
        return findings.get(f"defense.{metric}", row.subject, row.of, label(row.group))

    columns = [
        *leading,
        *class_columns("defense", findings),
        column("Balanced, change", lambda row: estimate(paired(row, "balanced_gain"), counted=False), "percent"),
        column("Gains least", lambda row: getattr(paired(row, "worst_recall_gain"), "verdict", "")),
        column("Change", lambda row: estimate(paired(row, "worst_recall_gain"), counted=False), "percent", _PAIRED),
        column("p", lambda row: getattr(paired(row, "worst_recall_gain"), "p_value", None), "p", _PAIRED),
    ]
    return table_of(title, rows, columns, note or _NOTE, findings=findings)
