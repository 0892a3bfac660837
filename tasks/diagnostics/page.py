"""What diagnostics show in the report: where a subject looks, what its layers tell apart, what it names together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from assay.tasks.diagnostics.looking import CLEAN, TRAIN
from assay.tasks.diagnostics.page_labels import label_blocks
from assay.tasks.diagnostics.page_layers import layer_blocks
from assay.tasks.diagnostics.page_pictures import gallery
from assay.tasks.reporting.numerals import integer, interval, percent
from assay.tasks.reporting.parts import Block, Part
from assay.tasks.statistics.findings import Finding

if TYPE_CHECKING:
    import pyarrow as pa

_METRIC = "diagnostics.knn_agreement"


@dataclass(frozen=True)
class Seen:
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


def page(findings: Sequence[Finding], seen: Sequence[Seen]) -> Part:
    """The part of the report about the inside of the subjects."""
    blocks: list[Block] = []
    for at, one in enumerate(seen):
        mine = [finding for finding in findings if finding.stage == "diagnostics" and finding.subject == one.subject]
        if one.pictures is not None and one.pictures.num_rows:
            blocks.append(gallery(one.pictures, one.subject, one.classes, collapsed=at > 0))
        if one.points is not None and one.points.num_rows:
            blocks += layer_blocks(one.points, mine, one.subject, one.classes)
        for counts in one.counts:
            blocks += label_blocks(counts, mine, one.classes)
    sentence = " ".join(filter(None, (_sentence(findings, one) for one in seen)))
    return Part("Inside the subjects", sentence or "Nothing was looked into.", blocks, "inside")


def _sentence(findings: Sequence[Finding], seen: Seen) -> str:
    """What the last layer still knows of clean samples, and of attacked ones."""
    subject = seen.subject
    mine = [one for one in findings if one.metric == _METRIC and one.subject == subject and one.value is not None]
    if not mine:
        return ""
    last = [one for one in mine if one.of == mine[-1].of]
    said = [f"{_share(one)} {_whom(one.group, seen.several)}" for one in last if one.group != TRAIN]
    n = next((integer(one.n) for one in last if one.group == CLEAN), "")
    whose = f"In the last layer of {subject} ({mine[-1].of}) the nearest training samples"
    if seen.several:
        return f"{whose} agree on {', on '.join(said)} (n = {n})."
    return f"{whose} are of the same class for {', for '.join(said)} (n = {n})."


def _share(one: Finding) -> str:
    return f"{percent(one.value, 0)} {interval(one.low, one.high, digits=0)}"


def _whom(group: str, several: bool) -> str:
    of = "of the labels of clean samples" if several else "of the clean samples"
    return of if group == CLEAN else f"under {group.replace('eps=', 'ε = ')}"
