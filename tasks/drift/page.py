"""What the report shows of drift: whether tonight can be told from the baseline, and by which columns."""

from __future__ import annotations

from assay.tasks.reporting.estimates import column, columns_over, table_of
from assay.tasks.reporting.parts import Block, Part
from assay.tasks.statistics.findings import FindingIndex, measured
from assay.tasks.statistics.metrics import metrics_of

_COLUMNS = ("drift.feature_auc", "drift.ks", "drift.psi")
_NOTE = (
    "Area: how often a value of tonight is above one of the baseline, 0.5 where they are alike; all intervals of the "
    "table hold together 95 times in 100. KS and PSI are distances without an interval, for those who know them."
)


def page(findings: FindingIndex, baseline: str) -> Part:
    """The part about drift, from the findings `drift.*`."""
    others = [each for each in findings.select("drift.columns") if each.value]
    lines, blocks = [f"Columns differ from those of run {baseline}: {each.verdict}." for each in others], list[Block]()
    for area in findings.select("drift.auc"):
        whose = f"answers of {area.subject}" if area.subject else "inputs"
        if area.value is None:
            lines.append(f"Nothing to hold tonight's {whose} against: {area.verdict}.")
            continue
        columns = measured(findings.select("drift.feature_auc", of=area.of, subject=area.subject))
        columns.sort(key=lambda each: -abs((each.value or 0) - 0.5))
        parting = [each.group for each in columns if not (each.low or 0) <= 0.5 <= (each.high or 1)]
        lines.append(
            f"A classifier {'can' if (area.low or 0) > 0.5 else 'cannot'} tell tonight's {whose} from those of run "
            f"{baseline}: its area is {area.value:.3f} [{area.low:.3f}, {area.high:.3f}], and 0.5 is chance"
            + (f"; by themselves these part the nights: {', '.join(parting[:5])}." if parting else ".")
        )
        shown = [
            column("Class" if area.subject else "Column", lambda row: row[2]),
            *columns_over(metrics_of("drift"), *_COLUMNS),
        ]
        rows = [each.about for each in columns]
        blocks.append(table_of(f"Drift of {whose}", rows, shown, _NOTE, findings=findings, collapsed=not parting))
    return Part("Drift", " ".join(lines), blocks, "drift")
