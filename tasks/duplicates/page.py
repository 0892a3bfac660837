"""What the report shows of near duplicates: how many there are, how many cross into the training, and the pairs."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from assay.tasks.reporting.estimates import share_text
from assay.tasks.reporting.numerals import integer, percent, plural
from assay.tasks.reporting.parts import Gallery, Mark, NamedSample, Part, Picture, SampleList, Strip
from assay.tasks.statistics.findings import FindingIndex

_TITLE = "Nearly the same"
_NOTE = (
    "Pairs that cross from the audited samples into the training first, then the most alike. Look whether they are one "
    "sample twice: then keep one of them, or hold both out together (source.group)."
)


def page(
    findings: FindingIndex, pairs: pa.Table, picture: Callable[[str], bytes] | None, text: Callable[[str], str]
) -> Part:
    """The part about near duplicates, from the findings `duplicates.*`, some pairs, and what shows a sample by its id:
    its `picture`, or else its `text`."""
    near, leaked = findings.get("duplicates.share"), findings.get("duplicates.leaked")
    sentence = "No sample was compared."
    if near is not None:
        sentence = f"{share_text(near)} of {plural(near.n or 0, 'sample')} are nearly the same as another."
    bad = leaked is not None and bool(leaked.value)
    if leaked is not None:
        them = share_text(leaked) if bad else "None"
        sentence += f" {them} of the {integer(leaked.n)} audited are nearly the same as one that trains."
    strips, named = [], []
    for row in pairs.to_pylist():
        alike, first, second = f"{percent(row['similarity'], 0)} alike", row["first"], row["second"]
        where = {first: row["first_part"], second: row["second_part"]}
        if picture is not None:
            strips.append(
                Strip(alike, [Picture(picture(end), f"{end}, {where[end]}", end, sample=end) for end in where])
            )
        else:
            marks = [Mark(f"{alike}: {' and '.join(where.values())}")]
            both = f"{text(first)}\n≈ {text(second)}"
            named.append(NamedSample(f"{first} ~ {second}", text=both, marks=marks, pair=(first, second)))
    blocks = [Gallery(_TITLE, strips, _NOTE)] if strips else [SampleList(_TITLE, named, _NOTE)] if named else []
    return Part("Near duplicates", sentence, blocks, "duplicates", *(("bad", "red flag") if bad else ("neutral", "")))
