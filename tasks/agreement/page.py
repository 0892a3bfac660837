"""What the report shows of the people who labelled the samples."""

from __future__ import annotations

from operator import attrgetter

from assay.tasks.reporting.estimates import estimate
from assay.tasks.reporting.numerals import integer, interval, number
from assay.tasks.reporting.parts import Block, Column, DataTable, Part, RowColumn
from assay.tasks.statistics.findings import FindingIndex

_NOTE = (
    "Krippendorff's α of samples with two labels or more: 1 is full agreement, 0 is what chance alone would give, less "
    "is disagreement. Intervals are 95 %, over resampled samples, or over their groups where the source names these."
)


def page(findings: FindingIndex) -> Part:
    """The part of the report about annotators, from the findings `annotators.*`."""
    whole = findings.get("annotators.alpha")
    people = findings.distinct("of", "annotators.labelled")
    sentence = f"The agreement of {len(people)} annotators was not measured: no sample has two of their labels."
    if whole is not None:
        sentence = (
            f"{len(people)} annotators agree with α = {number(whole.value or 0.0)} "
            f"{interval(whole.low, whole.high, 'number')} on {integer(whole.n)} samples with two labels or more."
        )
    columns: list[RowColumn] = [
        (Column("Annotator"), str),
        (Column("Labelled", "percent"), lambda name: estimate(findings.get("annotators.labelled", of=name))),
        (
            Column("As gold", "percent", "Of the samples with a known class that they labelled"),
            lambda name: estimate(findings.get("annotators.with_gold", of=name)),
        ),
    ]
    blocks: list[Block] = [DataTable.of("Each annotator", people, columns)]
    if pairs := [alpha for alpha in findings.select("annotators.alpha") if alpha.of]:
        of_pairs: list[RowColumn] = [(Column("Pair"), attrgetter("of")), (Column("α", "number"), estimate)]
        blocks.append(DataTable.of("Every two of them", pairs, of_pairs, _NOTE))
    return Part("Annotators", sentence, blocks, "annotators")
