"""What the report shows of doubtful gold labels: how many, how well such errors are found, and the samples."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from assay.tasks.reporting.estimates import column, share_text, table_of
from assay.tasks.reporting.numerals import integer, percent, plural
from assay.tasks.reporting.parts import Block, Mark, NamedSample, Part, SampleList
from assay.tasks.statistics.findings import FindingIndex, measured

_NOTE = "The least likely label first: look whether the label is wrong, the sample is unclear, or the subject is."
_COLUMNS = [
    column("Gold says", "of"),
    column("Likely", "group"),
    column("Samples, about", lambda pair: round(pair.value), "integer"),
]
_COUNTED = "The count matrix of confident learning, calibrated to how many samples have each label."


def page(
    findings: FindingIndex, doubts: pa.Table, classes: Sequence[str], shown: int, notes: Sequence[str] = ()
) -> Part:
    """The part about label errors, from the findings `label_errors.*` and the `LabelDoubts`; the notes say of whom
    nobody knows what it learned from."""
    lines, blocks = list[str](), list[Block]()
    for doubtful in measured(findings.select("label_errors.doubtful")):
        subject, rows = doubtful.subject, doubts.filter(pc.equal(doubts["subject"], doubtful.subject))
        line = f"By {subject} {share_text(doubtful)} of {plural(doubtful.n or 0, 'gold label')} are doubtful"
        recall, precision = (findings.get(f"label_errors.{name}", subject) for name in ("recall", "precision"))
        if recall is not None and precision is not None:
            line += (
                f"; of {integer(recall.n)} that were flipped on purpose it doubts {share_text(recall)}, and of what it "
                f"then doubts {share_text(precision)} were"
            )
        lines.append(f"{line}.")
        if pairs := findings.select("label_errors.taken_for", subject=subject):
            blocks.append(table_of(f"Taken for, {subject}", pairs, _COLUMNS, _COUNTED))
        worst = rows.filter(rows["doubtful"]).sort_by([("self_confidence", "ascending"), ("id", "ascending")])
        named = list[NamedSample]()
        for row in worst.slice(0, shown).to_pylist():
            doubt = Mark(f"gold {classes[row['gold']]}, likely {classes[row['likely']]}", "bad")
            named.append(NamedSample(row["id"], marks=[doubt, Mark(f"{percent(row['self_confidence'])} for gold")]))
        blocks += [SampleList(f"Doubtful labels, {subject}", named, _NOTE)] if named else []
    sentence = " ".join([*lines, *notes]) or "No gold label could be held against probabilities."
    return Part("Label errors", sentence, blocks, "label-errors")
