"""What noise shows in the report: accuracy over severity for each kind, and the numbers behind it."""

from __future__ import annotations

from assay.tasks.attacks.noise.noising import SHARES
from assay.tasks.attacks.noise.rows import group_of
from assay.tasks.reporting.estimates import estimate, series_of
from assay.tasks.reporting.numerals import integer, percent, plain
from assay.tasks.reporting.parts import Block, Cell, Column, DataTable, LinePlot, Mark, Panels, Series, Tone
from assay.tasks.reporting.sentences import after_holm, share_text
from assay.tasks.statistics.findings import Finding, FindingIndex, distinct, lowest
from assay.tasks.statistics.slices import slice_of

_PLACES = {
    "typos": "slips in the letters",
    "casing": "words in another case",
    "punctuation": "slips after words",
    "whitespace": "blanks dropped, doubled or set",
    "homoglyphs": "letters that have a look-alike",
}
_OF = {"typos": 0.5, "casing": 1.0, "punctuation": 1.0, "whitespace": 1.0, "homoglyphs": 1.0}
"""What a place is of what the page counts: a slip is in one of two letters."""
_TONES: dict[str, Tone] = {"better": "good", "worse": "bad"}


class NoiseFindings:
    """The findings on noise in texts, as the page asks for them."""

    def __init__(self, findings: FindingIndex) -> None:
        self._findings = findings
        noised = [one for one in findings.select("attack") if one.slice.severity is not None]
        self.subjects = distinct(one.subject for one in noised)
        self.attacks = distinct(one.of for one in noised)
        self.kinds = distinct(one.slice.name for one in noised)
        self.severities = sorted(distinct(one.slice.severity or 0 for one in noised))

    def get(self, metric: str, subject: str, attack: str, kind: str, severity: int) -> Finding | None:
        """The finding `attack.metric`, if it has a value."""
        return self._findings.get(f"attack.{metric}", subject, attack, group_of(kind, severity))

    def clean(self, subject: str) -> Finding | None:
        """The accuracy on the texts as they are."""
        return self._findings.get("subject.accuracy", subject, "clean")

    def hardest(self, subject: str) -> Finding | None:
        """The lowest accuracy under one kind of noise at one severity, which its verdict names; its interval allows for
        having been named after looking."""
        return lowest(self._findings.select("attack.worst_accuracy", subject=subject))


def noise_blocks(findings: NoiseFindings) -> list[Block]:
    """The curves over severity, one plot per kind of noise, and the table of all numbers; nothing without noise."""
    return [block for attack in findings.attacks for block in (_curves(findings, attack), _table(findings, attack))]


def _curves(findings: NoiseFindings, attack: str) -> Panels:
    plots = []
    for kind in findings.kinds:
        series = [
            line for subject in findings.subjects if (line := _series(findings, subject, attack, kind)) is not None
        ]
        if series:
            ends = "; ".join(f"{line.name} from {percent(line.y[0])} to {percent(line.y[-1])}" for line in series)
            plots.append(
                LinePlot(
                    kind.capitalize(),
                    series,
                    "Severity",
                    "Accuracy",
                    f"Accuracy with {kind} by severity: {ends}.",
                    (0.0, 1.0),
                    {float(place): "none" if place == 0 else str(place) for place in (0, *findings.severities)},
                    scale="percent",
                )
            )
    kinds = ", ".join(
        f"{kind} ({_PLACES[kind]}, {plain(100 * shares[0] * _OF[kind])} to {percent(shares[-1] * _OF[kind], 0)})"
        for kind, shares in SHARES.items()
        if kind in findings.kinds
    )
    note = (
        f"Severities 1 to 5 change ever more of the same places: {kinds}. Bands are 95 % intervals (Wilson). Under "
        "every kind counts as right what is right under each of them."
    )
    return Panels(f"Accuracy under noise ({attack})" if attack != "noise" else "Accuracy under noise", plots, note)


def _series(findings: NoiseFindings, subject: str, attack: str, kind: str) -> Series | None:
    points = {0: findings.clean(subject)}
    points |= {severity: findings.get("accuracy", subject, attack, kind, severity) for severity in findings.severities}
    known = {float(severity): accuracy for severity, accuracy in points.items() if accuracy is not None}
    return series_of(subject, list(known), list(known.values())) if any(known) else None


def _table(findings: NoiseFindings, attack: str) -> DataTable:
    columns = [
        Column("Subject"),
        Column("Noise"),
        Column("Severity", "integer"),
        Column("Accuracy", "percent"),
        Column("Change", "percent", "Accuracy with noise minus accuracy without, on the same texts"),
        Column("p", "p", "McNemar's exact test, not corrected"),
        Column("Concluded"),
        Column("Flips", "percent", "Predictions that change, right or wrong"),
        Column("No place", "percent", "Texts in which there was nothing to change"),
    ]
    rows: list[list[Cell]] = []
    for subject in findings.subjects:
        for kind in findings.kinds:
            for severity in findings.severities:
                accuracy, change, test, flips, unchanged = (
                    findings.get(metric, subject, attack, kind, severity)
                    for metric in ("accuracy", "accuracy_change", "mcnemar_p", "flip_rate", "unchanged")
                )
                if accuracy is None and flips is None:
                    continue
                p = None if change is None else change.p_value
                concluded: Cell = "" if test is None else Mark(after_holm(test), _TONES.get(test.verdict, "neutral"))
                rows.append(
                    [
                        subject,
                        kind,
                        severity,
                        estimate(accuracy),
                        estimate(change),
                        p,
                        concluded,
                        estimate(flips),
                        estimate(unchanged),
                    ]
                )
    note = "Tests are concluded from at the highest severity only. Intervals are 95 % (Wilson; of changes: Newcombe)."
    return DataTable("Noise in numbers", columns, rows, note, collapsed=True)


def noise_sentence(findings: NoiseFindings, subject: str) -> str:
    """What noise does to a subject, in a sentence; empty where there is none."""
    hardest, clean = findings.hardest(subject), findings.clean(subject)
    if hardest is None:
        return ""
    beside = "" if clean is None else f", where it had {percent(clean.value)}"
    cell = slice_of(hardest.verdict)
    return (
        f"With {cell.name} at severity {cell.severity} it gets {share_text(hardest)} right{beside} "
        f"(n = {integer(hardest.n)})."
    )
