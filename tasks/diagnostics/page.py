"""What diagnostics show in the report: where a subject looks, what its layers tell apart, what it names together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from assay.tasks.diagnostics.looking import CLEAN, TRAIN
from assay.tasks.diagnostics.page_labels import label_blocks
from assay.tasks.diagnostics.page_layers import layer_blocks
from assay.tasks.diagnostics.page_pictures import gallery
from assay.tasks.reporting.numerals import integer
from assay.tasks.reporting.parts import Block, Part
from assay.tasks.reporting.sentences import share_text
from assay.tasks.statistics.findings import FindingIndex, measured

if TYPE_CHECKING:
    import pyarrow as pa

_METRIC = "diagnostics.knn_agreement"


@dataclass(frozen=True)
class InsideSubject:
    """What was seen inside one subject: tables of `DiagnosticImages`, `LayerPoints` and, per attack, `CoOccurrence`."""

    subject: str
    classes: Sequence[str]
    pictures: pa.Table | None = None
    points: pa.Table | None = None
    counts: Sequence[pa.Table] = field(default_factory=tuple)

    @property
    def several(self) -> bool:
        """Whether images bear several labels."""
        return self.pictures is not None and self.pictures["labels"].null_count < self.pictures.num_rows


def page(findings: FindingIndex, subjects: Sequence[InsideSubject]) -> Part:
    """The part of the report about the inside of the subjects."""
    blocks: list[Block] = []
    for at, seen in enumerate(subjects):
        if seen.pictures is not None and seen.pictures.num_rows:
            blocks.append(gallery(seen.pictures, seen.subject, seen.classes, collapsed=at > 0))
        if seen.points is not None and seen.points.num_rows:
            blocks += layer_blocks(findings, seen.points, seen.subject, seen.classes)
        for counts in seen.counts:
            blocks += label_blocks(findings, counts, seen.classes)
    sentence = " ".join(filter(None, (_sentence(findings, seen) for seen in subjects)))
    return Part("Inside the subjects", sentence or "Nothing was looked into.", blocks, "inside")


def _sentence(findings: FindingIndex, seen: InsideSubject) -> str:
    """What the last layer still knows of clean samples, and of attacked ones."""
    agreements = measured(findings.select(_METRIC, subject=seen.subject))
    if not agreements:
        return ""
    layer = agreements[-1].of
    last = {share.group: share for share in agreements if share.of == layer}
    shares = [
        f"{share_text(share, 0)} {_circumstance(group, seen.several)}"
        for group, share in last.items()
        if group != TRAIN
    ]
    n = integer(last[CLEAN].n) if CLEAN in last else ""
    whose = f"In the last layer of {seen.subject} ({layer}) the nearest training samples"
    if seen.several:
        return f"{whose} agree on {', on '.join(shares)} (n = {n})."
    return f"{whose} are of the same class for {', for '.join(shares)} (n = {n})."


def _circumstance(group: str, several: bool) -> str:
    of = "of the labels of clean samples" if several else "of the clean samples"
    return of if group == CLEAN else f"under {group.replace('eps=', 'ε = ')}"
